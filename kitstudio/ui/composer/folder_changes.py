"""Members made from a folder: when the folder makes another Kit than the set holds, it is told, with one step."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Signal

from kitstudio.services.app import Studio
from kitstudio.services.composition import Composition, is_local
from kitstudio.services.local_folders import ChangedFolder
from kitstudio.ui.composer.edits import Edits
from kitstudio.ui.tasks import Tasks

REST = 0.3
"""Seconds between a write and a look, for programs that write a file in several steps."""


class FolderChanges(QObject):
    """``told(change)``: one member is older than its folder; ``settled``: none is."""

    told = Signal(object)
    settled = Signal()

    def __init__(self, studio: Studio, edits: Edits, tasks: Tasks, owner: QObject) -> None:
        super().__init__(owner)
        self._studio, self._edits, self._tasks = studio, edits, tasks
        self._members: dict[str, str] = {}

    def follow(self, composition: Composition) -> None:
        """Watch the folders of these members; a change of the set looks again."""
        members = {
            member.reference: member.digest
            for member in composition.plan.members
            if is_local(member.reference) and member.digest and member.descriptor is not None
        }
        if members != self._members:
            self._members = members
            self._tasks.start(self._watch(members), "folders")

    def use(self, change: ChangedFolder) -> None:
        """Take what the folder makes now, as one step."""
        self._edits.use_folder(change)

    async def _watch(self, members: dict[str, str]) -> None:
        def ready() -> None:
            # Only once watching has begun, so that no write falls between the two.
            self._tasks.start(self._look(members), "folders-look")

        begun = self._studio.places.folders.events(tuple(members), ready)
        self.settled.emit()
        async for _reference in begun:
            await asyncio.sleep(REST)
            await self._look(members)

    async def _look(self, members: dict[str, str]) -> None:
        changed = await self._studio.places.folders.changed(self._studio.places, members)
        if changed:
            self.told.emit(changed[0])
        else:
            self.settled.emit()
