"""The catalog: sources, what they list, and one Kit in full. Manifests are fetched on demand, never layers.

No request leaves before a network source is opened: ``refresh("")`` touches local sources and opened ones only,
``refresh(source)`` opens it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Offer
from kitstudio.registry.newest import newest_tag
from kitstudio.registry.reference import Reference, parse
from kitstudio.registry.source import (
    Artifact,
    Offline,
    Platform,
    RateLimited,
    RegistryError,
    SignInRequired,
    Unreachable,
)
from kitstudio.services import cards as view
from kitstudio.services.artifact_checks import PlatformChecks, check_published
from kitstudio.services.catalog_search import CardSearch
from kitstudio.services.catalog_values import (
    CardKind,
    KitCard,
    KitDetails,
    SourceInfo,
    SourceKind,
    SourceState,
    VersionRow,
)
from kitstudio.services.places import Place, Places
from kitstudio.services.settings import Settings
from kitstudio.services.topic import Topic

__all__ = [
    "CardKind",
    "Catalog",
    "KitCard",
    "KitDetails",
    "SourceInfo",
    "SourceKind",
    "SourceState",
    "VersionRow",
]

AT_ONCE = 4
"""Manifests fetched at the same time."""

SOURCES_KEY = "catalog.sources"


@dataclass(slots=True)
class _Shelf:
    """One source and its cards, by repository."""

    place: Place
    state: SourceState = SourceState.READY
    detail: str = ""
    error: KitStudioError | None = None
    opened: bool = False
    cards: dict[str, KitCard] = field(default_factory=dict)

    def info(self) -> SourceInfo:
        return SourceInfo(
            self.place.id, self.place.title, self.place.kind, self.state, self.detail, len(self.cards), self.error
        )


class Catalog:
    """State of the catalog. ``changed`` publishes after any card, source or fetch changed."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self.changed: Topic[None] = Topic()
        self._places = places
        self._settings = settings
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._wanted: set[str] = set()
        self._search = CardSearch()
        self._shelves: dict[str, _Shelf] = {}
        self._offers: dict[str, Offer] = {}
        self._remember(places.demo())
        for text in settings.texts(SOURCES_KEY):
            try:
                self._remember(places.open(text))
            except RegistryError as error:
                place = places.unusable(text, error)
                self._shelves[place.id] = _Shelf(place, SourceState.ERROR, error.what, error)

    def sources(self) -> tuple[SourceInfo, ...]:
        """Demo first, then in the order they were added."""
        return tuple(shelf.info() for shelf in self._shelves.values())

    def cards(self) -> tuple[KitCard, ...]:
        """Every known card of every source, LOADING where only the repository is known."""
        return tuple(card for shelf in self._shelves.values() for card in shelf.cards.values())

    def offers(self) -> tuple[Offer, ...]:
        """The Kits fetched so far: what a proposal can draw on."""
        return tuple(self._offers.values())

    async def refresh(self, source: str = "") -> None:
        """List one source again (all if empty) and fetch what its cards need."""
        if source:
            shelves = [self._shelf(source)]
        else:
            shelves = [s for s in self._shelves.values() if s.opened or not s.place.network]
        async with asyncio.TaskGroup() as group:
            for shelf in shelves:
                group.create_task(self._list(shelf))

    async def want(self, reference: str) -> None:
        """Fetch the manifest behind a visible LOADING card (or try a failed one again); a few run at a time."""
        for shelf in self._shelves.values():
            for card in shelf.cards.values():
                if reference in (card.reference, card.repository) and card.kind in (CardKind.LOADING, CardKind.ERROR):
                    await self._fill(shelf, card.repository)
                    return

    async def details(self, reference: str) -> KitDetails:
        """The Kit page. ``reference``: any spelling of ``cli.md``."""
        located = await self._places.locate(reference)
        tags = await self._tags(located.place, located.reference)
        exact = _exact(located.reference, tags)
        artifact = await located.place.source.artifact(exact)
        reading = view.read(artifact)
        card = self._card(located.place, artifact, reading)
        self._shelve(card)
        document = reading.document
        return KitDetails(
            card=card,
            artifact=artifact,
            descriptor=reading.descriptor,
            descriptor_text=document.text if document else artifact.descriptor_text,
            lines=document.lines() if document else {},
            permissions=view.permissions(reading, card.reference),
            uncounted=view.uncounted(reading, card.reference),
            versions=view.version_rows(tags),
            signature_tags=sum(view.is_signature(tag) for tag in tags),
            problems=reading.problems if card.kind is CardKind.ERROR else (),
        )

    async def artifact(self, reference: str, platform: Platform | None = None) -> Artifact:
        """One Kit as its source has it, for those who need no page."""
        located = await self._places.locate(reference)
        exact = located.reference
        tags = () if exact.tag or exact.digest else await located.place.source.tags(exact.name)
        return await located.place.source.artifact(_exact(exact, tags), platform)

    async def checked(self, reference: str) -> tuple[Artifact, tuple[PlatformChecks, ...]]:
        """One Kit and the checks on its artifact, layers fetched, on every platform it is published for."""
        located = await self._places.locate(reference)
        exact, source = located.reference, located.place.source
        tags = () if exact.tag or exact.digest else await source.tags(exact.name)
        artifact = await source.artifact(_exact(exact, tags))
        return artifact, await check_published(self._places, source, artifact)

    async def add_source(self, text: str) -> SourceInfo:
        """Add a registry host, namespace, repository, OCI layout or folder; remembered in the settings."""
        place = self._places.open(text)
        if place.id in self._shelves:
            return self._shelves[place.id].info()
        shelf = self._remember(place)
        await self._list(shelf)
        if shelf.error is not None and not place.network:
            del self._shelves[place.id]
            self.changed.publish(None)
            raise shelf.error
        self._settings.set(SOURCES_KEY, (*self._settings.texts(SOURCES_KEY), place.text))
        return shelf.info()

    def visit(self, place: Place) -> None:
        """Show a source for this run only; nothing is remembered."""
        if place.id not in self._shelves:
            self._remember(place)

    async def remove_source(self, source: str) -> None:
        """Forget a source. The demo catalog stays."""
        shelf = self._shelf(source)
        if shelf.place.kind is SourceKind.DEMO:
            raise KitStudioError("The demo catalog is part of Kit Studio and stays.", where=shelf.place.title)
        kept = tuple(text for text in self._settings.texts(SOURCES_KEY) if text != shelf.place.text)
        self._settings.set(SOURCES_KEY, kept)
        del self._shelves[source]
        self.changed.publish(None)

    def search(self, query: str, cards: tuple[KitCard, ...] | None = None) -> tuple[KitCard, ...]:
        """Cards matching every word of ``query`` in name, publisher, description, reference, best first."""
        return self._search.ranked(query, self.cards() if cards is None else cards)

    def _remember(self, place: Place) -> _Shelf:
        shelf = _Shelf(place, detail="not opened yet" if place.network else "")
        self._shelves[place.id] = shelf
        self.changed.publish(None)
        return shelf

    def _shelf(self, source: str) -> _Shelf:
        if source not in self._shelves:
            known = ", ".join(self._shelves)
            raise KitStudioError("There is no such source.", where=source, remedy=f"Known sources: {known}.")
        return self._shelves[source]

    async def _list(self, shelf: _Shelf) -> None:
        """Ask a source what it has; its failure is the source's state, never an exception to its neighbours."""
        shelf.opened = True
        self._state(shelf, SourceState.LOADING, "reading the list")
        try:
            found = [parse(name) for name in await shelf.place.source.list()]
        except RegistryError as error:
            self._state(shelf, _state_of(error), error.what, error)
            return
        shelf.cards = {
            name.name: shelf.cards.get(name.name) or view.loading_card(shelf.place.id, name) for name in found
        }
        self._state(shelf, SourceState.READY, "" if shelf.cards else "nothing listed for this account")
        if not shelf.place.network:
            async with asyncio.TaskGroup() as group:
                for repository in shelf.cards:
                    group.create_task(self._fill(shelf, repository))

    async def _fill(self, shelf: _Shelf, repository: str) -> None:
        """Fetch one card; whoever asks again meanwhile is told by ``changed`` like everyone else."""
        if repository in self._wanted:
            return
        self._wanted.add(repository)
        known = shelf.cards[repository]
        try:
            async with self._gate:
                name = parse(repository)
                tags = await shelf.place.source.tags(repository)
                artifact = await shelf.place.source.artifact(_exact(name, tags))
            reading = view.read(artifact)
            card = self._card(shelf.place, artifact, reading)
            if reading.descriptor is not None and card.kind is not CardKind.ERROR:
                self._offers[card.reference] = Offer(
                    card.reference, card.version, reading.descriptor.provides, card.kind.value
                )
        except KitStudioError as error:
            card = view.failed_card(known, error)
        finally:
            self._wanted.discard(repository)
        if repository in shelf.cards:
            shelf.cards[repository] = card
            self.changed.publish(None)

    @staticmethod
    def _card(place: Place, artifact: Artifact, reading: view.Reading) -> KitCard:
        card = view.card(place.id, artifact, reading)
        return replace(card, reference=place.spelled(card.reference, artifact.digest))

    def _shelve(self, card: KitCard) -> None:
        """A Kit page of the version a card shows also brings that card up to date."""
        shelf = self._shelves.get(card.source)
        known = shelf.cards.get(card.repository) if shelf else None
        if shelf and known and known != card and known.kind in (CardKind.LOADING, CardKind.ERROR):
            shelf.cards[card.repository] = card
            self.changed.publish(None)

    async def _tags(self, place: Place, reference: Reference) -> tuple[str, ...]:
        """Tags, or none where a pinned Kit's repository does not list them: the pin alone is enough."""
        try:
            return await place.source.tags(reference.name)
        except RegistryError:
            if reference.digest or reference.tag:
                return ()
            raise

    def _state(self, shelf: _Shelf, state: SourceState, detail: str, error: KitStudioError | None = None) -> None:
        shelf.state, shelf.detail, shelf.error = state, detail, error
        self.changed.publish(None)


def _exact(reference: Reference, tags: tuple[str, ...]) -> Reference:
    """The reference with its newest version, where it states none."""
    if reference.tag or reference.digest:
        return reference
    tag = newest_tag(tags) or next((row.tag for row in view.version_rows(tags)), "")
    if not tag:
        raise RegistryError("The repository has no tags.", where=reference.name, remedy="Name a digest: NAME@sha256:….")
    return reference.with_tag(tag)


def _state_of(error: RegistryError) -> SourceState:
    if isinstance(error, Offline | Unreachable):
        return SourceState.OFFLINE
    if isinstance(error, SignInRequired):
        return SourceState.SIGN_IN
    return SourceState.LIMITED if isinstance(error, RateLimited) else SourceState.ERROR
