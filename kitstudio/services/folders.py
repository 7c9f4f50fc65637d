"""Kit folders on disk as a source: one Kit, or a folder of Kit folders.

A Kit is read into the home's blob store when it is asked for, so what is shown is what a set would take in.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable, Mapping
from pathlib import Path

from kitstudio.models.decode import decode
from kitstudio.registry.folder import CONVENTIONAL, read_folder
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import LOCAL, Reference, RegistryError, is_tag
from kitstudio.registry.source import Artifact, Manifest, NotFound, Platform
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.watch import EVERY, Pause, Ready, tree_stamp, watch
from kitstudio.services.importing import UNVERSIONED, import_folder, slug

MAX_FOLDERS = 1000


class FolderSource:
    """The folder ``root``; read afresh for every question. ``store``: where its Kits are read into."""

    def __init__(self, root: Path, store: LayoutSource, *, every: float = EVERY, pause: Pause = asyncio.sleep) -> None:
        self.root = root
        self._every = every
        self._pause = pause
        self._store = store

    async def list(self) -> tuple[str, ...]:
        return tuple(sorted(await in_thread(self._kits)))

    async def tags(self, repository: str) -> tuple[str, ...]:
        kit = await read_folder(await self.folder(repository))
        version = decode(kit.text, name=str(kit.path)).descriptor.version
        return (version if is_tag(version) else UNVERSIONED,)

    async def manifest(self, reference: Reference) -> Manifest:
        return await self._store.manifest(await self._imported(reference))

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        return await self._store.artifact(await self._imported(reference), platform)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await self._store.blob(reference, digest, size)

    async def events(self, ready: Ready | None = None) -> AsyncIterator[str]:
        """Kits whose files changed, came or went, noticed within a few seconds."""

        def look(stop: Stop) -> Mapping[str, Hashable]:
            return {name: tree_stamp(path, stop) for name, path in self._kits(stop).items()}

        async for repository in watch(look, every=self._every, pause=self._pause, ready=ready):
            yield repository

    async def folder(self, repository: str) -> Path:
        """The folder a listed name stands for."""
        kits = await in_thread(self._kits)
        if repository not in kits:
            raise NotFound(f"{repository} is not in this folder.", where=str(self.root))
        return kits[repository]

    async def _imported(self, reference: Reference) -> Reference:
        if reference.digest:
            return reference
        imported, digest = await import_folder(await self.folder(reference.name), self._store.root)
        return imported.with_digest(digest)

    def _kits(self, stop: Stop) -> dict[str, Path]:
        """Name → folder. A folder with a descriptor of the usual name is a Kit; else its folders are looked at."""
        try:
            below = [self.root] if _is_kit(self.root) else sorted(path for path in self.root.iterdir() if _is_kit(path))
        except OSError as error:
            raise RegistryError(f"The folder cannot be read: {error.strerror}.", where=str(self.root)) from error
        if not below:
            raise NotFound(
                "There is no Kit in this folder.",
                where=str(self.root),
                remedy="A Kit folder holds kit.yaml; a source may also be a folder of such folders.",
            )
        if len(below) > MAX_FOLDERS:
            raise RegistryError(f"There are more than {MAX_FOLDERS} Kits in this folder.", where=str(self.root))
        found: dict[str, Path] = {}
        for path in below:
            stop.check()
            found.setdefault(f"{LOCAL}/{slug(path.name)}", path)
        return found


def _is_kit(path: Path) -> bool:
    return path.is_dir() and any((path / name).is_file() for name in CONVENTIONAL)
