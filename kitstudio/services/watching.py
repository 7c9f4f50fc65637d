"""Sources that refresh by themselves: one task a watched layout, folder or set file, ended by ``close``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from kitstudio.models.errors import KitStudioError
from kitstudio.services.catalog_shelf import Shelf, state_of
from kitstudio.services.catalog_values import SourceKind
from kitstudio.services.topic import Topic

WATCHED = (SourceKind.LAYOUT, SourceKind.FOLDER, SourceKind.SET)


class Watching:
    """``moved`` is awaited with each repository that changed; ``changed`` is told when watching itself fails."""

    def __init__(self, moved: Callable[[Shelf, str], Awaitable[None]], changed: Topic[None]) -> None:
        self._moved = moved
        self._changed = changed
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._started = False

    def start(self, shelves: Iterable[Shelf]) -> None:
        """Watch these, and what ``add`` brings."""
        self._started = True
        for shelf in shelves:
            self.add(shelf)

    def add(self, shelf: Shelf) -> None:
        """Watch one more source, once watching has started."""
        source = shelf.place.id
        if self._started and shelf.place.kind in WATCHED and source not in self._tasks:
            self._tasks[source] = asyncio.get_running_loop().create_task(self._watch(shelf), name=f"watch {source}")

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

    async def _watch(self, shelf: Shelf) -> None:
        async for repository in shelf.place.source.events():
            try:
                await self._moved(shelf, repository)
            except KitStudioError as error:
                shelf.turn(state_of(error), error.what, error)
                self._changed.publish(None)
