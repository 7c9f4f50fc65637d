"""Where Kits come from: the contract every source fulfils, and the values that cross it.

Raw bytes stay beside their parsed form, so a digest is never computed from a re-serialisation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import Reference


class RegistryError(KitStudioError):
    """A source did not give what was asked: unreachable, refused, missing, oversized, wrong digest."""


class ArtifactKind(StrEnum):
    """What a manifest turned out to be (§10)."""

    KIT = "kit"
    V2_KIT = "v2"
    IMAGE = "image"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Platform:
    """``os/architecture[/variant]``."""

    os: str
    architecture: str
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer as the manifest names it; ``size`` in bytes of the compressed blob."""

    digest: str
    size: int
    media_type: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest GET, verified. ``raw`` hashes to ``digest``.

    For an index, ``platforms`` lists its runnable entries with their digests (attestations left out), and
    ``annotations`` are the index's own.
    """

    reference: Reference
    digest: str
    media_type: str
    raw: bytes
    annotations: Mapping[str, str] = field(default_factory=dict)
    artifact_type: str = ""
    config: Layer | None = None
    layers: tuple[Layer, ...] = ()
    platforms: tuple[tuple[Platform, str], ...] = ()

    @property
    def is_index(self) -> bool:
        return bool(self.platforms)


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """The image config of §8 and §10: the launch contract, as the image states it."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    user: str = ""
    workdir: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    exposed_ports: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    platform: Platform = Platform("linux", "amd64")
    diff_ids: tuple[str, ...] = ()
    created: str = ""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A Kit (or what stands where one was expected), from one manifest GET plus config.

    ``manifest``: the platform's manifest; ``index``: the one above it, if any. ``digest`` is the digest a set
    pins: the index's where there is one. ``descriptor_text``: the annotation, empty where there is none.
    """

    reference: Reference
    digest: str
    kind: ArtifactKind
    manifest: Manifest
    index: Manifest | None
    config: ImageConfig | None
    descriptor_text: str = ""
    platforms: tuple[Platform, ...] = ()


class Source(Protocol):
    """Read side of one place with Kits. All methods raise ``RegistryError`` and honour cancellation."""

    async def list(self) -> tuple[str, ...]:
        """Repositories (without tag) this source knows, sorted; empty where it cannot tell."""

    async def tags(self, repository: str) -> tuple[str, ...]:
        """All tags of a repository, as spelled."""

    async def manifest(self, reference: Reference) -> Manifest:
        """The manifest or index, verified against a digest in the reference."""

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        """Manifest (platform resolved) and config, classified; never a layer."""

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        """A verified local file with exactly this content (bounded by ``size``), from the blob store."""

    def events(self) -> AsyncIterator[str]:
        """Repositories that changed underneath (watched folders); may never yield."""
