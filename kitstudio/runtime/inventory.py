"""What a converted layer holds, entry by entry, and what a stack of layers shows: overlay semantics without mounting.

An inventory is a text file: one JSON header line, then one JSON array a line, sorted by path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


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
    """A layer's entries by path. ``files``: contents of ``etc/passwd`` and ``etc/group`` when the layer has them."""

    digest: str
    entries: Mapping[str, InventoryEntry]
    files: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Inventory:
        """Read an inventory file; ``SandboxError`` when it is not one."""
        raise NotImplementedError


def lookup(stack: Sequence[Inventory], path: str) -> InventoryEntry | None:
    """The entry ``path`` shows in a stack of layers (lowest first), or None: whiteouts and opaque folders hide."""
    raise NotImplementedError


def read_small_file(stack: Sequence[Inventory], path: str) -> bytes | None:
    """``etc/passwd`` or ``etc/group`` as the stack shows it (at most 1 MiB), None where there is none."""
    raise NotImplementedError
