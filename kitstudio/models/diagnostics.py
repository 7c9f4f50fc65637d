"""Where a finding stands in the text, and how it is shown: place, excerpt, caret (§11)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wcwidth import wcwidth

from kitstudio.models.document import LINE_BREAK, DecodeError, Document, Position
from kitstudio.models.issue import Issue

MAX_EXCERPT: Final = 4096
"""Characters of a source line that are shown: a published descriptor is one line of up to 512 KiB."""
_BEFORE_CARET: Final = 160


def locate(document: Document, path: str) -> Position:
    """The position of a dotted path, or of its nearest containing element."""
    positions = document.positions
    while path not in positions:
        cut = max(path.rfind("."), path.rfind("["))
        if cut <= 0:
            return positions.get("", Position(1, 1))
        path = path[:cut]
    return positions[path]


def render(document: Document, issues: Iterable[Issue]) -> str:
    """Every finding with its place and excerpt, separated by blank lines."""
    lines = LINE_BREAK.split(document.text)
    return "\n\n".join(_render(document, issue, lines) for issue in issues)


def render_error(error: DecodeError, text: str) -> str:
    """A text that does not decode: place, what is wrong, what would repair it, excerpt."""
    shown = excerpt(text.removeprefix("\ufeff"), error.position) if error.position else ""
    return f"{error}\n{shown}" if shown else str(error)


def excerpt(text: str, position: Position) -> str:
    """The source line of a position with a caret under it; empty when the position lies outside the text."""
    return _excerpt(LINE_BREAK.split(text), position)


def _render(document: Document, issue: Issue, lines: list[str]) -> str:
    name = f"{document.name}: " if document.name else ""
    message = f"{issue}. {issue.remedy}" if issue.remedy else str(issue)
    if not issue.path:
        return name + message
    position = locate(document, issue.path)
    place = f"{document.name}:" if document.name else ""
    shown = _excerpt(lines, position)
    head = f"{place}{position.line}:{position.column}: {message}"
    return f"{head}\n{shown}" if shown else head


def _excerpt(lines: list[str], position: Position) -> str:
    if not 1 <= position.line <= len(lines):
        return ""
    line = lines[position.line - 1]
    offset = position.column - 1
    if offset > len(line):
        return ""
    first = max(0, offset - _BEFORE_CARET) if len(line) > MAX_EXCERPT else 0
    shown = line[first : first + MAX_EXCERPT] if len(line) > MAX_EXCERPT else line
    mark = "… " if first else ""
    padding = " " * len(mark) + "".join(_blank(character) for character in line[first:offset])
    number = str(position.line)
    gutter = " " * len(number)
    return f"{gutter} |\n{number} | {mark}{shown}\n{gutter} | {padding}^"


def _blank(character: str) -> str:
    """As much blank as a character is wide: tabs stay tabs, so that the caret stands under its character."""
    if character == "\t":
        return character
    return " " * max(0, wcwidth(character))
