"""Text → positioned tree of the first YAML document (§1.2): byte rules, limits, anchors, duplicate keys.

libyaml scans; everything the grammar decides differently is decided here, on events, without recursion.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from yaml._yaml import CParser

from kitstudio.models.document import LINE_BREAK, Alias, Collection, DecodeError, Node, NodeKind, Position
from kitstudio.models.quote import quote
from kitstudio.models.yaml_problems import explain

MAX_TEXT = 1024 * 1024
"""Bytes, or characters of a text: twice the budget of a descriptor (§9.4), so that what exceeds it by mistake can still
be told its size. What is larger is not looked at."""
MAX_DEPTH = 1000
"""Levels of nesting, the limit of libyaml."""

# Walks of a config take up to four frames a level; Python's own limit would fail below ours.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 8 * MAX_DEPTH))

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")

_ESCAPED_SLASH = re.compile(r'"(?:[^\\]|\\[^/])*?\\/', re.DOTALL)


def read_text(source: str | bytes, name: str = "") -> str:
    """Characters of a descriptor: UTF-8, or UTF-16 with a byte order mark; no control characters (§1.2)."""
    if len(source) > MAX_TEXT:
        raise DecodeError(
            f"The descriptor is larger than {MAX_TEXT // 1024 // 1024} MiB.",
            name=name,
            remedy="A descriptor may have 512 KiB at most: move content into layers.",
        )
    text = _decode_bytes(source, name) if isinstance(source, bytes) else source.removeprefix("\ufeff")
    bad = _FORBIDDEN.search(text)
    if bad is not None:
        raise DecodeError(
            f"The character U+{ord(bad[0]):04X} must not stand in a descriptor.",
            name=name,
            at=offset_position(text, bad.start()),
            remedy="Write it as an escape inside double quotes.",
        )
    return text


def parse_tree(text: str, name: str = "") -> Node:
    """The root of the first document. Raises DecodeError for what does not scan or breaks a limit."""
    parser = CParser(text)
    try:
        root = _build(parser, text, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        character = text[mark.index : mark.index + 1] if mark else ""
        what, remedy = explain(str(error.problem or ""), str(error.context or ""), character)
        at = Position(mark.line + 1, mark.column + 1) if mark else None
        raise DecodeError(what, name=name, at=at, remedy=remedy) from error
    except yaml.YAMLError as error:
        raise DecodeError("The text is not YAML.", name=name) from error
    finally:
        parser.dispose()
    return root


def offset_position(text: str, offset: int) -> Position:
    """The position of a character offset."""
    line, start = 1, 0
    for found in LINE_BREAK.finditer(text, 0, offset):
        line, start = line + 1, found.end()
    return Position(line, offset - start + 1)


def refuse_duplicate_keys(mapping: Collection, name: str) -> None:
    """Raise DecodeError for a key that repeats by text, and for a list or map as a key; note whether one merges."""
    scalar = NodeKind.SCALAR
    seen: set[str] = set()
    for key in mapping.children[::2]:
        named = key if key.target is None else key.target
        if named.kind is not scalar:
            raise DecodeError("A list or map cannot be a key.", name=name, at=key)
        if named.text in seen:
            raise DecodeError(
                f"The key {quote(named.text)} is stated twice.",
                name=name,
                at=key,
                remedy="Keep one of the two; keys compare by their text.",
            )
        seen.add(named.text)
    mapping.merges = "<<" in seen


def _decode_bytes(source: bytes, name: str) -> str:
    if source.startswith(codecs.BOM_UTF8):
        source, encoding = source[3:], "utf-8"
    elif source.startswith(codecs.BOM_UTF16_LE):
        source, encoding = source[2:], "utf-16-le"
    elif source.startswith(codecs.BOM_UTF16_BE):
        source, encoding = source[2:], "utf-16-be"
    else:
        encoding = "utf-8"
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        before = source[: error.start].decode(encoding)
        at = offset_position(before, len(before))
        raise DecodeError(
            f"The bytes are not {encoding.upper()} text.",
            name=name,
            at=at,
            remedy="Save the file as UTF-8.",
        ) from error


def _build(parser: CParser, text: str, name: str) -> Node:
    # Local names: this loop runs once for each element of the text.
    scalar, sequence, mapping = NodeKind.SCALAR, NodeKind.SEQUENCE, NodeKind.MAPPING
    scalar_event, sequence_start, sequence_end = yaml.ScalarEvent, yaml.SequenceStartEvent, yaml.SequenceEndEvent
    mapping_start, mapping_end = yaml.MappingStartEvent, yaml.MappingEndEvent
    get_event: Callable[[], Any] = parser.get_event
    get_event()
    event = get_event()
    if isinstance(event, yaml.StreamEndEvent):
        raise DecodeError("The descriptor is empty.", name=name, remedy='Begin with `schemaVersion: "3"`.')
    if event.version not in {None, (1, 1)}:
        raise DecodeError("Only %YAML 1.1 can be stated.", name=name, at=Position(1, 1))
    slashes = "\\/" in text
    anchors: dict[str, Node] = {}
    aliased = False
    finished: list[Node] = []
    top: list[Node] = []
    siblings = top
    stack: list[tuple[Collection, list[Node]]] = []
    while True:
        event = get_event()
        kind = type(event)
        if kind is scalar_event:
            node = Node(scalar, event.start_mark, event.end_mark, event.tag or "", event.value, event.style or "")
            if slashes and node.style == '"' and _ESCAPED_SLASH.match(text, node.start, node.end):
                what = "`\\/` is no escape in YAML."
                raise DecodeError(what, name=name, at=node, remedy="Write the slash alone.")
            if event.anchor is not None:
                anchors[event.anchor] = node
            siblings.append(node)
        elif kind is mapping_start or kind is sequence_start:
            below: list[Node] = []
            shape = mapping if kind is mapping_start else sequence
            node = Collection(shape, event.start_mark, event.tag or "", below, flow=bool(event.flow_style))
            if event.anchor is not None:
                anchors[event.anchor] = node
            siblings.append(node)
            stack.append((node, siblings))
            siblings = below
            if len(stack) > MAX_DEPTH:
                raise DecodeError(f"Nesting is deeper than {MAX_DEPTH} levels.", name=name, at=node)
        elif kind is mapping_end or kind is sequence_end:
            ended, siblings = stack.pop()
            ended.end_mark = event.end_mark
            if kind is mapping_end:
                refuse_duplicate_keys(ended, name)
            finished.append(ended)
        elif kind is yaml.AliasEvent:
            aliased = True
            siblings.append(_alias(event, anchors, name))
        else:
            break
    if aliased:
        _refuse_alias_bomb(finished, name)
    return top[0]


def _alias(event: Any, anchors: Mapping[str, Node], name: str) -> Node:
    anchor = event.anchor
    target = anchors.get(anchor)
    alias = Alias(event.start_mark, event.end_mark, anchor, target)
    if target is None:
        raise DecodeError(f"The anchor {quote(anchor)} is not known here.", name=name, at=alias)
    if target.end_mark is None:
        raise DecodeError(f"The anchor {quote(anchor)} contains itself.", name=name, at=alias)
    return alias


def _refuse_alias_bomb(finished: list[Node], name: str) -> None:
    """``finished``: the collections in the order they end, so that an alias's target comes before its use."""
    weights: dict[int, int] = {}
    written = decoded = 1
    for node in finished:
        written += sum(child.kind is not NodeKind.ALIAS for child in node.children)
        decoded = weights[id(node)] = 1 + sum(weights.get(id(child.resolved()), 1) for child in node.children)
    through_aliases = decoded - written
    if decoded <= 1000 or through_aliases <= 100:
        return
    if decoded <= 400_000:
        allowed = 0.99
    elif decoded >= 4_000_000:
        allowed = 0.10
    else:
        allowed = 0.99 - 0.89 * (decoded - 400_000) / 3_600_000
    if through_aliases > allowed * decoded:
        raise DecodeError(
            "The document grows out of bounds through its aliases.",
            name=name,
            remedy="Write the values out instead of repeating them by alias.",
        )
