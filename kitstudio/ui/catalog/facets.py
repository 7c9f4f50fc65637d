"""Narrowing the catalog down: pure rules over cards, and the check boxes that hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from kitstudio.models.review import Group
from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import row, text_label
from kitstudio.ui.widgets.text import group_word, number, tr


@dataclass(frozen=True, slots=True)
class Facet:
    """One check box. Facets of one section widen each other; sections narrow each other."""

    section: str
    key: str
    label: str
    fits: Callable[[KitCard], bool]


@cache
def facets() -> tuple[Facet, ...]:
    """Every facet, in the order shown."""
    kinds = (
        (CardKind.MIXIN, tr("Mixin")),
        (CardKind.WORKLOAD, tr("Workload")),
        (CardKind.V2, tr("v2 artifact")),
        (CardKind.IMAGE, tr("Plain image")),
    )
    groups = (
        Group.NETWORK,
        Group.CREDENTIALS,
        Group.SSH_AGENT,
        Group.STORAGE,
        Group.HOST_FILES,
        Group.PORTS,
        Group.USB,
        Group.PRIVILEGED,
    )
    return (
        *(Facet(tr("Kind"), f"kind-{kind}", label, _of_kind(kind)) for kind, label in kinds),
        Facet(tr("Publisher"), "verified", tr("Verified only"), lambda card: card.verified),
        *(Facet(tr("Asks for"), f"asks-{group.name.lower()}", group_word(group), _asks(group)) for group in groups),
        Facet(tr("Asks for"), "asks-nothing", tr("Nothing"), _asks_nothing),
    )


class FacetIndex:
    """Which facets each card fits, worked out once per card: ten thousand cards are counted within a frame."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[KitCard, frozenset[str]]] = {}

    def keys(self, card: KitCard) -> frozenset[str]:
        """Facets of a card. Cards are values; the index keeps the one it knows, so its identity stays its own."""
        found = self._known.get(id(card))
        if found is None or found[0] is not card:
            found = (card, frozenset(facet.key for facet in facets() if facet.fits(card)))
            self._known[id(card)] = found
        return found[1]

    def forget(self, cards: Sequence[KitCard]) -> None:
        """Keep only these."""
        if len(self._known) > 2 * len(cards) + 1000:
            self._known = {id(card): (card, self.keys(card)) for card in cards}

    def counts(self, cards: Sequence[KitCard]) -> Counter[str]:
        """How many of the cards fit each facet."""
        found: Counter[str] = Counter()
        for keys, times in Counter(self.keys(card) for card in cards).items():
            for key in keys:
                found[key] += times
        return found

    def narrow(self, cards: Sequence[KitCard], chosen: frozenset[str], source: str = "") -> tuple[KitCard, ...]:
        """Cards of ``source`` (all if empty) that fit the chosen facets."""
        of_source = tuple(card for card in cards if card.source == source) if source else tuple(cards)
        sections: dict[str, set[str]] = {}
        for facet in facets():
            if facet.key in chosen:
                sections.setdefault(facet.section, set()).add(facet.key)
        for section in sections.values():
            of_source = tuple(card for card in of_source if not section.isdisjoint(self.keys(card)))
        return of_source


class FacetPane(QWidget):
    """The check boxes with how many cards each stands for."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.index = FacetIndex()
        self._boxes: dict[str, QCheckBox] = {}
        self._counts: dict[str, QLabel] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.px(16), 0, theme.px(16), theme.px(12))
        layout.setSpacing(0)
        section = ""
        for facet in facets():
            if facet.section != section:
                section = facet.section
                layout.addSpacing(theme.px(6))
                layout.addWidget(text_label(section, Type.LABEL, "secondary"))
                layout.addSpacing(theme.px(2))
            box = QCheckBox(facet.label)
            box.setObjectName(f"facet-{facet.key}")
            box.setMinimumHeight(theme.px(24))
            box.toggled.connect(lambda _=False: self.changed.emit())
            count = text_label("", Type.SMALL, "secondary")
            count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self._boxes[facet.key] = box
            self._counts[facet.key] = count
            layout.addLayout(row(box, None, count))
        layout.addStretch(1)

    def chosen(self) -> frozenset[str]:
        return frozenset(key for key, box in self._boxes.items() if box.isChecked())

    def choose(self, keys: frozenset[str]) -> None:
        """Tick exactly these; one ``changed``."""
        for key, box in self._boxes.items():
            box.blockSignals(True)
            box.setChecked(key in keys)
            box.blockSignals(False)
        self.changed.emit()

    def show_counts(self, cards: Sequence[KitCard]) -> None:
        """How many of ``cards`` each facet stands for; a facet without any cannot be ticked."""
        counts = self.index.counts(cards)
        for facet in facets():
            count = counts[facet.key]
            box, label = self._boxes[facet.key], self._counts[facet.key]
            label.setText(number(count))
            box.setAccessibleName(f"{facet.label}, {number(count)}")
            box.setEnabled(bool(count) or box.isChecked())


def _of_kind(kind: CardKind) -> Callable[[KitCard], bool]:
    return lambda card: card.kind is kind


def _asks(group: Group) -> Callable[[KitCard], bool]:
    return lambda card: any(chip.group is group for chip in card.chips)


def _asks_nothing(card: KitCard) -> bool:
    return card.kind in (CardKind.WORKLOAD, CardKind.MIXIN) and not card.chips and not card.newer_types
