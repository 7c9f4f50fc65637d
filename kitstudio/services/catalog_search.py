"""Searching cards: every word must be found; where it was found decides the order. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from kitstudio.services.catalog_values import KitCard

_NO_MATCH = -1


def ranked(query: str, cards: Iterable[KitCard]) -> tuple[KitCard, ...]:
    """Cards that hold every word of ``query``, best first; all of them, in order, for an empty query."""
    words = query.casefold().split()
    if not words:
        return tuple(cards)
    scored = [(score, card) for card in cards if (score := _score(words, card)) != _NO_MATCH]
    scored.sort(key=lambda pair: (-pair[0], pair[1].display_name.casefold(), pair[1].repository))
    return tuple(card for _, card in scored)


def _score(words: list[str], card: KitCard) -> int:
    name = card.display_name.casefold()
    segment = card.repository.rpartition("/")[2].casefold()
    publisher = card.publisher.casefold()
    elsewhere = " ".join((card.description, card.reference, card.author, *card.capability_types)).casefold()
    total = 0
    for word in words:
        if word in (name, segment):
            total += 100
        elif name.startswith(word) or segment.startswith(word):
            total += 60
        elif word in name or word in segment:
            total += 40
        elif word in publisher:
            total += 20
        elif word in elsewhere:
            total += 10
        else:
            return _NO_MATCH
    return total
