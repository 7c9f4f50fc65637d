"""Sending a new image whose layers lie elsewhere already: shared where they can be, sent where they must, once.

Everything goes by digest first, is read back, and only then gets its name: an interrupted run leaves nothing that can
be seen, and the next one finds what was sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kitstudio.registry.blob_store import BlobStore, digest_of, file_chunks, verify_file, wrong_digest
from kitstudio.registry.manifest import MAX_METADATA, parse_manifest
from kitstudio.registry.reference import LOCAL, Reference, RegistryError
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import Layer, Source
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.writer import Image, LayoutWriter

AT_ONCE = 3
"""Blobs on their way at the same time."""

Heard = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a blob lies: the source that hands it out, and the reference of the Kit it belongs to."""

    source: Source
    reference: Reference


@dataclass(frozen=True, slots=True)
class Parcel:
    """An image to be sent. ``images``: what is below ``top`` (nothing, for a single platform). ``origins``: of every
    blob that is not among the images' own."""

    top: Image
    images: tuple[Image, ...] = ()
    origins: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict)

    @property
    def manifests(self) -> tuple[Image, ...]:
        """The images themselves: what has layers."""
        return self.images or (self.top,)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is, in bytes of blobs; ``shared`` and ``sent`` say what it cost."""

    done: int
    total: int
    text: str = ""
    shared: int = 0
    sent: int = 0


class Target(Protocol):
    """Where a new image goes: one name in one place."""

    async def prepare(self) -> None:
        """Make ready for what follows; raises where nothing may be put there."""

    async def has(self, blob: Layer) -> bool:
        """Whether a blob is there already."""

    async def share(self, blob: Layer, origin: Origin) -> bool:
        """Have the place take a blob from another of its own repositories; False where that is not possible."""

    async def put(self, blob: Layer, path: Path, heard: Heard) -> None:
        """Send a verified file."""

    async def put_manifest(self, image: Image, *, named: bool) -> None:
        """Store a manifest under its digest, or under the target's name."""

    async def stored(self, digest: str) -> bytes | None:
        """What the place has under a digest, or under the target's name (empty); asked anew."""


class RegistryTarget:
    """A tag of a repository."""

    def __init__(self, source: RegistrySource, reference: Reference) -> None:
        self._source = source
        self._reference = reference

    async def prepare(self) -> None:
        """Nothing: a registry makes a repository when it gets its first blob."""

    async def has(self, blob: Layer) -> bool:
        return await self._source.has_blob(self._reference, blob)

    async def share(self, blob: Layer, origin: Origin) -> bool:
        there = origin.reference
        if there.registry != self._reference.registry or there.repository == self._reference.repository:
            return False
        return await self._source.mount_blob(self._reference, blob, there.repository)

    async def put(self, blob: Layer, path: Path, heard: Heard) -> None:
        loop = asyncio.get_running_loop()
        await self._source.push_blob(self._reference, blob, path, lambda count: _call(loop, heard, count))

    async def put_manifest(self, image: Image, *, named: bool) -> None:
        target = self._reference if named else self._reference.with_tag("")
        await self._source.push_manifest(target, parse_manifest(target, image.raw, image.media_type))

    async def stored(self, digest: str) -> bytes | None:
        bare = self._reference.with_tag("")
        return await self._source.fetch_again(bare.with_digest(digest) if digest else self._reference)


class LayoutTarget:
    """A name in an OCI layout folder."""

    def __init__(self, root: Path, name: str) -> None:
        self._writer = LayoutWriter(root)
        self._root = root
        self._name = name

    async def prepare(self) -> None:
        await in_thread(self._prepare)

    async def has(self, blob: Layer) -> bool:
        return await in_thread(self._has, blob)

    async def share(self, blob: Layer, origin: Origin) -> bool:
        return False

    async def put(self, blob: Layer, path: Path, heard: Heard) -> None:
        await in_thread(self._store, blob, path)
        heard(blob.size)

    async def put_manifest(self, image: Image, *, named: bool) -> None:
        await in_thread(self._keep, image, named)

    async def stored(self, digest: str) -> bytes | None:
        return await in_thread(self._stored, digest)

    def _prepare(self, stop: Stop) -> None:
        stop.check()
        if not (self._root / "oci-layout").exists() and self._root.exists() and any(self._root.iterdir()):
            raise RegistryError(
                "This folder holds something else than an OCI layout.",
                where=str(self._root),
                remedy="Name a layout, an empty folder or one that is not there yet.",
            )
        self._writer.store.prepare()

    def _has(self, stop: Stop, blob: Layer) -> bool:
        stop.check()
        return self._writer.store.find(blob.digest, blob.size) is not None

    def _store(self, stop: Stop, blob: Layer, path: Path) -> None:
        verify_file(path, blob.digest, blob.size)
        self._writer.store.write(file_chunks(path), blob.digest, blob.size, where=str(path), stop=stop)

    def _keep(self, stop: Stop, image: Image, named: bool) -> None:
        stop.check()
        self._writer.store.write((image.raw,), image.digest, len(image.raw))
        if named:
            self._writer.point(self._name, Layer(image.digest, len(image.raw), image.media_type))

    def _stored(self, stop: Stop, digest: str) -> bytes | None:
        stop.check()
        store = self._writer.store
        wanted = digest or self._writer.pointed(self._name)
        return store.read(wanted, MAX_METADATA) if wanted else None


