"""The Kits of a set as a publisher needs them: their images per platform, the sources they stage, their files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kitstudio.models import words
from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, Kind
from kitstudio.models.errors import DescriptorError
from kitstudio.models.problems import Problem, ProblemKind
from kitstudio.models.publication import STAGED, staged_place
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.manifest import satisfies
from kitstudio.registry.merged_image import Part
from kitstudio.registry.publish import Origin
from kitstudio.registry.reference import Reference, RegistryError, parse
from kitstudio.registry.source import Artifact, Layer, Platform
from kitstudio.registry.staged import StagedSources, staged_sources
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.services.collisions import Shipped, collisions
from kitstudio.services.places import Place, Places

LARGEST_FETCHED = 16 << 20
"""Compressed bytes of a layer that is fetched only to compare its files."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A listed Kit where it lies, pinned. ``platforms``: what it is published for."""

    reference: str
    place: Place
    pinned: Reference
    descriptor: Descriptor
    platforms: tuple[Platform, ...]

    @property
    def is_workload(self) -> bool:
        return self.descriptor.kind == Kind.WORKLOAD


@dataclass(frozen=True, slots=True)
class Built:
    """One listed Kit for one platform."""

    kit: Listed
    artifact: Artifact
    config: bytes = field(repr=False)
    staged: StagedSources

    @property
    def part(self) -> Part:
        return Part(self.kit.reference, self.artifact.manifest, self.config, self.kit.is_workload)

    @property
    def origin(self) -> Origin:
        return Origin(self.kit.place.source, self.kit.pinned)

    @property
    def stems(self) -> tuple[str, ...]:
        """The folders this Kit stages sources in: its own, and those of what it was merged from."""
        return tuple(sorted({file.path.partition("/")[0] for file in self.staged.files if "/" in file.path}))

    @property
    def carries_own(self) -> bool:
        """Whether its own descriptor is among what it stages."""
        return any(
            file.path.count("/") == 1 and file.path.endswith("/kit.yaml") and _says(file.data, self.kit.descriptor)
            for file in self.staged.files
        )

    def body(self, path: str) -> str:
        """The text of a file its declarations name."""
        place = staged_place(path)
        data = next((file.data for file in self.staged.files if place and file.path == place), None)
        if data is None:
            raise RegistryError(
                f"The Kit names {words.exact(path)}, which is not among its staged sources.",
                where=self.kit.reference,
                remedy="Its publisher must publish it again.",
            )
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise RegistryError(f"{words.exact(path)} is no UTF-8 text.", where=self.kit.reference) from error


async def find(places: Places, reference: str, digest: str, descriptor: Descriptor) -> Listed:
    """Where a listed Kit lies, and for which platforms."""
    pinned = parse(reference).with_digest(digest)
    place = places.of(pinned)
    artifact = await place.source.artifact(pinned)
    return Listed(reference, place, pinned, descriptor, artifact.platforms)


def common_platforms(kits: Sequence[Listed]) -> tuple[Platform, ...]:
    """The platforms all Kits have, as the workload (else the first Kit) spells and orders them."""
    first = next((kit for kit in kits if kit.is_workload), kits[0] if kits else None)
    if first is None:
        return ()
    return tuple(
        platform
        for platform in dict.fromkeys(first.platforms)
        if all(any(satisfies(offered, platform) for offered in kit.platforms) for kit in kits)
    )


def missing_platforms(kits: Sequence[Listed], wanted: Sequence[Platform]) -> tuple[Problem, ...]:
    """What is wanted, or needed to have anything in common, and some Kits do not have."""
    found = []
    for platform in wanted:
        lacking = tuple(k.reference for k in kits if not any(satisfies(o, platform) for o in k.platforms))
        if lacking:
            names = words.listed([words.kit_name(reference) for reference in lacking])
            message = f"There is no image for {platform} of {names}."
            found.append(Problem(ProblemKind.MISSING_PLATFORM, lacking, str(platform), message, _offered(kits)))
    if not wanted and kits and not common_platforms(kits):
        references = tuple(kit.reference for kit in kits)
        message = "The Kits have no platform in common."
        found.append(Problem(ProblemKind.MISSING_PLATFORM, references, "", message, _offered(kits)))
    return tuple(found)


