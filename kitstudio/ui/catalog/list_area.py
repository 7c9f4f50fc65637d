"""The middle of the catalog: how many Kits, how they are sorted and shown, the strip that says what is the matter."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QLabel, QLineEdit, QMenu, QStackedWidget, QWidget

from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.ui.catalog.card_delegate import CardDelegate
from kitstudio.ui.catalog.card_list import Anchor, CardList, CardTable
from kitstudio.ui.catalog.card_words import CardAction, failure
from kitstudio.ui.catalog.cards import USABLE, CardModel
from kitstudio.ui.catalog.pictures import KitPictures
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets import (
    Banner,
    Icon,
    Segmented,
    StateView,
    button,
    column,
    holder,
    line,
    row,
    text_label,
)
from kitstudio.ui.widgets.text import counted, number, tr, visible

MIDDLE = 400
SORTS = {"match": "Best match", "name": "Name", "pulls": "Most pulled"}


class ListArea(QWidget):
    """``opened(card)``, ``acted(reference, action)`` from a card; ``banner_acted`` and ``state_acted`` carry a key."""

    opened = Signal(object)
    acted = Signal(str, str)
    add_wanted = Signal(str)
    named = Signal(str)
    """The reference of a repository that was typed where a registry lists nothing."""
    wanted = Signal(str, float)
    """(reference, when it was fetched, if it is shown from what was kept)"""
    sorted_by = Signal(str)
    banner_acted = Signal(str)
    state_acted = Signal(str)

    def __init__(self, theme: Theme, pictures: KitPictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.sort = "match"
        self.model = CardModel(theme, self, pictures)
        self.model.wanted = lambda card: self.wanted.emit(card.reference, card.fetched_at)
        self.cards = CardList(theme, self.model)
        self._delegate = CardDelegate(theme, self.cards)
        self._delegate.wanted.connect(self.wanted)
        self._delegate.acted.connect(self.acted)
        self.cards.setItemDelegate(self._delegate)
        self.cards.setObjectName("cards")
        self.cards.setAccessibleName(tr("Kits"))
        self.table = CardTable(theme, self.model)
        self.table.setSelectionModel(self.cards.selectionModel())
        for view in (self.cards, self.table):
            view.activated.connect(self._open)
            view.clicked.connect(self._clicked)
            view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            view.customContextMenuRequested.connect(self._menu)
        pictures.arrived.connect(self._icon_arrived)
        self.count = text_label("", Type.NAME)
        self.of = text_label("", Type.BODY, "secondary")
        self._sort_button = button(theme, tr(SORTS["match"]), "chevron-down", "flat", name="sort")
        self._sort_button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        menu = QMenu(self._sort_button)
        for key, label in SORTS.items():
            menu.addAction(tr(label)).triggered.connect(lambda _=False, key=key: self.sort_by(key))
        self._sort_button.setMenu(menu)
        self.views = Segmented(theme, [("cards", tr("Cards"), "cards"), ("table", tr("Table"), "table")], tr("View"))
        self.views.chosen.connect(self.show_view)
        tools = row(self.count, self.of, None, self._sort_button, self.views, margins=(16, 0, 16, 0))
        bar = holder(tools)
        bar.setMinimumHeight(theme.px(47))
        self.banner = Banner(theme, Tone.NOTICE)
        self.banner.acted.connect(self.banner_acted)
        self._note_words: QLabel = text_label("", Type.SMALL, "secondary", wrap=True)
        self._note_icon = Icon(theme, "info", 14)
        self._find = button(theme, "", "search", "link", name="find-at-hub")
        self._find.clicked.connect(lambda: self.state_acted.emit("find"))
        words = row(self._note_icon, spacing=8, margins=(16, 8, 16, 0))
        words.addWidget(self._note_words, 1)
        words.addWidget(self._find)
        self._note = holder(words)
        self._note.hide()
        self.state = StateView(theme, "catalog", "", "")
        self.state.acted.connect(self.state_acted)
        self.sign_in_place = QWidget()
        self.sign_in_place.hide()
        self._prefix = text_label("", Type.MONO, "secondary")
        self._name = QLineEdit()
        self._name.setObjectName("repository-name")
        self._name.setAccessibleName(tr("Repository"))
        self._name.setPlaceholderText(tr("team/kit or team/kit:1.0"))
        self._name.setProperty("mono", True)
        self._name.returnPressed.connect(self._open_named)
        go = button(theme, tr("Open"), "external", name="repository-open")
        go.clicked.connect(self._open_named)
        asking = row(self._prefix, spacing=6, margins=(32, 0, 32, 28))
        asking.addWidget(self._name, 1)
        asking.addWidget(go)
        self._asking = holder(asking)
        self._asking.hide()
        self.stack = QStackedWidget()
        for part in (self.cards, self.table, self.state):
            self.stack.addWidget(part)
        self.setLayout(
            column(bar, line(), self.banner, self.sign_in_place, self._note, self.stack, self._asking, spacing=0)
        )
        self.setMinimumWidth(theme.px(MIDDLE))

    @property
    def view(self) -> QAbstractItemView:
        """The view that is chosen."""
        return self.cards if self.views.value() == "cards" else self.table

    def show_cards(self, cards: tuple[KitCard, ...], *, same_question: bool) -> None:
        """Show these cards. Where the question is the one asked before, the place in the list is kept."""
        anchor = Anchor(self.view, self.model) if same_question else None
        self.model.show_cards(cards)
        if anchor is not None:
            anchor.restore()
        elif cards:
            self.view.scrollToTop()

    def show_counts(self, shown: int, of: int, read: int, *, narrowed: bool) -> None:
        """How many Kits; while some are not read yet, how many the words could be looked for in."""
        self.count.setText(counted(shown, "Kit", "Kits"))
        words = tr("of {n}").format(n=number(of)) if shown != of else ""
        if narrowed and read < of:
            words = tr("{read} of {of} searched").format(read=number(read), of=number(of))
        self.of.setText(words)

    def tell_note(self, text: str) -> None:
        """What the list leaves out; empty: nothing."""
        self._note_words.setText(visible(text))
        self._note_icon.setVisible(bool(text))
        self._note.setVisible(bool(text))

    def offer_find(self, label: str, words: str) -> None:
        """Offer to ask the source's own search for these words; empty: not here."""
        self._find.setVisible(bool(words))
        if words:
            text = label.format(words=visible(words if len(words) <= 24 else f"{words[:23]}…"))
            self._find.setText(text.replace("&", "&&"))
            self._find.setAccessibleName(text)
            self._note.show()

    def ask_for_repository(self, prefix: str) -> None:
        """Let a person name what a registry does not list; empty: not here."""
        self._asking.setVisible(bool(prefix))
        if prefix and self._prefix.text() != f"{prefix}/":
            self._prefix.setText(f"{prefix}/")
            self._name.clear()

    def _open_named(self) -> None:
        name = self._name.text().strip().strip("/")
        if name:
            self.named.emit(f"{self._prefix.text()}{name}")

    def show_content(self) -> None:
        """The cards or the table, not a state."""
        self.stack.setCurrentIndex(0 if self.views.value() == "cards" else 1)

    def show_state(self) -> None:
        self.stack.setCurrentIndex(2)

    def show_view(self, key: str) -> None:
        """Cards or table."""
        if self.views.value() != key:
            self.views.choose(key)
        if self.stack.currentIndex() != 2:
            self.show_content()

    def sort_by(self, key: str) -> None:
        """Best match, by name, or most pulled first."""
        self.sort = key
        self._sort_button.setText(tr(SORTS[key]))
        self.sorted_by.emit(key)

    def select(self, repository: str) -> None:
        """Mark the card of a repository, if it is in view."""
        at = self.model.row_of(repository)
        if at < 0:
            self.cards.selectionModel().clearSelection()
            return
        index = self.model.index(at, 0)
        if self.cards.currentIndex().row() != at or not self.cards.selectionModel().isSelected(index):
            rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.cards.selectionModel().setCurrentIndex(index, rows)
            self.view.scrollTo(index)

    def tick(self) -> None:
        """Time passed: countdowns on cards are drawn anew."""
        self._repaint()

    def _icon_arrived(self, _: str) -> None:
        self._repaint()

    def _repaint(self) -> None:
        self.view.viewport().update()

    def _clicked(self, index: QModelIndex) -> None:
        if not self._delegate.took_click():
            self._open(index)

    def _open(self, index: QModelIndex) -> None:
        self.opened.emit(self.model.card(index))

    def _menu(self, place: QPoint) -> None:
        index = self.view.indexAt(place)
        if not index.isValid():
            return
        card = self.model.card(index)
        menu = QMenu(self)
        menu.setObjectName("card-menu")
        menu.addAction(tr("Open its page")).triggered.connect(lambda: self.opened.emit(card))
        add = menu.addAction(tr("Add to set"))
        add.setEnabled(card.kind in USABLE)
        add.triggered.connect(lambda: self.add_wanted.emit(card.reference))
        told = failure(card)
        if told is not None:
            again = menu.addAction(told.label or tr("Try again"))
            deed = told.action or CardAction.RETRY
            again.triggered.connect(lambda: self.acted.emit(card.reference, str(deed)))
        menu.addSeparator()
        copy = menu.addAction(tr("Copy reference"))
        copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(card.reference))
        pinned = menu.addAction(tr("Copy with digest"))
        pinned.setEnabled(bool(card.digest) and card.kind is not CardKind.LOADING)
        exact = f"{card.reference.partition('@')[0]}@{card.digest}"
        pinned.triggered.connect(lambda: QGuiApplication.clipboard().setText(exact))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.view.viewport().mapToGlobal(place))
