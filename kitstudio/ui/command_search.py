"""The global search: Kits, a reference typed or pasted, commands. The field stays focused; arrows move the list."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
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

from kitstudio.models.errors import KitStudioError
from kitstudio.models.words import claim
from kitstudio.services.catalog import Catalog, KitCard
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import SearchField
from kitstudio.ui.widgets.painters import paint_monogram
from kitstudio.ui.widgets.text import moment_text, tr, visible

KITS_SHOWN = 6
KEPT_SHOWN = 4
"""Kits offered beside those of the open sources: what was kept from another time."""
SETTLING = 120
"""Milliseconds after the last key before what is kept is looked through, too."""
REFERENCE = re.compile(
    r"^(?:oci:\S+|demo/\S+|[./~]\S*|\S+\.ya?ml|[^\s/]+\.[^\s/]+/\S+|localhost(?::\d+)?/\S+|\S+@sha256:\S+)$"
)

LOCAL_PATH = re.compile(r"^(?:[./~]\S*|\S+\.(?:ya?ml|dockerfile))$")
"""A folder or file of this computer, which can be edited."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One row: what it is called, what it does, how it looks. ``repository`` gives it a monogram."""

    title: str
    detail: str
    icon: str
    act: Callable[[], None]
    repository: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """Something that can be done from anywhere. ``words`` are what a person may type for it."""

    title: str
    detail: str
    icon: str
    act: Callable[[], None]
    words: str = ""


class OfferRole(int, Enum):
    OFFER = Qt.ItemDataRole.UserRole + 1


class CommandSearch(QObject):
    """Joins the header's field with the list below it."""

    def __init__(
        self,
        theme: Theme,
        field: SearchField,
        catalog: Catalog,
        commands: tuple[Command, ...],
        open_kit: Callable[[str], None],
        add_to_set: Callable[[str], None],
        window: QWidget,
        edit_kit: Callable[[str], None] | None = None,
        failed: Callable[[KitStudioError], None] = lambda _: None,
    ) -> None:
        super().__init__(window)
        self._field = field
        self._catalog = catalog
        self._commands = commands
        self._open_kit, self._add_to_set, self._edit_kit = open_kit, add_to_set, edit_kit
        self.with_kits = True
        self._model = _OfferModel(self)
        self._window = window
        self._frame = QFrame(window)
        self._frame.setProperty("popup", True)
        self._frame.hide()
        self._view = QListView()
        self._view.setObjectName("search-results")
        self._view.setAccessibleName(tr("Search results"))
        self._view.setModel(self._model)
        self._view.setItemDelegate(_OfferDelegate(theme, self._view))
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self._view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._view.clicked.connect(self._act)
        layout = QVBoxLayout(self._frame)
        layout.setContentsMargins(4, 4, 4, 4)
        layout.addWidget(self._view)
        self._theme = theme
        self._kept: tuple[str, tuple[KitCard, ...]] = ("", ())
        self._tasks = Tasks(self, failed)
        self._settling = QTimer(self, singleShot=True, interval=SETTLING)
        self._settling.timeout.connect(self._look_further)
        field.textEdited.connect(lambda _: self.refresh())
        field.installEventFilter(self)

    def refresh(self) -> None:
        """Offer what fits the words in the field."""
        text = self._field.text().strip()
        offers = self._offers(text) if text or self._field.hasFocus() else ()
        if text and self.with_kits and self._kept[0] != text:
            self._settling.start()
        self._show(offers, text)

    def _look_further(self) -> None:
        """What is kept of sources that are not open, or that are gone, answers a little later."""
        text = self._field.text().strip()
        if text and self.with_kits:
            self._tasks.start(self._search_all(text), "search")

    async def _search_all(self, text: str) -> None:
        found = await self._catalog.search_all(text)
        if self._field.text().strip() != text or not self._frame.isVisible() or not self.with_kits:
            return
        self._kept = (text, found)
        chosen = self._view.currentIndex().row()
        self._show(self._offers(text), text)
        self._view.setCurrentIndex(self._model.index(max(0, chosen)))

    def _show(self, offers: tuple[Offer, ...], text: str) -> None:
        self._model.show_offers(offers)
        if not offers:
            self._frame.hide()
            return
        window = self._window
        place = self._field.mapTo(window, QPoint(0, self._field.height() + 4))
        height = len(offers) * self._theme.px(42) + 10
        self._frame.setGeometry(QRect(place, QSize(self._field.width(), min(height, window.height() - place.y() - 8))))
        self._frame.show()
        self._frame.raise_()
        if not self._view.currentIndex().isValid() and not (text and not self.with_kits):
            self._view.setCurrentIndex(self._model.index(0))

    def hide(self) -> None:
        self._frame.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:
            self._frame.hide()
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        return False

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        shown = self._frame.isVisible()
        if key == Qt.Key.Key_Escape:
            if shown:
                self._frame.hide()
            else:
                self._field.clear()
                self._field.textEdited.emit("")
            return True
        if key == Qt.Key.Key_Down and not shown:
            self.refresh()
            return True
        if not shown:
            return False
        if key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            step = 1 if key == Qt.Key.Key_Down else -1
            count = self._model.rowCount()
            current = self._view.currentIndex().row()
            following = 0 if current < 0 and step > 0 else (current + step) % count
            self._view.setCurrentIndex(self._model.index(following))
            return True
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._view.currentIndex().isValid():
            self._act(self._view.currentIndex())
            return True
        return False

    def _act(self, index: QModelIndex) -> None:
        offer = self._model.offer(index)
        self._view.setCurrentIndex(QModelIndex())
        self._field.clear()
        self._field.textEdited.emit("")
        self._frame.hide()
        offer.act()

    def _offers(self, text: str) -> tuple[Offer, ...]:
        found: list[Offer] = []
        if REFERENCE.match(text):
            shown = visible(text)
            found.append(Offer(tr("Add to set"), shown, "plus", partial(self._add_to_set, text)))
            found.append(Offer(tr("Open its page"), shown, "catalog", partial(self._open_kit, text)))
            if self._edit_kit is not None and LOCAL_PATH.match(text):
                found.append(Offer(tr("Edit its descriptor"), shown, "file", partial(self._edit_kit, text)))
        if text and self.with_kits:
            first = self._catalog.search(text)[:KITS_SHOWN]
            found += [self._offer(card) for card in first]
            known = {card.repository for card in first}
            kept = self._kept[1] if self._kept[0] == text else ()
            beside = [card for card in kept if card.repository not in known]
            found += [self._offer(card) for card in beside[: KITS_SHOWN + KEPT_SHOWN - len(first)]]
        words = text.lower().split()
        for command in self._commands:
            haystack = f"{command.title} {command.words}".lower()
            if all(word in haystack for word in words):
                found.append(Offer(command.title, command.detail, command.icon, command.act))
        return tuple(found)

    def _offer(self, card: KitCard) -> Offer:
        detail = card.reference
        if card.fetched_at:
            detail += " · " + tr("from {when}").format(when=moment_text(card.fetched_at))
        title = claim(card.display_name) or card.repository.rpartition("/")[2]
        return Offer(title, detail, "", partial(self._open_kit, card.reference), card.repository)


