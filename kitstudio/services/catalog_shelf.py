"""One source as the catalog keeps it while it runs: its state and its cards, by repository."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import parse
from kitstudio.registry.source import Offline, RateLimited, RegistryError, SignInRequired, Unreachable
from kitstudio.services.catalog_values import CardKind, KitCard, SourceInfo, SourceState
from kitstudio.services.places import Place

UNOPENED = "not opened yet"


@dataclass(slots=True)
class Shelf:
    """A source and its cards. ``opened``: it was listed in this run; ``fetched_at``: when its list last came;
    ``tried``: repositories that could not be fetched since."""

    place: Place
    state: SourceState = SourceState.READY
    detail: str = ""
    error: KitStudioError | None = None
    opened: bool = False
    fetched_at: float = 0.0
    retry_at: float = 0.0
    note: str = ""
    account: str = ""
    cards: dict[str, KitCard] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)

    def info(self, *, trusted: bool = False) -> SourceInfo:
        """What is shown of the source."""
        place = self.place
        return SourceInfo(
            place.id,
            place.title,
            place.kind,
            self.state,
            self.detail,
            len(self.cards),
            self.error,
            registry=place.registry if place.network else "",
            account=self.account,
            network=place.network,
            opened=self.opened,
            fetched_at=self.fetched_at,
            retry_at=self.retry_at,
            note=self.note,
            trusted=trusted,
        )

    def turn(self, state: SourceState, detail: str = "", error: KitStudioError | None = None) -> None:
        """Enter a state."""
        self.state, self.detail, self.error, self.retry_at = state, detail, error, 0.0
        if isinstance(error, RateLimited) and error.retry_after:
            self.retry_at = time.time() + error.retry_after

    def find(self, reference: str) -> KitCard | None:
        """The card a reference or repository belongs to."""
        if (card := self.cards.get(reference)) is not None:
            return card
        try:
            card = self.cards.get(parse(reference).name)
        except RegistryError:
            card = None
        if card is not None and card.reference == reference:
            return card
        return next((card for card in self.cards.values() if card.reference == reference), None)

    def wants(self, card: KitCard) -> bool:
        """Whether a card is to be fetched when it is looked at: nothing is asked of a source nobody opened."""
        if self.place.network and not self.opened:
            return False
        kept = card.fetched_at > 0 and card.repository not in self.tried
        return card.kind in (CardKind.LOADING, CardKind.ERROR) or kept


def state_of(error: KitStudioError) -> SourceState:
    """The state of a source that answered with ``error``."""
    if isinstance(error, Offline | Unreachable):
        return SourceState.OFFLINE
    if isinstance(error, SignInRequired):
        return SourceState.SIGN_IN
    return SourceState.LIMITED if isinstance(error, RateLimited) else SourceState.ERROR
