"""Keeping the blob store within a size: what was not used for longest goes first.

Never removed: what a pinned digest needs (an approved lock's Kits), what the store's own ``index.json`` names (Kits
imported on this machine), everything below those, and what was used a moment ago, since somebody may be reading it.
Where it cannot be told what is needed, nothing is removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.manifest import MAX_METADATA
from kitstudio.registry.reference import RegistryError, is_digest
from kitstudio.registry.threads import Stop

IN_USE = 600.0
"""Seconds after its last use in which a blob is left alone."""
MAX_INDEX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes of the store. ``needed``: those that stay whatever the limit says."""

    total: int
    needed: int
    blobs: int


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What a trim did. ``left``: bytes still there; ``over``: how many of them are beyond the limit, all needed."""

    removed: int
    freed: int
    left: int
    over: int = 0


@dataclass(frozen=True, slots=True)
class _Blob:
    path: Path
    digest: str
    size: int
    used: float


def usage(store: BlobStore, pinned: Collection[str] = ()) -> Usage:
    """How much the store holds and how much of it is needed. Blocking."""
    blobs = list(_blobs(store))
    needed = _needed(store, pinned, Stop())
    return Usage(sum(b.size for b in blobs), sum(b.size for b in blobs if b.digest in needed), len(blobs))


def needed(store: BlobStore, pinned: Collection[str]) -> frozenset[str]:
    """Pinned digests, what the store's own list names, and everything below. Blocking."""
    return frozenset(_needed(store, pinned, Stop()))


def trim(
    store: BlobStore,
    limit: int,
    pinned: Collection[str],
    *,
    stop: Stop | None = None,
    now: Callable[[], float] = time.time,
) -> Trimmed:
    """Remove until at most ``limit`` bytes are left (0: everything not needed). Blocking; one process at a time."""
    stop = stop or Stop()
    with _alone(store):
        needed = _needed(store, pinned, stop)
        blobs = sorted(_blobs(store), key=lambda blob: blob.used)
        left = sum(blob.size for blob in blobs)
        removed = freed = 0
        for blob in blobs:
            if left <= limit:
                break
            stop.check()
            if blob.digest in needed or blob.used > now() - IN_USE:
                continue
            with contextlib.suppress(FileNotFoundError):
                _remove(blob.path)
                removed += 1
                freed += blob.size
            left -= blob.size
        return Trimmed(removed, freed, left, max(0, left - limit))


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RegistryError(
            f"The store cannot be emptied: {error.strerror}.", where=str(path), remedy="Check that it is yours."
        ) from error


def _blobs(store: BlobStore) -> Iterator[_Blob]:
    root = store.root / "blobs"
    for folder in root.iterdir() if root.is_dir() else ():
        for path in folder.iterdir() if folder.is_dir() else ():
            digest = f"{folder.name}:{path.name}"
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                if is_digest(digest):
                    yield _Blob(path, digest, status.st_size, max(status.st_atime, status.st_mtime))


def _needed(store: BlobStore, pinned: Collection[str], stop: Stop) -> set[str]:
    """The roots and everything their manifests name."""
    found: set[str] = set()
    queue = [digest for digest in pinned if is_digest(digest)]
    queue += _named(_index(store))
    while queue:
        stop.check()
        digest = queue.pop()
        if digest not in found:
            found.add(digest)
            queue += _named(_document(store, digest))
    return found


def _index(store: BlobStore) -> Any:
    path = store.root / "index.json"
    try:
        if path.stat().st_size > MAX_INDEX:
            raise ValueError
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise RegistryError(
            "The store's list of Kits cannot be read, so nothing is removed from it.",
            where=str(path),
            remedy="Clear the whole cache folder by hand if you do not need the Kits imported into it.",
        ) from error


def _document(store: BlobStore, digest: str) -> Any:
    """A blob as JSON, if it may be a manifest."""
    path = store.path(digest)
    try:
        if path.stat().st_size > MAX_METADATA:
            return None
        with open(path, "rb", opener=_quietly) as file:
            head = file.read(64)
            return json.loads(head + file.read()) if head.lstrip()[:1] == b"{" else None
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        return None
    except OSError as error:
        raise RegistryError(
            f"A blob cannot be read, so nothing is removed: {error.strerror}.", where=str(path)
        ) from error


def _quietly(path: str, flags: int) -> int:
    """Open without counting as a use: looking for what is needed must not make everything look needed."""
    try:
        return os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        return os.open(path, flags)


def _named(document: Any) -> list[str]:
    """Every digest a manifest or index names."""
    if not isinstance(document, dict):
        return []
    rows: list[Any] = [document.get("config"), document.get("subject")]
    for key in ("manifests", "layers"):
        listed = document.get(key)
        rows += listed if isinstance(listed, list) else []
    digests = (row.get("digest") for row in rows if isinstance(row, dict))
    return [digest for digest in digests if isinstance(digest, str) and is_digest(digest)]


@contextlib.contextmanager
def _alone(store: BlobStore) -> Iterator[None]:
    if not store.root.is_dir():
        yield
        return
    try:
        with (store.root / ".trim").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise RegistryError(f"The store cannot be emptied: {error.strerror}.", where=str(store.root)) from error
