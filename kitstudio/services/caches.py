"""What the home keeps only to be quick, how big it is, and emptying it."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.services.home import Home


@dataclass(frozen=True, slots=True)
class Cache:
    """One folder. ``clearable``: everything in it can be made again on this machine."""

    name: str
    title: str
    about: str
    path: Path
    size: int
    clearable: bool


async def measure(home: Home) -> tuple[Cache, ...]:
    """Every cache with its size on disk."""
    return await asyncio.to_thread(_measure, home)


async def clear_layers(home: Home) -> None:
    """Empty the converted layers. The caller makes sure that no sandbox uses them."""
    await asyncio.to_thread(_empty, home.layers)


def _measure(home: Home) -> tuple[Cache, ...]:
    return (
        Cache(
            "layers",
            "Converted layers",
            "Read-only images made from downloaded layers; made again when a set is launched.",
            home.layers,
            _size(home.layers),
            True,
        ),
        Cache(
            "blobs",
            "Manifests, layers and imported Kits",
            "Verified by digest. Holds Kits imported from this computer, so it is kept.",
            home.blobs,
            _size(home.blobs),
            False,
        ),
    )


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total


def _empty(folder: Path) -> None:
    try:
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
    except OSError as error:
        raise KitStudioError(
            f"The cache could not be emptied: {error.strerror or error}.",
            where=str(folder),
            remedy="Check that the folder is yours and that no other Kit Studio is launching a set.",
        ) from error
