"""Kit cards as a Qt model: list and table over the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, IntEnum
from operator import is_

from PySide6.QtCore import QAbstractTableModel, QMimeData, QModelIndex, QObject, QPersistentModelIndex, Qt

from kitstudio.models.words import claim
from kitstudio.services.catalog import CardKind, KitCard, SourceInfo
from kitstudio.ui.catalog.card_words import card_chips, card_name, kind_word, short_number, spoken, tool_tip
from kitstudio.ui.catalog.pictures import KitPictures
from kitstudio.ui.drag import REFERENCE_TYPE, reference_mime
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import tr, visible

USABLE = (CardKind.WORKLOAD, CardKind.MIXIN)
TABLE_PICTURE = 20


CARD = 96
GAP = 8


def card_height(theme: Theme) -> int:
    """A card with the gap above it, at this text size."""
    lines = theme.line(Type.STRONG) + theme.line(Type.BODY) + max(theme.px(22), theme.line(Type.SMALL))
    return max(theme.px(CARD), lines + theme.px(34)) + theme.px(GAP)


class CardRole(int, Enum):
    CARD = Qt.ItemDataRole.UserRole + 1


class CardColumn(IntEnum):
    """Columns of the table; the list shows the first one as a card."""

    NAME = 0
    PUBLISHER = 1
    KIND = 2
    VERSION = 3
    ASKS = 4
    PULLS = 5
    DESCRIPTION = 6


class CardModel(QAbstractTableModel):
    """The cards that fit the filter, in order. ``show_cards`` keeps rows in place where only their values changed.

    ``wanted``: told of a row of the table that is seen and not fetched yet.
    """

    def __init__(self, theme: Theme, parent: QObject | None = None, pictures: KitPictures | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._cards: tuple[KitCard, ...] = ()
        self._rows: dict[str, int] | None = None
        self._sources: dict[str, SourceInfo] = {}
        self._reason: Callable[[KitCard], str | None] = lambda _: None
        self.pictures = pictures or KitPictures(theme, parent=self)
        self.wanted: Callable[[KitCard], None] = lambda _: None

    def show_cards(self, cards: Sequence[KitCard]) -> None:
        fresh = tuple(cards)
        alike = len(fresh) == len(self._cards)
        if alike and all(map(is_, fresh, self._cards)):
            return
        same = alike and all(
            new is old or (new.repository == old.repository and new.source == old.source)
            for new, old in zip(fresh, self._cards, strict=True)
        )
        if not same:
            self.beginResetModel()
            self._cards, self._rows = fresh, None
            self.endResetModel()
            return
        changed = [row for row, (new, old) in enumerate(zip(fresh, self._cards, strict=True)) if new is not old]
        self._cards = fresh
        for row in changed:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(CardColumn) - 1))

    def show_sources(self, sources: Mapping[str, SourceInfo]) -> None:
        """What the cards' sources are called, and when they answer again."""
        self._sources = dict(sources)

    def use_reasons(self, reason: Callable[[KitCard], str | None]) -> None:
        """How to tell why a card does not fit the current set."""
        self._reason = reason

    def source(self, card: KitCard) -> SourceInfo | None:
        return self._sources.get(card.source)

    def reason(self, card: KitCard) -> str | None:
        return self._reason(card)

    @property
    def cards(self) -> tuple[KitCard, ...]:
        return self._cards

    def card(self, index: QModelIndex | QPersistentModelIndex) -> KitCard:
        return self._cards[index.row()]

    def row_of(self, repository: str) -> int:
        """Row of a repository, -1 if the filter hides it."""
        if self._rows is None:
            self._rows = {card.repository: row for row, card in reversed(tuple(enumerate(self._cards)))}
        return self._rows.get(repository, -1)

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._cards)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(CardColumn)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return {
                CardColumn.NAME: tr("Kit"),
                CardColumn.PUBLISHER: tr("Publisher"),
                CardColumn.KIND: tr("Kind"),
                CardColumn.VERSION: tr("Version"),
                CardColumn.ASKS: tr("Asks for"),
                CardColumn.PULLS: tr("Pulls"),
                CardColumn.DESCRIPTION: tr("Description"),
            }[CardColumn(section)]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == CardColumn.PULLS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        card = self._cards[index.row()]
        if role == CardRole.CARD:
            return card
        column = CardColumn(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            if column is CardColumn.KIND and (card.kind is CardKind.LOADING or card.fetched_at):
                self.wanted(card)
            return _cell(card, column)
        if role == Qt.ItemDataRole.DecorationRole:
            return self._decoration(card, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return spoken(card, self._reason(card))
        if role == Qt.ItemDataRole.ToolTipRole:
            source = self.source(card)
            return tool_tip(card, source.title if source else "", self._reason(card))
        if role == Qt.ItemDataRole.TextAlignmentRole and column is CardColumn.PULLS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        base = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        usable = self._cards[index.row()].kind in USABLE
        return base | Qt.ItemFlag.ItemIsDragEnabled if usable else base

    def mimeTypes(self) -> list[str]:
        return [REFERENCE_TYPE, "text/plain"]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        return reference_mime(self.card(indexes[0]).reference)

    def _decoration(self, card: KitCard, column: CardColumn) -> object:
        theme = self._theme
        if column is CardColumn.NAME:
            return self.pictures.pixmap(card, theme.px(TABLE_PICTURE), 2.0)
        if column is CardColumn.PUBLISHER and card.verified:
            return theme.pixmap("seal", 14, Token.SUCCESS)
        if column is CardColumn.ASKS and card.kind is not CardKind.LOADING:
            look = card_chips(card)[0]
            return theme.pixmap(look.icon, 14, theme.tone(look.tone)[0]) if look.icon else None
        return None


def _cell(card: KitCard, column: CardColumn) -> str:
    if column is CardColumn.DESCRIPTION and card.kind is CardKind.ERROR and card.error is not None:
        return visible(f"{card.error.what} {card.error.remedy}".strip())
    if column is CardColumn.NAME:
        return card_name(card)
    if column is CardColumn.PUBLISHER:
        return visible(card.publisher) + (f" ({tr('verified')})" if card.verified else "")
    if card.kind is CardKind.LOADING:
        return tr("Loading") if column is CardColumn.KIND else ""
    return {
        CardColumn.KIND: kind_word(card.kind),
        CardColumn.VERSION: visible(card.version) or "–",
        CardColumn.ASKS: ", ".join(look.text for look in card_chips(card)),
        CardColumn.PULLS: "–" if card.pulls is None else short_number(card.pulls),
        CardColumn.DESCRIPTION: claim(card.description) or tr("No description."),
    }[column]
