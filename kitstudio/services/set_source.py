"""A set file (``kind: set``) as a source: the Kits it lists, each at the version and digest it states.

The list is read from the file; the Kits come from wherever their references lead, so looking at them asks the network.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from pathlib import Path

from kitstudio.models.decode import decode
from kitstudio.models.errors import DescriptorError
from kitstudio.registry.newest import newest_tag
from kitstudio.registry.reference import Reference, RegistryError, parse
from kitstudio.registry.source import Artifact, Manifest, NotFound, Platform, Source
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.watch import Ready, file_stamp, watch
from kitstudio.services.composition import SetState, expanded_set, is_set
from kitstudio.services.set_documents import read_set


class SetSource:
    """The set file ``path``, read afresh for every question. ``source_of``: where a reference leads."""

    def __init__(self, path: Path, source_of: Callable[[Reference], Source]) -> None:
        self.path = path
        self._source_of = source_of

    async def list(self) -> tuple[str, ...]:
        return tuple(sorted({reference.name for reference in await in_thread(self._kits)}))

    async def tags(self, repository: str) -> tuple[str, ...]:
        listed = await self._listed(repository)
        if listed.tag:
            return (listed.tag,)
        return () if listed.digest else await self._source_of(listed).tags(repository)

    async def manifest(self, reference: Reference) -> Manifest:
        exact = await self._pinned(reference)
        return await self._source_of(exact).manifest(exact)

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        exact = await self._pinned(reference)
        return await self._source_of(exact).artifact(exact, platform)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await self._source_of(reference).blob(reference, digest, size)

    async def events(self, ready: Ready | None = None) -> AsyncIterator[str]:
        """Kits that came, went or moved, noticed within a few seconds."""

        def look(stop: Stop) -> Mapping[str, Hashable]:
            stamp = file_stamp(self.path)
            return {reference.name: (str(reference), stamp) for reference in self._kits(stop)}

        async for repository in watch(look, ready=ready):
            yield repository

    async def stated(self, repository: str) -> Reference:
        """What the set states for a repository, its newest version where it states none."""
        listed = await self._listed(repository)
        if listed.tag or listed.digest:
            return listed
        tags = await self._source_of(listed).tags(repository)
        return listed.with_tag(newest_tag(tags)) if newest_tag(tags) else listed

    async def _listed(self, repository: str) -> Reference:
        for reference in await in_thread(self._kits):
            if reference.name == repository:
                return reference
        raise NotFound(f"{repository} is not in this set.", where=str(self.path))

    async def _pinned(self, reference: Reference) -> Reference:
        """The digest the set states, where it states one for this version."""
        if reference.digest:
            return reference
        listed = await self._listed(reference.name)
        return listed if listed.digest and listed.tag == reference.tag else reference

    def _kits(self, stop: Stop) -> tuple[Reference, ...]:
        where = str(self.path)
        try:
            text = read_set(self.path)
            document = decode(text, name=where)
            if not is_set(document.descriptor):
                raise RegistryError(
                    "This file describes a Kit, not a set.",
                    where=where,
                    remedy="A set file as a source lists Kits; a Kit's own folder can be a source too.",
                )
            kits = expanded_set(document, SetState(text)).kits
        except DescriptorError as error:
            raise RegistryError(error.what, where=error.where or where, remedy=error.remedy) from error
        found = []
        for kit in kits:
            stop.check()
            reference = parse(kit.ref)
            found.append(reference.with_digest(kit.digest) if kit.digest else reference)
        return tuple(found)
