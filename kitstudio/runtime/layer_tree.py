"""What a layer means: its entries replayed into one tree, with OCI whiteouts turned into overlay form.

Later entries replace earlier ones, as unpacking would. Whiteouts speak of the layers below only. A folder that holds
entries but is not listed is *implied* and keeps the mode and owner it has below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.inventory import EntryType
from kitstudio.runtime.layer_tar import MAX_ENTRIES, TarEntry

_PREFIX = ".wh."
_OPAQUE = ".wh..wh..opq"
_MAX_REPLACED_FOLDERS = 100


@dataclass(frozen=True, slots=True)
class Below:
    """What the layers beneath show: ``folder(path)`` gives (mode, uid, gid) or None; ``top`` the root's names."""

    folder: Callable[[str], tuple[int, int, int] | None]
    top: Callable[[], Sequence[str]]


@dataclass(slots=True)
class LayerTree:
    """A layer ready to be written. ``borrowed``: what implied folders took from below; ``hidden``: root names hidden
    because the root is opaque. ``sources``: the file a hard link stands for, as it was when the link was made."""

    nodes: dict[str, TarEntry] = field(default_factory=dict)
    sources: dict[str, TarEntry] = field(default_factory=dict)
    whiteouts: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)
    implied: set[str] = field(default_factory=set)
    borrowed: dict[str, tuple[int, int, int] | None] = field(default_factory=dict)
    hidden: tuple[str, ...] | None = None


def build_tree(entries: Iterable[TarEntry], below: Below) -> LayerTree:
    """Replay the entries; ``SandboxError`` naming what cannot be meant."""
    tree = LayerTree()
    replaced_folders = 0
    for entry in entries:
        folder, _, name = entry.path.rpartition("/")
        if name.startswith(_PREFIX):
            _note_whiteout(tree, folder, name)
            continue
        if not entry.path and entry.type is not EntryType.DIRECTORY:
            raise SandboxError("The layer's root is not a folder.")
        _refuse_inside_files(tree, entry.path)
        before = tree.nodes.get(entry.path)
        if entry.type is EntryType.HARDLINK:
            tree.sources[entry.path] = _link_source(tree, entry)
        else:
            tree.sources.pop(entry.path, None)
        if entry.type is not EntryType.DIRECTORY and (
            (before and before.type is EntryType.DIRECTORY) or entry.path in tree.implied
        ):
            replaced_folders += 1
            if replaced_folders > _MAX_REPLACED_FOLDERS:
                raise SandboxError("The layer replaces folders by files too often to be meant.")
            _remove_inside(tree, entry.path)
        tree.nodes[entry.path] = entry
        tree.implied.discard(entry.path)
        for parent in _parents(entry.path):
            if parent in tree.nodes or parent in tree.implied:
                break
            tree.implied.add(parent)
        if len(tree.implied) > MAX_ENTRIES:
            raise SandboxError(f"The layer has more than {MAX_ENTRIES} folders.")
    _settle(tree, below)
    return tree


def _note_whiteout(tree: LayerTree, folder: str, name: str) -> None:
    if name == _OPAQUE:
        tree.opaque.add(folder)
        return
    if name.startswith(_PREFIX + _PREFIX):
        return  # bookkeeping of an old storage driver
    hidden = name.removeprefix(_PREFIX)
    if hidden in ("", ".", ".."):
        raise SandboxError(f"The layer has a whiteout that names nothing: {f'{folder}/{name}'!a}.")
    tree.whiteouts.add(f"{folder}/{hidden}" if folder else hidden)


def _refuse_inside_files(tree: LayerTree, path: str) -> None:
    for parent in _parents(path):
        found = tree.nodes.get(parent)
        if found is not None:
            if found.type is not EntryType.DIRECTORY:
                raise SandboxError(f"The layer puts {path!a} inside {parent!a}, which is not a folder.")
            return
        if parent in tree.implied:
            return