async def build(kit: Listed, platform: Platform) -> Built:
    """One Kit's image for a platform: manifest, config, and the small layer with its sources."""
    source = kit.place.source
    artifact = await source.artifact(kit.pinned, platform)
    same = await in_thread(lambda stop: _says(artifact.descriptor_text.encode(), kit.descriptor))
    if artifact.contradiction or not same:
        raise RegistryError(
            artifact.contradiction or f"Its image for {platform} declares something else than the Kit.",
            where=kit.reference,
            remedy="Its publisher must publish it again: a Kit says the same on every platform (§9.5).",
        )
    config = artifact.manifest.config
    if config is None:
        raise RegistryError("What is stored there is not a Kit image.", where=kit.reference)
    path = await source.blob(kit.pinned, config.digest, config.size)
    raw = await asyncio.to_thread(path.read_bytes)
    return Built(kit, artifact, raw, await staged_sources(source, artifact))


def shared_stems(kits: Sequence[Built]) -> tuple[Problem, ...]:
    """Two Kits that stage their sources in one folder: one would hide the other's (§9.5)."""
    owners: dict[str, str] = {}
    found = []
    for built in kits:
        for stem in built.stems:
            first = owners.setdefault(stem, built.kit.reference)
            if first != built.kit.reference:
                pair = (first, built.kit.reference)
                names = words.kit_names(pair)
                path = f"{STAGED}/{stem}/kit.yaml"
                message = f"{names[pair[0]]} and {names[pair[1]]} ship the same files: {words.exact(path)}."
                found.append(Problem(ProblemKind.FILE_COLLISION, pair, path, message))
    return tuple(found)


async def file_collisions(kits: Sequence[Built], store: BlobStore) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """Files that two Kits ship, and a sentence for each Kit whose files were not all compared."""
    shipped = [await _shipped(built, store) for built in kits]
    notes = tuple(
        f"{words.kit_name(kit.reference)}: {words.count(kit.unread, 'layer')} not compared for files that another Kit "
        "ships too; what is large is not downloaded for it."
        for kit in shipped
        if kit.unread
    )
    return await collisions(shipped), notes


async def _shipped(built: Built, store: BlobStore) -> Shipped:
    layers = built.artifact.manifest.layers
    config = built.artifact.config
    diff_ids = config.diff_ids if config is not None and len(config.diff_ids) == len(layers) else ("",) * len(layers)
    found: list[tuple[str, Path, str]] = []
    kept: Path | None
    unread = 0
    for layer, diff_id in zip(layers, diff_ids, strict=True):
        near = not built.kit.place.network or layer.size <= LARGEST_FETCHED
        if near:
            kept = await built.kit.place.source.blob(built.kit.pinned, layer.digest, layer.size)
        else:
            kept = await in_thread(_kept, store, layer)
        if kept is None:
            unread += 1
        else:
            found.append((layer.digest, kept, diff_id))
    return Shipped(built.kit.reference, tuple(found), unread)


def _kept(stop: Stop, store: BlobStore, layer: Layer) -> Path | None:
    stop.check()
    return store.find(layer.digest, layer.size)


def _says(data: bytes, descriptor: Descriptor) -> bool:
    try:
        return encode(decode(data).descriptor) == encode(descriptor)
    except DescriptorError:
        # Somebody else's file: not this Kit's descriptor.
        return False


def _offered(kits: Sequence[Listed]) -> str:
    return "\n".join(
        f"{words.kit_name(kit.reference)}: {', '.join(str(p) for p in kit.platforms) or 'none stated'}" for kit in kits
    )
