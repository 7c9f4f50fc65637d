"""The files of an artifact's layers as the checks see them: one stacked tree, links followed with an end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kitstudio.models.capabilities.paths import clean

MOST_LINKS = 8
STAGED = "/usr/share/sandbox/kit"
"""Where every Kit stages its sources (§10): one folder each."""


class NodeType(StrEnum):
    """What an entry of a layer is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Node:
    """One path after all layers. ``target``: of a symbolic link. ``described``: a layer has an entry for it."""

    type: NodeType
    mode: int = 0o755
    uid: int = 0
    gid: int = 0
    target: str = ""
    described: bool = True


@dataclass(frozen=True, slots=True)
class Tree:
    """``nodes``: absolute cleaned path → node, hard links resolved to their file. ``texts``: the contents that were
    read (bounded); ``oversized``: those that were too large."""

    nodes: Mapping[str, Node]
    texts: Mapping[str, bytes] = field(default_factory=dict)
    oversized: frozenset[str] = frozenset()

    def resolve(self, path: str, limit: int = MOST_LINKS) -> str | None:
        """The path behind all links, in ancestors too; None when it leads nowhere."""
        done: list[str] = []
        left = [part for part in clean(path).split("/") if part]
        followed = 0
        while left:
            part = left.pop(0)
            if part == "..":
                done = done[:-1]
                continue
            place = "/" + "/".join([*done, part])
            node = self.nodes.get(place)
            if node is None:
                return None
            if node.type is NodeType.LINK:
                followed += 1
                if followed > limit:
                    return None
                if node.target.startswith("/"):
                    done = []
                left = [piece for piece in node.target.split("/") if piece not in ("", ".")] + left
                continue
            if left and node.type is not NodeType.FOLDER:
                return None
            done.append(part)
        return "/" + "/".join(done)

    def node(self, path: str) -> Node | None:
        """The entry behind all links."""
        place = self.resolve(path)
        if place is None:
            return None
        return self.nodes.get(place) if place != "/" else Node(NodeType.FOLDER)

    def text(self, path: str) -> bytes | None:
        """The content of a file behind all links; None when it is not there or was not read."""
        place = self.resolve(path)
        return self.texts.get(place) if place is not None else None

    def is_oversized(self, path: str) -> bool:
        """True when a file is there and was too large to read."""
        place = self.resolve(path)
        return place is not None and place in self.oversized

    def staged_roots(self) -> tuple[str, ...]:
        """The folders in which Kits staged their sources, sorted."""
        prefix = f"{STAGED}/"
        stems = {path[len(prefix) :].partition("/")[0] for path in self.nodes if path.startswith(prefix)}
        return tuple(f"{prefix}{stem}" for stem in sorted(stems) if stem)
