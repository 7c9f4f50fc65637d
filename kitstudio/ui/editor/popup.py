"""The list of suggestions under the cursor. The text keeps the focus; arrows, Enter, Tab and Escape reach it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from kitstudio.services.completion import Suggestion
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import tr, visible

SHOWN = 8
LISTED = 200


class Popup(QFrame):
    """``picked(suggestion)``."""

    picked = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setProperty("popup", True)
        self.setObjectName("suggestions")
        self._model = _Suggestions(self)
        self.view = QListView()
        self.view.setAccessibleName(tr("Suggestions"))
        self.view.setModel(self._model)
        self.view.setItemDelegate(_Delegate(theme, self.view))
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.clicked.connect(lambda index: self.picked.emit(self._model.at(index)))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3, 3, 3, 3)
        layout.addWidget(self.view)
        self.hide()

    def offer(self, suggestions: Sequence[Suggestion], place: QPoint) -> None:
        """Show these at ``place`` of the parent; above it where there is no room below."""
        shown = tuple(suggestions[:LISTED])
        self._model.show_rows(shown)
        theme, parent = self.theme, self.parentWidget()
        room = parent.rect() if parent is not None else self.rect()
        label = max(theme.metrics(Type.MONO_FIELD).horizontalAdvance(item.label) for item in shown)
        detail = max(theme.metrics(Type.SMALL).horizontalAdvance(item.detail) for item in shown)
        width = min(label + min(detail, theme.px(280)) + theme.px(52), room.width() - theme.px(16))
        height = min(len(shown), SHOWN) * theme.px(26) + 8
        left = max(theme.px(8), min(place.x(), room.width() - width - theme.px(8)))
        line = theme.line(Type.MONO_FIELD) + theme.px(4)
        top = place.y() if place.y() + height <= room.height() else max(0, place.y() - height - line)
        self.setGeometry(QRect(left, top, width, min(height, room.height())))
        self.view.setCurrentIndex(self._model.index(0))
        self.show()
        self.raise_()

    def key(self, event: QKeyEvent) -> bool:
        """Whether a key was the list's."""
        key, current, count = event.key(), self.view.currentIndex().row(), self._model.rowCount()
        steps = {
            Qt.Key.Key_Down: (current + 1) % count,
            Qt.Key.Key_Up: (current - 1) % count,
            Qt.Key.Key_PageDown: min(count - 1, current + SHOWN),
            Qt.Key.Key_PageUp: max(0, current - SHOWN),
        }
        if key in steps:
            self.view.setCurrentIndex(self._model.index(steps[Qt.Key(key)]))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            self.picked.emit(self._model.at(self.view.currentIndex()))
        elif key == Qt.Key.Key_Escape:
            self.hide()
        else:
            return False
        return True

    def labels(self) -> tuple[str, ...]:
        """What is offered."""
        return tuple(self._model.at(self._model.index(row)).label for row in range(self._model.rowCount()))


class _Role(int, Enum):
    ITEM = Qt.ItemDataRole.UserRole + 1


class _Suggestions(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._rows: tuple[Suggestion, ...] = ()

    def show_rows(self, rows: tuple[Suggestion, ...]) -> None:
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def at(self, index: QModelIndex) -> Suggestion:
        return self._rows[index.row()]

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        item = self._rows[index.row()]
        if role == _Role.ITEM:
            return item
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{item.label}, {item.detail}" if item.detail else item.label
        return None


class _Delegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(self.theme.px(80), self.theme.px(26))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme = self.theme
        item: Suggestion = index.data(_Role.ITEM)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Token.ACCENT_TINT))
            painter.drawRoundedRect(option.rect, 4, 4)
        area = option.rect.adjusted(theme.px(8), 0, -theme.px(8), 0)
        painter.setFont(theme.font(Type.MONO_FIELD))
        painter.setPen(theme.colour(Token.TEXT))
        metrics = theme.metrics(Type.MONO_FIELD)
        label = metrics.elidedText(visible(item.label), Qt.TextElideMode.ElideMiddle, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, label)
        rest = area.adjusted(metrics.horizontalAdvance(label) + theme.px(16), 0, 0, 0)
        if item.detail and rest.width() > theme.px(40):
            painter.setFont(theme.font(Type.SMALL))
            painter.setPen(theme.colour(Token.SECONDARY))
            detail = theme.metrics(Type.SMALL).elidedText(
                visible(item.detail), Qt.TextElideMode.ElideRight, rest.width()
            )
            painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, detail)
        painter.restore()
