"""Tables of the Sandboxes page: dressed alike, rows as high as the text wants."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from kitstudio.ui.theme import Theme


def dressed_table(
    theme: Theme, model: QAbstractTableModel, widths: Sequence[int], name: str, object_name: str
) -> QTableView:
    """A row-selecting table; a width of 0 stretches."""
    table = QTableView()
    table.setObjectName(object_name)
    table.setAccessibleName(name)
    table.setModel(model)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
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
