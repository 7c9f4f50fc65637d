"""The cards in view: every card known, its words and facets worked out once, so that a keystroke costs milliseconds.

A card has a slot that stays its own. Facets are bit sets over slots (Python integers), so counting and narrowing ten
thousand cards are a few operations; words are looked for among those that held the shorter words before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, repeat
from operator import contains

from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.services.catalog_search import Folded, fold, score_of
from kitstudio.ui.catalog.facets import WORKS, by_section, facet_keys, source_key

AT_ONCE = 250
"""Cards whose words and facets are worked out in one go: well under one frame."""
MEMORY = 24
"""Questions whose answers are kept until a card changes."""
_ONE = ord("1")
_FLAGS = bytes.maketrans(b"01", b"\x00\x01")


@dataclass(frozen=True, slots=True)
class Shown:
    """What fits. ``of``: cards of the source looked at; ``read``: those of them whose Kit is known, so that words and
    facets could find them; ``counts``: cards each facet stands for, words applied, facets not; ``known``: cards each
    facet stands for altogether."""

    cards: tuple[KitCard, ...] = ()
    of: int = 0
    read: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    known: Mapping[str, int] = field(default_factory=dict)


class Listing:
    """``take`` the catalog's cards, ``advance`` until nothing is pending, then ``shown`` for any words and facets."""

    def __init__(self) -> None:
        self._taken: tuple[KitCard, ...] = ()
        self._slots: list[int] = []
        """Slot of each card taken, in their order."""
        self._of: dict[tuple[str, str], int] = {}
        self._free: list[int] = []
        self._cards: list[KitCard] = []
        self._folded: list[Folded | None] = []
        self._alls: list[str] = []
        """Everything that can be found of a card, by slot; nothing while it is pending."""
        self._heads: list[str] = []
        """Its names, by slot, each between line ends."""
        self._publishers: list[str] = []
        self._keys: list[frozenset[str]] = []
        self._names: list[tuple[str, str]] = []
        self._masks: dict[str, int] = {}
        self._order: list[int] = []
        self._pending: list[int] = []
        self._alive = 0
        self._reasons: Mapping[str, str] | None = None
        self._words: list[str] = []
        self._answers: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}
        """Slots found for the last words asked for, by name and best first."""

    @property
    def pending(self) -> bool:
        """Whether cards wait for ``advance``."""
        return bool(self._pending)

    @property
    def size(self) -> int:
        """Cards taken."""
        return len(self._taken)

    def take(self, cards: Sequence[KitCard]) -> bool:
        """Take over the catalog's cards; False where none of them changed."""
        fresh = tuple(cards)
        if len(fresh) == len(self._taken):
            changed = [n for n, (new, old) in enumerate(zip(fresh, self._taken, strict=True)) if new is not old]
            if not changed:
                return False
            if all(_key(fresh[n]) == _key(self._taken[n]) for n in changed):
                self._taken = fresh
                for n in changed:
                    self._replace(self._slots[n], fresh[n])
                self._sort()
                return True
        self._rebuild(fresh)
        return True

    def advance(self, limit: int = AT_ONCE) -> bool:
        """Work out the words and facets of some cards; True while more are pending."""
        batch, self._pending = self._pending[:limit], self._pending[limit:]
        for slot in batch:
            if self._alive >> slot & 1:
                self._work_out(slot)
        if batch:
            self._answers.clear()
        return bool(self._pending)

    def use_reasons(self, reasons: Mapping[str, str] | None) -> None:
        """Which repositories fit the current set (an empty reason); None while that is not known."""
        self._reasons = reasons
        if reasons is None:
            self._masks.pop(WORKS, None)
            return
        fitting = {repository for repository, why in reasons.items() if not why}
        slots = [slot for slot in self._order if self._cards[slot].repository in fitting]
        self._masks[WORKS] = self._mask(slots)

    def reason(self, card: KitCard) -> str | None:
        """Why a card does not fit the current set, empty where it does, None where nobody asked."""
        return None if self._reasons is None else self._reasons.get(card.repository)

    def shown(self, query: str, chosen: frozenset[str], source: str = "", *, by_name: bool = False) -> Shown:
        """Cards of ``source`` (all if empty) with every word of ``query`` and the chosen facets, best first."""
        scope = self._masks.get(source_key(source), 0) if source else self._alive
        slots = self._matching(query.casefold().split())
        ranked = slots if by_name or not self._words else self._answers[tuple(self._words)][1]
        found = scope if not self._words else self._mask(slots) & scope
        fitting = found
        for section in by_section(chosen):
            any_of = 0
            for key in section:
                any_of |= self._masks.get(key, 0)
            fitting &= any_of
        counts = {key: (mask & found).bit_count() for key, mask in self._masks.items()}
        known = {key: (mask & scope).bit_count() for key, mask in self._masks.items()}
        loading = self._masks.get(f"kind-{CardKind.LOADING}", 0)
        return Shown(self._picked(ranked, fitting), scope.bit_count(), (scope & ~loading).bit_count(), counts, known)

    def left_out(self, query: str, chosen: frozenset[str], source: str = "") -> tuple[tuple[KitCard, str], ...]:
        """Cards that only the current set keeps away, each with why."""
        reasons = self._reasons or {}
        cards = self.shown(query, chosen - {WORKS}, source, by_name=True).cards
        return tuple((card, why) for card in cards if (why := reasons.get(card.repository, "")))

    # keeping

    def _rebuild(self, fresh: tuple[KitCard, ...]) -> None:
        """Cards came or went: those that stay keep their slots."""
        keys = [(card.source, card.repository) for card in fresh]
        self._drop(self._of.keys() - set(keys))
        of, cards = self._of, self._cards
        for key, card in zip(keys, fresh, strict=True):
            slot = of.get(key)
            if slot is not None and cards[slot] is not card:
                cards[slot], self._names[slot] = card, _name(card)
                self._pending.append(slot)
        self._add([(key, card) for key, card in zip(keys, fresh, strict=True) if key not in of])
        self._slots = list(map(of.__getitem__, keys))
        self._taken = fresh
        self._alive = self._mask(self._slots)
        self._sort()
        if self._reasons is not None:
            self.use_reasons(self._reasons)

    def _add(self, new: list[tuple[tuple[str, str], KitCard]]) -> None:
        """Slots for cards never seen: those that are free, then fresh ones, all at once."""
        while new and self._free:
            key, card = new.pop()
            slot = self._of[key] = self._free.pop()
            self._cards[slot], self._folded[slot], self._names[slot], self._alls[slot] = card, None, _name(card), ""
            self._pending.append(slot)
        first, count = len(self._cards), len(new)
        slots = range(first, first + count)
        self._of.update(zip((key for key, _ in new), slots, strict=True))
        self._cards += [card for _, card in new]
        self._names += [_name(card) for _, card in new]
        self._folded += [None] * count
        self._alls += [""] * count
        self._heads += [""] * count
        self._publishers += [""] * count
        self._keys += [frozenset()] * count
        self._pending += slots

    def _drop(self, gone: set[tuple[str, str]]) -> None:
        if not gone:
            return
        slots = [self._of.pop(key) for key in gone]
        left = ~self._mask(slots)
        masks = {key: mask & left for key, mask in self._masks.items()}
        self._masks = {key: mask for key, mask in masks.items() if mask}
        for slot in slots:
            self._keys[slot], self._alls[slot] = frozenset(), ""
        self._free += slots
        self._alive &= left

    def _replace(self, slot: int, card: KitCard) -> None:
        """A card that changed: few at a time, so it is worked out at once."""
        self._cards[slot], self._names[slot] = card, _name(card)
        self._work_out(slot)

    def _work_out(self, slot: int) -> None:
        self._unmark(slot)
        card = self._cards[slot]
        known = self._folded[slot] = fold(card)
        self._alls[slot], self._heads[slot] = known.all, f"\n{known.name}\n{known.segment}\n"
        self._publishers[slot] = known.publisher
        keys = self._keys[slot] = facet_keys(card)
        bit = 1 << slot
        for key in keys:
            self._masks[key] = self._masks.get(key, 0) | bit

    def _unmark(self, slot: int) -> None:
        bit = 1 << slot
        for key in self._keys[slot]:
            left = self._masks[key] & ~bit
            if left:
                self._masks[key] = left
            else:
                del self._masks[key]
        self._keys[slot] = frozenset()

    def _sort(self) -> None:
        self._order = sorted(self._of.values(), key=self._names.__getitem__)
        self._answers.clear()

    # finding

    def _matching(self, words: list[str]) -> list[int]:
        """Slots that hold every word, by name; among those that held the words these begin with, where they are kept:
        typing on narrows what was found, and taking a letter back finds it again."""
        self._words = words
        if not words:
            return self._order
        key = tuple(words)
        found = self._answers.get(key)
        if found is None:
            shorter = [slots for known, (slots, _) in self._answers.items() if _extends(words, known)]
            slots = min(shorter, key=len, default=self._order)
            for word in words:
                slots = _holding(word, slots, self._alls)
            found = (slots, self._ranked(slots))
            if len(self._answers) >= MEMORY:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = found
        return found[0]

    def _ranked(self, slots: list[int]) -> list[int]:
        """Best first, by name among equals, as ``services.catalog_search`` scores."""
        words, folded = self._words, self._folded
        if len(words) == 1:
            return self._ranked_by(words[0], slots)
        tiers: dict[int, list[int]] = {}
        for slot in slots:
            known = folded[slot]
            assert known is not None
            tiers.setdefault(score_of(words, known), []).append(slot)
        return [slot for score in sorted(tiers, reverse=True) for slot in tiers[score]]

    def _ranked_by(self, word: str, slots: list[int]) -> list[int]:
        """The order of ``score_of`` for one word, in few passes: it is what is typed while the list is longest."""
        heads, publishers = self._heads, self._publishers
        start = f"\n{word}"
        named = _holding(word, slots, heads)
        begins = _holding(start, named, heads)
        exact = _holding(f"{start}\n", begins, heads)
        rest = _without(slots, named)
        published = _holding(word, rest, publishers)
        tiers = (exact, _without(begins, exact), _without(named, begins), published, _without(rest, published))
        return [slot for tier in tiers for slot in tier]

    def _picked(self, slots: list[int], mask: int) -> tuple[KitCard, ...]:
        cards = map(self._cards.__getitem__, slots)
        if mask == self._alive:
            return tuple(cards)
        flags = format(mask, "b").zfill(len(self._cards))[::-1].encode().translate(_FLAGS)
        return tuple(compress(cards, map(flags.__getitem__, slots)))

    def _mask(self, slots: Sequence[int]) -> int:
        if not self._cards or not slots:
            return 0
        flags = bytearray(b"0") * len(self._cards)
        for slot in slots:
            flags[slot] = _ONE
        return int(flags[::-1], 2)


def _key(card: KitCard) -> tuple[str, str]:
    return card.source, card.repository


def _name(card: KitCard) -> tuple[str, str]:
    return (card.display_name or card.repository).casefold(), card.repository


def _holding(word: str, slots: list[int], texts: list[str]) -> list[int]:
    """The slots whose text holds ``word``."""
    return list(compress(slots, map(contains, map(texts.__getitem__, slots), repeat(word))))


def _extends(words: Sequence[str], before: Sequence[str]) -> bool:
    """Whether what holds ``words`` holds ``before``, too: the same words, longer or more of them."""
    return len(words) >= len(before) and all(old in new for old, new in zip(before, words, strict=False))


def _without(slots: list[int], others: list[int]) -> list[int]:
    """``slots`` without ``others``, in order."""
    if not others:
        return slots
    if len(others) == len(slots):
        return []
    left_out = set(others)
    return [slot for slot in slots if slot not in left_out]
