"""Which folder a Kit of this machine was made from, and whether the folder has moved on since.

A set knows its local Kits by digest alone; this is what leads back from ``local.invalid/NAME:VERSION`` to a folder.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import FolderLocation
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.watch import EVERY, Pause, Ready, tree_stamp, watch
from kitstudio.services.home import write_atomic

if TYPE_CHECKING:
    from kitstudio.services.places import Places

REMEMBERED = 256
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ChangedFolder:
    """A member that is older than its folder. ``made`` and ``digest``: what the folder makes now, empty where that
    cannot be used and ``problem`` says why."""

    reference: str
    folder: Path
    made: str = ""
    digest: str = ""
    problem: KitStudioError | None = None


class LocalFolders:
    """Remembered in ``file``, the newest last; nothing but paths and references is kept."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def note(self, reference: str, folder: Path) -> None:
        """``reference`` was made from ``folder``."""
        await in_thread(lambda stop: self._note(reference, folder.absolute()))

    async def folders(self, references: Sequence[str]) -> dict[str, Path]:
        """The folders that are known, by reference."""
        known = await in_thread(lambda stop: self._read())
        return {reference: Path(known[reference]) for reference in references if reference in known}

    async def changed(self, places: Places, members: Mapping[str, str]) -> tuple[ChangedFolder, ...]:
        """Members (reference → digest) whose folder makes another Kit now. The same content is the same digest, so a
        file that was only touched is no change."""
        found = []
        for reference, folder in (await self.folders(tuple(members))).items():
            try:
                made, digest = await places.import_local(FolderLocation(folder))
            except KitStudioError as error:
                found.append(ChangedFolder(reference, folder, problem=error))
                continue
            if (str(made), digest) != (reference, members[reference]):
                found.append(ChangedFolder(reference, folder, str(made), digest))
        return tuple(found)

    async def events(
        self,
        references: Sequence[str],
        ready: Ready | None = None,
        *,
        every: float = EVERY,
        pause: Pause = asyncio.sleep,
    ) -> AsyncIterator[str]:
        """References whose folder was written to, for as long as somebody listens; ends where none is known."""
        folders = await self.folders(references)

        def look(stop: Stop) -> Mapping[str, Hashable]:
            return {reference: tree_stamp(folder, stop) for reference, folder in folders.items()}

        if folders:
            async for reference in watch(look, every=every, pause=pause, ready=ready):
                yield reference

    def _note(self, reference: str, folder: Path) -> None:
        known = self._read()
        if known.get(reference) == os.fspath(folder):
            return
        known.pop(reference, None)
        rows = [*known.items(), (reference, os.fspath(folder))][-REMEMBERED:]
        write_atomic(self._file, json.dumps(dict(rows), indent=1).encode())

    def _read(self) -> dict[str, str]:
        """What is remembered. A file that does not read is nobody's work: it is made anew by the next import."""
        try:
            with self._file.open("rb") as stream:
                document = json.loads(stream.read(MAX_BYTES))
        except (FileNotFoundError, ValueError, RecursionError):
            return {}
        except OSError as error:
            raise KitStudioError(f"It cannot be read: {error.strerror}.", where=str(self._file)) from error
        rows = document.items() if isinstance(document, dict) else ()
        return {key: value for key, value in rows if isinstance(value, str)}