class _OfferModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._offers: tuple[Offer, ...] = ()

    def show_offers(self, offers: tuple[Offer, ...]) -> None:
        self.beginResetModel()
        self._offers = offers
        self.endResetModel()

    def offer(self, index: QModelIndex) -> Offer:
        return self._offers[index.row()]

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._offers)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        offer = self._offers[index.row()]
        if role == OfferRole.OFFER:
            return offer
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{offer.title}, {offer.detail}"
        return None


class _OfferDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(self.theme.px(200), self.theme.px(42))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme, rect = self.theme, option.rect
        offer: Offer = index.data(OfferRole.OFFER)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Token.ACCENT_TINT))
            painter.drawRoundedRect(rect, 4, 4)
        left = rect.left() + theme.px(8)
        side = theme.px(28)
        box = QRect(left, rect.top() + (rect.height() - side) // 2, side, side)
        if offer.repository:
            paint_monogram(painter, theme, box, offer.repository)
        else:
            icon = theme.px(20)
            shift = (side - icon) // 2
            painter.drawPixmap(box.left() + shift, box.top() + shift, theme.pixmap(offer.icon, 20, Token.SECONDARY))
        text = QRect(left + side + theme.px(10), rect.top() + theme.px(4), 0, theme.line(Type.NAME))
        text.setRight(rect.right() - theme.px(8))
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(theme.colour(Token.TEXT))
        metrics = theme.metrics(Type.NAME)
        painter.drawText(
            text, align, metrics.elidedText(visible(offer.title), Qt.TextElideMode.ElideRight, text.width())
        )
        text.moveTop(text.bottom() + 1)
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.SECONDARY))
        metrics = theme.metrics(Type.SMALL)
        painter.drawText(
            text, align, metrics.elidedText(visible(offer.detail), Qt.TextElideMode.ElideMiddle, text.width())
        )
        painter.restore()
