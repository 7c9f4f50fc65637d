"""The stack: cards with connectors in between. Rows can be dragged out, never to another place in the order."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QItemSelectionModel, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from kitstudio.ui.composer.stack_delegate import StackDelegate, card_of
from kitstudio.ui.composer.stack_model import StackModel
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr


class StackView(QListView):
    """``menu_wanted(references, global position)``, ``remove_wanted(references)``, ``open_wanted(reference)`` …"""

    menu_wanted = Signal(object, object)
    remove_wanted = Signal(object)
    open_wanted = Signal(str)
    versions_wanted = Signal(str, object)
    copy_wanted = Signal(object)
    pin_wanted = Signal(object)
    unpin_wanted = Signal(object)
    current_changed = Signal(str)

    def __init__(self, theme: Theme, model: StackModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._stack = model
        self.setObjectName("stack")
        self.setAccessibleName(tr("Kits of the set, the workload last"))
        self.setModel(model)
        self.setItemDelegate(StackDelegate(theme, self))
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setDefaultDropAction(Qt.DropAction.CopyAction)
        self.setMouseTracking(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu_at)
        self.doubleClicked.connect(lambda index: self.open_wanted.emit(model.row(index.row()).reference))
        self.selectionModel().currentChanged.connect(lambda index, _: self._tell_current(index.row()))
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def chosen(self) -> tuple[str, ...]:
        """The selected Kits, from the top of the stack down."""
        return tuple(self._stack.row(n).reference for n in sorted(i.row() for i in self.selectedIndexes()))

    def choose(self, references: Iterable[str]) -> None:
        """Select Kits that were selected elsewhere."""
        wanted = list(references)
        self.clearSelection()
        for number in filter(lambda n: n >= 0, (self._stack.number_of(reference) for reference in wanted)):
            index = self._stack.index(number, 0)
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.Select)
            self.scrollTo(index)

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
                self._ask_menu(row.reference, self.viewport().mapToGlobal(place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        chosen = self.chosen()
        if not chosen:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_wanted.emit(chosen)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_wanted.emit(self._current() or chosen[0])
        elif event.key() == Qt.Key.Key_Menu:
            self._menu_at(self.visualRect(self.currentIndex()).center())
        elif event.key() == Qt.Key.Key_F2:
            place = self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center())
            self.versions_wanted.emit(self._current() or chosen[0], place)
        elif event.matches(QKeySequence.StandardKey.Copy):
            self.copy_wanted.emit(chosen)
        elif event.key() == Qt.Key.Key_P and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            (self.unpin_wanted if back else self.pin_wanted).emit(chosen)
        else:
            super().keyPressEvent(event)

    def _current(self) -> str:
        index = self.currentIndex()
        return self._stack.row(index.row()).reference if index.isValid() else ""

    def _tell_current(self, number: int) -> None:
        self.current_changed.emit(self._stack.row(number).reference if number >= 0 else "")

    def _menu_at(self, place: QPoint) -> None:
        index = self.indexAt(place)
        if index.isValid():
            self._ask_menu(self._stack.row(index.row()).reference, self.viewport().mapToGlobal(place))

    def _ask_menu(self, reference: str, place: QPoint) -> None:
        """For all that is selected where the row is one of it, else for the row alone."""
        if reference not in self.chosen():
            self.choose([reference])
        self.menu_wanted.emit(self.chosen(), place)
