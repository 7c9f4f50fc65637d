"""The files of a published Kit, for the checks on its artifact: its layers stacked as a sandbox would see them (§10).

Layers are read with the runtime's own reader, one at a time, twice at most: names first, then the few contents the
checks ask for.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kitstudio.models.artifact_tree import Node, NodeType, Tree
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.inventory import EntryType
from kitstudio.runtime.layer_blob import decompress
from kitstudio.runtime.layer_tar import TarEntry, read_entries
from kitstudio.runtime.layer_tree import Below, LayerTree, build_tree

LARGEST_TEXT: Final = 16 << 20
_TEXTS: Final = ("/etc/passwd", "/etc/group", "/var/lib/dpkg/status", "/lib/apk/db/installed")
_NODE_TYPES: Final = {
    EntryType.FILE: NodeType.FILE,
    EntryType.DIRECTORY: NodeType.FOLDER,
    EntryType.SYMLINK: NodeType.LINK,
}
_NOTHING: Final = Below(lambda path: None, lambda: ())


@dataclass(frozen=True, slots=True)
class LayerFile:
    """One layer as a verified file. ``diff_id``: what the image config says it unpacks to, empty if it does not."""

    path: Path
    diff_id: str = ""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A node, and where the content of a file lies: the layer's number, and the place in its archive."""

    node: Node
    layer: int
    offset: int = 0
    size: int = 0


def read_tree(layers: Sequence[LayerFile], step: Callable[[], None] = lambda: None) -> Tree:
    """The stacked tree of some layers, lowest first. ``step`` is called often and may raise to stop.

    Raises SandboxError for a layer that does not read, or is beyond a bound.
    """
    stacked: dict[str, _Placed] = {"/": _Placed(Node(NodeType.FOLDER, described=False), 0)}
    for number, layer in enumerate(layers):
        with _archive(layer, step) as tar:
            stacked = _stacked(stacked, build_tree(_stepped(read_entries(tar), step), _NOTHING), number)
    del stacked["/"]
    tree = Tree({path: placed.node for path, placed in stacked.items()})
    wanted: dict[str, _Placed] = {}
    for path in (*_TEXTS, *(f"{root}/kit.yaml" for root in tree.staged_roots())):
        place = tree.resolve(path)
        if place in stacked and stacked[place].node.type is NodeType.FILE:
            wanted[place] = stacked[place]
    oversized = frozenset(path for path, placed in wanted.items() if placed.size > LARGEST_TEXT)
    texts: dict[str, bytes] = {}
    for number, layer in enumerate(layers):
        here = {path: w for path, w in wanted.items() if w.layer == number and path not in oversized}
        if here:
            with _archive(layer, step) as tar:
                texts |= {path: bytes(tar[w.offset : w.offset + w.size]) for path, w in here.items()}
    return replace(tree, texts=texts, oversized=oversized)


def _stacked(lower: dict[str, _Placed], layer: LayerTree, number: int) -> dict[str, _Placed]:
    gone = {f"/{path}" for path in layer.whiteouts}
    opaque = {f"/{path}" for path in layer.opaque}
    upper = {f"/{path}": _placed(layer, path, entry, number) for path, entry in layer.nodes.items()}
    gone |= {path for path, placed in upper.items() if placed.node.type is not NodeType.FOLDER}
    found = {path: placed for path, placed in lower.items() if not _is_covered(path, gone, opaque)}
    for path, placed in upper.items():
        below = lower.get(path)
        if placed.node.described or below is None:
            found[path] = placed
        elif below.node.type is not NodeType.FOLDER:
            # A folder the unpacker makes over something else is root's.
            found[path] = replace(placed, node=replace(placed.node, described=True))
        else:
            found[path] = below
    return found


def _placed(layer: LayerTree, path: str, entry: TarEntry, number: int) -> _Placed:
    source = layer.sources.get(path, entry)
    kind = _NODE_TYPES.get(source.type, NodeType.OTHER)
    target = source.link if kind is NodeType.LINK else ""
    node = Node(kind, source.mode & 0o7777, source.uid, source.gid, target, path not in layer.implied)
    return _Placed(node, number, source.offset, source.size)


def _is_covered(path: str, gone: set[str], opaque: set[str]) -> bool:
    if path in gone:
        return True
    while path := path.rpartition("/")[0]:
        if path in gone or path in opaque:
            return True
    return False


@contextmanager
def _archive(layer: LayerFile, step: Callable[[], None]) -> Iterator[memoryview]:
    with tempfile.TemporaryFile() as stream:
        decompress(layer.path, stream, layer.diff_id, lambda done, total: step())
        stream.flush()
        if stream.tell() == 0:
            raise SandboxError("The layer is empty: not even a tar archive.")
        with mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as view:
            yield view


def _stepped(entries: Iterator[TarEntry], step: Callable[[], None]) -> Iterator[TarEntry]:
    for number, entry in enumerate(entries):
        if number % 256 == 0:
            step()
        yield entry
