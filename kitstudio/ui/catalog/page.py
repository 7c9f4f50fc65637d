"""The Catalog: sources and facets, cards or table over one model, and the Kit page beside them."""

from __future__ import annotations

import json

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QSplitter, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.source import SignInRequired
from kitstudio.services.app import Studio
from kitstudio.services.catalog import CardKind, KitCard, SourceInfo, SourceKind, SourceState
from kitstudio.ui.catalog import states
from kitstudio.ui.catalog.add_source import AddSourceDialog
from kitstudio.ui.catalog.card_words import CardAction, registry_of
from kitstudio.ui.catalog.facets import WORKS
from kitstudio.ui.catalog.fitting import Fitting, WhyNotDialog
from kitstudio.ui.catalog.kit_place import KitPlace
from kitstudio.ui.catalog.list_area import MIDDLE, SORTS, ListArea
from kitstudio.ui.catalog.listing import Listing, Shown
from kitstudio.ui.catalog.pictures import KitPictures, kit_icons
from kitstudio.ui.catalog.sign_in_place import SignInPlace, ask_to_sign_in
from kitstudio.ui.catalog.source_acts import SourceActs
from kitstudio.ui.catalog.source_pane import SourceDeed, SourcePane
from kitstudio.ui.catalog.source_words import lapsed, status_words, unopened
from kitstudio.ui.catalog.wanting import Wanting
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.page import Page
from kitstudio.ui.tasks import Tasks, fault
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import set_ground
from kitstudio.ui.widgets.layout import column
from kitstudio.ui.widgets.text import number, tr, visible

SIDE = 220
LIST = 496
NARROWEST = 200 + MIDDLE + 440
TYPING = 60
"""Milliseconds after the last key before the list is searched again."""
DRAWING = 40
"""Milliseconds over which changes of the catalog are drawn as one."""
TAKEN_AT_ONCE = 2500
"""New cards taken over in one go: a source that lists thousands at once does not hold the window."""


