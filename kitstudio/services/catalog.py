"""The catalog: sources, what they list, and what is kept of it. Manifests are fetched on demand, never layers.

No request leaves before a network source is opened: ``refresh("")`` touches local sources and opened ones only,
``refresh(source)`` opens it. Until then its cards are those of the index of Kits, each with the time it was fetched.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kitstudio.models.errors import KitStudioError
from kitstudio.models.fits import relations_of
from kitstudio.models.plan import Offer, Plan
from kitstudio.registry.attached import Attachment
from kitstudio.registry.source import (
    Artifact,
    Platform,
    RateLimited,
    RegistryError,
    SignInRequired,
    Unreachable,
)
from kitstudio.registry.threads import in_thread
from kitstudio.services import cards as view
from kitstudio.services.artifact_checks import PlatformChecks, Told
from kitstudio.services.card_reading import read_card
from kitstudio.services.catalog_kept import KeptCards, KeptKit
from kitstudio.services.catalog_search import CardSearch
from kitstudio.services.catalog_shelf import UNOPENED, Shelf, state_of
from kitstudio.services.catalog_values import (
    CardKind,
    KitCard,
    KitDetails,
    SourceInfo,
    SourceKind,
    SourceState,
    VersionRow,
)
from kitstudio.services.kit_pages import KitPages
from kitstudio.services.known_manifests import KnownManifests
from kitstudio.services.listed import Listed, found_at_hub, listed, shelved
from kitstudio.services.places import VERIFIED, Place, Places
from kitstudio.services.settings import Settings
from kitstudio.services.topic import Topic
from kitstudio.services.watching import Watching

if TYPE_CHECKING:
    from kitstudio.registry.staged import StagedSources

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
"""Manifests fetched at the same time from one host: a slow one holds up nobody but itself."""
KEPT_AT_ONCE = 20_000
"""Rows of one list that are kept."""

SOURCES_KEY = "catalog.sources"
TRUSTED_KEY = "catalog.trusted"


class Catalog:
    """State of the catalog. ``changed`` publishes after any card, source or fetch changed."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self.changed: Topic[None] = Topic()
        self._places = places
        self._settings = settings
        self._pages = KitPages(places)
        self._kept = KeptCards(places.index())
        self._gates: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._loading = asyncio.Lock()
        self._loaded: set[str] = set()
        self._wanted: dict[tuple[str, str], bool] = {}
        self._search = CardSearch()
        self._shelves: dict[str, Shelf] = {}
        self._known = KnownManifests()
        self._watching = Watching(self._moved, self.changed)
        self._remember(places.demo())
        self._remember(places.verified())
        for text in settings.texts(SOURCES_KEY):
            try:
                self._remember(places.open(text))
            except RegistryError as error:
                place = places.unusable(text, error)
                self._shelves[place.id] = Shelf(place, SourceState.ERROR, error.what, error)

    @property
    def index_problem(self) -> KitStudioError | None:
        """Why nothing can be kept between two runs at the moment; None where all is well."""
        return self._kept.problem

    def sources(self) -> tuple[SourceInfo, ...]:
        """Those that come with Kit Studio first, then in the order they were added."""
        trusted = self._settings.texts(TRUSTED_KEY)
        return tuple(shelf.info(trusted=shelf.place.id in trusted) for shelf in self._shelves.values())

    def cards(self) -> tuple[KitCard, ...]:
        """Every known card of every source, LOADING where only the repository is known."""
        return tuple(card for shelf in self._shelves.values() for card in shelf.cards.values())

    def offers(self) -> tuple[Offer, ...]:
        """The Kits known by their manifests, in this run or kept from another: what a proposal can draw on."""
        return self._known.offers()

    async def start(self) -> None:
        """Show what is kept, and watch layouts, folders and set files from now on; ``close`` ends it. Before the first
        ``refresh``, so that nothing happens unseen in between."""
        await self._load()
        await self._watching.start(self._shelves.values())
        if any(shelf.place.kind is SourceKind.REGISTRY for shelf in self._shelves.values()):
            await self._name_accounts()

    async def close(self) -> None:
        """End watching."""
        await self._watching.close()

    async def refresh(self, source: str = "") -> None:
        """List one source again (all if empty) and fetch what its cards need."""
        await self._load()
        if source:
            shelves = [self._shelf(source)]
        else:
            shelves = [s for s in self._shelves.values() if s.opened or not s.place.network]
        async with asyncio.TaskGroup() as group:
            for shelf in shelves:
                group.create_task(self._list(shelf))

    async def retry(self, host: str) -> None:
        """After a sign-in at ``host``: list again and fill again whatever failed for want of one."""
        self._places.renew(host)
        await self._name_accounts(host)
        async with asyncio.TaskGroup() as group:
            for shelf in self._shelves.values():
                if shelf.place.registry == host and shelf.opened and shelf.state is not SourceState.READY:
                    group.create_task(self._list(shelf))
                    continue
                for card in tuple(shelf.cards.values()):
                    refused = isinstance(card.error, SignInRequired) and card.repository.startswith(f"{host}/")
                    if refused and shelf.wants(card):
                        group.create_task(self._fill(shelf, card.repository))
        self.changed.publish(None)

    async def want(self, reference: str) -> None:
        """Fetch the manifest behind a visible card that is LOADING, failed, or shown from what is kept; a few run at a
        time. Nothing is sent for a network source that was not opened."""
        for shelf in tuple(self._shelves.values()):
            if (card := shelf.find(reference)) is not None and shelf.wants(card):
                await self._fill(shelf, card.repository)

    async def details(self, reference: str) -> KitDetails:
        """The Kit page. ``reference``: any spelling of ``cli.md``."""
        place, details = await self._pages.page(reference)
        known = next(
            (c for s in self._shelves.values() if s.place.network and (c := s.cards.get(details.card.repository))), None
        )
        details = replace(details, card=view.vouched(details.card, known))
        if not details.versions or details.card.version in ("", details.versions[0].version):
            self._shelve(details.card)
        if place.network:
            about = relations_of(details.descriptor) if details.descriptor else None
            await self._kept.put((KeptKit(details.card, about),))
        return details

    async def artifact(self, reference: str, platform: Platform | None = None) -> Artifact:
        """One Kit as its source has it, for those who need no page."""
        return await self._pages.artifact(reference, platform)

    async def staged(self, reference: str) -> StagedSources:
        """The sources a Kit brings along (its recipe); fetches the one small layer that holds them."""
        return await self._pages.staged(reference)

    async def checked(
        self, reference: str, told: Told = lambda done, total: None
    ) -> tuple[Artifact, tuple[PlatformChecks, ...]]:
        """One Kit and the checks on its artifact, layers fetched, on every platform it is published for."""
        return await self._pages.checked(reference, told)

    async def attached(self, reference: str) -> tuple[Attachment, ...]:
        """Signatures and attestations the registry lists for a Kit; one request, when somebody looks."""
        return await self._pages.attached(reference)

    async def compatible(self, plan: Plan) -> Mapping[str, str]:
        """Repository → empty where its Kit fits the set, else one sentence why not. Repositories whose manifest is not
        known are left out."""
        return await self._known.fitting(plan)

    async def add_source(self, text: str) -> SourceInfo:
        """Add a registry host, namespace, repository, OCI layout, folder or set file; remembered in the settings."""
        place = self._places.open(text)
        if place.id in self._shelves:
            return self._info(self._shelves[place.id])
        shelf = self._remember(place)
        await self._load()
        await self._watching.add(shelf)
        await self._list(shelf)
        if shelf.error is not None and (not place.network or place.kind is SourceKind.SET):
            self._watching.drop(place.id)
            del self._shelves[place.id]
            self.changed.publish(None)
            raise shelf.error
        self._settings.set(SOURCES_KEY, (*self._settings.texts(SOURCES_KEY), place.text))
        return self._info(shelf)

    def visit(self, place: Place) -> None:
        """Show a source for this run only; nothing is remembered."""
        if place.id not in self._shelves:
            self._remember(place)

    async def remove_source(self, source: str) -> None:
        """Forget a source and what is kept of it. Those that come with Kit Studio stay."""
        shelf = self._shelf(source)
        if shelf.place.kind is SourceKind.DEMO or shelf.place.id == VERIFIED:
            what = "This source comes with Kit Studio and stays; nothing is sent before it is opened."
            if shelf.place.kind is SourceKind.DEMO:
                what = "The demo catalog is part of Kit Studio and stays."
            raise KitStudioError(what, where=shelf.place.title)
        kept = tuple(text for text in self._settings.texts(SOURCES_KEY) if text != shelf.place.text)
        self._settings.set(SOURCES_KEY, kept)
        self._watching.drop(source)
        del self._shelves[source]
        self.trust(source, False)
        self.changed.publish(None)
        await self._kept.forget(source)

    def trust(self, source: str, trusted: bool) -> None:
        """Let the icons of a source's Kits be fetched, or no longer."""
        named = self._settings.texts(TRUSTED_KEY)
        wanted = (*(text for text in named if text != source), *((source,) if trusted else ()))
        if set(wanted) != set(named):
            self._settings.set(TRUSTED_KEY, wanted)
            self.changed.publish(None)

    def search(self, query: str, cards: tuple[KitCard, ...] | None = None) -> tuple[KitCard, ...]:
        """Cards matching every word of ``query`` in name, publisher, description, reference, best first."""
        return self._search.ranked(query, self.cards() if cards is None else cards)

    async def search_all(self, query: str, source: str = "") -> tuple[KitCard, ...]:
        """``search``, and behind it what the index of Kits holds beside what is shown: Kits of sources that are gone,
        Kits looked at by their reference, and what did not fit at start."""
        await self._load()
        shown = [card for card in self.cards() if not source or card.source == source]
        known = {card.repository for card in shown}
        beside: dict[str, KitCard] = {}
        for kit in await self._kept.search(query, source):
            if kit.card.repository not in known:
                beside.setdefault(kit.card.repository, kit.card)
        return (*self.search(query, tuple(shown)), *beside.values())

    async def find(self, source: str, query: str) -> tuple[KitCard, ...]:
        """Ask Docker Hub's own search within a Hub source: its lists are cut short, the search reaches the rest. What
        is found stays on the source's shelf."""
        shelf = self._shelf(source)
        if shelf.place.kind is not SourceKind.HUB:
            return ()
        shelf.opened = True
        found = await found_at_hub(shelf.place, query)
        await self._take(shelf, found)
        cards = tuple(shelf.cards[name] for name in found.names if name in shelf.cards)
        await self._kept.put(KeptKit(card) for card in cards if not card.digest)
        self.changed.publish(None)
        return cards

    def _info(self, shelf: Shelf) -> SourceInfo:
        return shelf.info(trusted=shelf.place.id in self._settings.texts(TRUSTED_KEY))

    def _remember(self, place: Place) -> Shelf:
        shelf = Shelf(place, detail=UNOPENED if place.network else "")
        self._shelves[place.id] = shelf
        self.changed.publish(None)
        return shelf

    def _shelf(self, source: str) -> Shelf:
        if source not in self._shelves:
            known = ", ".join(self._shelves)
            raise KitStudioError("There is no such source.", where=source, remedy=f"Known sources: {known}.")
        return self._shelves[source]

    async def _load(self) -> None:
        """Show what is kept of sources nobody has opened yet."""
        async with self._loading:
            for shelf in tuple(self._shelves.values()):
                source = shelf.place.id
                if not shelf.place.network or shelf.opened or source in self._loaded:
                    continue
                kits, shelf.fetched_at = await self._kept.of(source)
                self._loaded.add(source)
                for kit in kits:
                    if kit.card.repository not in shelf.cards:
                        shelf.cards[kit.card.repository] = kit.card
                        self._known.take(kit.card, kit.relations)
                if self._places.offline and shelf.error is None:
                    shelf.turn(SourceState.OFFLINE, "the program was told to stay offline")
                if kits or self._places.offline:
                    self.changed.publish(None)

    async def _list(self, shelf: Shelf) -> None:
        """Ask a source what it has; its failure is the source's state, never an exception to its neighbours."""
        shelf.opened = True
        shelf.tried.clear()
        self._state(shelf, SourceState.LOADING, "reading the list")
        try:
            found = await listed(shelf.place)
        except RegistryError as error:
            self._state(shelf, state_of(error), error.what, error)
            return
        except asyncio.CancelledError:
            self._state(shelf, SourceState.READY, "the list was not read to its end")
            raise
        if found.error is not None:
            self._state(shelf, state_of(found.error), found.error.what, found.error)
            return
        known = dict(shelf.cards)
        await self._take(shelf, found)
        shelf.fetched_at = time.time()
        self._state(shelf, SourceState.READY, "" if shelf.cards else found.note or "nothing listed for this account")
        if not shelf.place.network:
            async with asyncio.TaskGroup() as group:
                for repository in shelf.cards:
                    group.create_task(self._fill(shelf, repository))
        fresh = [KeptKit(card) for name, card in shelf.cards.items() if known.get(name) != card and not card.digest]
        await self._kept.put(fresh[:KEPT_AT_ONCE])
        if found.complete:
            await self._kept.listed(shelf.place.id, found.names, found.note)
        await self._name_accounts(shelf.place.registry)

    async def _take(self, shelf: Shelf, found: Listed) -> None:
        """Shelve what was listed; a card that was filled meanwhile stays as it became."""
        before = dict(shelf.cards)
        cards, strange = await in_thread(lambda stop: shelved(shelf.place.id, before, found))
        now = shelf.cards
        shelf.cards = {
            name: now[name] if name in now and now[name] is not before.get(name) else card
            for name, card in cards.items()
        }
        shelf.note = f"{strange:,} names in the list are none a Kit can have." if strange else found.note

    async def _fill(self, shelf: Shelf, repository: str) -> None:
        """Fetch one card; whoever asks again meanwhile is told by ``changed`` like everyone else."""
        key = (shelf.place.id, repository)
        if key in self._wanted:
            self._wanted[key] = True
            return
        known = shelf.cards.get(repository)
        if known is None:
            # The list was read again since, and the Kit is no longer in it.
            return
        again = True
        while again:
            self._wanted[key] = False
            try:
                async with self._gates[shelf.place.registry or shelf.place.id]:
                    card, about = await read_card(shelf.place, repository)
                card = view.vouched(card, known if shelf.place.kind is SourceKind.HUB else None)
            except KitStudioError as error:
                # What was fetched once is better than nothing while its place is away.
                away = isinstance(error, Unreachable | RateLimited) and known.fetched_at > 0
                shelf.tried.add(repository)
                card, about = (known if away else view.failed_card(known, error)), None
            finally:
                again = self._wanted.pop(key, False) and not shelf.place.network
        if repository not in shelf.cards:
            return
        shelf.cards[repository] = card
        self._known.take(card, about)
        self.changed.publish(None)
        if card.error is None and card is not known and self._shelves.get(shelf.place.id) is shelf:
            await self._kept.put((KeptKit(card, about),))

    def _shelve(self, card: KitCard) -> None:
        """A Kit page of the newest version also brings the Kit's card up to date."""
        for shelf in self._shelves.values():
            known = shelf.cards.get(card.repository)
            if known is None or shelf.place.kind not in (SourceKind.REGISTRY, SourceKind.HUB, SourceKind.DEMO):
                continue
            if known.kind in (CardKind.LOADING, CardKind.ERROR) or known.fetched_at > 0:
                shelf.cards[card.repository] = replace(card, source=shelf.place.id)
                self.changed.publish(None)

    async def _moved(self, shelf: Shelf, repository: str) -> None:
        """Something changed underneath a watched source."""
        if shelf.place.network and not shelf.opened:
            return
        if set(await shelf.place.source.list()) != set(shelf.cards):
            await self._list(shelf)
        else:
            await self._fill(shelf, repository)

    async def _name_accounts(self, host: str = "") -> None:
        """Who is signed in where, as far as the index of accounts says without looking at a secret."""
        shelves = [s for s in self._shelves.values() if s.place.registry and s.place.network]
        shelves = [s for s in shelves if s.place.registry == host or not host]
        if not shelves:
            return
        known = await in_thread(lambda stop: self._places.sign_ins())
        from kitstudio.registry.sign_in import signed_in_as

        for shelf in shelves:
            account = await signed_in_as(known, shelf.place.registry, shelf.place.path)
            shelf.account = account.username if account else ""
        self.changed.publish(None)

    def _state(self, shelf: Shelf, state: SourceState, detail: str, error: KitStudioError | None = None) -> None:
        shelf.turn(state, detail, error)
        self.changed.publish(None)
