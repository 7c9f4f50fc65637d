"""Tab *History*: every decision made, append-only; filter, export, see it as it was shown, go back to its lock."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSplitter, QStackedWidget, QWidget

from kitstudio.services.approvals import Record
from kitstudio.ui.approvals.models import ANSWERS, HistoryModel, Index, Narrowing
from kitstudio.ui.approvals.record_view import RecordView
from kitstudio.ui.tables import dressed_table
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import button, column, holder, line, row
from kitstudio.ui.widgets.composite import SearchField, Segmented, StateView
from kitstudio.ui.widgets.text import tr, visible

_DAY = 86_400.0
_SPANS = (("Any time", 0), ("Last 24 hours", 1), ("Last 7 days", 7), ("Last 30 days", 30), ("Last year", 365))


class HistoryPane(QWidget):
    """Filter, table, the chosen record below.

    ``export_wanted(record)`` · ``export_all_wanted(records)``, the ones that match · ``replay_wanted(record)`` ·
    ``return_wanted(record)``.
    """

    export_wanted = Signal(object)
    export_all_wanted = Signal(object)
    replay_wanted = Signal(object)
    return_wanted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.model = HistoryModel(theme, self)
        self.search = SearchField(theme, tr("Filter by words, entry or person"), tr("Filter the history"))
        self.search.setObjectName("historyFilter")
        self.search.setMinimumWidth(theme.px(220))
        self.search.setMaximumWidth(theme.px(320))
        choices = (("all", tr("All"), ""), ("approved", tr("Approved"), ""), ("kept", tr("Kept"), ""))
        self.filter = Segmented(theme, (*choices, ("silent", tr("Silent"), "")), tr("Decisions"))
        self.names = _choice(tr("Set"), "historyNames")
        self.spans = _choice(tr("When"), "historySpans")
        for label, days in _SPANS:
            self.spans.addItem(tr(label), days)
        self.export = button(theme, tr("Export all…"), "export", small=True, name="historyExportAll")
        self.table = dressed_table(theme, self.model, (110, 220, 150, 0, 110), tr("Decisions"), "historyTable")
        self.record = RecordView(theme)
        self._empty = StateView(
            theme,
            "history",
            tr("No decisions yet"),
            tr("Every answer you give is kept here: who, when, what was asked and what was said."),
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._content())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self._connect()

    def show_records(self, records: tuple[Record, ...]) -> None:
        """Show all decisions, newest first; the one that was chosen stays chosen."""
        chosen = self.record.record
        self.model.show_records(records)
        self._stack.setCurrentIndex(1 if records else 0)
        self._list_names(records)
        counts = self.model.counts()
        approved = counts["approved"] + counts["approved-without-optional"]
        for key, name, count in (
            ("all", tr("All"), len(records)),
            ("approved", tr("Approved"), approved),
            ("kept", tr("Kept"), counts["kept"]),
            ("silent", tr("Silent"), counts["silent"]),
        ):
            self.filter.label(key, f"{name} {count}")
        self._narrow(chosen)

    def _content(self) -> QWidget:
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.table)
        split.addWidget(self.record)
        split.setChildrenCollapsible(False)
        split.setSizes([self.theme.px(360), self.theme.px(280)])
        parts = (self.search, self.filter, self.names, self.spans, None, self.export)
        bar = holder(row(*parts, margins=(16, 8, 16, 8)), "raised")
        inner = column(bar, line(), spacing=0)
        inner.addWidget(split, 1)
        return holder(inner)

    def _connect(self) -> None:
        self.record.export_wanted.connect(self.export_wanted)
        self.record.replay_wanted.connect(self.replay_wanted)
        self.record.return_wanted.connect(self.return_wanted)
        self.export.clicked.connect(lambda: self.export_all_wanted.emit(self.model.records()))
        self.search.textChanged.connect(lambda _text: self._narrow())
        self.filter.chosen.connect(lambda _key: self._narrow())
        self.names.activated.connect(lambda _index: self._narrow())
        self.spans.activated.connect(lambda _index: self._narrow())
        self.table.activated.connect(lambda index: self.replay_wanted.emit(self.model.record(index.row())))
        self.table.selectionModel().currentRowChanged.connect(lambda current, _old: self._show(current))

    def _list_names(self, records: tuple[Record, ...]) -> None:
        chosen = self.names.currentData()
        names = sorted({record.name for record in records})
        self.names.clear()
        self.names.addItem(tr("All sets"), "")
        for name in names:
            self.names.addItem(visible(name), name)
        self.names.setCurrentIndex(max(0, self.names.findData(chosen)))

    def _narrow(self, chosen: Record | None = None) -> None:
        wanted = {
            "all": frozenset[str](),
            "approved": frozenset({"approved", "approved-without-optional"}),
            "kept": frozenset({"kept"}),
            "silent": frozenset({"silent"}),
        }
        assert set(ANSWERS) >= {answer for group in wanted.values() for answer in group}
        days = int(self.spans.currentData() or 0)
        since = time.time() - days * _DAY if days else 0.0
        name = str(self.names.currentData() or "")
        self.model.narrow(Narrowing(self.search.text(), wanted[self.filter.value()], name, since))
        records = self.model.records()
        self.export.setText(tr("Export all…") if len(records) == self.model.total else tr("Export these…"))
        self.export.setEnabled(bool(records))
        if records:
            self.table.selectRow(records.index(chosen) if chosen in records else 0)
        else:
            self.record.show_record(None)

    def _show(self, index: Index) -> None:
        self.record.show_record(self.model.record(index.row()) if index.isValid() else None)


def _choice(name: str, object_name: str) -> QComboBox:
    box = QComboBox()
    box.setObjectName(object_name)
    box.setAccessibleName(name)
    return box
