"""Keeping the caches within the limits of the settings: least recently used first, in threads, one at a time.

Never removed: what a lock or a sandbox on this machine names and everything below it, what the open set holds, and
what was used a moment ago. Where it cannot be told what is in use, nothing is removed and the reason is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.registry import eviction
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.services.home import Home
from kitstudio.services.jobs import JobState, JobView
from kitstudio.services.settings import Settings
from kitstudio.services.topic import Topic

MIB = 1024 * 1024
KEYS = ("cache.blobs_limit", "cache.layers_limit")
MAX_RECORD = 16 * MIB
"""Bytes of a lock or launch record that is looked through for digests."""
SETTLE = 5.0
"""Seconds after the last reason to look before the caches are looked at."""

_DIGEST = re.compile(rb"sha256[:-][0-9a-f]{64}|sha384[:-][0-9a-f]{96}|sha512[:-][0-9a-f]{128}")
_STARTING = re.compile(rb'"state"\s*:\s*"starting"')


class InUseUnknown(KitStudioError):
    """It cannot be told what is in use."""


@dataclass(frozen=True, slots=True)
class Freed:
    """Bytes given back, by cache. ``over``: bytes beyond the limits that are needed all the same."""

    blobs: int = 0
    layers: int = 0
    over: int = 0


class CacheLimits:
    """``keep`` trims once; ``run`` trims whenever something may have grown, until cancelled; ``looked`` is told then.

    ``open_digests``: what is open in a window and in no lock yet.
    """

    def __init__(
        self,
        home: Home,
        settings: Settings,
        open_digests: Callable[[], Collection[str]] = frozenset,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.looked: Topic[None] = Topic()
        self.problem: KitStudioError | None = None
        self._home = home
        self._settings = settings
        self._open_digests = open_digests
        self._now = now
        self._due = asyncio.Event()

    def note_setting(self, key: str) -> None:
        """A limit may have changed."""
        if key in KEYS:
            self._due.set()

    def note_job(self, view: JobView) -> None:
        """Something ended that may have fetched layers."""
        if view.state is not JobState.RUNNING:
            self._due.set()

    async def run(self, settle: float = SETTLE) -> None:
        """Trim at once and after every reason to; a fault is kept in ``problem`` until a later look succeeds."""
        self._due.set()
        while True:
            await self._due.wait()
            await asyncio.sleep(settle)
            self._due.clear()
            try:
                await self.keep()
                self.problem = None
            except KitStudioError as error:
                self.problem = error
            self.looked.publish(None)

    async def keep(self) -> Freed:
        """Bring both caches within their limits. Raises ``KitStudioError`` where it cannot be told what is in use."""
        blobs, layers = (self._settings.number(key) * MIB for key in KEYS)
        if not blobs and not layers:
            return Freed()
        return await in_thread(self._keep, blobs, layers, frozenset(self._open_digests()))

    async def clear(self, cache: str) -> Freed:
        """Empty ``blobs`` or ``layers`` of everything that nothing on this machine needs."""
        opened = frozenset(self._open_digests())
        return await in_thread(self._clear, cache, opened)

    async def in_use(self) -> int:
        """Bytes of downloaded content that stay when the cache is cleared."""
        opened = frozenset(self._open_digests())

        def measured(stop: Stop) -> int:
            return eviction.usage(BlobStore(self._home.blobs), opened | _named(_records(self._home), stop)).needed

        return await in_thread(measured)

    def _clear(self, stop: Stop, cache: str, opened: frozenset[str]) -> Freed:
        store = BlobStore(self._home.blobs)
        pinned = opened | _named(_records(self._home), stop)
        if cache == "blobs":
            return Freed(blobs=eviction.trim(store, 0, pinned, stop=stop, now=self._now).freed)
        return Freed(layers=self._trim_layers(stop, 0, pinned | eviction.needed(store, pinned)))

    def _keep(self, stop: Stop, blobs: int, layers: int, opened: frozenset[str]) -> Freed:
        store = BlobStore(self._home.blobs)
        pinned = opened | _named(_records(self._home), stop)
        kept = eviction.needed(store, pinned)
        freed, over = 0, 0
        if blobs:
            trimmed = eviction.trim(store, blobs, pinned, stop=stop, now=self._now)
            freed, over = trimmed.freed, trimmed.over
        cleared = self._trim_layers(stop, layers, pinned | kept) if layers else 0
        return Freed(freed, cleared, over)

    def _trim_layers(self, stop: Stop, limit: int, kept: Collection[str]) -> int:
        """Converted layers: an image and its inventory go together. While a sandbox is being made none goes."""
        found = sorted(_conversions(self._home.layers), key=lambda row: row.used)
        left = sum(row.size for row in found)
        freed = 0
        for row in found:
            stop.check()
            if left <= limit or self._busy():
                break
            if row.digest in kept or row.used > self._now() - eviction.IN_USE:
                continue
            # The inventory first: a layer without one counts as not converted.
            for path in (row.image.with_suffix(".inventory"), row.image):
                path.unlink(missing_ok=True)
            left -= row.size
            freed += row.size
        return freed

    def _busy(self) -> bool:
        for folder in _folders(self._home.sandboxes):
            if folder.name.startswith(".new-") or _STARTING.search(_read(folder / "state.json")):
                return True
        return False


@dataclass(frozen=True, slots=True)
class _Conversion:
    image: Path
    digest: str
    size: int
    used: float


def _conversions(folder: Path) -> Iterator[_Conversion]:
    for image in folder.glob("*.sqfs"):
        with contextlib.suppress(FileNotFoundError):
            status = image.stat()
            inventory = image.with_suffix(".inventory")
            extra = inventory.stat().st_size if inventory.exists() else 0
            digest = image.name.partition(".")[0].replace("-", ":", 1)
            yield _Conversion(image, digest, status.st_size + extra, max(status.st_atime, status.st_mtime))


def _records(home: Home) -> Iterator[Path]:
    """Everything on this machine that names what must stay."""
    yield from home.locks.glob("*.json")
    for folder in _folders(home.sandboxes):
        yield from (folder / "lock.json", folder / "launch.json")


def _folders(root: Path) -> list[Path]:
    try:
        return [path for path in root.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unknown(root, error) from error


def _named(records: Iterator[Path], stop: Stop) -> frozenset[str]:
    """Every digest the records name, in whatever field: one too many keeps a little more."""
    found: set[str] = set()
    for path in records:
        stop.check()
        found.update(match.decode().replace("-", ":", 1) for match in _DIGEST.findall(_read(path)))
    return frozenset(found)


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_RECORD:
            raise InUseUnknown("The file is larger than such a record may be.", where=str(path))
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _unknown(path, error) from error


def _unknown(path: Path, error: OSError) -> InUseUnknown:
    return InUseUnknown(
        f"It cannot be told what is in use, so no cache is trimmed: {error.strerror or error}.",
        where=str(path),
        remedy="Check that the file is yours and can be read.",
    )
