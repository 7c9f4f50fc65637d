"""What is kept of a card between two runs: a row of the index of Kits, and the card made from it again.

A row of another version, or a damaged one, is passed over: everything in the index can be fetched again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kitstudio.models.capabilities import is_newer
from kitstudio.models.errors import KitStudioError
from kitstudio.models.fits import Relations
from kitstudio.models.review import Chip, Group
from kitstudio.models.weights import Weight
from kitstudio.registry.index import MAX_BODY, KitIndex, SeenKit
from kitstudio.registry.threads import in_thread
from kitstudio.services.catalog_values import CardKind, KitCard

FORM = 1
MOST = 5000
"""Kept cards shown of one source at start; the search reaches the others."""


@dataclass(frozen=True, slots=True)
class KeptKit:
    """A card, and how its Kit gets on with others (None where that is not known)."""

    card: KitCard
    relations: Relations | None = None


def to_row(kit: KeptKit) -> SeenKit:
    """The row of a card."""
    card, about = kit.card, kit.relations
    offered = about.provides[:200] if about else ()
    words = (*card.capability_types, *card.licenses, *card.categories, card.author, *offered)
    body = _body(card, about)
    if len(body) > MAX_BODY:
        body = _body(card, None)
    return SeenKit(
        card.source,
        card.repository,
        card.display_name,
        card.publisher,
        card.description,
        " ".join(words),
        card.digest,
        body if len(body) <= MAX_BODY else "",
    )


def from_row(row: SeenKit) -> KeptKit | None:
    """The card of a row, with the time it was fetched; None where the row is of no use."""
    try:
        body: Any = json.loads(row.body)
        if body.get("form") != FORM:
            return None
        types = tuple(str(name) for name in body["types"])
        about = body["relations"]
        card = KitCard(
            source=row.source,
            reference=str(body["reference"]),
            repository=row.repository,
            kind=CardKind(body["kind"]),
            display_name=row.title,
            publisher=row.publisher,
            verified=body["verified"] is True,
            author=str(body["author"]),
            version=str(body["version"]),
            description=row.description,
            licenses=tuple(str(name) for name in body["licenses"]),
            digest=row.digest,
            chips=tuple(Chip(Group(group), str(text), Weight(weight)) for group, text, weight in body["chips"]),
            capability_types=types,
            newer_types=tuple(name for name in types if is_newer(name)),
            platforms=tuple(str(name) for name in body["platforms"]),
            icon_url=str(body["icon"]),
            fetched_at=row.seen,
            pulls=body["pulls"] if isinstance(body["pulls"], int) else None,
            stars=body["stars"] if isinstance(body["stars"], int) else None,
            categories=tuple(str(name) for name in body["categories"]),
        )
        return KeptKit(card, None if about is None else _relations(about))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


class KeptCards:
    """Cards in the index, read and written in a thread. A fault of the index is remembered in ``problem``: the
    catalog works without it, and says so."""

    def __init__(self, index: KitIndex) -> None:
        self._index = index
        self._waiting: list[KeptKit] = []
        self._writing = False
        self.problem: KitStudioError | None = None

    async def of(self, source: str) -> tuple[tuple[KeptKit, ...], float]:
        """What is kept of a source, and when it was last listed (0: never)."""

        def read() -> tuple[tuple[KeptKit, ...], float]:
            return _kept(self._index.search("", source=source, most=MOST)), self._index.listed_at(source)

        try:
            return await in_thread(lambda stop: read())
        except KitStudioError as error:
            self.problem = error
            return (), 0.0

    async def search(self, query: str, source: str = "", most: int = 500) -> tuple[KeptKit, ...]:
        """Kits that hold every word of a query, best first."""
        try:
            return await in_thread(lambda stop: _kept(self._index.search(query, source=source, most=most)))
        except KitStudioError as error:
            self.problem = error
            return ()

    async def put(self, kits: Iterable[KeptKit]) -> None:
        """Keep cards; what comes while a batch is written goes with the next one."""
        self._waiting += [kit for kit in kits if kit.card.kind is not CardKind.ERROR]
        if self._writing:
            return
        self._writing = True
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._change(partial(self._put, batch))
        finally:
            self._writing = False

    async def listed(self, source: str, repositories: Iterable[str], note: str = "") -> None:
        """A source was listed completely just now."""
        names = tuple(repositories)
        await self._change(lambda: self._index.listed(source, names, note))

    async def forget(self, source: str) -> None:
        """Nothing of a source is kept any more."""
        await self._change(lambda: self._index.forget(source))

    def _put(self, batch: list[KeptKit]) -> None:
        self._index.put(map(to_row, batch))

    async def _change(self, work: Callable[[], None]) -> None:
        try:
            await in_thread(lambda stop: work())
            self.problem = None
        except KitStudioError as error:
            self.problem = error


def _kept(rows: Iterable[SeenKit]) -> tuple[KeptKit, ...]:
    return tuple(kit for row in rows if (kit := from_row(row)) is not None)


def _body(card: KitCard, about: Relations | None) -> str:
    body = {
        "form": FORM,
        "reference": card.reference,
        "kind": card.kind.value,
        "verified": card.verified,
        "author": card.author,
        "version": card.version,
        "licenses": card.licenses,
        "chips": [(chip.group.value, chip.text, chip.weight.value) for chip in card.chips],
        "types": card.capability_types,
        "platforms": card.platforms,
        "icon": card.icon_url,
        "pulls": card.pulls,
        "stars": card.stars,
        "categories": card.categories,
        "relations": None
        if about is None
        else [
            about.kind,
            about.version,
            about.provides,
            about.requires,
            about.integrates,
            about.conflicts,
            about.credentials,
        ],
    }
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def _relations(row: Any) -> Relations:
    kind, version, provides, requires, integrates, conflicts, credentials = row
    return Relations(
        str(kind),
        str(version),
        tuple(map(str, provides)),
        tuple(map(str, requires)),
        tuple(map(str, integrates)),
        tuple(map(str, conflicts)),
        tuple((str(service), str(phase)) for service, phase in credentials),
    )
