"""The stack: cards with connectors in between, painted by one delegate. Nothing here can be dragged to reorder."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kitstudio.ui.composer.rows import KitRow, Reason
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.painters import ChipLook, chip_looks
from kitstudio.ui.widgets.text import tr, visible

Index = QModelIndex | QPersistentModelIndex


class Role(IntEnum):
    VALUE = Qt.ItemDataRole.UserRole + 1
    MARKED = Qt.ItemDataRole.UserRole + 2


class StackModel(QAbstractListModel):
    """Rows from the top of the stack down."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[KitRow, ...] = ()
        self._marked: frozenset[str] = frozenset()

    def show_rows(self, rows: Sequence[KitRow]) -> None:
        """Show these; nothing is reset where nothing changed."""
        rows = tuple(rows)
        if rows == self._rows:
            return
        if [row.reference for row in rows] == [row.reference for row in self._rows]:
            self._rows = rows
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, 0))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def mark(self, references: frozenset[str]) -> None:
        """Tint the Kits a chosen problem names."""
        self._marked = references
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, 0))

    def row(self, number: int) -> KitRow:
        return self._rows[number]

    def rows(self) -> tuple[KitRow, ...]:
        return self._rows

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self._rows[index.row()]
        if role == Role.VALUE:
            return row
        if role == Role.MARKED:
            return row.reference in self._marked
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return spoken(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return visible(row.reference)
        return None


class StackView(QListView):
    """``menu_wanted(reference, global position)``, ``remove_wanted(reference)``, ``open_wanted(reference)``."""

    menu_wanted = Signal(str, object)
    remove_wanted = Signal(str)
    open_wanted = Signal(str)

    def __init__(self, theme: Theme, model: StackModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._stack = model
        self.setObjectName("stack")
        self.setAccessibleName(tr("Kits of the set, the workload last"))
        self.setModel(model)
        self.setItemDelegate(_StackDelegate(theme, self))
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setDragDropMode(QAbstractItemView.DragDropMode.NoDragDrop)
        self.setMouseTracking(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu_at)
        self.doubleClicked.connect(lambda index: self.open_wanted.emit(model.row(index.row()).reference))
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def content_height(self) -> int:
        """As high as all rows together."""
        return sum(self.sizeHintForRow(number) for number in range(self._stack.rowCount())) + 2

    def card_rect(self, number: int) -> QRect:
        """Where the card of a row is painted, in viewport coordinates."""
        return card_of(self.theme, self.visualRect(self._stack.index(number, 0)), self._stack.row(number))

    def more_rect(self, number: int) -> QRect:
        """Where the three dots of a row are."""
        card = self.card_rect(number)
        side = self.theme.px(28)
        return QRect(card.right() - side - self.theme.px(4), card.top() + (card.height() - side) // 2, side, side)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        if event.button() is Qt.MouseButton.LeftButton and index.isValid():
            row = self._stack.row(index.row())
            if not row.problem and self.more_rect(index.row()).contains(place):
                self.menu_wanted.emit(row.reference, self.viewport().mapToGlobal(place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if index.isValid() and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_wanted.emit(self._stack.row(index.row()).reference)
        elif index.isValid() and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_wanted.emit(self._stack.row(index.row()).reference)
        elif index.isValid() and event.key() == Qt.Key.Key_Menu:
            self._menu_at(self.visualRect(index).center())
        else:
            super().keyPressEvent(event)

    def _menu_at(self, place: object) -> None:
        index = self.indexAt(place)  # type: ignore[arg-type]
        if index.isValid():
            self.setCurrentIndex(index)
            position = self.viewport().mapToGlobal(place)  # type: ignore[call-overload]
            self.menu_wanted.emit(self._stack.row(index.row()).reference, position)


class _StackDelegate(QStyledItemDelegate):
    """Card, and below it the connector with its reason."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row = index.data(Role.VALUE)
        assert isinstance(row, KitRow)
        connector = self.theme.px(22) if row.reason is not None else 0
        return QSize(self.theme.px(200), _card_height(self.theme) + connector)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(Role.VALUE)
        assert isinstance(row, KitRow)
        card = card_of(self.theme, option.rect, row)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_card(painter, card, row, marked=bool(index.data(Role.MARKED)), selected=selected)
        if row.loading:
            self._paint_loading(painter, card, row)
        else:
            self._paint_content(painter, card, row)
        if row.reason is not None:
            self._paint_reason(
                painter, QRect(card.left(), card.bottom() + 1, card.width(), self.theme.px(22)), row.reason
            )
        painter.restore()

    def _paint_card(self, painter: QPainter, card: QRect, row: KitRow, *, marked: bool, selected: bool) -> None:
        theme = self.theme
        token = Token.CRITICAL if row.problem else Token.ACCENT if selected else Token.BORDER
        width = 2 if row.workload or (selected and not row.problem) else 1
        if row.workload and not row.problem and not selected:
            token = Token.BORDER_STRONG
        painter.setPen(QPen(theme.colour(token), width))
        painter.setBrush(theme.colour(Token.ACCENT_TINT if marked or selected else Token.RAISED))
        half = width // 2
        painter.drawRoundedRect(card.adjusted(half, half, -half - 1, -half - 1), 6, 6)

    def _paint_content(self, painter: QPainter, card: QRect, row: KitRow) -> None:
        theme = self.theme
        side = theme.px(32)
        box = QRect(card.left() + theme.px(10), card.top() + (card.height() - side) // 2, side, side)
        painters.paint_monogram(painter, theme, box, row.repository)
        right = card.right() - theme.px(10) - self._paint_side(painter, card, row)
        left = box.right() + theme.px(11)
        top = card.top() + theme.px(7)
        line = theme.line(Type.NAME)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        tail = f"{row.version}" + (f" · {tr('workload')}" if row.workload else "")
        tail_width = theme.metrics(Type.BODY).horizontalAdvance(tail) + theme.px(26 if row.pinned else 6)
        name = theme.metrics(Type.NAME).elidedText(
            row.name, Qt.TextElideMode.ElideMiddle, max(theme.px(60), right - left - tail_width)
        )
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(theme.colour(Token.TEXT))
        painter.drawText(QRect(left, top, right - left, line), align, name)
        place = left + theme.metrics(Type.NAME).horizontalAdvance(name) + theme.px(6)
        painter.setFont(theme.font(Type.BODY))
        painter.setPen(theme.colour(Token.SECONDARY))
        if row.pinned:
            version_width = theme.metrics(Type.BODY).horizontalAdvance(row.version) + theme.px(6)
            painter.drawText(QRect(place, top, max(0, right - place), line), align, row.version)
            mark = theme.pixmap("lock", 14, Token.SECONDARY)
            painter.drawPixmap(place + version_width, top + (line - theme.px(14)) // 2, mark)
            place += version_width + theme.px(20)
            tail = f"· {tr('workload')}" if row.workload else ""
        shown = theme.metrics(Type.BODY).elidedText(tail, Qt.TextElideMode.ElideRight, max(0, right - place))
        painter.drawText(QRect(place, top, max(0, right - place), line), align, shown)
        looks = tuple(ChipLook(look.text, look.tone, look.icon, look.bold, small=True) for look in row_looks(row))
        painters.paint_chips(painter, theme, QRect(left, top + line + theme.px(2), right - left, theme.px(20)), looks)

    def _paint_side(self, painter: QPainter, card: QRect, row: KitRow) -> int:
        """*Problem*, or the three dots; returns the width taken."""
        theme = self.theme
        if not row.problem:
            side = theme.px(16)
            left = card.right() - theme.px(10) - side
            painter.drawPixmap(
                left, card.top() + (card.height() - side) // 2, theme.pixmap("more", 16, Token.SECONDARY)
            )
            return side + theme.px(8)
        words = tr("Problem")
        width = theme.metrics(Type.SMALL).horizontalAdvance(words) + theme.px(20)
        left = card.right() - theme.px(10) - width
        side = theme.px(16)
        painter.drawPixmap(left, card.top() + (card.height() - side) // 2, theme.pixmap("critical", 16, Token.CRITICAL))
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.CRITICAL))
        area = QRect(left + theme.px(20), card.top(), width, card.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)
        return width + theme.px(8)

    def _paint_loading(self, painter: QPainter, card: QRect, row: KitRow) -> None:
        theme = self.theme
        side = theme.px(32)
        top = card.top() + (card.height() - side) // 2
        box = QRect(card.left() + theme.px(10), top, side, side)
        left = box.right() + theme.px(11)
        bar = QRect(left, card.bottom() - theme.px(20), theme.px(150), theme.px(10))
        painters.paint_skeleton(painter, theme, (box, bar))
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(theme.colour(Token.SECONDARY))
        width = card.right() - left - theme.px(10)
        shown = theme.metrics(Type.NAME).elidedText(visible(row.reference), Qt.TextElideMode.ElideMiddle, width)
        area = QRect(left, card.top() + theme.px(7), width, theme.line(Type.NAME))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)

    def _paint_reason(self, painter: QPainter, area: QRect, reason: Reason) -> None:
        theme = self.theme
        left = area.left() + theme.px(24)
        painter.fillRect(QRect(left, area.top(), 1, area.height()), theme.colour(Token.BORDER_STRONG))
        left += theme.px(10)
        side = theme.px(12)
        painter.drawPixmap(
            left, area.top() + (area.height() - side) // 2, theme.pixmap("arrow-down", 12, Token.SECONDARY)
        )
        left += side + theme.px(6)
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setPen(theme.colour(Token.CRITICAL if reason.missing else Token.SECONDARY))
        for words, role in (
            (f"{reason.before} " if reason.name else reason.before, Type.SMALL),
            (reason.name, Type.LABEL),
            (reason.after, Type.SMALL),
        ):
            if words:
                painter.setFont(theme.font(role))
                room = max(0, area.right() - left)
                shown = theme.metrics(role).elidedText(words, Qt.TextElideMode.ElideRight, room)
                painter.drawText(QRect(left, area.top(), room, area.height()), align, shown)
                left += theme.metrics(role).horizontalAdvance(shown)


def row_looks(row: KitRow) -> tuple[ChipLook, ...]:
    """Chips of a row; what was never read is not said to ask for nothing."""
    if not row.known:
        return (ChipLook(tr("Permissions not known"), Tone.PLAIN, "offline"),)
    return chip_looks(row.chips, 3)


def card_of(theme: Theme, rect: QRect, row: KitRow) -> QRect:
    """The card's part of a row's rectangle."""
    pad = theme.px(16)
    return QRect(rect.left() + pad, rect.top(), rect.width() - 2 * pad, _card_height(theme))


def spoken(row: KitRow) -> str:
    """A row in words."""
    parts = [f"{row.name} {row.version}".strip()]
    parts += [tr("workload")] if row.workload else []
    parts += [tr("loading")] if row.loading else [look.text for look in row_looks(row)]
    parts += [tr("Problem")] if row.problem else []
    parts += [row.reason.text] if row.reason is not None else []
    return ", ".join(parts)


def _card_height(theme: Theme) -> int:
    return max(theme.px(56), theme.line(Type.NAME) + theme.px(20) + theme.px(2) + theme.px(16))
