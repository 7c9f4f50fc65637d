"""Kit cards as a Qt model (list and table over the same rows) and the delegate that paints a card."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntEnum

from PySide6.QtCore import (
    QAbstractTableModel,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from kitstudio.models.words import claim
from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.ui.drag import REFERENCE_TYPE, reference_mime
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import counted, tr, visible

CARD = 96
GAP = 8
PADDING = 16


class CardRole(int, Enum):
    CARD = Qt.ItemDataRole.UserRole + 1


class CardColumn(IntEnum):
    """Columns of the table; the list shows the first one as a card."""

    NAME = 0
    PUBLISHER = 1
    KIND = 2
    VERSION = 3
    ASKS = 4
    DESCRIPTION = 5


class CardModel(QAbstractTableModel):
    """The cards that fit the filter, in order. ``show_cards`` keeps rows in place where only their values changed."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._cards: tuple[KitCard, ...] = ()

    def show_cards(self, cards: Sequence[KitCard]) -> None:
        fresh = tuple(cards)
        same = len(fresh) == len(self._cards) and all(
            new.repository == old.repository and new.source == old.source
            for new, old in zip(fresh, self._cards, strict=True)
        )
        if not same:
            self.beginResetModel()
            self._cards = fresh
            self.endResetModel()
            return
        changed = [row for row, (new, old) in enumerate(zip(fresh, self._cards, strict=True)) if new != old]
        self._cards = fresh
        for row in changed:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(CardColumn) - 1))

    @property
    def cards(self) -> tuple[KitCard, ...]:
        return self._cards

    def card(self, index: QModelIndex | QPersistentModelIndex) -> KitCard:
        return self._cards[index.row()]

    def row_of(self, repository: str) -> int:
        """Row of a repository, -1 if the filter hides it."""
        return next((row for row, card in enumerate(self._cards) if card.repository == repository), -1)

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
                CardColumn.DESCRIPTION: tr("Description"),
            }[CardColumn(section)]
        return None

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        card = self._cards[index.row()]
        if role == CardRole.CARD:
            return card
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return spoken(card)
        if role == Qt.ItemDataRole.DisplayRole:
            return _cell(card, CardColumn(index.column()))
        if role == Qt.ItemDataRole.ToolTipRole:
            return visible(card.reference)
        return None

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        base = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        usable = self._cards[index.row()].kind in (CardKind.WORKLOAD, CardKind.MIXIN)
        return base | Qt.ItemFlag.ItemIsDragEnabled if usable else base

    def mimeTypes(self) -> list[str]:
        return [REFERENCE_TYPE, "text/plain"]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        return reference_mime(self.card(indexes[0]).reference)


class CardDelegate(QStyledItemDelegate):
    """Paints a card: monogram, name, publisher, version, one line, authority chips. ``wanted`` for a visible row
    whose manifest is not there yet."""

    wanted = Signal(str)

    def __init__(self, theme: Theme, view: QAbstractItemView) -> None:
        super().__init__(view)
        self.theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        theme = self.theme
        lines = theme.line(Type.STRONG) + theme.line(Type.BODY) + max(theme.px(22), theme.line(Type.SMALL))
        return QSize(theme.px(240), max(theme.px(CARD), lines + theme.px(34)) + theme.px(GAP))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme = self.theme
        card: KitCard = index.data(CardRole.CARD)
        pad = theme.px(PADDING)
        bar = self._view.verticalScrollBar()
        right = max(theme.px(4), pad - bar.width()) if bar.isVisible() else pad
        box = option.rect.adjusted(pad, theme.px(GAP), -right, 0)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = Token.ACCENT if selected else Token.BORDER_STRONG if hovered else Token.BORDER
        painter.setPen(QPen(theme.colour(edge), 2 if selected else 1))
        painter.setBrush(theme.colour(Token.RAISED))
        inset = 1.0 if selected else 0.5
        painter.drawRoundedRect(QRectF(box).adjusted(inset, inset, -inset, -inset), 6, 6)
        if card.kind is CardKind.LOADING:
            self._paint_skeleton(painter, box)
            self.wanted.emit(card.reference)
        else:
            self._paint_card(painter, box, card)
        painter.restore()

    def _paint_skeleton(self, painter: QPainter, box: QRect) -> None:
        theme = self.theme
        left, top = box.left() + theme.px(12), box.top() + theme.px(12)
        text = left + theme.px(52)
        painters.paint_skeleton(
            painter,
            theme,
            (
                QRect(left, top, theme.px(40), theme.px(40)),
                QRect(text, top + theme.px(4), theme.px(150), theme.px(10)),
                QRect(text, top + theme.px(26), theme.px(270), theme.px(8)),
                QRect(text, top + theme.px(50), theme.px(90), theme.px(18)),
            ),
        )

    def _paint_card(self, painter: QPainter, box: QRect, card: KitCard) -> None:
        theme = self.theme
        left, top = box.left() + theme.px(12), box.top() + theme.px(11)
        side = theme.px(40)
        painters.paint_monogram(painter, theme, QRect(left, top + 1, side, side), card.repository)
        text = QRect(left + side + theme.px(12), top, 0, theme.line(Type.STRONG))
        text.setRight(box.right() - theme.px(12))
        self._paint_first_line(painter, text, card)
        text.moveTop(text.bottom() + 1 + theme.px(2))
        text.setHeight(theme.line(Type.BODY))
        failed = card.kind is CardKind.ERROR
        words = claim(card.description) or tr("No description.")
        if failed and card.error is not None:
            words = visible(card.error.what)
        painter.setFont(theme.font(Type.BODY))
        painter.setPen(theme.colour(Token.CRITICAL if failed else Token.SECONDARY))
        shown = theme.metrics(Type.BODY).elidedText(words, Qt.TextElideMode.ElideRight, text.width())
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        text.moveTop(text.bottom() + 1 + theme.px(8))
        text.setHeight(theme.px(22))
        painters.paint_chips(painter, theme, text, card_chips(card))

    def _paint_first_line(self, painter: QPainter, area: QRect, card: KitCard) -> None:
        theme = self.theme
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        right = kind_and_version(card)
        small = theme.metrics(Type.SMALL)
        room = area.width() - small.horizontalAdvance(right) - theme.px(12)
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.SECONDARY))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, right)
        seal = theme.px(16) + theme.px(4) + small.horizontalAdvance(tr("verified")) if card.verified else 0
        name = claim(card.display_name) or visible(card.repository)
        strong = theme.metrics(Type.STRONG)
        name_room = max(theme.px(60), room - (seal + theme.px(6) if seal else 0))
        shown = strong.elidedText(name, Qt.TextElideMode.ElideRight, name_room)
        painter.setFont(theme.font(Type.STRONG))
        painter.setPen(theme.colour(Token.TEXT))
        painter.drawText(area, align, shown)
        left = strong.horizontalAdvance(shown) + theme.px(6)
        painter.setFont(theme.font(Type.SMALL))
        publisher = small.elidedText(
            visible(card.publisher), Qt.TextElideMode.ElideMiddle, max(0, room - left - (seal + theme.px(6)))
        )
        painter.setPen(theme.colour(Token.SECONDARY))
        painter.drawText(area.adjusted(left, 0, 0, 0), align, publisher)
        if card.verified:
            left += small.horizontalAdvance(publisher) + theme.px(6)
            icon = theme.px(14)
            top = area.top() + (area.height() - icon) // 2
            painter.drawPixmap(area.left() + left, top, theme.pixmap("seal", 14, Token.SUCCESS))
            painter.setPen(theme.colour(Token.SUCCESS))
            painter.drawText(area.adjusted(left + icon + theme.px(4), 0, 0, 0), align, tr("verified"))


