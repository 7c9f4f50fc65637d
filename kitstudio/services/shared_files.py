"""Files that two Kits of a set both ship (§10), found while it is composed: from layers that are here already.

Nothing is downloaded for it: what a registry holds and this machine does not is left to publishing and launching,
which compare all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Member, Problem, ProblemKind
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.reference import parse
from kitstudio.runtime.backend import SandboxError
from kitstudio.services.collisions import Shipped, collisions
from kitstudio.services.places import Places

REST = 0.4
"""Seconds a set rests before the files of its Kits are compared."""

_Known = tuple[tuple[str, str], ...]


class Comparison:
    """What is known of shared files for the members as they are; looks behind, once they rest, where it was begun."""

    def __init__(
        self, find: Callable[[Sequence[Member]], Awaitable[tuple[Problem, ...]]], found: Callable[[], object]
    ) -> None:
        self._find, self._found = find, found
        self._on = False
        self._done: _Known = ()
        self._doing: _Known = ()
        self._problems: tuple[Problem, ...] = ()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look from now on."""
        self._on = True

    def of(self, members: Sequence[Member]) -> tuple[Problem, ...]:
        """What is known for exactly these Kits."""
        known = tuple((m.reference, m.digest) for m in members if m.descriptor is not None)
        if not self._on or len(known) < 2 or len(known) < len(members):
            return ()
        if known == self._done:
            return self._problems
        if known != self._doing:
            self._doing = known
            self.end()
            self._task = asyncio.get_running_loop().create_task(self._compare(known, tuple(members)))
        return ()

    def end(self) -> tuple[asyncio.Task[None], ...]:
        """Stop looking; what is still to be waited for."""
        if self._task is None:
            return ()
        self._task.cancel()
        return (self._task,)

    async def settled(self) -> None:
        """Wait until what is being compared is known."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _compare(self, known: _Known, members: tuple[Member, ...]) -> None:
        await asyncio.sleep(REST)
        self._problems = await self._find(members)
        self._done = known
        if self._problems:
            self._found()


async def file_clashes(places: Places, store: BlobStore, members: Sequence[Member]) -> tuple[Problem, ...]:
    """One problem for each two Kits that ship the same file, as far as their layers are at hand."""
    shipped = [found for member in members if (found := await _shipped(places, store, member)).layers]
    if len(shipped) < 2:
        return ()
    try:
        return await collisions(shipped)
    except SandboxError as error:
        message = f"A layer does not read: {error.what}"
        return (Problem(ProblemKind.NOT_A_KIT, (), error.where, message, error.remedy),)


async def _shipped(places: Places, store: BlobStore, member: Member) -> Shipped:
    try:
        pinned = parse(member.reference).with_digest(member.digest)
        place = places.of(pinned)
        artifact = await place.source.artifact(pinned)
    except KitStudioError:
        # The member was here a moment ago; that it is not any more is told where it is needed.
        return Shipped(member.reference, ())
    layers = artifact.manifest.layers
    config = artifact.config
    diff_ids = config.diff_ids if config is not None and len(config.diff_ids) == len(layers) else ("",) * len(layers)
    found: list[tuple[str, Path, str]] = []
    for layer, diff_id in zip(layers, diff_ids, strict=True):
        path = (
            await asyncio.to_thread(store.find, layer.digest, layer.size)
            if place.network
            else await place.source.blob(pinned, layer.digest, layer.size)
        )
        if path is not None:
            found.append((layer.digest, path, diff_id))
    return Shipped(member.reference, tuple(found), len(layers) - len(found))