class CatalogPage(Page):
    """Search as you type, narrow down, open, add to the set, drag. ``query_cleared``: the words no longer count."""

    query_cleared = Signal()

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self.setAccessibleName(tr("Catalog"))
        set_ground(self, "surface")
        self._tasks = Tasks(self, self._failed)
        self._query = ""
        self._question: object = None
        self._opened = False
        self._stale = True
        self._reading = 0
        self._removed = ""
        self.listing = Listing()
        self.pictures = KitPictures(theme, kit_icons(studio, self), self)
        self.sources = SourcePane(theme)
        self.facets = self.sources.facets
        self.list = ListArea(theme, self.pictures)
        self.model, self.cards, self.table = self.list.model, self.list.cards, self.list.table
        self.sign_in = SignInPlace(theme, studio, self.list.sign_in_place)
        self.acts = SourceActs(theme, studio, navigator, self._tasks, self)
        self.fitting = Fitting(studio, self._tasks, self)
        self.kit = KitPlace(theme, studio, self.pictures)
        self.kit.setObjectName("kit-page")
        self.kit.hide()
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        for part, stretch in ((self.sources, 0), (self.list, 1), (self.kit, 1)):
            self.splitter.addWidget(part)
            self.splitter.setStretchFactor(self.splitter.count() - 1, stretch)
        self.splitter.setSizes([theme.px(SIDE), theme.px(LIST), theme.px(484)])
        self.setLayout(column(self.splitter, spacing=0))
        self._typing = self._timer(TYPING, self._draw)
        self.wanting = Wanting(self._ask, self)
        self._drawing = self._timer(DRAWING, self._draw)
        self._working = self._timer(0, self._work)
        self._connect()
        self._draw()

    def title(self) -> str:
        return tr("Catalog")

    async def opened(self) -> None:
        """List what needs no network; a network source waits until it is opened."""
        await self.studio.catalog.start()
        self._opened = True
        self.wanting.begin()
        self._draw()
        await self.studio.catalog.refresh()
        self._draw()
        await self.kit.load()
        await self.studio.load_gate()
        self.fitting.begin()

    def search(self, text: str) -> None:
        """Filter the list as the person types."""
        self._query = text
        self._typing.start()

    def type_now(self, text: str) -> None:
        """Filter the list without waiting for the next key."""
        self._typing.stop()
        self._query = text
        self._draw()

    def open_first(self) -> None:
        """Open the best match."""
        self._typing.stop()
        self._draw()
        if self.model.rowCount():
            self.cards.setCurrentIndex(self.model.index(0, 0))
            self._open_card(self.model.cards[0])

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

    def save_state(self) -> dict[str, str]:
        source = self.sources.source()
        return {
            "splitter": bytes(self.splitter.saveState().toBase64().data()).decode(),
            "facets": json.dumps(sorted(self.facets.chosen())),
            "view": self.list.views.value(),
            "sort": self.list.sort,
            "source": source.id if source else "",
        }

    def restore_state(self, state: dict[str, str]) -> None:
        if state.get("splitter"):
            self.splitter.restoreState(QByteArray.fromBase64(state["splitter"].encode()))
        self.facets.choose(_facets(state.get("facets", "")))
        if state.get("view") == "table":
            self.list.show_view("table")
        if state.get("sort") in SORTS:
            self.list.sort_by(state["sort"])
        if state.get("source"):
            self.sources.choose(state["source"])

    # building

    def _timer(self, interval: int, slot: object) -> QTimer:
        made = QTimer(self, singleShot=True, interval=interval)
        made.timeout.connect(slot)
        return made

    def _connect(self) -> None:
        sources, list_, kit = self.sources, self.list, self.kit
        sources.chosen.connect(self._source_chosen)
        sources.add_wanted.connect(self.add_source)
        sources.deed_wanted.connect(self.acts.do)
        self.acts.refresh_wanted.connect(self._refresh)
        self.acts.removed.connect(self._source_removed)
        self.acts.signed_in.connect(self._signed_in)
        sources.ticked.connect(self._tick)
        self.facets.changed.connect(self._draw)
        self.facets.why_wanted.connect(self._show_why)
        list_.opened.connect(self._open_card)
        list_.acted.connect(self._card_acted)
        list_.add_wanted.connect(self.navigator.add_to_set)
        list_.wanted.connect(self.wanting.want)
        list_.named.connect(self.navigator.open_kit)
        list_.sorted_by.connect(lambda _: self._draw())
        list_.banner_acted.connect(self._acted)
        list_.state_acted.connect(self._acted)
        self.model.use_reasons(self.listing.reason)
        self.sign_in.signed_in.connect(self._signed_in)
        self.fitting.changed.connect(self._fits)
        kit.add_wanted.connect(self.navigator.add_to_set)
        kit.closed.connect(self._close_kit)
        kit.shown.connect(list_.select)
        kit.signed_in.connect(self._signed_in)
        self.destroyed.connect(self.studio.catalog.changed.subscribe(self._catalog_changed))
        self.navigator.open_kit.connect(self.open_kit)
        self.theme.changed.connect(self._arrange)
        again = QShortcut(QKeySequence.StandardKey.Refresh, self)
        again.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        again.activated.connect(lambda: self._acted("retry"))

    def _arrange(self) -> None:
        """Where three panes do not fit, the Kit page takes the place of the list until it is closed."""
        alone = not self.kit.isHidden() and self.width() < self.theme.px(NARROWEST)
        self.sources.setVisible(not alone)
        self.list.setVisible(not alone)

    # drawing

    def _tick(self) -> None:
        """A second of a countdown: the words that tell it, and nothing else."""
        if not self._removed:
            states.draw_banner(self.list.banner, self.sources.source())
        self.list.tick()

    def _catalog_changed(self, _: None) -> None:
        self._stale = True
        if not self._drawing.isActive():
            self._drawing.start()

    def _work(self) -> None:
        """Work out some more cards, a little each turn of the loop."""
        if self.listing.advance():
            self._working.start()
        elif not self._drawing.isActive():
            self._drawing.start()

    def _draw(self) -> None:
        catalog = self.studio.catalog
        sources = catalog.sources()
        self.pictures.trust(frozenset(source.id for source in sources if source.trusted))
        self.sources.show_sources(sources)
        source = self.sources.source()
        if self._stale:
            cards = catalog.cards()
            most = self.listing.size + TAKEN_AT_ONCE
            self._stale = len(cards) > most
            self.listing.take(cards[:most])
            if self._stale and not self._drawing.isActive():
                self._drawing.start()
        if self.listing.pending and not self._working.isActive():
            self._working.start()
        chosen = self._narrowed()
        by_name = self.list.sort != "match"
        shown = self.listing.shown(self._query, chosen, source.id if source else "", by_name=by_name)
        self.facets.show_counts(shown.counts, shown.known)
        self._tell_set(source)
        self.model.show_sources({info.id: info for info in sources})
        question = (self._query, chosen, source.id if source else "", self.list.sort)
        self.list.show_cards(self._sorted(shown), same_question=question == self._question)
        self._question = question
        narrowed = bool(self._query.strip() or chosen)
        self.list.show_counts(len(shown.cards), shown.of, shown.read, narrowed=narrowed)
        self._draw_around(sources, source, shown, narrowed)
        if not self.kit.isHidden() and self.kit.details is not None:
            self.list.select(self.kit.details.card.repository)
        self._tell_status(sources)

    def _narrowed(self) -> frozenset[str]:
        """The facets in force: what fits the set counts only once it is known."""
        chosen = self.facets.chosen()
        return chosen if self.fitting.known else chosen - {WORKS}

    def _sorted(self, shown: Shown) -> tuple[KitCard, ...]:
        if self.list.sort != "pulls":
            return shown.cards
        return tuple(sorted(shown.cards, key=lambda card: -(card.pulls if card.pulls is not None else -1)))

    def _draw_around(
        self, sources: tuple[SourceInfo, ...], source: SourceInfo | None, shown: Shown, narrowed: bool
    ) -> None:
        """What stands above and in place of the cards."""
        problem = self.studio.catalog.index_problem
        self.list.tell_note(source.note if source else problem.what if problem else "")
        self.list.offer_find(tr("Search Docker Hub for “{words}”"), self._findable(source))
        if not self._removed:
            states.draw_banner(self.list.banner, source)
        needs = source is not None and source.state is SourceState.SIGN_IN and bool(source.registry)
        if needs and source is not None:
            self.sign_in.show_for(source.registry, source.error)
        else:
            self.sign_in.clear()
        nameable = "" if shown.cards or narrowed else states.nameable(source)
        self.list.ask_for_repository(nameable)
        if nameable:
            self.list.tell_note("")
        if shown.cards:
            self.list.show_content()
            return
        loading = not self._opened or self.listing.pending
        states.draw_state(self.list.state, sources, source, loading=loading, narrowed=narrowed)
        self.list.show_state()

    def _findable(self, source: SourceInfo | None) -> str:
        """The words Docker Hub's own search can be asked for: its lists are cut short."""
        opened = source is not None and source.kind is SourceKind.HUB and not unopened(source)
        return self._query.strip() if opened else ""

    def _tell_set(self, source: SourceInfo | None) -> None:
        left_out = 0
        if WORKS in self._narrowed():
            left_out = len(self.listing.left_out(self._query, self._narrowed(), source.id if source else ""))
        self.facets.tell_set(self.fitting.note, left_out, empty=self.fitting.empty)

    def _tell_status(self, sources: tuple[SourceInfo, ...]) -> None:
        """Footer, and the badge of sessions that lapsed: no window opens by itself."""
        ended = sum(lapsed(source) for source in sources)
        self.badge_changed.emit(ended, True)
        if self._reading:
            self.status_changed.emit("spinner", tr("Reading manifests, {n} to go").format(n=number(self._reading)))
            return
        self.status_changed.emit(*status_words(sources))

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
        """Looking at a source asks it nothing: opening it does, and says so."""
        self._removed = ""
        self._draw()

    def _refresh(self, source: str = "") -> None:
        self.wanting.renew()
        self._tasks.start(self.studio.catalog.refresh(source), f"refresh-{source}")

    def _source_removed(self, source: SourceInfo) -> None:
        self._removed = source.id
        self._draw()
        words = tr("{name} was removed from the list.").format(name=visible(source.title))
        self.list.banner.tell("trash", tr("Removed."), words, ("put-back", tr("Put it back"), "undo"))

    def _acted(self, key: str) -> None:
        source = self.sources.source()
        if key in ("retry", "open"):
            self._refresh(source.id if source else "")
        elif key == "find" and source is not None:
            self._tasks.start(self.studio.catalog.find(source.id, self._query.strip()), "find")
        elif key == "add":
            self.add_source()
        elif key == "demo":
            self.sources.choose("demo")
        elif key == "put-back":
            self._tasks.start(self.studio.catalog.add_source(self._removed))
            self._removed = ""
            self.list.banner.hide()
        elif key == "sign-in" and source is not None:
            self.acts.do(source.id, SourceDeed.SIGN_IN)
        else:
            self._query = ""
            self.query_cleared.emit()
            self.facets.choose(frozenset())

    def _card_acted(self, reference: str, action: str) -> None:
        card = next((known for known in self.model.cards if known.reference == reference), None)
        if card is None:
            return
        if action == CardAction.SIGN_IN:
            ask_to_sign_in(self.theme, self.studio, registry_of(card), self.window(), self._signed_in)
        else:
            self._ask(reference)

    def _signed_in(self, host: str) -> None:
        """The sign-in worked: everything of that host that failed for want of one goes on."""
        self._tasks.start(self.studio.catalog.retry(host.partition("/")[0]), f"retry-{host}")
        self.kit.resume(host)

    def _fits(self) -> None:
        self.listing.use_reasons(self.fitting.reasons)
        self.kit.tell_reasons(self.fitting.reasons)
        self._draw()

    def _show_why(self) -> None:
        source = self.sources.source()
        rows = self.listing.left_out(self._query, self._narrowed(), source.id if source else "")
        WhyNotDialog(self.theme, rows, self.window()).open()

    def _open_card(self, card: KitCard) -> None:
        if card.kind is CardKind.LOADING:
            self.wanting.want(card.reference)
        if self.kit.isHidden() or self.kit.reference != card.reference:
            self.open_kit(card.reference)

    def _close_kit(self) -> None:
        self.kit.hide()
        self._arrange()
        self.list.view.setFocus()

    def _ask(self, reference: str) -> None:
        self._tasks.start(self._read(reference), f"want-{reference}")

    async def _read(self, reference: str) -> None:
        """Fetch one card; the footer says how many are on their way."""
        self._reading += 1
        self._catalog_status()
        try:
            await self.studio.catalog.want(reference)
        finally:
            self._reading -= 1
        self._catalog_status()

    def _catalog_status(self) -> None:
        self._tell_status(self.studio.catalog.sources())

    def _failed(self, error: KitStudioError) -> None:
        if isinstance(error, SignInRequired):
            # A session that ended is told where it matters: by the badge, on the source and on its cards.
            self._catalog_changed(None)
        tell = getattr(self.window(), "tell_error", None)
        if tell is not None:
            tell(fault(error))


def _facets(text: str) -> frozenset[str]:
    """Facets as they were kept; none where that is damaged."""
    try:
        kept = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(str(key) for key in kept) if isinstance(kept, list) else frozenset()
