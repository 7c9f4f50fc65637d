"""The two views over the card model: cards that can be dragged, and a table."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QListView, QTableView, QWidget

from kitstudio.services.catalog import KitCard
from kitstudio.ui.catalog.cards import CardColumn, CardModel, CardRole
from kitstudio.ui.catalog.drag_handle import start_drag
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr


class CardList(QListView):
    """The cards; a drag carries the reference and shows the Kit's monogram and name."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setDragEnabled(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QListView.Shape.NoFrame)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def startDrag(self, actions: Qt.DropAction) -> None:
        index = self.currentIndex()
        if not index.isValid() or not index.flags() & Qt.ItemFlag.ItemIsDragEnabled:
            return
        card: KitCard = index.data(CardRole.CARD)
        start_drag(self, self.theme, card, self.model().mimeData([index]))


def card_table(theme: Theme, model: CardModel) -> QTableView:
    """The same rows as a table."""
    table = QTableView()
    table.setObjectName("kit-table")
    table.setAccessibleName(tr("Kits"))
    table.setModel(model)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setDragEnabled(True)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(theme.px(30))
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setStretchLastSection(True)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
    for at, width in ((CardColumn.NAME, 160), (CardColumn.PUBLISHER, 110), (CardColumn.KIND, 80)):
        table.setColumnWidth(at, theme.px(width))
    return table
