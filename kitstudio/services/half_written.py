"""A descriptor that is being written and need not be YAML yet: the keys and dashes around a line, by indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

MAX_LINES: Final = 5000
"""Lines looked at above and below the place."""
MAX_COLUMN: Final = 4000
"""Characters of a line that are looked at."""

LINE: Final = re.compile(r"([ ]*)((?:-[ ]+)*)(.*)", re.DOTALL)
"""Indentation, the dashes of list items, and the rest of a line."""
KEY: Final = re.compile(r"""("[^"]*"|'[^']*'|[^\s#"'\[\]{},:][^:#]*?)[ ]*:(?:[ ]+|$)""")
"""A key at the start of that rest, with its colon."""
_BLOCK: Final = re.compile(r"[|>][-+0-9]*\s*$")


@dataclass(frozen=True, slots=True)
class Token:
    """A key or a list item's dash on a line."""

    line: int
    column: int
    key: str | None
    value: str = ""


class HalfWritten:
    """The lines of a text as seen from line ``number``, which is the one being written."""

    def __init__(self, text: str, number: int) -> None:
        self._lines = text.split("\n")
        self._number = number
        self._tokens: dict[int, tuple[Token, ...]] = {}

    def tokens(self, number: int) -> tuple[Token, ...]:
        """Dashes and the key of a line; none for blank lines, comments and bare texts."""
        if number not in self._tokens:
            self._tokens[number] = tuple(_tokens(self._lines[number][:MAX_COLUMN], number))
        return self._tokens[number]

    def above(self) -> Iterator[Token]:
        """Tokens above the cursor's line, nearest first."""
        for number in range(self._number - 1, max(-1, self._number - MAX_LINES), -1):
            yield from reversed(self.tokens(number))

    def parents(self, number: int, column: int, dashes: list[int]) -> list[tuple[Token, Mapping[str, str]]]:
        """What the mapping at ``column`` is inside of, outermost first, each with the keys beside it."""
        found: list[Token] = [Token(number, dash, None) for dash in reversed(dashes)]
        limit, dashed = (dashes[0], True) if dashes else (column, False)
        for token in self.above():
            beside = dashed and token.key is not None and token.column == limit
            if token.column < limit or beside:
                found.append(token)
                limit, dashed = token.column, token.key is None
            if limit == 0 and not dashed:
                break
        found.reverse()
        return [(token, self.siblings(token.line, token.column)) for token in found]

    def siblings(self, number: int, column: int) -> dict[str, str]:
        """Key → value text of the mapping whose keys stand at ``column``, around a line; not of the line itself
        where that is the cursor's."""
        found: dict[str, str] = {}
        first = max(-1, number - MAX_LINES)
        for step, stop in ((-1, first), (1, min(len(self._lines), number + MAX_LINES))):
            at = number
            while at != stop and 0 <= at < len(self._lines):
                tokens = self.tokens(at)
                if at != number and any(t.column < column for t in tokens) and step > 0:
                    break
                if at != self._number:
                    found.update({t.key: t.value for t in tokens if t.key is not None and t.column == column})
                if any(t.column < column for t in tokens) and (step < 0):
                    break
                at += step
        return found

    def in_block(self, indent: int) -> bool:
        """Whether the cursor's line is text of a block scalar."""
        for number in range(self._number - 1, max(-1, self._number - MAX_LINES), -1):
            line = self._lines[number]
            if not line.strip():
                continue
            deep = len(line) - len(line.lstrip(" "))
            if deep < indent:
                return bool(_BLOCK.search(line.partition(" #")[0])) and bool(self.tokens(number))
        return False

    def args(self) -> tuple[str, ...]:
        """Names declared under the top-level ``args``."""
        found: list[str] = []
        inside, column = False, 0
        for number in range(min(len(self._lines), MAX_LINES)):
            for token in self.tokens(number):
                if token.column == 0:
                    inside, column = token.key == "args", 0
                elif inside and token.key is not None and token.column == (column or token.column):
                    column = token.column
                    found.append(token.key)
        return tuple(found)


def in_comment(before: str) -> bool:
    """Whether a ``#`` that begins a comment stands before the place."""
    quoted = ""
    for index, sign in enumerate(before):
        if quoted:
            quoted = "" if sign == quoted else quoted
        elif sign in "\"'" and (index == 0 or before[index - 1] in " [{,:"):
            quoted = sign
        elif sign == "#" and (index == 0 or before[index - 1] in " \t"):
            return True
    return False


def unquoted(text: str) -> str:
    """A key or value without blanks and quotes around it."""
    return text.strip().strip("\"'")


def _tokens(line: str, number: int) -> Iterator[Token]:
    shape = LINE.fullmatch(line)
    if shape is None or not line.strip():
        return
    indent, dashes, rest = shape.groups()
    if rest.startswith("#"):
        return
    for index, sign in enumerate(dashes):
        if sign == "-":
            yield Token(number, len(indent) + index, None)
    if rest == "-":
        yield Token(number, len(indent) + len(dashes), None)
    key = KEY.match(rest)
    if key is not None:
        yield Token(number, len(indent) + len(dashes), unquoted(key[1]), unquoted(rest[key.end() :].partition(" #")[0]))
