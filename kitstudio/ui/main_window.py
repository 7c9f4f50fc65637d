"""The one main window: rail, header, pages, footer. It knows pages only through ``Page`` and ``Navigator``."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QPaintEvent, QShortcut, QUndoGroup
from PySide6.QtWidgets import QMainWindow, QMenu, QStackedWidget, QWidget

from kitstudio import __version__
from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import State
from kitstudio.services.app import Studio
from kitstudio.ui.approvals.notices import ApprovalNotices
from kitstudio.ui.command_search import Command, CommandSearch
from kitstudio.ui.editor.editors import Editors
from kitstudio.ui.footer import ErrorDialog, Footer
from kitstudio.ui.header import Header
from kitstudio.ui.navigator import Navigator, PageName
from kitstudio.ui.page import Page
from kitstudio.ui.rail import Rail
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.widgets import FocusRing, column, row
from kitstudio.ui.widgets.text import tr

PageFactory: TypeAlias = Callable[[Studio, Theme, Navigator], Page]
UNSEEN = 0.5
"""Seconds after which a window that nobody sees goes on all the same."""
STATE = "ui.state."


class MainWindow(QMainWindow):
    """Built from a studio and page factories; ``open_pages`` is awaited once the loop runs."""

    closed = Signal()
    tour_wanted = Signal()

    def __init__(self, studio: Studio, theme: Theme, factories: Mapping[PageName, PageFactory]) -> None:
        super().__init__()
        self.studio = studio
        self.theme = theme
        self.navigator = Navigator(self)
        self.pages: dict[PageName, Page] = {}
        self.tells: list[KitStudioError] = []
        self._query = ""
        self._factories = dict(factories)
        self._tasks = Tasks(self, self.tell_error)
        self._undo = QUndoGroup(self)
        self._ended = False
        self._seen = asyncio.Event()
        self.setWindowTitle("Kit Studio")
        self.setObjectName("main-window")
        self.rail = Rail(theme)
        self.stack = QStackedWidget()
        self.footer = Footer(theme, studio.jobs)
        self.header = Header(theme)
        right = QWidget()
        self.notices = ApprovalNotices(studio, theme, self.navigator, self)
        right.setLayout(column(self.header, self.notices.banner, self.stack, self.footer, spacing=0))
        body = QWidget()
        body.setLayout(row(self.rail, right, spacing=0))
        self.setCentralWidget(body)
        self.search = CommandSearch(
            theme,
            self.header.search,
            studio.catalog,
            self._commands(),
            self.navigator.open_kit.emit,
            self.navigator.add_to_set.emit,
            self,
            self.navigator.edit_kit.emit,
            self.tell_error,
        )
        self.editors = Editors(theme, self)
        self.focus_ring = FocusRing(theme, self)
        self._connect()
        self._page(self._first_page())
        self._restore()

    @property
    def page(self) -> PageName:
        """The page that is shown."""
        shown = self.stack.currentWidget()
        return next(name for name, page in self.pages.items() if page is shown)

    def go(self, name: str) -> None:
        """Show a page."""
        page = PageName(name)
        self._swap_query(page)
        self.stack.setCurrentWidget(self._page(page))
        self.rail.show_page(page)
        self.header.title.show_text(self.pages[page].title())
        self.search.with_kits = page is not PageName.CATALOG
        own = self.pages[page].undo_stack
        composer = self.pages.get(PageName.COMPOSER)
        self._undo.setActiveStack(own or (composer.undo_stack if composer else None))  # type: ignore[arg-type]
        icon, text = self._statuses.get(page, ("info", ""))
        self.footer.show_status(icon, text)

    async def painted(self) -> None:
        """Until the window has been seen; at once for one that is not shown, and soon for one nobody looks at."""
        if self.isVisible():
            with suppress(TimeoutError):
                async with asyncio.timeout(UNSEEN):
                    await self._seen.wait()

    async def open_pages(self) -> None:
        """Build the pages that were not shown yet and let every page start its work.

        The page that is shown comes first; then one page a turn of the loop, and the runtime's modules in a thread.
        """
        await self.painted()
        first = self.pages[self.page]
        if self.page is not PageName.CATALOG:  # the catalog is the one page that asks nothing of gate and runtime
            await self.studio.load_gate()
            await self.studio.load_runtime()
        self._tasks.start(first.opened())
        await self.studio.load_runtime()
        await self.studio.load_gate()
        for name in PageName:
            if self._ended:
                return  # closed while it opened: a page must not begin work that nobody ends
            self._page(name)
            await asyncio.sleep(0)
        if self._ended:
            return
        for changed in (self.studio.sandboxes.changed, self.studio.approvals.changed):
            self.destroyed.connect(changed.subscribe(lambda _: self._draw_badges()))
        self._draw_badges()
        self.go(str(self.page))
        for page in self.pages.values():
            if page is not first:
                self._tasks.start(page.opened())
        self._tasks.start(self.notices.begin())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._seen.is_set():
            QTimer.singleShot(0, self._seen.set)

    def tell_error(self, error: KitStudioError) -> None:
        """The last failure, in the footer; ``tells`` keeps the last few."""
        self.tells = [*self.tells[-9:], error]
        self.footer.show_error(error)

    def keep_state(self) -> None:
        """Write geometry, page and the pages' own state into the settings."""
        values = {"window": _packed(self.saveGeometry()), "page": str(self.page)}
        for name, page in self.pages.items():
            state = page.save_state()
            if state:
                values[f"page_{name}"] = json.dumps(state)
        for key, text in values.items():
            self.studio.settings.set(STATE + key, text)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.editors.close(self.close):
            event.ignore()
            return
        try:
            self.keep_state()
        except KitStudioError as error:
            ErrorDialog(self.theme, error, self).exec()
        self._tasks.cancel()
        self._ended = True
        event.accept()
        self.closed.emit()

    def _connect(self) -> None:
        self._statuses: dict[PageName, tuple[str, str]] = {}
        go = self.navigator.go
        self.rail.chosen.connect(self.go)
        go.connect(self.go)
        self.navigator.open_kit.connect(lambda _: self.go(PageName.CATALOG))
        self.navigator.open_set.connect(lambda _: self.go(PageName.COMPOSER))
        self.navigator.show_request.connect(lambda _: self.go(PageName.APPROVALS))
        self.navigator.show_finding.connect(lambda _request, _finding: self.go(PageName.APPROVALS))
        self.navigator.show_sandbox.connect(lambda _: self.go(PageName.SANDBOXES))
        self.navigator.add_to_set.connect(self._added)
        self.navigator.edit_kit.connect(lambda path: self.editors.open(path) if path else self.editors.ask())
        self.editors.failed.connect(self.tell_error)
        self.rail.dropped.connect(self.navigator.add_to_set.emit)
        header = self.header
        header.undo.clicked.connect(self._undo.undo)
        header.redo.clicked.connect(self._undo.redo)
        self._undo.canUndoChanged.connect(header.undo.setEnabled)
        self._undo.canRedoChanged.connect(header.redo.setEnabled)
        self._undo.undoTextChanged.connect(lambda text: header.undo.setToolTip(tr("Undo") + f" {text}"))
        self._undo.redoTextChanged.connect(lambda text: header.redo.setToolTip(tr("Redo") + f" {text}"))
        header.help.clicked.connect(self._show_help)
        header.search.textEdited.connect(self._filter)
        header.search.returnPressed.connect(self._open_first)
        for keys, act in (
            ("Ctrl+K", self._focus_search),
            (QKeySequence.StandardKey.Undo, self._undo.undo),
            (QKeySequence.StandardKey.Redo, self._undo.redo),
            (QKeySequence.StandardKey.Quit, self.close),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(act)

    def _page(self, name: PageName) -> Page:
        if name not in self.pages:
            page = self._factories[name](self.studio, self.theme, self.navigator)
            page.setObjectName(f"page-{name}")
            self.pages[name] = page
            self.stack.addWidget(page)
            page.title_changed.connect(partial(self._title, page))
            page.status_changed.connect(partial(self._status, name))
            if name is PageName.CATALOG:
                page.badge_changed.connect(self.rail.buttons[name].show_badge)
                cleared = getattr(page, "query_cleared", None)
                if cleared is not None:
                    cleared.connect(self.header.search.clear)
            if page.undo_stack is not None:
                self._undo.addStack(page.undo_stack)
            page.restore_state(self._kept(name))
        return self.pages[name]

    def _title(self, page: Page, text: str) -> None:
        if self.stack.currentWidget() is page:
            self.header.title.show_text(text)

    def _swap_query(self, page: PageName) -> None:
        """The words that filter the catalog belong to it: they leave the field with it and come back with it."""
        field = self.header.search
        catalog = self.pages.get(PageName.CATALOG)
        here = catalog is not None and self.stack.currentWidget() is catalog
        if here and page is not PageName.CATALOG:
            self._query = field.text()
            field.clear()
        elif not here and page is PageName.CATALOG:
            field.setText(self._query)
        self.search.hide()

    def _status(self, name: PageName, icon: str, text: str) -> None:
        self._statuses[name] = (icon, text)
        if self.stack.currentWidget() is self.pages.get(name):
            self.footer.show_status(icon, text)

    def _added(self, reference: str) -> None:
        if self.page is not PageName.COMPOSER:
            self._status(self.page, "success", tr("{reference} was added to the set").format(reference=reference))

    def _filter(self, text: str) -> None:
        if self.page is PageName.CATALOG:
            page = self.pages[PageName.CATALOG]
            search = getattr(page, "search", None)
            if search is not None:
                search(text)

    def _open_first(self) -> None:
        page = self.pages.get(PageName.CATALOG)
        open_first = getattr(page, "open_first", None)
        if self.page is PageName.CATALOG and open_first is not None:
            open_first()

    def _focus_search(self) -> None:
        self.header.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.header.search.selectAll()
        self.search.refresh()

    def _draw_badges(self) -> None:
        self.rail.buttons[PageName.APPROVALS].show_badge(
            len(self.studio.approvals.waiting()) + len(self.studio.approvals.unready())
        )
        attention = [
            status
            for status in self.studio.sandboxes.list()
            if status.state in (State.BROKEN, State.WAITING) or status.refused
        ]
        self.rail.buttons[PageName.SANDBOXES].show_badge(len(attention), True)

    def _commands(self) -> tuple[Command, ...]:
        pages = {
            PageName.CATALOG: tr("Go to the catalog"),
            PageName.COMPOSER: tr("Go to the composer"),
            PageName.APPROVALS: tr("Go to approvals"),
            PageName.SANDBOXES: tr("Go to sandboxes"),
            PageName.SETTINGS: tr("Go to settings"),
        }
        moves = tuple(
            Command(title, f"Ctrl+{index + 1}", str(name), partial(self.go, str(name)))
            for index, (name, title) in enumerate(pages.items())
        )
        return (
            Command(
                tr("Take the tour"),
                tr("The main job on the demo catalog, in a home of its own"),
                "play",
                self.tour_wanted.emit,
                "help demo",
            ),
            *moves,
            Command(
                tr("Edit a Kit’s descriptor…"),
                tr("Findings, suggestions and what it would ask for, while you write"),
                "file",
                lambda: self.navigator.edit_kit.emit(""),
                "open folder lint editor yaml dockerfile",
            ),
            Command(tr("Use the light theme"), tr("Appearance"), "sun", lambda: self._choose_theme(Mode.LIGHT)),
            Command(tr("Use the dark theme"), tr("Appearance"), "eye", lambda: self._choose_theme(Mode.DARK)),
            Command(tr("Follow the system’s theme"), tr("Appearance"), "eye", lambda: self._choose_theme(Mode.SYSTEM)),
            Command(tr("Quit"), "Ctrl+Q", "close", self._quit, "exit"),
        )

    def _quit(self) -> None:
        self.close()

    def _choose_theme(self, mode: Mode) -> None:
        try:
            self.studio.settings.set("ui.theme", str(mode))
        except KitStudioError as error:
            self.tell_error(error)
            return
        self.theme.choose(mode=mode)

    def _show_help(self) -> None:
        menu = QMenu(self)
        menu.addAction(tr("Take the tour")).triggered.connect(self.tour_wanted.emit)
        menu.addAction(tr("Search and commands (Ctrl+K)")).triggered.connect(self._focus_search)
        menu.addSeparator()
        about = menu.addAction(tr("Kit Studio {version}").format(version=__version__))
        about.setEnabled(False)
        below = self.header.help.mapToGlobal(self.header.help.rect().bottomLeft())
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(below)

    def _first_page(self) -> PageName:
        kept = str(self.studio.settings.get(f"{STATE}page"))
        return PageName(kept) if kept in set(PageName) else PageName.CATALOG

    def _kept(self, name: PageName) -> dict[str, str]:
        text = str(self.studio.settings.get(f"{STATE}page_{name}"))
        try:
            values = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            return {}
        return {str(k): str(v) for k, v in values.items()} if isinstance(values, dict) else {}

    def _restore(self) -> None:
        self.resize(1280, 800)
        self.setMinimumSize(960, 600)
        kept = str(self.studio.settings.get(f"{STATE}window"))
        if kept:
            self.restoreGeometry(unpacked(kept))
        self.go(str(self._first_page()))


def unpacked(text: str) -> QByteArray:
    """Bytes kept as text; empty where they are damaged."""
    try:
        return QByteArray(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error):
        return QByteArray()


def _packed(data: QByteArray) -> str:
    return base64.b64encode(bytes(data.data())).decode()
