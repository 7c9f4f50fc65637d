"""Noticing that a folder changed: by looking again now and then, bounded in time and in what is looked at.

Polling works on every disk (network shares too) and holds no resource between looks. A look that fails is repeated;
one that keeps failing counts as "everything changed", so that whoever shows the folder asks it and sees why.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from pathlib import Path

from kitstudio.registry.reference import RegistryError
from kitstudio.registry.threads import Stop, in_thread

EVERY = 2.0
MAX_ENTRIES = 5000
MAX_DEPTH = 6
PATIENCE = 2
"""Failing looks in a row that are put down to somebody writing just now."""
RATIO = 20.0
"""A look may take one part in this many of the time."""

Look = Callable[[Stop], Mapping[str, Hashable]]
"""Names and the state each is in; equal states mean nothing happened. Runs in a worker thread."""
Pause = Callable[[float], Awaitable[None]]
Ready = Callable[[], None]


async def watch(
    look: Look, *, every: float = EVERY, pause: Pause = asyncio.sleep, ready: Ready | None = None
) -> AsyncIterator[str]:
    """Names whose state changed, appeared or went, for as long as somebody listens. ``ready`` is called after the first
    look: from then on nothing is missed."""
    known: Mapping[str, Hashable] | None = None
    failed = 0
    took = 0.0
    while True:
        if known is not None or failed:
            await pause(max(every, took * RATIO))
        begun = time.monotonic()
        try:
            found = await in_thread(look)
            failed = 0
        except RegistryError:
            failed += 1
            if failed <= PATIENCE or known == {}:
                continue
            found = {}
        took = time.monotonic() - begun
        if known is not None:
            for name in sorted({*known, *found}):
                if known.get(name) != found.get(name):
                    yield name
        elif ready is not None:
            ready()
        known = found


def file_stamp(path: Path) -> tuple[int, ...]:
    """What changes when a file is written or replaced; empty where there is none."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def tree_stamp(root: Path, stop: Stop) -> Hashable:
    """The stamps of a file, or of everything below a folder, within bounds; links are not followed."""
    if not root.is_dir():
        return file_stamp(root)
    found: list[tuple[str, int, int, int]] = []
    queue = [(str(root), 0)]
    while queue and len(found) < MAX_ENTRIES:
        stop.check()
        folder, depth = queue.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if entry.name in _PASSED_OVER:
                        continue
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.path, status.st_ino, status.st_size, status.st_mtime_ns))
                    if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
                        queue.append((entry.path, depth + 1))
                    if len(found) >= MAX_ENTRIES:
                        break
        except OSError:
            found.append((folder, 0, 0, 0))
    return tuple(found)


_PASSED_OVER = frozenset((".git", "node_modules", "__pycache__", ".venv"))
