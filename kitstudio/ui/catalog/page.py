"""The Catalog: sources and facets, cards or table over one model, and the Kit page beside them."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QItemSelectionModel, QModelIndex, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QMenu,
    QSplitter,
    QStackedWidget,
    QWidget,
)

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.services.catalog import CardKind, KitCard, SourceInfo, SourceKind, SourceState
from kitstudio.ui.catalog.add_source import AddSourceDialog
from kitstudio.ui.catalog.card_list import CardList, card_table
from kitstudio.ui.catalog.cards import CardDelegate, CardModel
from kitstudio.ui.catalog.kit_page import KitPage
from kitstudio.ui.catalog.source_pane import SourcePane
from kitstudio.ui.fonts import Type
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.page import Page
from kitstudio.ui.tasks import Tasks, fault
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets import (
    Banner,
    Segmented,
    StateView,
    button,
    column,
    holder,
    line,
    row,
    set_ground,
    text_label,
)
from kitstudio.ui.widgets.text import counted, number, tr, visible

SIDE = 220
LIST = 496
MIDDLE = 400
NARROWEST = 200 + MIDDLE + 440
TYPING = 60
"""Milliseconds after the last key before the list is searched again."""
DRAWING = 40
"""Milliseconds over which changes of the catalog are drawn as one."""
LOOKED_AT = 150
"""Milliseconds between asking for the manifests of visible cards."""


class CatalogPage(Page):
    """Search as you type, narrow down, open, add to the set, drag."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self.setAccessibleName(tr("Catalog"))
        set_ground(self, "surface")
        self._tasks = Tasks(self, self._failed)
        self._query = ""
        self._wanted: list[str] = []
        self._opened = False
        self.sources = SourcePane(theme)
        self.sources.chosen.connect(self._source_chosen)
        self.sources.add_wanted.connect(self.add_source)
        self.sources.refresh_wanted.connect(self._refresh)
        self.sources.remove_wanted.connect(self._remove)
        self.facets = self.sources.facets
        self.facets.changed.connect(self._draw)
        self._middle = self._build_list()
        self.kit = KitPage(theme, studio.catalog)
        self.kit.setObjectName("kit-page")
        self.kit.hide()
        self.kit.add_wanted.connect(navigator.add_to_set.emit)
        self.kit.closed.connect(self._close_kit)
        self.kit.shown.connect(self._select)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        self.splitter.addWidget(self.sources)
        self.splitter.addWidget(self._middle)
        self.splitter.addWidget(self.kit)
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setStretchFactor(2, 1)
        self.splitter.setSizes([theme.px(SIDE), theme.px(LIST), theme.px(484)])
        self.setLayout(column(self.splitter, spacing=0))
        self._typing = QTimer(self, singleShot=True, interval=TYPING)
        self._typing.timeout.connect(self._draw)
        self._looking = QTimer(self, singleShot=True, interval=LOOKED_AT)
        self._looking.timeout.connect(self._ask_wanted)
        self._drawing = QTimer(self, singleShot=True, interval=DRAWING)
        self._drawing.timeout.connect(self._draw)
        self.destroyed.connect(studio.catalog.changed.subscribe(self._catalog_changed))
        navigator.open_kit.connect(self.open_kit)
        theme.changed.connect(self._arrange)
        self._draw()

    def title(self) -> str:
        return tr("Catalog")

    async def opened(self) -> None:
        """List what needs no network; a network source waits until it is opened."""
        self._opened = True
        await self.studio.catalog.refresh()
        self._draw()

    def _catalog_changed(self, _: None) -> None:
        if not self._drawing.isActive():
            self._drawing.start()

    def search(self, text: str) -> None:
        """Filter the list as the person types."""
        self._query = text
        self._typing.start()

    def open_first(self) -> None:
        """Open the best match."""
        self._typing.stop()
        self._draw()
        if self.model.rowCount():
            self.cards.setCurrentIndex(self.model.index(0, 0))
            self._open_index(self.model.index(0, 0))

    def open_kit(self, reference: str) -> None:
        """Show the Kit page beside the list."""
        if self.kit.isHidden():
            self.kit.show()
            self._arrange()
            side = self.splitter.sizes()[0]
            room = self.splitter.width() - side
            middle = min(self.theme.px(LIST), max(self.theme.px(MIDDLE), room // 2))
            self.splitter.setSizes([side, middle, room - middle])
        self.kit.open(reference)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Where three panes do not fit, the Kit page takes the place of the list until it is closed."""
        alone = not self.kit.isHidden() and self.width() < self.theme.px(NARROWEST)
        self.sources.setVisible(not alone)
        self._middle.setVisible(not alone)

    def save_state(self) -> dict[str, str]:
        return {
            "splitter": bytes(self.splitter.saveState().toBase64().data()).decode(),
            "facets": ",".join(sorted(self.facets.chosen())),
            "view": self._views.value(),
            "sort": self._sort,
        }

    def restore_state(self, state: dict[str, str]) -> None:
        if state.get("splitter"):
            self.splitter.restoreState(QByteArray.fromBase64(state["splitter"].encode()))
        if state.get("facets"):
            self.facets.choose(frozenset(state["facets"].split(",")))
        if state.get("view") == "table":
            self._views.choose("table")
            self._show_view("table")
        if state.get("sort") in _SORTS:
            self._sort_by(state["sort"])

    # building

    def _build_list(self) -> QWidget:
        theme = self.theme
        self.model = CardModel(theme, self)
        self.cards = CardList(theme)
        self.cards.setModel(self.model)
        delegate = CardDelegate(theme, self.cards)
        delegate.wanted.connect(self._want)
        self.cards.setItemDelegate(delegate)
        self.cards.setObjectName("cards")
        self.cards.setAccessibleName(tr("Kits"))
        self.table = card_table(theme, self.model)
        self.table.setSelectionModel(self.cards.selectionModel())
        for view in (self.cards, self.table):
            view.activated.connect(self._open_index)
            view.clicked.connect(self._open_index)
        self._count = text_label("", Type.NAME)
        self._of = text_label("", Type.BODY, "secondary")
        self._sort = "match"
        self._sort_button = button(theme, _SORTS["match"], "chevron-down", "flat", name="sort")
        self._sort_button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        menu = QMenu(self._sort_button)
        for key, label in _SORTS.items():
            menu.addAction(tr(label)).triggered.connect(lambda _=False, key=key: self._sort_by(key))
        self._sort_button.setMenu(menu)
        self._views = Segmented(theme, [("cards", tr("Cards"), "cards"), ("table", tr("Table"), "table")], tr("View"))
        self._views.chosen.connect(self._show_view)
        tools = row(self._count, self._of, None, self._sort_button, self._views, margins=(16, 0, 16, 0))
        bar = holder(tools)
        bar.setFixedHeight(theme.px(47))
        self._banner = Banner(theme, Tone.NOTICE)
        self._banner.acted.connect(self._banner_acted)
        self._state = StateView(theme, "catalog", "", "")
        self._state.acted.connect(self._state_acted)
        self._stack = QStackedWidget()
        for part in (self.cards, self.table, self._state):
            self._stack.addWidget(part)
        middle = holder(column(bar, line(), self._banner, self._stack, spacing=0))
        middle.setMinimumWidth(theme.px(MIDDLE))
        return middle

    # drawing

    def _draw(self) -> None:
        catalog = self.studio.catalog
        sources = catalog.sources()
        self.sources.show_sources(sources)
        source = self.sources.source()
        everything = catalog.cards()
        index = self.facets.index
        index.forget(everything)
        of_source = index.narrow(everything, frozenset(), source.id if source else "")
        found = catalog.search(self._query, of_source) if self._query.strip() else of_source
        self.facets.show_counts(found)
        shown = index.narrow(found, self.facets.chosen())
        if self._sort == "name" or not self._query.strip():
            shown = tuple(sorted(shown, key=lambda card: (card.display_name or card.repository).casefold()))
        self.model.show_cards(shown)
        self._count.setText(counted(len(shown), "Kit", "Kits"))
        self._of.setText(tr("of {n}").format(n=number(len(of_source))) if len(shown) != len(of_source) else "")
        self._draw_banner(source)
        self._draw_state(sources, source, shown)
        if not self.kit.isHidden() and self.kit.details is not None:
            self._select(self.kit.details.card.repository)
        self._tell_status(sources)

    def _draw_banner(self, source: SourceInfo | None) -> None:
        """One strip for the source that is looked at; with *All sources* the list itself says it."""
        if source is None or source.state in (SourceState.READY, SourceState.LOADING) or not source.count:
            self._banner.hide()
            return
        again = ("retry", tr("Try again"), "refresh")
        icon = {SourceState.OFFLINE: "offline", SourceState.LIMITED: "clock", SourceState.SIGN_IN: "lock"}
        lead = {
            SourceState.OFFLINE: tr("Offline."),
            SourceState.LIMITED: tr("Limit reached."),
            SourceState.SIGN_IN: tr("Sign-in needed."),
        }
        words = tr("Showing what was fetched before.") + f" {visible(source.detail)}"
        self._banner.tell(icon.get(source.state, "critical"), lead.get(source.state, tr("Not readable.")), words, again)

    def _draw_state(
        self, sources: tuple[SourceInfo, ...], source: SourceInfo | None, shown: tuple[KitCard, ...]
    ) -> None:
        view = 0 if self._views.value() == "cards" else 1
        if shown:
            self._stack.setCurrentIndex(view)
            return
        loading = not self._opened or any(
            info.state is SourceState.LOADING for info in ([source] if source else sources) if info
        )
        if loading:
            self._state.show_state("spinner", tr("Reading the list"), tr("The first Kits appear in a moment."))
        elif source is not None and source.error is not None:
            self._state.show_error(source.error, [("retry", tr("Try again"), "refresh")])
        elif self._query.strip() or self.facets.chosen():
            self._state.show_state(
                "search",
                tr("No Kit fits"),
                tr("Nothing in this list matches the words and boxes chosen."),
                [("clear", tr("Show all Kits"), "catalog")],
            )
        elif source is not None:
            self._state.show_state(
                "catalog",
                tr("No Kits here"),
                tr("The source lists nothing for this account. A reference can still be typed in the search field."),
                [("retry", tr("Try again"), "refresh")],
            )
        else:
            self._state.show_state(
                "catalog",
                tr("No Kits yet"),
                tr("Add a registry or a folder to see its Kits."),
                [("add", tr("Add a source"), "plus")],
                tr("or drop a folder, an image layout or a .yaml file on Composer"),
            )
        self._stack.setCurrentIndex(2)

    def _tell_status(self, sources: tuple[SourceInfo, ...]) -> None:
        loading = sum(card.kind is CardKind.LOADING for card in self.model.cards)
        if loading:
            self.status_changed.emit("spinner", tr("Reading manifests, {n} to go").format(n=number(loading)))
        else:
            total = sum(source.count for source in sources)
            words = f"{counted(total, 'Kit', 'Kits')} {tr('in')} {counted(len(sources), 'source', 'sources')}"
            self.status_changed.emit("success", words)

    # acting

    def add_source(self) -> None:
        """Ask for a source to add."""
        dialog = AddSourceDialog(self.theme, self.studio.catalog, self.window())
        dialog.added.connect(self._source_added)
        dialog.open()

    def _source_added(self, source: str) -> None:
        self._draw()
        self.sources.choose(source)

    def _source_chosen(self) -> None:
        source = self.sources.source()
        untouched = source is not None and not source.count and source.state is SourceState.READY
        if source is not None and untouched and source.kind in (SourceKind.REGISTRY, SourceKind.HUB):
            self._refresh(source.id)
        self._draw()

    def _refresh(self, source: str = "") -> None:
        self._tasks.start(self.studio.catalog.refresh(source), f"refresh-{source}")

    def _remove(self, source: str) -> None:
        self._tasks.start(self.studio.catalog.remove_source(source))

    def _banner_acted(self, _: str) -> None:
        source = self.sources.source()
        self._refresh(source.id if source else "")

    def _state_acted(self, key: str) -> None:
        if key == "retry":
            self._banner_acted(key)
        elif key == "add":
            self.add_source()
        else:
            self._query = ""
            self.facets.choose(frozenset())

    def _show_view(self, key: str) -> None:
        if self._stack.currentIndex() != 2:
            self._stack.setCurrentIndex(0 if key == "cards" else 1)

    def _sort_by(self, key: str) -> None:
        self._sort = key
        self._sort_button.setText(tr(_SORTS[key]))
        self._draw()

    def _open_index(self, index: QModelIndex) -> None:
        card = self.model.card(index)
        if card.kind is CardKind.LOADING:
            self._want(card.reference)
        if self.kit.isHidden() or self.kit.reference != card.reference:
            self.open_kit(card.reference)

    def _close_kit(self) -> None:
        self.kit.hide()
        self._arrange()
        self.cards.setFocus()

    def _select(self, repository: str) -> None:
        at = self.model.row_of(repository)
        if at < 0:
            self.cards.selectionModel().clearSelection()
            return
        index = self.model.index(at, 0)
        if self.cards.currentIndex().row() != at or not self.cards.selectionModel().isSelected(index):
            rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.cards.selectionModel().setCurrentIndex(index, rows)
            self.cards.scrollTo(index)

    def _want(self, reference: str) -> None:
        if reference not in self._wanted:
            self._wanted.append(reference)
        if not self._looking.isActive():
            self._looking.start()

    def _ask_wanted(self) -> None:
        """Only what was looked at last is fetched; a row scrolled past long ago asks again when it is seen."""
        if not self._opened:
            self._looking.start()
            return
        wanted, self._wanted = self._wanted[-24:], []
        for reference in wanted:
            self._tasks.start(self.studio.catalog.want(reference), f"want-{reference}")

    def _failed(self, error: KitStudioError) -> None:
        window = self.window()
        tell = getattr(window, "tell_error", None)
        if tell is not None:
            tell(fault(error))


_SORTS = {"match": "Best match", "name": "Name"}