def _link_source(tree: LayerTree, entry: TarEntry) -> TarEntry:
    target = tree.nodes.get(entry.link)
    if target is not None and target.type is EntryType.HARDLINK:
        return tree.sources[entry.link]
    if target is None or target.type is EntryType.DIRECTORY:
        raise SandboxError(
            f"The layer has a hard link {entry.path!a} to {entry.link!a}, which is not a file before it."
        )
    return target


def _remove_inside(tree: LayerTree, path: str) -> None:
    inside = path + "/"
    for name in [name for name in tree.nodes if name.startswith(inside)]:
        del tree.nodes[name]
        tree.sources.pop(name, None)
    tree.implied = {name for name in tree.implied if name != path and not name.startswith(inside)}


def _settle(tree: LayerTree, below: Below) -> None:
    """Whiteouts and opaque marks against what the layer itself holds, implied folders, and the root."""
    for folder in tree.opaque:
        _refuse_inside_files(tree, f"{folder}/{_OPAQUE}" if folder else _OPAQUE)
        _imply(tree, folder)
    for path in sorted(tree.whiteouts):
        _refuse_inside_files(tree, path)
        for parent in _parents(path):
            _imply(tree, parent)
    for path in sorted(tree.whiteouts):
        own = tree.nodes.get(path)
        if path in tree.implied or (own and own.type is EntryType.DIRECTORY):
            tree.opaque.add(path)
        if own or path in tree.implied:
            tree.whiteouts.discard(path)
    _imply(tree, "")
    if "" in tree.opaque:
        # an overlay does not ask its layers' roots whether they are opaque: hide each name instead
        tree.opaque.discard("")
        tree.hidden = tuple(sorted(below.top()))
        for name in tree.hidden:
            own = tree.nodes.get(name)
            if name in tree.implied or (own and own.type is EntryType.DIRECTORY):
                tree.opaque.add(name)
            elif not own:
                tree.whiteouts.add(name)
    for path in sorted(tree.implied):
        found = tree.borrowed[path] = below.folder(path)
        mode, uid, gid = found or (0o755, 0, 0)
        tree.nodes[path] = TarEntry(path, EntryType.DIRECTORY, mode, uid, gid)


def _imply(tree: LayerTree, path: str) -> None:
    for name in (path, *_parents(path)):
        if name in tree.nodes or name in tree.implied:
            return  # and so are the folders it is in
        tree.implied.add(name)


def _parents(path: str) -> Iterator[str]:
    """Nearest first, the root last; nothing for the root itself."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def emission_order(tree: LayerTree) -> Iterator[TarEntry]:
    """What the squashfs shall hold, each folder before its contents, each link after what it links to."""
    names = sorted(tree.nodes)
    for name in names:
        if tree.nodes[name].type is EntryType.DIRECTORY:
            yield tree.nodes[name]
    for path in sorted(tree.whiteouts):
        yield TarEntry(path, EntryType.WHITEOUT, 0, 0, 0)
    written: dict[int, str] = {}
    others = [tree.nodes[name] for name in names if tree.nodes[name].type is not EntryType.DIRECTORY]
    for entry in sorted(others, key=lambda entry: entry.offset):
        if entry.type is not EntryType.HARDLINK:
            written[id(entry)] = entry.path
            yield entry
    for entry in others:
        if entry.type is EntryType.HARDLINK:
            source = tree.sources[entry.path]
            if id(source) in written:
                yield replace(source, path=entry.path, type=EntryType.HARDLINK, link=written[id(source)])
            else:  # the name it was linked to holds something else by now
                copy = replace(source, path=entry.path)
                written[id(source)] = entry.path
                yield copy


def same_borrowings(
    borrowed: Mapping[str, tuple[int, int, int] | None], hidden: Sequence[str] | None, below: Below
) -> bool:
    """Whether a conversion made over other layers would come out the same over these."""
    if hidden is not None and tuple(hidden) != tuple(sorted(below.top())):
        return False
    return all(below.folder(path) == found for path, found in borrowed.items())
