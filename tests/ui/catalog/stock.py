"""A catalog of plain values for windows: sources and cards as a test (or a benchmark) states them, nothing fetched."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import TypeVar

from kitstudio.models.canonical import encode
from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Plan
from kitstudio.models.review import Chip, Group, Weight
from kitstudio.registry.attached import Attachment
from kitstudio.registry.reference import parse
from kitstudio.registry.source import Artifact, ArtifactKind, ImageConfig, Layer, Manifest
from kitstudio.registry.staged import StagedSources
from kitstudio.services.artifact_checks import PlatformChecks, Told
from kitstudio.services.cards import permissions, read, version_rows
from kitstudio.services.catalog import CardKind, KitCard, KitDetails, SourceInfo, SourceKind, SourceState
from kitstudio.services.jobs import Jobs
from kitstudio.services.topic import Topic
from tests.builders import descriptor, network

T = TypeVar("T")
WORDS = (
    "forge",
    "agent",
    "image",
    "builder",
    "signed",
    "commits",
    "status",
    "line",
    "usage",
    "meter",
    "ledger",
    "payroll",
    "log",
    "shipper",
    "note",
    "greeter",
    "tools",
    "python",
    "node",
    "rust",
    "shell",
    "sketch",
    "index",
    "vault",
    "relay",
    "probe",
    "canvas",
    "mirror",
    "anchor",
)
LICENCES = ("MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0-only", "")
TYPES = tuple(
    f"com.docker.sandbox/{name}" for name in ("network-policy@2", "credential@1", "volume@1", "port@1", "lifecycle@1")
)
CHIPS = (
    Chip(Group.NETWORK, "3 hosts", Weight.INFO),
    Chip(Group.CREDENTIALS, "1 credential", Weight.INFO),
    Chip(Group.STORAGE, "2 volumes", Weight.INFO),
    Chip(Group.PORTS, "1 port", Weight.INFO),
    Chip(Group.SSH_AGENT, "SSH agent: git only", Weight.NOTICE),
    Chip(Group.PRIVILEGED, "Privileged", Weight.CRITICAL),
)


def card(name: str, kind: CardKind = CardKind.MIXIN, *chips: Chip, source: str = "hub", **more: object) -> KitCard:
    """One card of publisher acme."""
    repository = f"hub.example/acme/{name}"
    stated: dict[str, object] = {"publisher": "acme", "version": "1.0", **more}
    return KitCard(source, f"{repository}:1.0", repository, kind, name, chips=chips, **stated)  # type: ignore[arg-type]


def many(count: int, source: str = "hub", seed: int = 1, kind: CardKind | None = None) -> tuple[KitCard, ...]:
    """Synthetic Kits, the same ones each time."""
    chance = random.Random(seed)
    made = []
    for n in range(count):
        first, second = chance.choice(WORDS), chance.choice(WORDS)
        publisher = f"publisher-{chance.randrange(97)}"
        repository = f"hub.example/{publisher}/{first}-{second}-{n}"
        chips = tuple(chance.sample(CHIPS[:5], chance.randrange(4))) + (CHIPS[5:] if chance.random() < 0.02 else ())
        made.append(
            KitCard(
                source,
                f"{repository}:1.{n % 40}.0",
                repository,
                kind or (CardKind.WORKLOAD if chance.random() < 0.2 else CardKind.MIXIN),
                f"{first.title()} {second} {n}",
                publisher=publisher,
                verified=chance.random() < 0.5,
                version=f"1.{n % 40}.0",
                description=" ".join(chance.choices(WORDS, k=9)).capitalize() + ".",
                licenses=(chance.choice(LICENCES),) if chance.random() < 0.9 else (),
                chips=chips,
                capability_types=tuple(sorted(chance.sample(TYPES, chance.randrange(4)))),
                platforms=("linux/amd64", "linux/arm64") if chance.random() < 0.7 else ("linux/amd64",),
                pulls=int(chance.paretovariate(0.4) * 20),
                stars=chance.randrange(80),
            )
        )
    return tuple(made)


class Stock:
    """Stands where the catalog stands. ``asked``: every request a window made, in order."""

    def __init__(self, cards: tuple[KitCard, ...] = (), sources: tuple[SourceInfo, ...] | None = None) -> None:
        self.changed: Topic[None] = Topic()
        self.asked: list[tuple[str, str]] = []
        self.reasons: Mapping[str, str] = {}
        self.pages: dict[str, KitDetails | KitStudioError] = {}
        self.recipes: dict[str, StagedSources | KitStudioError] = {}
        self.checks: tuple[PlatformChecks, ...] | KitStudioError = ()
        self.attachments: tuple[Attachment, ...] = ()
        self.index_problem: KitStudioError | None = None
        self._cards = cards
        count = len(cards)
        hub = SourceInfo("hub", "Docker Hub – Verified", SourceKind.HUB, SourceState.READY, count=count, opened=True)
        self._sources = (hub,) if sources is None else sources

    def sources(self) -> tuple[SourceInfo, ...]:
        return self._sources

    def cards(self) -> tuple[KitCard, ...]:
        return self._cards

    def put(self, *cards: KitCard) -> None:
        """Replace cards of the same repository, add the others, and tell."""
        fresh = {(card.source, card.repository): card for card in self._cards}
        fresh.update({(card.source, card.repository): card for card in cards})
        self._cards = tuple(fresh.values())
        self.changed.publish(None)

    def show(self, *sources: SourceInfo) -> None:
        """Replace sources by id, add the others, and tell."""
        fresh = {source.id: source for source in self._sources}
        fresh.update({source.id: source for source in sources})
        self._sources = tuple(fresh.values())
        self.changed.publish(None)

    def search(self, query: str, cards: tuple[KitCard, ...] | None = None) -> tuple[KitCard, ...]:
        found = self._cards if cards is None else cards
        return tuple(card for card in found if query.casefold() in card.display_name.casefold())

    async def search_all(self, query: str) -> tuple[KitCard, ...]:
        self.asked.append(("search_all", query))
        return self.search(query)

    async def refresh(self, source: str = "") -> None:
        self.asked.append(("refresh", source))

    async def retry(self, host: str) -> None:
        self.asked.append(("retry", host))

    async def want(self, reference: str) -> None:
        self.asked.append(("want", reference))

    async def remove_source(self, source: str) -> None:
        self.asked.append(("remove", source))
        self._sources = tuple(info for info in self._sources if info.id != source)

    async def add_source(self, text: str) -> SourceInfo:
        self.asked.append(("add", text))
        info = SourceInfo(text, text, SourceKind.REGISTRY, SourceState.READY)
        self.show(info)
        return info

    def trust(self, source: str, trusted: bool) -> None:
        self.asked.append(("trust" if trusted else "distrust", source))
        self.show(*(replace(info, trusted=trusted) for info in self._sources if info.id == source))

    async def compatible(self, plan: Plan) -> Mapping[str, str]:
        self.asked.append(("compatible", ""))
        return self.reasons

    async def details(self, reference: str) -> KitDetails:
        self.asked.append(("details", reference))
        return _given(self.pages[reference])

    async def start(self) -> None:
        self.asked.append(("start", ""))

    async def find(self, source: str, query: str) -> tuple[KitCard, ...]:
        self.asked.append(("find", query))
        return ()

    async def attached(self, reference: str) -> tuple[Attachment, ...]:
        self.asked.append(("attached", reference))
        return self.attachments

    async def staged(self, reference: str) -> StagedSources:
        self.asked.append(("staged", reference))
        return _given(self.recipes.get(reference, StagedSources()))

    async def checked(self, reference: str, told: Told) -> tuple[object, tuple[PlatformChecks, ...]]:
        self.asked.append(("checked", reference))
        told(1, 2)
        return None, _given(self.checks)


def studio_on(stock: Stock, members: tuple[object, ...] = ()) -> SimpleNamespace:
    """A studio whose catalog is ``stock``, with as much of the rest as the catalog's page looks at."""
    composer = SimpleNamespace(changed=Topic(), value=SimpleNamespace(plan=SimpleNamespace(members=members)))
    return SimpleNamespace(catalog=stock, composer=composer, jobs=Jobs(), sign_in=None)


