"""The two views over the card model: cards that can be dragged, and a table."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QToolTip, QWidget

from kitstudio.services.catalog import KitCard
from kitstudio.ui.catalog.cards import TABLE_PICTURE, CardColumn, CardModel, CardRole, card_height
from kitstudio.ui.catalog.drag_handle import start_drag
from kitstudio.ui.tables import TintDelegate
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr, visible

_A_LITTLE = QPoint(20, 12)
WIDTHS = (
    (CardColumn.NAME, 190),
    (CardColumn.PUBLISHER, 150),
    (CardColumn.KIND, 100),
    (CardColumn.VERSION, 80),
    (CardColumn.ASKS, 220),
    (CardColumn.PULLS, 70),
)


class CardList(QTableView):
    """The cards; a drag carries the reference and shows the Kit's picture and name.

    A table of one column: unlike a list it asks the model for nothing but the rows it paints.
    """

    def __init__(self, theme: Theme, model: CardModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setProperty("cards", True)
        self.setModel(model)
        self.setMouseTracking(True)
        self.setDragEnabled(True)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(CardColumn.NAME, QHeaderView.ResizeMode.Stretch)
        for column in list(CardColumn)[1:]:
            self.setColumnHidden(column, True)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._size()
        theme.changed.connect(self._size)

    def startDrag(self, actions: Qt.DropAction) -> None:
        index = self.currentIndex()
        if not index.isValid() or not index.flags() & Qt.ItemFlag.ItemIsDragEnabled:
            return
        card: KitCard = index.data(CardRole.CARD)
        start_drag(self, self.theme, card, self.model().mimeData([index]))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Home and End go to the first and the last card."""
        rows = self.model().rowCount()
        if rows and event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.selectRow(0 if event.key() == Qt.Key.Key_Home else rows - 1)
            return
        super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        """Tool tips are plain text, whatever a Kit writes."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            show_plain_tip(self, event)
            return True
        return super().viewportEvent(event)

    def _size(self) -> None:
        """A notch of the wheel moves by a quarter of a card, whatever its height at this text size."""
        self.verticalHeader().setMinimumSectionSize(card_height(self.theme))
        self.verticalHeader().setDefaultSectionSize(card_height(self.theme))
        self.verticalScrollBar().setSingleStep(self.theme.px(26))


class Anchor:
    """The card that stands at the top of a view, so that the place is kept while the list under it changes."""

    def __init__(self, view: QAbstractItemView, model: CardModel) -> None:
        self._view, self._model = view, model
        index = view.indexAt(view.viewport().rect().topLeft())
        if not index.isValid():
            index = view.indexAt(view.viewport().rect().topLeft() + _A_LITTLE)
        self._repository = model.card(index).repository if index.isValid() else ""
        self._offset = view.visualRect(index).top() if index.isValid() else 0
        self._at_top = view.verticalScrollBar().value() == 0

    def restore(self) -> None:
        """Scroll so that the card is where it was; a view that stood at its top stays there."""
        bar = self._view.verticalScrollBar()
        row = self._model.row_of(self._repository) if self._repository else -1
        if self._at_top or row < 0:
            return
        top = self._view.visualRect(self._model.index(row, 0)).top()
        bar.setValue(bar.value() + top - self._offset)


class CardTable(QTableView):
    """The same rows as a table."""

    def __init__(self, theme: Theme, model: CardModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setObjectName("kit-table")
        self.setAccessibleName(tr("Kits"))
        self.setModel(model)
        self.setItemDelegate(TintDelegate(theme, self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setDragEnabled(True)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self._size()
        theme.changed.connect(self._size)

    def viewportEvent(self, event: QEvent) -> bool:
        """Tool tips are plain text, whatever a Kit writes."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            show_plain_tip(self, event)
            return True
        return super().viewportEvent(event)

    def _size(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self.theme.px(30))
        self.setIconSize(self.theme.icon_size(TABLE_PICTURE))
        for at, width in WIDTHS:
            self.setColumnWidth(at, self.theme.px(width))


def show_plain_tip(view: QAbstractItemView, event: QHelpEvent) -> None:
    """The tool tip of a row as plain text, wrapped."""
    index: QModelIndex = view.indexAt(event.pos())
    text = index.data(Qt.ItemDataRole.ToolTipRole) if index.isValid() else None
    if not text:
        QToolTip.hideText()
        return
    QToolTip.showText(event.globalPos(), plain_tip(str(text)), view)


def visible_lines(text: str) -> str:
    """Each line with what cannot be seen spelled out."""
    return "\n".join(visible(line) for line in text.split("\n"))


def plain_tip(text: str) -> str:
    """Text as a tool tip that cannot be taken for mark-up, and that wraps."""
    return f"<qt>{escape(visible_lines(text)).replace(chr(10), '<br>')}</qt>"