def card_chips(card: KitCard) -> tuple[ChipLook, ...]:
    """The chips of a card: authority, or what stands in its place."""
    if card.kind is CardKind.V2:
        return (ChipLook(tr("v2 artifact"), Tone.PLAIN, "tag"), ChipLook(tr("cannot be mixed with v3"), Tone.PLAIN))
    if card.kind is CardKind.IMAGE:
        return (ChipLook(tr("Plain image"), Tone.PLAIN, "sandboxes"),)
    if card.kind is CardKind.ERROR:
        return (ChipLook(tr("Not readable, open for the remedy"), Tone.CRITICAL, "critical"),)
    newer = len(card.newer_types)
    if newer:
        text = counted(newer, "type newer than this app", "types newer than this app")
        return (ChipLook(text, Tone.CRITICAL, "critical"), *(painters.chip_looks(card.chips, 3) if card.chips else ()))
    return painters.chip_looks(card.chips)


def kind_word(kind: CardKind) -> str:
    return tr(
        {
            CardKind.WORKLOAD: "Workload",
            CardKind.MIXIN: "Mixin",
            CardKind.V2: "v2 artifact",
            CardKind.IMAGE: "Plain image",
            CardKind.LOADING: "Loading",
            CardKind.ERROR: "Not readable",
        }[kind]
    )


def kind_and_version(card: KitCard) -> str:
    """``Mixin · 2.73.0``."""
    parts = [] if card.kind is CardKind.ERROR else [kind_word(card.kind)]
    return " · ".join((*parts, visible(card.version)) if card.version else parts)


def spoken(card: KitCard) -> str:
    """A card in words."""
    if card.kind is CardKind.LOADING:
        return tr("{name}, loading").format(name=visible(card.repository))
    chips = ", ".join(look.text for look in card_chips(card))
    verified = f", {tr('verified')}" if card.verified else ""
    name = claim(card.display_name) or visible(card.repository)
    parts = (name, f"{visible(card.publisher)}{verified}", kind_and_version(card), claim(card.description), chips)
    return ". ".join(part for part in parts if part)


def _cell(card: KitCard, column: CardColumn) -> str:
    if column is CardColumn.NAME:
        return claim(card.display_name) or visible(card.repository)
    if card.kind is CardKind.LOADING:
        return tr("Loading") if column is CardColumn.KIND else ""
    return {
        CardColumn.PUBLISHER: visible(card.publisher) + (f" ({tr('verified')})" if card.verified else ""),
        CardColumn.KIND: kind_word(card.kind),
        CardColumn.VERSION: visible(card.version),
        CardColumn.ASKS: ", ".join(look.text for look in card_chips(card)),
        CardColumn.DESCRIPTION: claim(card.description) or tr("No description."),
    }[column]
