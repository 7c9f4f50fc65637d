"""Sources that stand in for another: one that is not there, and one that is opened when it is first asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

from kitstudio.registry.reference import Reference
from kitstudio.registry.source import Artifact, Manifest, Platform, RegistryError, Source


class Later:
    """A source made at the first question: a registry's client is the slowest thing to load."""

    def __init__(self, make: Callable[[], Source]) -> None:
        self._make = make

    def opened(self) -> Source:
        """The source itself."""
        return self._make()

    async def list(self) -> tuple[str, ...]:
        return await self._make().list()

    async def tags(self, repository: str) -> tuple[str, ...]:
        return await self._make().tags(repository)

    async def manifest(self, reference: Reference) -> Manifest:
        return await self._make().manifest(reference)

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        return await self._make().artifact(reference, platform)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await self._make().blob(reference, digest, size)

    async def events(self) -> AsyncIterator[str]:
        async for repository in self._make().events():
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
