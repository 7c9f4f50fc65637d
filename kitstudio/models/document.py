"""The positioned tree of one descriptor text (§1.2, §11): what decoding reads and diagnostics point into."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import DescriptorError

LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What ends a line where positions are counted."""


class NodeKind(IntEnum):
    """What a node of the tree is."""

    SCALAR = 0
    SEQUENCE = 1
    MAPPING = 2
    ALIAS = 3


class Node:
    """One element of the first document.

    ``text``: a scalar's text, or an alias's anchor. ``children``: items, or keys and values in turn. ``target``:
    the node an alias stands for. ``line`` and ``column`` count from 1, ``start`` and ``end`` are character offsets.
    Written out instead of a dataclass: a descriptor has thousands, and this is what decoding spends its time on.
    """

    __slots__ = ("children", "column", "end", "flow", "kind", "line", "start", "style", "tag", "target", "text")

    def __init__(
        self,
        kind: NodeKind,
        line: int,
        column: int,
        start: int,
        end: int,
        tag: str = "",
        text: str = "",
        style: str = "",
        flow: bool = False,
        target: Node | None = None,
        children: Sequence[Node] = (),
    ) -> None:
        self.kind = kind
        self.line = line
        self.column = column
        self.start = start
        self.end = end
        self.tag = tag
        self.text = text
        self.style = style
        self.flow = flow
        self.target = target
        self.children = children

    @property
    def plain(self) -> bool:
        """True for an unquoted scalar."""
        return not self.style

    def resolved(self) -> Node:
        """The node itself, or what an alias stands for."""
        return self if self.target is None else self.target

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Keys and values of a mapping, as written."""
        walk = iter(self.children)
        return zip(walk, walk, strict=True)

    def get(self, key: str) -> Node | None:
        """The value written under ``key``, merge keys not followed."""
        for name, value in self.pairs():
            if name.resolved().text == key and name.resolved().kind is NodeKind.SCALAR:
                return value
        return None


class Position(NamedTuple):
    """1-based line and column, in characters."""

    line: int
    column: int


class DecodeError(DescriptorError):
    """A text that does not decode. ``position`` is where, None when the text as a whole is at fault."""

    def __init__(self, what: str, *, name: str = "", at: Position | Node | None = None, remedy: str = "") -> None:
        super().__init__(what, where=place(name, at), remedy=remedy)
        self.position = None if at is None else Position(at.line, at.column)


def place(name: str, at: Position | Node | None) -> str:
    """``name:line:column`` without what is not known."""
    if at is None:
        return name
    spot = f"{at.line}:{at.column}"
    return f"{name}:{spot}" if name else f"line {spot}"


@dataclass(frozen=True, slots=True)
class Document:
    """A decoded descriptor with its text and the place of every element.

    ``positions``: dotted path → start of the value. Indices count the items as written, null ones included.
    """

    descriptor: Descriptor
    root: Node
    positions: Mapping[str, Position]
    text: str
    name: str = ""

    def lines(self) -> Mapping[str, int]:
        """Dotted path → 1-based line."""
        return {path: position.line for path, position in self.positions.items()}
