"""Offscreen Qt, one theme, and an asyncio loop joined with Qt for tests that await."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import qasync
from PySide6.QtWidgets import QApplication

from kitstudio.ui.theme import Mode, Theme


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    """A light theme, dressed on the application."""
    made = Theme(Mode.LIGHT)
    made.install()
    return made


@pytest.fixture
def run(qapp: QApplication) -> Iterator[Callable[[Awaitable[Any]], Any]]:
    """``run(coroutine)``: await it on a loop that also serves Qt events, at most a minute."""
    qapp.setQuitOnLastWindowClosed(False)
    loop = qasync.QEventLoop(qapp)
    previous = asyncio.get_event_loop_policy()
    asyncio.set_event_loop(loop)

    def runner(work: Awaitable[Any]) -> Any:
        async def limited() -> Any:
            async with asyncio.timeout(60):
                return await work

        return loop.run_until_complete(limited())

    yield runner
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.close()
    asyncio.set_event_loop(None)
    asyncio.set_event_loop_policy(previous)
    # Qt objects in cycles are deleted by whichever thread collects them: here it is theirs.
    gc.collect()


class IdleBackend:
    """Runs nothing: for windows that never launch."""

    def capabilities(self) -> frozenset[str]:
        return frozenset()

    async def acceleration(self) -> tuple[str, str]:
        return "tcg", "nothing was tried"

    async def list(self) -> tuple[object, ...]:
        return ()

    async def mounts(self) -> tuple[object, ...]:
        return ()

    async def events(self) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""


@pytest.fixture
def backend() -> IdleBackend:
    """A backend without sandboxes."""
    return IdleBackend()
