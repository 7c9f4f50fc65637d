"""The list of versions: newest first (§5.2), A and B marked, searchable however long it is."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kitstudio.services.catalog import VersionRow
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr, visible

ROW = 34


class VersionRole(int, Enum):
    TAG = Qt.ItemDataRole.UserRole + 1
    MARK = Qt.ItemDataRole.UserRole + 2


class VersionModel(QAbstractListModel):
    """The versions whose tag holds the words; A and B are tags."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: tuple[VersionRow, ...] = ()
        self._rows: tuple[VersionRow, ...] = ()
        self._words = ""
        self._a = self._b = ""

    def show_versions(self, rows: Sequence[VersionRow]) -> None:
        self._all = tuple(rows)
        self._filter()

    def search(self, words: str) -> None:
        """Only tags that hold these words."""
        self._words = words.strip().casefold()
        self._filter()

    def mark(self, a: str, b: str) -> None:
        """Which two are compared."""
        self._a, self._b = a, b
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    def tag(self, index: QModelIndex | QPersistentModelIndex) -> str:
        return self._rows[index.row()].tag

    def row_of(self, tag: str) -> int:
        return next((n for n, row in enumerate(self._rows) if row.tag == tag), -1)

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self._rows[index.row()]
        mark = "A" if row.tag == self._a else "B" if row.tag == self._b else ""
        if role == VersionRole.TAG:
            return row.tag
        if role == VersionRole.MARK:
            return mark
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(row.tag)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            parts = (visible(row.tag), tr("newest") if self.newest(row.tag) else "", mark)
            return ", ".join(part for part in parts if part)
        return None

    def newest(self, tag: str) -> bool:
        """Whether it is the newest version."""
        return bool(self._all) and bool(self._all[0].version) and self._all[0].tag == tag

    def _filter(self) -> None:
        self.beginResetModel()
        words = self._words
        self._rows = tuple(row for row in self._all if words in row.tag.casefold()) if words else self._all
        self.endResetModel()


class VersionList(QListView):
    """A click (or Space) makes a version B, with Shift it becomes A; Enter or a double click opens it."""

    picked = Signal(str, bool)
    """(tag, as A)"""
    opened = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.versions = VersionModel(self)
        self.setModel(self.versions)
        self.setItemDelegate(_VersionDelegate(theme, self))
        self.setObjectName("version-list")
        self.setAccessibleName(tr("Versions"))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.doubleClicked.connect(lambda index: self.opened.emit(self.versions.tag(index)))
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            first = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.picked.emit(self.versions.tag(index), first)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if index.isValid() and event.key() == Qt.Key.Key_Space:
            self.picked.emit(self.versions.tag(index), shift)
        elif index.isValid() and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(self.versions.tag(index))
        else:
            super().keyPressEvent(event)


class _VersionDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(self.theme.px(120), max(self.theme.px(ROW), self.theme.line(Type.BODY) + self.theme.px(12)))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme = self.theme
        rect: QRect = option.rect
        model = index.model()
        assert isinstance(model, VersionModel)
        mark = str(index.data(VersionRole.MARK))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if mark or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Token.ACCENT_TINT if mark == "B" else Token.SUNKEN))
            painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        side = theme.px(22)
        disc = QRect(rect.left() + theme.px(8), rect.top() + (rect.height() - side) // 2, side, side)
        self._paint_disc(painter, disc, mark)
        role = Type.NAME if mark else Type.BODY
        area = QRect(disc.right() + theme.px(10), rect.top(), 0, rect.height())
        area.setRight(rect.right() - theme.px(8))
        look = ChipLook(tr("newest"), Tone.PLAIN)
        size = painters.chip_size(theme, look) if model.newest(model.tag(index)) else QSize(0, 0)
        room = area.width() - (size.width() + theme.px(8) if size.width() else 0)
        text = theme.metrics(role).elidedText(str(index.data()), Qt.TextElideMode.ElideMiddle, room)
        painter.setFont(theme.font(role))
        painter.setPen(theme.colour(Token.TEXT))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        if size.width():
            left = area.left() + theme.metrics(role).horizontalAdvance(text) + theme.px(8)
            top = rect.top() + (rect.height() - size.height()) // 2
            painters.paint_chip(painter, theme, QRect(left, top, size.width(), size.height()), look)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painters.paint_focus(painter, theme, rect)
        painter.restore()

    def _paint_disc(self, painter: QPainter, disc: QRect, mark: str) -> None:
        theme = self.theme
        edge = Token.ACCENT_FILL if mark == "B" else Token.TEXT if mark == "A" else Token.BORDER
        painter.setPen(QPen(theme.colour(edge), 1.4 if mark else 1))
        painter.setBrush(theme.colour(Token.ACCENT_FILL) if mark == "B" else theme.colour(Token.RAISED))
        painter.drawEllipse(QRectF(disc).adjusted(0.5, 0.5, -0.5, -0.5))
        if mark:
            painter.setFont(theme.font(Type.LABEL))
            painter.setPen(theme.colour(Token.ON_ACCENT if mark == "B" else Token.TEXT))
            painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, mark)
