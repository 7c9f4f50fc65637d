"""Coroutines started from slots: owned by a widget, cancelled with it, their failures told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from kitstudio.models.errors import KitStudioError


class Tasks:
    """The tasks of one owner. ``failed`` is told every ``KitStudioError`` and every fault of ours."""

    def __init__(self, owner: QObject, failed: Callable[[KitStudioError], None]) -> None:
        self._failed = failed
        self._running: dict[str, asyncio.Task[None]] = {}
        self._loose: set[asyncio.Task[None]] = set()
        owner.destroyed.connect(self.cancel)

    def start(self, work: Coroutine[Any, Any, Any], name: str = "") -> asyncio.Task[None] | None:
        """Run ``work``; with a ``name`` it takes the place of the task of that name.

        None once the loop has ended: a late timer or click of a closing window starts nothing any more.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            work.close()
            return None
        task = loop.create_task(self._guard(work), name=name or None)
        task.add_done_callback(lambda _: work.close())
        if name:
            previous = self._running.get(name)
            if previous is not None:
                previous.cancel()
            self._running[name] = task
            task.add_done_callback(lambda done: self._ended(name, done))
        else:
            self._loose.add(task)
            task.add_done_callback(self._loose.discard)
        return task

    def cancel(self) -> None:
        """End everything that runs; what a loop left behind that has ended itself is past cancelling."""
        for task in (*self._running.values(), *self._loose):
            if not task.get_loop().is_closed():
                task.cancel()

    async def _guard(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except KitStudioError as error:
            self._failed(error)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - nobody awaits this task; a person is told
            self._failed(fault(error))

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if self._running.get(name) is task:
            del self._running[name]


def fault(error: BaseException) -> KitStudioError:
    """An error that is not of the three-part kind is a fault of ours and is said to be one."""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return fault(error.exceptions[0])
    if isinstance(error, KitStudioError):
        return error
    return KitStudioError(
        f"{type(error).__name__}: {error}",
        remedy="This is a fault in Kit Studio. Run “kitstudio doctor --bundle FILE” and report it.",
    )
