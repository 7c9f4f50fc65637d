"""The values of the catalog: sources, cards, and one Kit in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Chip, Permission, Uncounted
from kitstudio.registry.attached import Attachment
from kitstudio.registry.source import Artifact


class SourceKind(StrEnum):
    DEMO = "demo"
    REGISTRY = "registry"
    LAYOUT = "layout"
    FOLDER = "folder"
    HUB = "hub"
    SET = "set"


class SourceState(StrEnum):
    READY = "ready"
    LOADING = "loading"
    OFFLINE = "offline"
    SIGN_IN = "sign-in"
    LIMITED = "limited"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """One source in the list. ``detail``: the second line; ``error`` where it failed.

    ``registry``: the host a sign-in is for, empty where none is possible; ``account``: who is signed in there;
    ``network``: whether opening it sends requests; ``opened``: whether it was, in this run; ``fetched_at``: when its
    list last came (Unix seconds, 0: never); ``retry_at``: when a rate limit ends; ``note``: what the list leaves out;
    ``trusted``: the person lets its icons be fetched.
    """

    id: str
    title: str
    kind: SourceKind
    state: SourceState
    detail: str = ""
    count: int = 0
    error: KitStudioError | None = None
    registry: str = ""
    account: str = ""
    network: bool = False
    opened: bool = False
    fetched_at: float = 0.0
    retry_at: float = 0.0
    note: str = ""
    trusted: bool = False


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
    ``icon_url``: as the source or the Kit's annotations state it, unchecked; ``fetched_at``: when it was fetched, if
    it is shown from what is kept (0: in this run). ``pulls`` and ``stars``: the Hub's figures, None where it has none;
    ``categories``: its words for what a Kit is for.
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
    icon_url: str = ""
    fetched_at: float = 0.0
    pulls: int | None = None
    stars: int | None = None
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A tag; ``version`` empty where the tag is not version-shaped (§5.2)."""

    tag: str
    version: str


@dataclass(frozen=True, slots=True)
class KitDetails:
    """Everything the Kit page shows. ``descriptor`` None for v2 artifacts and images; ``problems``: why it is not
    usable (descriptor errors with line and remedy). ``attachments``: signatures and attestations that are present,
    none of them verified; ``folded_tags``: the tags that only hold attachments; ``notes``: what the reader should know
    (index annotations that contradict …)."""

    card: KitCard
    artifact: Artifact
    descriptor: Descriptor | None
    descriptor_text: str
    lines: Mapping[str, int] = field(default_factory=dict)
    permissions: tuple[Permission, ...] = ()
    uncounted: tuple[Uncounted, ...] = ()
    versions: tuple[VersionRow, ...] = ()
    problems: tuple[KitStudioError, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()
    folded_tags: tuple[str, ...] = ()
