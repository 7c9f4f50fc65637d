"""Searching cards: every word must be found; where it was found decides the order. What is folded is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kitstudio.services.catalog_values import KitCard

NO_MATCH = -1


@dataclass(frozen=True, slots=True)
class Folded:
    """A card's words, ready to be compared."""

    card: KitCard
    name: str
    segment: str
    publisher: str
    all: str


class CardSearch:
    """Cards by their words; a card is folded once, however often it is searched."""

    def __init__(self) -> None:
        self._folded: dict[tuple[str, str], Folded] = {}

    def ranked(self, query: str, cards: Iterable[KitCard]) -> tuple[KitCard, ...]:
        """Cards that hold every word of ``query``, best first; all of them, in order, for an empty query."""
        words = query.casefold().split()
        if not words:
            return tuple(cards)
        scored = [
            (score, folded) for folded in map(self._fold, cards) if (score := score_of(words, folded)) != NO_MATCH
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].name, pair[1].card.repository))
        return tuple(folded.card for _, folded in scored)

    def _fold(self, card: KitCard) -> Folded:
        key = (card.source, card.repository)
        known = self._folded.get(key)
        if known is None or known.card is not card:
            known = self._folded[key] = fold(card)
        return known


def fold(card: KitCard) -> Folded:
    """A card's words in one case."""
    name = card.display_name.casefold()
    segment = card.repository.rpartition("/")[2].casefold()
    publisher = card.publisher.casefold()
    parts = (card.description, card.reference, card.author, *card.capability_types)
    elsewhere = "\n".join(parts).casefold()
    return Folded(card, name, segment, publisher, f"{name}\n{segment}\n{publisher}\n{elsewhere}")


def score_of(words: list[str], card: Folded) -> int:
    """How well a card answers the words; ``NO_MATCH`` where one is missing."""
    total = 0
    for word in words:
        if word not in card.all:
            return NO_MATCH
        if word in (card.name, card.segment):
            total += 100
        elif card.name.startswith(word) or card.segment.startswith(word):
            total += 60
        elif word in card.name or word in card.segment:
            total += 40
        elif word in card.publisher:
            total += 20
        else:
            total += 10
    return total
