"""From a reference to one ``Artifact``: index → platform manifest → config, the same way for every source.

A source says how it reads a manifest and a metadata blob; the walk, its bounds and the fallback of §9.3 are here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from kitstudio.models.annotations import DESCRIPTOR
from kitstudio.registry.manifest import (
    DOCKER_LIST,
    MAX_METADATA,
    MAX_NESTING,
    OCI_INDEX,
    classify,
    host_platform,
    is_runnable,
    is_v2,
    parse_config,
    satisfies,
)
from kitstudio.registry.source import (
    Artifact,
    ArtifactKind,
    ImageConfig,
    Layer,
    Manifest,
    MissingPlatform,
    Platform,
    Reference,
    RegistryError,
)

MAX_MANIFESTS = 256
"""Manifests fetched while looking through nested indexes."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How one source reads: a manifest by reference, and a blob of bounded size as bytes (None: configs are left
    unread)."""

    manifest: Callable[[Reference], Awaitable[Manifest]]
    metadata: Callable[[Reference, Layer], Awaitable[bytes]] | None = None


async def read_artifact(reader: Reader, reference: Reference, platform: Platform | None = None) -> Artifact:
    """Resolve ``reference`` for ``platform`` (None: this machine's where offered, else the first), never a layer."""
    return await _walk(reader, reference, platform, await reader.manifest(reference))


async def glance(reader: Reader, reference: Reference) -> Artifact:
    """What a card shows, from one manifest: a second one only where an index carries no descriptor, never the config.

    ``platforms`` of a bare manifest are not known then. A Kit's page reads the artifact whole.
    """
    top = await reader.manifest(reference)
    text = top.annotations.get(DESCRIPTOR, "") if top.is_index else ""
    if not text:
        return await _walk(replace(reader, metadata=None), reference, None, top)
    offered = tuple(dict.fromkeys(platform for platform, _ in top.platforms))
    stated = (top.artifact_type, *(entry.artifact_type for entry in top.entries or ()))
    kind = ArtifactKind.V2_KIT if any(map(is_v2, stated)) else ArtifactKind.KIT
    shown = text if kind is ArtifactKind.KIT else ""
    return Artifact(reference, top.digest, kind, top, top, None, shown, offered)


async def _walk(reader: Reader, reference: Reference, platform: Platform | None, top: Manifest) -> Artifact:
    if not top.is_index:
        config = await _config(reader, top)
        if platform is not None and config is not None and not satisfies(config.platform, platform):
            raise _missing(reference, platform, (config.platform,))
        return _artifact(reference, top, None, config, (config.platform,) if config else ())
    offered = await _runnable(reader, top, reference)
    if not offered:
        raise RegistryError("The index names nothing that can run.", where=str(reference))
    wanted = platform or host_platform()
    chosen = next((digest for p, digest in offered if p is not None and satisfies(p, wanted)), "")
    known = tuple(p for p, _ in offered if p is not None)
    if not chosen and (unnamed := [digest for p, digest in offered if p is None]):
        chosen = unnamed[0]
    if not chosen and platform is not None:
        raise _missing(reference, platform, known)
    manifest = await reader.manifest(reference.with_digest(chosen or offered[0][1]))
    if manifest.is_index:
        raise RegistryError("The index calls another index an image.", where=str(reference))
    config = await _config(reader, manifest)
    platforms = known or ((config.platform,) if config else ())
    return _artifact(reference, manifest, top, config, platforms)


async def _runnable(reader: Reader, top: Manifest, reference: Reference) -> list[tuple[Platform | None, str]]:
    """Every image below an index, nested ones included, in stated order."""
    found: list[tuple[Platform | None, str]] = []
    seen = {top.digest}
    level = [top]
    for _ in range(MAX_NESTING):
        below: list[Manifest] = []
        for index in level:
            for entry in index.entries or ():
                if entry.media_type in (OCI_INDEX, DOCKER_LIST):
                    if entry.digest in seen:
                        continue
                    seen.add(entry.digest)
                    if len(seen) > MAX_MANIFESTS:
                        raise RegistryError("The index names too many other indexes.", where=str(reference))
                    below.append(await reader.manifest(reference.with_digest(entry.digest)))
                elif is_runnable(entry):
                    found.append((entry.platform, entry.digest))
        if not below:
            return found
        level = below
    raise RegistryError(f"Indexes are nested more than {MAX_NESTING} deep.", where=str(reference))


async def _config(reader: Reader, manifest: Manifest) -> ImageConfig | None:
    if reader.metadata is None or manifest.config is None or classify(manifest, "") is not ArtifactKind.IMAGE:
        return None
    if manifest.config.size > MAX_METADATA:
        raise RegistryError("The image config is larger than 8 MiB.", where=str(manifest.reference))
    return parse_config(await reader.metadata(manifest.reference, manifest.config), str(manifest.reference))


def _artifact(
    reference: Reference,
    manifest: Manifest,
    index: Manifest | None,
    config: ImageConfig | None,
    platforms: tuple[Platform, ...],
) -> Artifact:
    text = (index.annotations.get(DESCRIPTOR, "") if index else "") or manifest.annotations.get(DESCRIPTOR, "")
    kind = classify(manifest, text)
    digest = index.digest if index else manifest.digest
    unique = tuple(dict.fromkeys(platforms))
    return Artifact(reference, digest, kind, manifest, index, config, text if kind is ArtifactKind.KIT else "", unique)


def _missing(reference: Reference, platform: Platform, offered: tuple[Platform, ...]) -> MissingPlatform:
    names = ", ".join(str(p) for p in offered) or "none"
    return MissingPlatform(
        f"There is no image for {platform}; offered: {names}.",
        where=str(reference),
        remedy="Choose a Kit or version that is published for this platform.",
    )
