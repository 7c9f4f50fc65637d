"""What the home keeps only to be quick or to work offline: how big it is, how much it may be, and emptying it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.threads import in_thread
from kitstudio.services.cache_limits import CacheLimits
from kitstudio.services.home import Home

if TYPE_CHECKING:
    from kitstudio.registry.icons import Icons
    from kitstudio.registry.index import KitIndex


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache. ``size`` on disk; ``kept``: how much of it stays when it is cleared, as far as that is known;
    ``clearing``: what clearing means for a person; ``limit_key``: the setting that bounds it, empty where the bound
    is fixed and part of ``about``."""

    name: str
    title: str
    about: str
    clearing: str
    path: Path
    size: int
    kept: int = 0
    limit_key: str = ""
    problem: str = ""


class Caches:
    """The caches of one home. Everything is measured and removed in threads."""

    def __init__(
        self, home: Home, limits: CacheLimits, index: Callable[[], KitIndex], icons: Callable[[], Icons]
    ) -> None:
        self._home = home
        self._limits = limits
        self._index = index
        self._icons = icons

    async def _opened(self) -> None:
        """Load what speaks to the network and the database in a thread: it is slow to load."""
        await in_thread(lambda stop: (self._index(), self._icons()))

    async def measure(self) -> tuple[Cache, ...]:
        """Every cache with its size."""
        await self._opened()
        blobs, layers, index, icons = await asyncio.gather(
            in_thread(lambda stop: _size(self._home.blobs)),
            in_thread(lambda stop: _size(self._home.layers)),
            in_thread(lambda stop: self._index().size()),
            self._icons().size(),
        )
        kept, problem = 0, ""
        try:
            kept = await self._limits.in_use()
        except KitStudioError as error:
            problem = str(error)
        return (
            Cache(
                "blobs",
                "Downloaded Kits",
                "Manifests and layers, verified by digest, and the Kits imported from this computer.",
                "What your locks, your sandboxes and the set that is open need stays, and so do imported Kits and what "
                "was used in the last ten minutes. Everything else is downloaded again when it is needed; offline it "
                "is not there.",
                self._home.blobs,
                blobs,
                kept,
                "cache.blobs_limit",
                problem,
            ),
            Cache(
                "layers",
                "Converted layers",
                "Read-only images made from downloaded layers.",
                "What your locks and sandboxes use stays. The rest is made again when a set is launched, which takes "
                "longer then.",
                self._home.layers,
                layers,
                limit_key="cache.layers_limit",
                problem=problem,
            ),
            Cache(
                "index",
                "Index of Kits",
                "What searching and the offline catalog know of Kits seen; at most 512 MiB.",
                "Kits that were not listed since the start are no longer found, and not shown offline, until their "
                "source is opened again.",
                self._home.cache / "kits.db",
                index,
            ),
            Cache(
                "icons",
                "Icons",
                "Pictures of Kits from sources you trust; at most 64 MiB.",
                "They are fetched again when they are shown; their hosts see that request.",
                self._home.icons,
                icons,
            ),
        )

    async def clear(self, name: str) -> int:
        """Empty the cache of that name as far as nothing needs it; bytes given back."""
        await self._opened()
        if name in ("blobs", "layers"):
            freed = await self._limits.clear(name)
            return freed.blobs + freed.layers
        if name == "index":
            index = self._index()
            before = await in_thread(lambda stop: index.size())
            await in_thread(lambda stop: index.clear())
            return max(0, before - await in_thread(lambda stop: index.size()))
        if name == "icons":
            icons = self._icons()
            before = await icons.size()
            await icons.clear()
            return before - await icons.size()
        raise KitStudioError("There is no such cache.", where=name, remedy="There are: blobs, layers, index, icons.")


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total