def _given(value: T | KitStudioError) -> T:
    if isinstance(value, KitStudioError):
        raise value
    return value


def details(
    tag: str = "1.0.0",
    hosts: tuple[str, ...] = ("api.forge.test",),
    tags: tuple[str, ...] = ("1.0.0",),
    layers: int = 2,
    **more: object,
) -> KitDetails:
    """The page of hub.example/acme/gh at one version, asking for these hosts; read as the catalog reads it."""
    about = descriptor(version=tag, capabilities=(network(hosts),))
    reference = parse(f"hub.example/acme/gh:{tag}")
    digest = f"sha256:{abs(hash((tag, hosts))):064x}"[:71]
    text = encode(about)
    rows = tuple(Layer(f"sha256:{n:064x}", 1000, "application/vnd.oci.image.layer.v1.tar+gzip") for n in range(layers))
    manifest = Manifest(reference, digest, "application/vnd.oci.image.manifest.v1+json", b"{}", layers=rows)
    artifact = Artifact(reference, digest, ArtifactKind.KIT, manifest, None, ImageConfig(), text)
    reading = read(artifact)
    document = reading.document
    stated: dict[str, object] = {
        "versions": version_rows(tags),
        "folded_tags": tuple(tag for tag in tags if tag.startswith("sha256-")),
        **more,
    }
    return KitDetails(
        card=replace(card("gh"), reference=f"hub.example/acme/gh:{tag}", version=tag, digest=digest),
        artifact=artifact,
        descriptor=reading.descriptor,
        descriptor_text=document.text if document else text,
        permissions=permissions(reading, str(reference)),
        **stated,  # type: ignore[arg-type]
    )
