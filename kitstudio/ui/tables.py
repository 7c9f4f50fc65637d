"""Tables of the pages: dressed alike, rows as high as the text wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import tr


class TableModel(QAbstractTableModel):
    """A table whose columns have fixed headings, in ``COLUMNS``, above their left edge."""

    COLUMNS: ClassVar[tuple[str, ...]]

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return tr(self.COLUMNS[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None


class TintDelegate(QStyledItemDelegate):
    """A selected row is tinted and keeps the colours of its words and icons."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        plain = QStyleOptionViewItem(option)
        if plain.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(plain.rect, self.theme.colour(Token.ACCENT_TINT))
            plain.state &= ~(QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_HasFocus)
        super().paint(painter, plain, index)


def dressed_table(
    theme: Theme, model: QAbstractTableModel, widths: Sequence[int], name: str, object_name: str
) -> QTableView:
    """A row-selecting table; a width of 0 stretches."""
    table = QTableView()
    table.setObjectName(object_name)
    table.setAccessibleName(name)
    table.setModel(model)
    table.setItemDelegate(TintDelegate(theme, table))
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    table.setIconSize(QSize(theme.px(16), theme.px(16)))
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    table.setTabKeyNavigation(False)
    table.setFrameShape(QTableView.Shape.NoFrame)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(theme.px(30))
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setMinimumSectionSize(theme.px(40))
    for index, width in enumerate(widths):
        if width:
            table.setColumnWidth(index, theme.px(width))
        else:
            header.setSectionResizeMode(index, QHeaderView.ResizeMode.Stretch)
    return table