async def send(
    parcel: Parcel, target: Target, store: BlobStore, report: Callable[[Progress], None] = lambda progress: None
) -> str:
    """Send everything, read it back, then name it; returns the digest. ``store``: where new blobs are kept on the way.

    Raises ``RegistryError``; nothing is named then.
    """
    sending = _Sending(target, store, report, _blobs(parcel))
    await target.prepare()
    own = {digest_of(data): data for image in parcel.manifests for data in image.blobs}
    try:
        async with asyncio.TaskGroup() as group:
            gate = asyncio.Semaphore(AT_ONCE)
            for blob in sending.blobs:
                group.create_task(sending.blob(blob, own.get(blob.digest), parcel.origins.get(blob.digest, ()), gate))
    except ExceptionGroup as failed:
        # One reason is enough for a person; the others were stopped because of it, or say the same.
        raise failed.exceptions[0] from failed
    sending.say("Checking what arrived")
    for image in (*parcel.images, parcel.top):
        if await target.stored(image.digest) != image.raw:
            await target.put_manifest(image, named=False)
            _same(image, await target.stored(image.digest))
    await target.put_manifest(parcel.top, named=True)
    _same(parcel.top, await target.stored(""))
    return parcel.top.digest


class _Sending:
    """Blobs on their way, and how far they are."""

    def __init__(
        self, target: Target, store: BlobStore, report: Callable[[Progress], None], blobs: Sequence[Layer]
    ) -> None:
        self.blobs = blobs
        self._target, self._store, self._report = target, store, report
        self._total = sum(blob.size for blob in blobs)
        self._done = self._shared = self._sent = 0

    async def blob(self, blob: Layer, data: bytes | None, origins: Sequence[Origin], gate: asyncio.Semaphore) -> None:
        async with gate:
            if await self._target.has(blob):
                return self._moved(blob.size, "Already there")
            for origin in origins:
                if await self._target.share(blob, origin):
                    self._shared += blob.size
                    return self._moved(blob.size, f"Shared with {origin.reference.name}")
            path = await self._fetched(blob, data, origins)
            await self._target.put(blob, path, self._heard)
            return None

    async def _fetched(self, blob: Layer, data: bytes | None, origins: Sequence[Origin]) -> Path:
        if data is not None:
            return await in_thread(self._kept, blob, data)
        if not origins:
            raise RegistryError(f"Nobody has the layer {blob.digest[:19]}….")
        self.say(f"Fetching from {origins[0].reference.name}")
        return await origins[0].source.blob(origins[0].reference, blob.digest, blob.size)

    def _kept(self, stop: Stop, blob: Layer, data: bytes) -> Path:
        return self._store.write((data,), blob.digest, blob.size, stop=stop)

    def _heard(self, count: int) -> None:
        self._sent += count
        self._moved(count, "Sending layers")

    def _moved(self, count: int, text: str) -> None:
        self._done += count
        self.say(text)

    def say(self, text: str) -> None:
        """Report how far it is."""
        self._report(Progress(self._done, self._total, text, self._shared, self._sent))


def _blobs(parcel: Parcel) -> tuple[Layer, ...]:
    found: dict[str, Layer] = {}
    for image in parcel.manifests:
        manifest = parse_manifest(Reference(LOCAL, "new"), image.raw, image.media_type)
        for blob in (*((manifest.config,) if manifest.config else ()), *manifest.layers):
            found.setdefault(blob.digest, blob)
    return tuple(found.values())


def _same(image: Image, stored: bytes | None) -> None:
    if stored is None:
        raise RegistryError("What was just sent is not there.", where=image.digest, remedy="Try again.")
    if stored != image.raw:
        raise wrong_digest(image.digest, digest_of(stored), "the place it was sent to")


def _call(loop: asyncio.AbstractEventLoop, heard: Heard, count: int) -> None:
    """From the thread that sends to the loop that reports; once the loop has ended nobody listens any more."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(heard, count)
