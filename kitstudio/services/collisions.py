"""Files that two Kits of a set both ship (§9.5), found in the layers that are at hand.

A path that one Kit ships as anything but a folder belongs to that Kit alone; one and the same layer, and one and the
same link, are no collision. Layers that would have to be downloaded for it are left out, and said to be.
"""

from __future__ import annotations

import mmap
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from kitstudio.models import words
from kitstudio.models.artifact_tree import STAGED
from kitstudio.models.problems import Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.runtime.inventory import EntryType
from kitstudio.runtime.layer_blob import decompress
from kitstudio.runtime.layer_tar import read_entries
from kitstudio.runtime.layer_tree import Below, build_tree

SHOWN: Final = 5
LISTED: Final = 200
"""Paths named in the details."""
_KEPT: Final = 64
_STAGED: Final = STAGED.removeprefix("/") + "/"
_NOTHING: Final = Below(lambda path: None, lambda: ())


@dataclass(frozen=True, slots=True)
class Content:
    """What one layer ships: path → what it is. ``gone``: paths it takes away from below; ``opaque``: folders whose
    content from below it hides."""

    digest: str
    files: Mapping[str, str]
    gone: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Shipped:
    """One Kit with the layers that are at hand, lowest first. ``unread``: how many were not."""

    reference: str
    layers: tuple[tuple[str, Path, str], ...] = field(repr=False)
    """(digest, verified file, what the image config says it unpacks to)."""
    unread: int = 0


async def collisions(kits: Sequence[Shipped]) -> tuple[Problem, ...]:
    """One problem for each two Kits that ship the same files. Raises SandboxError for a layer that does not read."""
    return await in_thread(_collisions, kits)


def _collisions(stop: Stop, kits: Sequence[Shipped]) -> tuple[Problem, ...]:
    owners: dict[str, tuple[str, str, str]] = {}
    clashes: dict[tuple[str, str], list[str]] = {}
    for kit in kits:
        for path, (what, digest) in _shipped(kit, stop).items():
            owner = owners.get(path)
            if owner is None:
                owners[path] = (kit.reference, what, digest)
            elif not _agree(what, digest, owner):
                clashes.setdefault((owner[0], kit.reference), []).append(f"/{path}")
    return tuple(_problem(pair, sorted(paths)) for pair, paths in clashes.items())


def _agree(what: str, digest: str, owner: tuple[str, str, str]) -> bool:
    if digest == owner[2]:
        return True
    return what == owner[1] and (what == EntryType.DIRECTORY.value or what.startswith("link "))


def _problem(pair: tuple[str, str], paths: Sequence[str]) -> Problem:
    shown = ", ".join(words.exact(path) for path in paths[:SHOWN])
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    names = words.kit_names(pair)
    message = f"{names[pair[0]]} and {names[pair[1]]} ship the same files: {shown}{more}."
    remedies = tuple(Remedy(RemedyKind.REMOVE, f"Remove {names[kit]}", kit=kit) for kit in pair)
    told = "\n".join(map(words.exact, paths[:LISTED]))
    return Problem(ProblemKind.FILE_COLLISION, pair, paths[0], message, told, remedies)


def _shipped(kit: Shipped, stop: Stop) -> dict[str, tuple[str, str]]:
    """Path → what it is and the layer it comes from, once the Kit's own layers are stacked."""
    found: dict[str, tuple[str, str]] = {}
    for digest, path, diff_id in kit.layers:
        stop.check()
        layer = _content(digest, path, diff_id, stop.check)
        if layer.gone or layer.opaque:
            found = {place: kept for place, kept in found.items() if not _hidden(place, layer)}
        found.update({place: (what, digest) for place, what in layer.files.items()})
    return {place: kept for place, kept in found.items() if not place.startswith(_STAGED)}


def _hidden(place: str, layer: Content) -> bool:
    if place in layer.gone or ("" in layer.opaque):
        return True
    while "/" in place:
        place = place.rpartition("/")[0]
        if place in layer.gone or place in layer.opaque:
            return True
    return False


_contents: OrderedDict[str, Content] = OrderedDict()
_lock = Lock()


def _content(digest: str, path: Path, diff_id: str, step: Callable[[], None]) -> Content:
    with _lock:
        if digest in _contents:
            _contents.move_to_end(digest)
            return _contents[digest]
    with tempfile.TemporaryFile() as stream:
        decompress(path, stream, diff_id, lambda done, total: step())
        stream.flush()
        if not stream.tell():
            made = Content(digest, {})
        else:
            with mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as view:
                tree = build_tree(read_entries(view), _NOTHING)
                files = {
                    place: f"link {entry.link}" if entry.type is EntryType.SYMLINK else entry.type.value
                    for place, entry in tree.nodes.items()
                    if place and place not in tree.implied
                }
                made = Content(digest, files, frozenset(tree.whiteouts), frozenset(tree.opaque))
    with _lock:
        _contents[digest] = made
        while len(_contents) > _KEPT:
            _contents.popitem(last=False)
    return made
