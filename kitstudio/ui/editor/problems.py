"""The findings of a text as a list: what, remedy, place. Choosing one goes there."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kitstudio.services.linting import Mark, Severity
from kitstudio.ui.editor.gutter import ICON_OF, INK_OF, told
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.painters import wrapped
from kitstudio.ui.widgets.text import tr


class ProblemList(QListView):
    """``chosen(mark)`` by click or Enter."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setObjectName("editorProblems")
        self.setAccessibleName(tr("Problems"))
        self._model = _Problems(self)
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(theme, self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setLayoutMode(QListView.LayoutMode.Batched)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.clicked.connect(self._choose)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def show_marks(self, marks: Sequence[Mark]) -> None:
        """Show these; the chosen row stays where it was."""
        row = self.currentIndex().row()
        self._model.show_rows(tuple(marks))
        if 0 <= row < len(marks):
            self.setCurrentIndex(self._model.index(row))

    def marks(self) -> tuple[Mark, ...]:
        return self._model.rows

    def go(self, step: int) -> None:
        """Choose the next or previous finding, round and round."""
        count = len(self._model.rows)
        if count:
            row = self.currentIndex().row()
            index = self._model.index((row + step) % count if row >= 0 else (0 if step > 0 else count - 1))
            self.setCurrentIndex(index)
            self._choose(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if index.isValid() and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(index)
        elif index.isValid() and event.matches(QKeySequence.StandardKey.Copy):
            mark = self._model.rows[index.row()]
            QGuiApplication.clipboard().setText(f"{mark.line}:{mark.column}: {told(mark)}")
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()

    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(self._model.rows[index.row()])


class _Role(int, Enum):
    MARK = Qt.ItemDataRole.UserRole + 1


class _Problems(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: tuple[Mark, ...] = ()

    def show_rows(self, rows: tuple[Mark, ...]) -> None:
        if rows != self.rows:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        mark = self.rows[index.row()]
        if role == _Role.MARK:
            return mark
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            place = tr("line {line}, column {column}").format(line=mark.line, column=mark.column)
            return f"{severity_word(mark.severity)}. {told(mark)} {place}"
        return None


class _Delegate(QStyledItemDelegate):
    """Icon, sentence over as many lines as it needs, the place at the right."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        width = self._view.viewport().width()
        return QSize(width, self._layout(None, QRect(0, 0, width, 0), index.data(_Role.MARK)))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.save()
        if option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.fillRect(option.rect, self.theme.colour(Token.ACCENT_TINT))
        self._layout(painter, option.rect, index.data(_Role.MARK))
        painter.restore()

    def _layout(self, painter: QPainter | None, rect: QRect, mark: Mark) -> int:
        theme = self.theme
        place = f"{mark.line}:{mark.column}"
        margin, gap = theme.px(16), theme.px(8)
        reserved = theme.metrics(Type.MONO).horizontalAdvance(place) + gap
        left = rect.left() + margin + theme.px(20) + gap
        width = max(theme.px(60), rect.right() - margin - reserved - left)
        top = rect.top() + theme.px(6)
        text, size = wrapped(theme, told(mark), width, Type.BODY)
        if painter is not None:
            painter.setPen(theme.colour(Token.TEXT))
            text.draw(painter, QPointF(left, top))
            painter.drawPixmap(
                rect.left() + margin, top, theme.pixmap(ICON_OF[mark.severity], 18, INK_OF[mark.severity])
            )
            painter.setFont(theme.font(Type.MONO))
            painter.setPen(theme.colour(Token.SECONDARY))
            where = QRect(rect.right() - margin - reserved, top, reserved, theme.line(Type.BODY))
            painter.drawText(where, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, place)
        return size.height() + theme.px(12)


def severity_word(severity: Severity) -> str:
    """Icon and colour never speak alone."""
    return {Severity.ERROR: tr("Error"), Severity.WARNING: tr("Warning"), Severity.NOTE: tr("Note")}[severity]
