"""Where Kits come from: the contract every source fulfils, and the values that cross it.

Raw bytes stay beside their parsed form, so a digest is never computed from a re-serialisation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from kitstudio.registry.reference import Reference, RegistryError

ANNOTATIONS = "vnd.docker.sandbox.kit."
"""What the annotations that make a Kit begin with (§9.3)."""

__all__ = [
    "Artifact",
    "ArtifactKind",
    "ImageConfig",
    "IndexEntry",
    "Layer",
    "Manifest",
    "MissingPlatform",
    "NotFound",
    "Offline",
    "Platform",
    "RateLimited",
    "Reference",
    "RegistryError",
    "SignInRequired",
    "Source",
    "Unreachable",
]


class Unreachable(RegistryError):
    """The place did not answer at all."""


class Offline(Unreachable):
    """The program was told to stay offline and has no stored copy."""


class SignInRequired(RegistryError):
    """The place wants to know who asks, or no longer accepts the stored sign-in."""


class NotFound(RegistryError):
    """The place answered: it has no such thing."""


class MissingPlatform(RegistryError):
    """The Kit exists, but not for the platform that was asked for."""


class RateLimited(RegistryError):
    """The place asks us to come back later. ``retry_after``: seconds, None where it did not say."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.retry_after = retry_after


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
class IndexEntry:
    """One row of an index as it stands there, attestations and nested indexes included."""

    digest: str
    size: int
    media_type: str
    platform: Platform | None = None
    artifact_type: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest GET, verified. ``raw`` hashes to ``digest``.

    For an index, ``platforms`` lists its runnable entries with their digests (attestations left out),
    ``annotations`` are the index's own, and ``entries`` is every row, for copying and for nested indexes.
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
    entries: tuple[IndexEntry, ...] | None = None

    @property
    def is_index(self) -> bool:
        return self.entries is not None or bool(self.platforms)


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

    @property
    def contradiction(self) -> str:
        """What an index and the manifest it leads to say differently about the same Kit; empty where they agree or
        only one of them speaks. Missing promotions are no contradiction."""
        above = self.index.annotations if self.index else {}
        keys = sorted(k for k, text in above.items() if self.manifest.annotations.get(k, text) != text)
        kit_keys = [key for key in keys if key.startswith(ANNOTATIONS)]
        if not kit_keys:
            return ""
        return f"The index and its image for {self._platform()} contradict each other in {', '.join(kit_keys)}."

    def _platform(self) -> str:
        return str(self.config.platform) if self.config else "this platform"


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
