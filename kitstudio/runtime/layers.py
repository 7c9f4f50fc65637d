"""Layers, made ready for a machine: each becomes one read-only squashfs and one inventory, cached by digest.

Nothing is ever unpacked on the host: the tar is read, judged and re-written entry by entry (``layer_tar``) into a
pipe to ``tar2sqfs``. A cached layer is complete or absent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kitstudio.runtime.backend import ImageLayer


@dataclass(frozen=True, slots=True)
class ConvertedLayer:
    """One layer ready to attach. ``path``: the squashfs; ``inventory``: see ``inventory.Inventory.load``."""

    path: Path
    inventory: Path
    digest: str


class LayerCache:
    """Converted layers in one folder, shared by every sandbox and every process of this user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def ensure(
        self,
        layer: ImageLayer,
        blob: Path,
        below: Sequence[Path] = (),
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> ConvertedLayer:
        """The converted form of ``layer``; ``blob`` holds its compressed bytes, already verified.

        ``below``: inventories of the layers beneath, lowest first: a folder this layer does not list keeps the mode
        and owner they give it. ``progress(done, total)`` in compressed bytes.
        """
        raise NotImplementedError
