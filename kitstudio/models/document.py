"""The positioned tree of one descriptor text (§1.2, §11): what decoding reads and diagnostics point into."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol, TypeAlias

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import DescriptorError

_LONGEST_PATHS: Final = 16 * 1024 * 1024
_Path: TypeAlias = "tuple[()] | tuple[_Path, str | int]"
"""A path as links to its parts: joined only where it is needed."""

LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What ends a line where positions are counted."""


class NodeKind(IntEnum):
    """What a node of the tree is."""

    SCALAR = 0
    SEQUENCE = 1
    MAPPING = 2
    ALIAS = 3


class Mark(Protocol):
    """A place in the text, counted from 0: what the scanner hands out."""

    index: int
    line: int
    column: int


class Node:
    """One element of the first document: a scalar, and what ``Collection`` and ``Alias`` have in common with one.

    ``text``: a scalar's text, or an alias's anchor. ``children``: items, or keys and values in turn. ``merges``: false
    for a mapping without a merge key. ``target``: the node an alias stands for. ``line`` and ``column`` count from 1,
    ``start`` and ``end`` are character offsets. Written out instead of dataclasses: a descriptor has thousands, and
    making them is what decoding spends its time on.
    """

    __slots__ = ("end_mark", "kind", "start_mark", "style", "tag", "text")

    children: Sequence[Node] = ()
    flow: bool = False
    merges: bool = False
    target: Node | None = None

    def __init__(self, kind: NodeKind, start: Mark, end: Mark | None, tag: str, text: str, style: str) -> None:
        self.kind = kind
        self.start_mark = start
        self.end_mark = end
        self.tag = tag
        self.text = text
        self.style = style

    @property
    def line(self) -> int:
        return self.start_mark.line + 1

    @property
    def column(self) -> int:
        return self.start_mark.column + 1

    @property
    def start(self) -> int:
        return self.start_mark.index

    @property
    def end(self) -> int:
        """Where the element ends; where it starts while it is still being read."""
        return (self.end_mark or self.start_mark).index

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


class Collection(Node):
    """A sequence or a mapping. ``end_mark`` is None while it is being read."""

    __slots__ = ("children", "flow", "merges")

    def __init__(self, kind: NodeKind, start: Mark, tag: str, children: Sequence[Node], *, flow: bool) -> None:
        super().__init__(kind, start, None, tag, "", "")
        self.children = children
        self.flow = flow
        self.merges = False


class Alias(Node):
    """A place where another node stands a second time."""

    __slots__ = ("target",)

    def __init__(self, start: Mark, end: Mark, anchor: str, target: Node | None) -> None:
        super().__init__(NodeKind.ALIAS, start, end, "", anchor, "")
        self.target = target


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


class Document:
    """A decoded descriptor with its text and, worked out when asked for, the tree and the place of every element.

    Immutable by agreement. ``root`` may be a function that makes it: most descriptors are read without anyone asking
    where something stands.
    """

    __slots__ = ("_positions", "_root", "descriptor", "name", "text")

    def __init__(self, descriptor: Descriptor, root: Node | Callable[[], Node], text: str, name: str = "") -> None:
        self.descriptor = descriptor
        self.text = text
        self.name = name
        self._root = root
        self._positions: Positions | None = None

    @property
    def root(self) -> Node:
        """The tree of the text."""
        if not isinstance(self._root, Node):
            self._root = self._root()
        return self._root

    @property
    def positions(self) -> Positions:
        """Dotted path → start of the value. Indices count the items as written, null ones included."""
        if self._positions is None:
            self._positions = positions(self.root)
        return self._positions

    def lines(self) -> Mapping[str, int]:
        """Dotted path → 1-based line."""
        return {path: position.line for path, position in self.positions.items()}


class Positions(Mapping[str, Position]):
    """Dotted path → position, made out of the node when it is looked up."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes

    def __getitem__(self, path: str) -> Position:
        node = self._nodes[path]
        return Position(node.line, node.column)

    def node(self, path: str) -> Node:
        """The element itself."""
        return self._nodes[path]

    def __contains__(self, path: object) -> bool:
        return path in self._nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def positions(root: Node) -> Positions:
    """Dotted path → start of the value. Aliases are not entered; a merge key is a segment ``<<`` (§11).

    A hostile document can have paths far longer than itself: beyond a budget, elements go without, and a look-up
    falls back to what contains them.
    """
    found = {"": root}
    waiting: list[tuple[str, Node]] = [("", root)]
    budget = _LONGEST_PATHS
    while waiting:
        path, node = waiting.pop()
        children = node.children
        budget -= (len(path) + 8) * len(children)
        if budget < 0:
            continue
        if node.kind is NodeKind.MAPPING:
            prefix = path + "." if path else ""
            walk = iter(children)
            for key, child in zip(walk, walk, strict=True):
                below = prefix + (key if key.target is None else key.target).text
                found[below] = child
                if child.children:
                    waiting.append((below, child))
        else:
            for index, child in enumerate(children):
                below = f"{path}[{index}]"
                found[below] = child
                if child.children:
                    waiting.append((below, child))
    return Positions(found)


def holders(root: Node, found_in: Callable[[str], Iterable[str]]) -> dict[str, list[str]]:
    """What ``found_in`` finds in each scalar and key → their paths, in document order; a key has its value's path.

    Beyond a budget of characters, paths are left empty: the document as a whole.
    """
    found: dict[str, list[str]] = {}
    budget = _LONGEST_PATHS
    waiting: list[tuple[_Path, Node]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        if node.kind is NodeKind.SCALAR:
            if "${{" in node.text:
                for name in dict.fromkeys(found_in(node.text)):
                    place = _joined(path) if budget > 0 else ""
                    budget -= len(place)
                    found.setdefault(name, []).append(place)
        elif node.kind is NodeKind.SEQUENCE:
            count = len(node.children)
            waiting.extend(((path, i), node.children[i]) for i in range(count - 1, -1, -1))
        elif node.kind is NodeKind.MAPPING:
            for index in range(len(node.children) - 2, -1, -2):
                key, value = node.children[index], node.children[index + 1]
                below = (path, key.resolved().text)
                waiting.append((below, value))
                waiting.append((below, key))
    return found


def _joined(path: _Path) -> str:
    segments: list[str | int] = []
    while path:
        path, segment = path
        segments.append(segment)
    text = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in reversed(segments))
    return text.removeprefix(".")
