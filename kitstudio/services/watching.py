"""Sources that refresh by themselves: one task a watched layout, folder or set file, ended by ``close``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Protocol, cast

from kitstudio.models.errors import KitStudioError
from kitstudio.services.catalog_shelf import Shelf, state_of
from kitstudio.services.catalog_values import SourceKind
from kitstudio.services.topic import Topic

FIRST_LOOK = 5.0
"""Seconds somebody waits until a source is watched; a slower one is watched a little later."""
WATCHED = (SourceKind.LAYOUT, SourceKind.FOLDER, SourceKind.SET)


class Watchable(Protocol):
    """A source on this machine."""

    def events(self, ready: Callable[[], None]) -> AsyncIterator[str]:
        """Repositories that changed; ``ready`` is called when none is missed from now on."""


class Watching:
    """``moved`` is awaited with each repository that changed; ``changed`` is told when watching itself fails."""

    def __init__(self, moved: Callable[[Shelf, str], Awaitable[None]], changed: Topic[None]) -> None:
        self._moved = moved
        self._changed = changed
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._started = False

    async def start(self, shelves: Iterable[Shelf]) -> None:
        """Watch these, and what ``add`` brings."""
        self._started = True
        await asyncio.gather(*(self.add(shelf) for shelf in tuple(shelves)))

    async def add(self, shelf: Shelf) -> None:
        """Watch one more source, once watching has started; what is listed afterwards is up to date."""
        source = shelf.place.id
        if not self._started or shelf.place.kind not in WATCHED or source in self._tasks:
            return
        looked = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._watch(shelf, looked.set), name=f"watch {source}")
        self._tasks[source] = task
        first = asyncio.ensure_future(looked.wait())
        try:
            await asyncio.wait((task, first), timeout=FIRST_LOOK, return_when=asyncio.FIRST_COMPLETED)
        finally:
            first.cancel()

    def drop(self, source: str) -> None:
        """Watch a source no longer."""
        if (task := self._tasks.pop(source, None)) is not None:
            task.cancel()

    async def close(self) -> None:
        """End every watch and wait for it."""
        self._started = False
        tasks = tuple(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, shelf: Shelf, ready: Callable[[], None]) -> None:
        source = cast(Watchable, shelf.place.source)
        async for repository in source.events(ready):
            try:
                await self._moved(shelf, repository)
            except KitStudioError as error:
                shelf.turn(state_of(error), error.what, error)
                self._changed.publish(None)
