"""What a converted layer holds, entry by entry, and what a stack of layers shows: overlay semantics without mounting.

An inventory is a text file: one JSON header line, then one JSON array a line, sorted by path.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from kitstudio.runtime.backend import SandboxError

FORMAT = 1
KEPT_FILES = ("etc/passwd", "etc/group")
KEPT_LIMIT = 1 << 20


class EntryType(StrEnum):
    """Kinds of entries; the letters of the inventory file."""

    FILE = "f"
    DIRECTORY = "d"
    SYMLINK = "l"
    HARDLINK = "h"
    CHARACTER = "c"
    BLOCK = "b"
    FIFO = "p"
    WHITEOUT = "w"


@dataclass(frozen=True, slots=True)
class InventoryEntry:
    """One path (no leading slash; ``""`` is the root). ``target`` of links; ``opaque``: hides what lies beneath.

    ``implied``: a folder the layer does not list, present only because something inside it is.
    """

    path: str
    type: EntryType
    mode: int
    uid: int
    gid: int
    size: int = 0
    target: str = ""
    opaque: bool = False
    implied: bool = False


@dataclass(frozen=True, slots=True)
class Inventory:
    """A layer's entries by path. ``files``: contents of ``etc/passwd`` and ``etc/group`` when the layer has them.

    ``borrowed``, ``hidden``: what the conversion took from the layers below (see ``layer_tree``).
    ``image_size``: bytes of the squashfs it was written beside.
    """

    digest: str
    entries: Mapping[str, InventoryEntry]
    files: Mapping[str, bytes] = field(default_factory=dict)
    borrowed: Mapping[str, tuple[int, int, int] | None] = field(default_factory=dict)
    hidden: tuple[str, ...] | None = None
    image_size: int = 0

    @classmethod
    def load(cls, path: Path) -> Inventory:
        """Read an inventory file; ``SandboxError`` when it is not one."""
        try:
            with path.open(encoding="ascii") as stream:
                header = _header(stream.readline())
                entries = (_entry(json.loads(line)) for line in stream)
                return replace(header, entries={entry.path: entry for entry in entries})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SandboxError(
                f"A converted layer's inventory cannot be read: {error}.",
                where=str(path),
                remedy="Delete it: it is made again at the next launch.",
            ) from error

    @classmethod
    def load_header(cls, path: Path) -> Inventory:
        """Only the header: the entries are left out."""
        try:
            with path.open(encoding="ascii") as stream:
                return _header(stream.readline())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SandboxError(f"A converted layer's inventory cannot be read: {error}.", where=str(path)) from error

    def lines(self) -> Iterator[str]:
        """The lines of the inventory file."""
        yield json.dumps(
            {
                "inventory": FORMAT,
                "digest": self.digest,
                "image_size": self.image_size,
                "borrowed": dict(self.borrowed),
                "hidden": self.hidden,
                "files": {name: base64.b64encode(content).decode() for name, content in self.files.items()},
            }
        )
        for path in sorted(self.entries):
            e = self.entries[path]
            flags = int(e.opaque) + 2 * int(e.implied)
            yield json.dumps([e.path, e.type.value, e.mode, e.uid, e.gid, e.size, e.target, flags])


def lookup(stack: Sequence[Inventory], path: str) -> InventoryEntry | None:
    """The entry ``path`` shows in a stack of layers (lowest first), or None: whiteouts and opaque folders hide.

    Links are not followed.
    """
    merged = list(reversed(stack))
    found = _in_folder(merged, "")
    parts = path.split("/") if path else []
    for number in range(1, len(parts) + 1):
        if found is None or found.type is not EntryType.DIRECTORY:
            return None
        found = _in_folder(merged, "/".join(parts[:number]))
    return found


def top_names(stack: Sequence[Inventory]) -> tuple[str, ...]:
    """The names a stack shows in its root."""
    names = {path for inventory in stack for path in inventory.entries if path and "/" not in path}
    return tuple(sorted(name for name in names if lookup(stack, name) is not None))


def read_small_file(stack: Sequence[Inventory], path: str) -> bytes | None:
    """``etc/passwd`` or ``etc/group`` as the stack shows it (at most 1 MiB), None where there is no plain file."""
    found = lookup(stack, path)
    if found is None or found.type not in (EntryType.FILE, EntryType.HARDLINK):
        return None
    for inventory in reversed(stack):
        if path in inventory.entries:
            return inventory.files.get(path)
    return None


def _in_folder(merged: list[Inventory], path: str) -> InventoryEntry | None:
    """What ``path`` is in the layers that make up its folder (topmost first); narrows them to its own."""
    found: InventoryEntry | None = None
    layers = []
    for inventory in merged:
        entry = inventory.entries.get(path)
        if entry is None:
            continue
        if entry.type is EntryType.WHITEOUT:
            break
        if entry.type is not EntryType.DIRECTORY:
            if found is None:
                found = entry
            break
        found = found or entry
        layers.append(inventory)
        if entry.opaque:
            break
    merged[:] = layers
    return found


def _header(line: str) -> Inventory:
    header = json.loads(line)
    if header["inventory"] != FORMAT:
        raise ValueError("another format")
    hidden = header["hidden"]
    return Inventory(
        digest=str(header["digest"]),
        entries={},
        files={name: base64.b64decode(text) for name, text in header["files"].items()},
        borrowed={
            path: (found[0], found[1], found[2]) if found else None for path, found in header["borrowed"].items()
        },
        hidden=None if hidden is None else tuple(hidden),
        image_size=int(header["image_size"]),
    )


def _entry(values: list[object]) -> InventoryEntry:
    path, kind, *numbers, target, flags = values
    mode, uid, gid, size = (number for number in numbers if isinstance(number, int))
    if not isinstance(path, str) or not isinstance(target, str) or not isinstance(flags, int):
        raise ValueError("a broken line")
    return InventoryEntry(path, EntryType(str(kind)), mode, uid, gid, size, target, bool(flags & 1), bool(flags & 2))
