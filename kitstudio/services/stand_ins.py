"""Sources that stand in for another: one that is not there, and one that is opened when it is first asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

from kitstudio.registry.reference import Reference
from kitstudio.registry.source import Artifact, Manifest, Platform, RegistryError, Source
from kitstudio.registry.threads import in_thread


class Later:
    """A source made at the first question: a registry's client is the slowest thing to load."""

    def __init__(self, make: Callable[[], Source]) -> None:
        self._make = make
        self._known = False

    async def opened(self) -> Source:
        """The source itself; what it needs is loaded in a thread."""
        if not self._known:
            await in_thread(lambda stop: self._make())
            self._known = True
        return self._make()

    async def list(self) -> tuple[str, ...]:
        return await (await self.opened()).list()

    async def tags(self, repository: str) -> tuple[str, ...]:
        return await (await self.opened()).tags(repository)

    async def manifest(self, reference: Reference) -> Manifest:
        return await (await self.opened()).manifest(reference)

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        return await (await self.opened()).artifact(reference, platform)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await (await self.opened()).blob(reference, digest, size)

    async def events(self) -> AsyncIterator[str]:
        async for repository in (await self.opened()).events():
            yield repository


class Nowhere:
    """A source that is not there: every question is answered by the reason."""

    def __init__(self, error: RegistryError) -> None:
        self._error = error

    async def list(self) -> tuple[str, ...]:
        raise self._error

    async def tags(self, repository: str) -> tuple[str, ...]:
        raise self._error

    async def manifest(self, reference: Reference) -> Manifest:
        raise self._error

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        raise self._error

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        raise self._error

    async def events(self) -> AsyncIterator[str]:
        nothing: tuple[str, ...] = ()
        for repository in nothing:
            yield repository
