"""One call at a time where the host's side is stated for one sandbox: settings are the whole home's."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def turn(folder: Path) -> AsyncIterator[None]:
    """Held across processes; the kernel gives it back when its holder dies."""
    handle = os.open(folder / "turn.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(0.1)  # a blocking wait could not be cancelled
        yield
    finally:
        os.close(handle)
