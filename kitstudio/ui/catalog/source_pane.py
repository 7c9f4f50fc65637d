"""The left pane of the catalog: sources with their states, and the facets below."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication, QHelpEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QListView, QMenu, QScrollArea, QVBoxLayout, QWidget

from kitstudio.services.catalog import SourceInfo, SourceKind
from kitstudio.ui.catalog.card_list import show_plain_tip
from kitstudio.ui.catalog.facet_pane import FacetPane
from kitstudio.ui.catalog.source_words import host_of, removable, unopened
from kitstudio.ui.catalog.sources import SourceDelegate, SourceModel
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import button, column, holder, icon_button, line, row, text_label
from kitstudio.ui.widgets.text import tr, visible

SECOND = 1000


class SourceDeed(StrEnum):
    """What can be done with a source."""

    REFRESH = "refresh"
    REMOVE = "remove"
    TRUST = "trust"
    DISTRUST = "distrust"
    SIGN_IN = "sign-in"
    SIGN_OUT = "sign-out"
    EDIT = "edit"


class SourcePane(QScrollArea):
    """``chosen`` when another source is looked at; ``deed_wanted(id, SourceDeed)`` (id empty: all sources);
    ``ticked`` each second while a source counts down."""

    chosen = Signal()
    add_wanted = Signal()
    deed_wanted = Signal(str, str)
    ticked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = QListView()
        self.list.setObjectName("sources")
        self.list.setAccessibleName(tr("Sources"))
        self.model = SourceModel(self)
        self.list.setModel(self.model)
        self.list.setItemDelegate(SourceDelegate(theme, self.list))
        self.list.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.setCurrentIndex(self.model.index(0))
        self.list.selectionModel().currentChanged.connect(lambda *_: self.chosen.emit())
        self.list.installEventFilter(self)
        self.list.viewport().installEventFilter(self)
        self.facets = FacetPane(theme)
        add = icon_button(theme, "plus", tr("Add a source"), small=True, object_name="add-source")
        add.clicked.connect(self.add_wanted)
        more = icon_button(theme, "more", tr("What can be done with the source"), small=True, object_name="source-more")
        more.clicked.connect(lambda: self._menu(self.list.visualRect(self.list.currentIndex()).center()))
        self.clear = button(theme, tr("Clear"), kind="link", name="facets-clear")
        self.clear.setEnabled(False)
        self.clear.clicked.connect(lambda: self.facets.choose(frozenset()))
        self.facets.changed.connect(self._clearable)
        sources = row(text_label(tr("Sources"), Type.LABEL, "secondary"), None, more, add, margins=(16, 8, 8, 0))
        facets = row(text_label(tr("Narrow down"), Type.LABEL, "secondary"), None, self.clear, margins=(16, 4, 16, 0))
        inner = QWidget()
        layout = QVBoxLayout(inner)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(sources)
        layout.addWidget(holder(column(self.list, spacing=0, margins=(8, 4, 8, 0))))
        layout.addLayout(row(line(), margins=(16, 8, 16, 8)))
        layout.addLayout(facets)
        layout.addWidget(self.facets)
        layout.addStretch(1)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(theme.px(200))
        self.setWidget(inner)
        self._clock = QTimer(self, interval=SECOND)
        self._clock.timeout.connect(self._tick)

    @property
    def counting(self) -> bool:
        """Whether the clock of a countdown runs."""
        return self._clock.isActive()

    def source(self) -> SourceInfo | None:
        """What is looked at; None for all sources."""
        index = self.list.currentIndex()
        return self.model.source(index) if index.isValid() else None

    def choose(self, source: str) -> None:
        """Look at a source."""
        self.list.setCurrentIndex(self.model.index(self.model.row_of(source)))

    def show_sources(self, sources: tuple[SourceInfo, ...]) -> None:
        """Keep the chosen source chosen, by its id; as high as its rows, so that the pane scrolls as one."""
        known = self.source()
        selection = self.list.selectionModel()
        selection.blockSignals(True)
        self.model.show_sources(sources)
        at = self.model.row_of(known.id) if known else 0
        if self.list.currentIndex().row() != at or not selection.hasSelection():
            self.list.setCurrentIndex(self.model.index(at))
        selection.blockSignals(False)
        self.list.viewport().update()
        self._fit()
        self._run_clock()

    def deeds(self, source: SourceInfo | None) -> tuple[tuple[SourceDeed, str], ...]:
        """What can be done with a source (None: all of them), and what it is called."""
        if source is None:
            return ((SourceDeed.REFRESH, tr("Read all again")),)
        first = tr("Open {host}").format(host=host_of(source)) if unopened(source) else tr("Read again")
        found = [(SourceDeed.REFRESH, first)]
        if source.registry and source.network:
            again = tr("Sign in with another account…") if source.account else tr("Sign in…")
            found.append((SourceDeed.SIGN_IN, again))
            if source.account:
                found.append((SourceDeed.SIGN_OUT, tr("Sign out {name}").format(name=visible(source.account))))
        if source.kind is SourceKind.FOLDER:
            found.append((SourceDeed.EDIT, tr("Edit its descriptor")))
        if source.network:
            trust = SourceDeed.DISTRUST if source.trusted else SourceDeed.TRUST
            found.append((trust, tr("Fetch the icons of its Kits")))
        if removable(source):
            found.append((SourceDeed.REMOVE, tr("Remove {name}").format(name=visible(source.title))))
        return tuple(found)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            show_plain_tip(self.list, event)
            return True
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and watched is self.list:
            return self._key(event)
        if event.type() == QEvent.Type.Resize and watched is self.list.viewport():
            self.list.scheduleDelayedItemsLayout()
            self._fit()
        return False

    def _fit(self) -> None:
        """As high as its rows, whose names take the lines they need at this width."""
        height = sum(self.list.sizeHintForRow(row_) for row_ in range(self.model.rowCount())) + 2
        if self.list.height() != height:
            self.list.setFixedHeight(height)

    def _key(self, event: QKeyEvent) -> bool:
        """F5 and Enter read a source (or open it), Delete removes it."""
        source = self.source()
        given = source.id if source else ""
        if event.matches(QKeySequence.StandardKey.Refresh) or event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.deed_wanted.emit(given, SourceDeed.REFRESH)
            return True
        if event.matches(QKeySequence.StandardKey.Delete) and source and removable(source):
            self.deed_wanted.emit(given, SourceDeed.REMOVE)
            return True
        return False

    def _menu(self, place: QPoint) -> None:
        index = self.list.indexAt(place)
        source = self.model.source(index) if index.isValid() else None
        given = source.id if source else ""
        menu = QMenu(self)
        menu.setObjectName("source-menu")
        for deed, words in self.deeds(source):
            if deed is SourceDeed.REMOVE:
                menu.addSeparator()
            action = menu.addAction(words.replace("&", "&&"))
            action.setObjectName(f"source-{deed}")
            self._check(action, deed)
            action.triggered.connect(lambda _=False, deed=deed: self.deed_wanted.emit(given, deed))
        if source is not None:
            copy = menu.addAction(tr("Copy its address"))
            copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(source.id))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.list.viewport().mapToGlobal(place))

    @staticmethod
    def _check(action: QAction, deed: SourceDeed) -> None:
        if deed in (SourceDeed.TRUST, SourceDeed.DISTRUST):
            action.setCheckable(True)
            action.setChecked(deed is SourceDeed.DISTRUST)

    def _clearable(self) -> None:
        self.clear.setEnabled(bool(self.facets.chosen()))

    def _run_clock(self) -> None:
        """The clock runs only while something counts down."""
        if self.model.counting() and not self._clock.isActive():
            self._clock.start()
        elif not self.model.counting() and self._clock.isActive():
            self._clock.stop()

    def _tick(self) -> None:
        self.model.tick()
        self._run_clock()
        self.ticked.emit()
