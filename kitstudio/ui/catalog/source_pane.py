"""The left pane of the catalog: sources with their states, and the facets below."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QListView, QMenu, QScrollArea, QVBoxLayout, QWidget

from kitstudio.services.catalog import SourceInfo, SourceKind
from kitstudio.ui.catalog.facets import FacetPane
from kitstudio.ui.catalog.sources import SourceDelegate, SourceModel
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import button, column, holder, icon_button, line, row, text_label
from kitstudio.ui.widgets.text import tr, visible


class SourcePane(QScrollArea):
    """``chosen`` when another source is looked at; ``refresh_wanted(id)`` (all if empty), ``remove_wanted(id)``."""

    chosen = Signal()
    add_wanted = Signal()
    refresh_wanted = Signal(str)
    remove_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = QListView()
        self.list.setObjectName("sources")
        self.list.setAccessibleName(tr("Sources"))
        self._model = SourceModel(self)
        self.list.setModel(self._model)
        self.list.setItemDelegate(SourceDelegate(theme, self.list))
        self.list.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.setCurrentIndex(self._model.index(0))
        self.list.selectionModel().currentChanged.connect(lambda *_: self.chosen.emit())
        self.facets = FacetPane(theme)
        add = icon_button(theme, "plus", tr("Add a source"), small=True, object_name="add-source")
        add.clicked.connect(self.add_wanted)
        clear = button(theme, tr("Clear"), kind="link", name="facets-clear")
        clear.clicked.connect(lambda: self.facets.choose(frozenset()))
        sources = row(text_label(tr("Sources"), Type.LABEL, "secondary"), None, add, margins=(16, 8, 8, 0))
        facets = row(text_label(tr("Narrow down"), Type.LABEL, "secondary"), None, clear, margins=(16, 4, 16, 0))
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

    def source(self) -> SourceInfo | None:
        """What is looked at; None for all sources."""
        index = self.list.currentIndex()
        return self._model.source(index) if index.isValid() else None

    def choose(self, source: str) -> None:
        """Look at a source."""
        self.list.setCurrentIndex(self._model.index(self._model.row_of(source)))

    def show_sources(self, sources: tuple[SourceInfo, ...]) -> None:
        """Keep the chosen source chosen, by its id; as high as its rows, so that the pane scrolls as one."""
        known = self.source()
        selection = self.list.selectionModel()
        selection.blockSignals(True)
        self._model.show_sources(sources)
        at = self._model.row_of(known.id) if known else 0
        if self.list.currentIndex().row() != at or not selection.hasSelection():
            self.list.setCurrentIndex(self._model.index(at))
        selection.blockSignals(False)
        self.list.viewport().update()
        height = self.list.sizeHintForRow(0) * self._model.rowCount() + 2
        if self.list.height() != height:
            self.list.setFixedHeight(height)

    def _menu(self, place: QPoint) -> None:
        source = self._model.source(self.list.indexAt(place))
        menu = QMenu(self)
        menu.setObjectName("source-menu")
        again = menu.addAction(tr("Read again"))
        again.triggered.connect(lambda: self.refresh_wanted.emit(source.id if source else ""))
        if source is not None and source.kind is not SourceKind.DEMO:
            remove = menu.addAction(tr("Remove {name}").format(name=visible(source.title)))
            remove.triggered.connect(lambda: self.remove_wanted.emit(source.id))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.list.viewport().mapToGlobal(place))
