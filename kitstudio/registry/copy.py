"""Copy one Kit between sources, byte for byte: digests are kept, every platform and attestation comes along."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kitstudio.registry.blob_store import file_chunks, verify_file
from kitstudio.registry.manifest import MAX_NESTING
from kitstudio.registry.reference import Reference, RegistryError
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import Layer, Manifest, Source
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.writer import LayoutWriter


class Destination(Protocol):
    """Write side of a place with Kits."""

    async def put_blob(self, blob: Layer, path: Path) -> None:
        """Store a verified file; one that is there already is left alone."""

    async def put_manifest(self, manifest: Manifest, *, named: bool) -> None:
        """Store a manifest after everything it names; ``named``: under the destination's tag."""


class LayoutDestination:
    """An OCI layout folder; ``name`` is the full reference or bare tag the copy gets."""

    def __init__(self, root: Path, name: str) -> None:
        self._writer = LayoutWriter(root)
        self._name = name

    async def put_blob(self, blob: Layer, path: Path) -> None:
        await in_thread(self._store, blob, path)

    async def put_manifest(self, manifest: Manifest, *, named: bool) -> None:
        await in_thread(self._keep, manifest, named)

    def _store(self, stop: Stop, blob: Layer, path: Path) -> None:
        verify_file(path, blob.digest, blob.size)
        self._writer.store.write(file_chunks(path), blob.digest, blob.size, where=str(path), stop=stop)

    def _keep(self, stop: Stop, manifest: Manifest, named: bool) -> None:
        stop.check()
        self._writer.store.write((manifest.raw,), manifest.digest, len(manifest.raw))
        if named:
            self._writer.point(self._name, Layer(manifest.digest, len(manifest.raw), manifest.media_type))


class RegistryDestination:
    """A repository and tag of a registry."""

    def __init__(self, source: RegistrySource, reference: Reference) -> None:
        self._source = source
        self._reference = reference

    async def put_blob(self, blob: Layer, path: Path) -> None:
        await self._source.push_blob(self._reference, blob, path)

    async def put_manifest(self, manifest: Manifest, *, named: bool) -> None:
        target = self._reference if named else self._reference.with_tag("")
        await self._source.push_manifest(target, manifest)


async def copy(source: Source, reference: Reference, destination: Destination) -> str:
    """Copy what ``reference`` names and everything below it; returns its digest."""
    top = await source.manifest(reference)
    await _copy_below(source, reference, top, destination, set(), 0)
    await destination.put_manifest(top, named=True)
    return top.digest


async def _copy_below(
    source: Source, reference: Reference, manifest: Manifest, destination: Destination, done: set[str], depth: int
) -> None:
    if depth > MAX_NESTING:
        raise RegistryError(f"Indexes are nested more than {MAX_NESTING} deep.", where=str(reference))
    for entry in manifest.entries or ():
        if entry.digest not in done:
            done.add(entry.digest)
            child = await source.manifest(reference.with_digest(entry.digest))
            await _copy_below(source, reference, child, destination, done, depth + 1)
            await destination.put_manifest(child, named=False)
    for blob in (*((manifest.config,) if manifest.config else ()), *manifest.layers):
        if blob.digest not in done:
            done.add(blob.digest)
            await destination.put_blob(blob, await source.blob(reference, blob.digest, blob.size))
