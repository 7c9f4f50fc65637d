"""The catalog: sources, what they list, and one Kit in full. Manifests are fetched on demand, never layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Chip, Permission
from kitstudio.registry.source import Artifact
from kitstudio.services.topic import Topic


class SourceKind(StrEnum):
    DEMO = "demo"
    REGISTRY = "registry"
    LAYOUT = "layout"
    FOLDER = "folder"
    HUB = "hub"


class SourceState(StrEnum):
    READY = "ready"
    LOADING = "loading"
    OFFLINE = "offline"
    SIGN_IN = "sign-in"
    LIMITED = "limited"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """One source in the list. ``detail``: the second line; ``error`` where it failed."""

    id: str
    title: str
    kind: SourceKind
    state: SourceState
    detail: str = ""
    count: int = 0
    error: KitStudioError | None = None


class CardKind(StrEnum):
    """What a card shows (``ui.md``): v2 artifacts and plain images are shown as what they are."""

    WORKLOAD = "workload"
    MIXIN = "mixin"
    V2 = "v2"
    IMAGE = "image"
    LOADING = "loading"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class KitCard:
    """One repository at its newest version. ``publisher`` is the namespace (identity), ``author`` self-asserted.

    ``newer_types``: capability types newer than this app. ``capability_types``: from the index annotation.
    """

    source: str
    reference: str
    repository: str
    kind: CardKind
    display_name: str
    publisher: str = ""
    verified: bool = False
    author: str = ""
    version: str = ""
    description: str = ""
    licenses: tuple[str, ...] = ()
    digest: str = ""
    chips: tuple[Chip, ...] = ()
    capability_types: tuple[str, ...] = ()
    newer_types: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    error: KitStudioError | None = None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A tag; ``version`` empty where the tag is not version-shaped (§5.2)."""

    tag: str
    version: str


@dataclass(frozen=True, slots=True)
class KitDetails:
    """Everything the Kit page shows. ``descriptor`` None for v2 artifacts and images; ``problems``: why it is not
    usable (descriptor errors with line and remedy)."""

    card: KitCard
    artifact: Artifact
    descriptor: Descriptor | None
    descriptor_text: str
    lines: Mapping[str, int] = field(default_factory=dict)
    permissions: tuple[Permission, ...] = ()
    versions: tuple[VersionRow, ...] = ()
    signature_tags: int = 0
    problems: tuple[KitStudioError, ...] = ()


class Catalog:
    """State of the catalog. ``changed`` publishes after any card, source or fetch changed."""

    def __init__(self) -> None:
        self.changed: Topic[None] = Topic()

    def sources(self) -> tuple[SourceInfo, ...]:
        """Demo first, then in the order they were added."""
        raise NotImplementedError

    def cards(self) -> tuple[KitCard, ...]:
        """Every known card of every source, LOADING where only the repository is known."""
        raise NotImplementedError

    async def refresh(self, source: str = "") -> None:
        """List one source again (all if empty) and fetch what its cards need."""
        raise NotImplementedError

    async def want(self, reference: str) -> None:
        """Fetch the manifest behind a visible LOADING card; a few run at a time."""
        raise NotImplementedError

    async def details(self, reference: str) -> KitDetails:
        """The Kit page. ``reference``: any spelling of ``cli.md``."""
        raise NotImplementedError

    async def add_source(self, text: str) -> SourceInfo:
        """Add a registry host, namespace, repository, OCI layout or folder; remembered in the settings."""
        raise NotImplementedError

    async def remove_source(self, source: str) -> None:
        """Forget a source. The demo catalog stays."""
        raise NotImplementedError

    def search(self, query: str, cards: tuple[KitCard, ...] | None = None) -> tuple[KitCard, ...]:
        """Cards matching every word of ``query`` in name, publisher, description, reference, best first."""
        raise NotImplementedError
