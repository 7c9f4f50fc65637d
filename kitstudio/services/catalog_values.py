"""The values of the catalog: sources, cards, and one Kit in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Chip, Permission, Uncounted
from kitstudio.registry.source import Artifact


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
    uncounted: tuple[Uncounted, ...] = ()
    versions: tuple[VersionRow, ...] = ()
    signature_tags: int = 0
    problems: tuple[KitStudioError, ...] = ()
