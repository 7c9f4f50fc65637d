"""Edits of a YAML text that leave every other line as it is: positions come from the tree, not from guessing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kitstudio.models.descriptor import JsonValue
from kitstudio.models.document import LINE_BREAK, Node
from kitstudio.models.yaml_text import block, flow, scalar

_COMMA: Final = re.compile(r"\s*,[ \t]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str = ""


def apply(text: str, edits: list[Edit]) -> str:
    """The text with edits made, the last one first so that offsets stay true."""
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def newline_of(text: str) -> str:
    """The line end a text uses."""
    found = LINE_BREAK.search(text)
    return found[0] if found else "\n"


def put(text: str, mapping: Node, key: str, value: JsonValue, *, after: str = "") -> Edit:
    """State ``key: value``: in place of what is stated, else behind ``after``, else at the end."""
    stated = mapping.get(key)
    if stated is not None:
        return _replace(text, mapping, key, value)
    anchor = mapping.get(after) if after else None
    last = anchor or mapping.children[-1]
    if mapping.flow:
        return Edit(last.end, last.end, f", {_flow_key(mapping, key)}: {flow(value)}")
    newline, indent = newline_of(text), mapping.column - 1
    return _insert_lines(text, last, f"{' ' * indent}{scalar(key)}:{block(value, indent + 2, newline)}")


def drop(text: str, mapping: Node, key: str) -> Edit:
    """Remove a key and its value. The mapping must have another key."""
    keys = mapping.children[::2]
    index = next(i for i, name in enumerate(keys) if name.resolved().text == key)
    first, value = keys[index], mapping.children[2 * index + 1]
    if mapping.flow:
        return _drop_flow(text, first.start, value.end, is_last=index == len(keys) - 1)
    start = line_start(text, first.start)
    if text[start : first.start].strip(" \t"):
        # The key shares its line with a dash: what follows moves up to it.
        return Edit(first.start, keys[index + 1].start)
    return Edit(start, line_end(text, content_end(value)))


def append(text: str, sequence: Node, value: JsonValue) -> Edit:
    """Add an item behind the last one. The sequence must have one."""
    last = sequence.children[-1]
    if sequence.flow:
        return Edit(last.end, last.end, f", {flow(value)}")
    dash = sequence.column - 1
    first = sequence.children[0]
    offset = first.column - 1 - dash if first.line == sequence.line else 2
    body = block(value, dash + offset, newline_of(text))
    if body.startswith(newline_of(text)):
        body = " " * (offset - 1) + body.removeprefix(newline_of(text)).lstrip(" ")
    return _insert_lines(text, last, f"{' ' * dash}-{body}")


def remove(text: str, sequence: Node, index: int) -> Edit:
    """Remove one of several items."""
    item = sequence.children[index]
    if sequence.flow:
        return _drop_flow(text, item.start, item.end, is_last=index == len(sequence.children) - 1)
    return Edit(line_start(text, _dash(text, item)), line_end(text, content_end(item)))


def content_end(node: Node) -> int:
    """The offset behind the last character of a node; a block collection's own mark lies further down."""
    while node.children and not node.flow:
        node = node.children[-1]
    return node.end


def line_start(text: str, offset: int) -> int:
    """The offset of the first character of the line."""
    while offset and text[offset - 1] not in "\r\n\x85\u2028\u2029":
        offset -= 1
    return offset


def line_end(text: str, offset: int) -> int:
    """The offset behind the line's end; ``offset`` itself when it already begins a line."""
    if offset and line_start(text, offset) == offset:
        return offset
    found = LINE_BREAK.search(text, offset)
    return found.end() if found else len(text)


def _replace(text: str, mapping: Node, key: str, value: JsonValue) -> Edit:
    stated = mapping.get(key)
    assert stated is not None
    newline = newline_of(text)
    start, end = stated.start, content_end(stated)
    if mapping.flow:
        return Edit(start, end, flow(value))
    written = block(value, mapping.column + 1, newline)
    colon = len(text[:start].rstrip(" \t\r\n"))
    if text[colon - 1] == ":":
        start = colon
    else:
        # A comment stands between key and value.
        written = written.removeprefix(" ")
    ends_line = end > start and line_start(text, end) == end
    return Edit(start, end, written + (newline if ends_line else ""))


def _insert_lines(text: str, last: Node, lines: str) -> Edit:
    newline = newline_of(text)
    at = line_end(text, content_end(last))
    before = newline if at and line_start(text, at) != at else ""
    return Edit(at, at, f"{before}{lines}{newline if not before else ''}")


def _drop_flow(text: str, start: int, end: int, *, is_last: bool) -> Edit:
    comma = _COMMA.match(text, end)
    if comma and not is_last:
        return Edit(start, comma.end())
    before = text.rfind(",", 0, start)
    return Edit(before if before >= 0 else start, end)


def _flow_key(mapping: Node, key: str) -> str:
    return f'"{key}"' if mapping.children and mapping.children[0].style == '"' else scalar(key)


def _dash(text: str, item: Node) -> int:
    return text.rfind("-", 0, item.start)
