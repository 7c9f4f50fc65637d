"""The Approvals page: what waits for an answer, and every answer given."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QListView,
    QSplitter,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.services.approvals import Record, Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.desk import desk_of
from kitstudio.ui.approvals.models import ANSWERS, HistoryModel, Index, Role, WaitingModel
from kitstudio.ui.approvals.record_view import RecordView
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.fonts import Type
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.page import Page
from kitstudio.ui.tables import dressed_table
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.basic import button, column, holder, line, row, text_label
from kitstudio.ui.widgets.composite import Banner, ChipRow, SearchField, Segmented, StateView
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import count_looks
from kitstudio.ui.widgets.text import tr, visible


class ApprovalsPage(Page):
    """Tabs *Waiting* and *History*."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self._tasks = Tasks(self, self._failed)
        self.tabs = QTabBar()
        self.tabs.setObjectName("approvalTabs")
        self.tabs.setAccessibleName(tr("Approvals"))
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.addTab(tr("Waiting"))
        self.tabs.addTab(tr("History"))
        self.banner = Banner(theme, Tone.CRITICAL)
        self.banner.acted.connect(lambda _key: self.banner.hide())
        self.waiting = _WaitingPane(theme)
        self.history = _HistoryPane(theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.waiting)
        self._stack.addWidget(self.history)
        self.tabs.currentChanged.connect(self._stack.setCurrentIndex)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(row(self.tabs, None, margins=(8, 0, 16, 0)), "surface"))
        layout.addWidget(line())
        layout.addWidget(self.banner)
        layout.addWidget(self._stack, 1)
        self.waiting.review_wanted.connect(self.answer)
        self.waiting.keep_wanted.connect(self._keep)
        self.history.export_wanted.connect(self._export)
        navigator.show_request.connect(self.answer)
        self.destroyed.connect(studio.approvals.changed.subscribe(lambda _: self.refresh()))
        self.refresh()

    def title(self) -> str:
        return tr("Approvals")

    async def opened(self) -> None:
        """Read what was decided before."""
        end_with_window(self, self._tasks)
        self.refresh()

    def refresh(self) -> None:
        """Show what waits and what was decided."""
        requests = self.studio.approvals.waiting()
        self.waiting.show_requests(requests)
        self.tabs.setTabText(0, tr("Waiting {n}").format(n=len(requests)) if requests else tr("Waiting"))
        self.badge_changed.emit(len(requests), False)
        waits = tr("{n} requests wait for your answer").format(n=len(requests))
        if len(requests) == 1:
            waits = tr("1 request waits for your answer")
        self.status_changed.emit("paused" if requests else "success", waits if requests else tr("Nothing waits"))
        try:
            self.history.show_records(self.studio.approvals.history())
        except KitStudioError as error:
            self._failed(error)

    def answer(self, request: Request) -> None:
        """Open the dialog for a request."""
        self.tabs.setCurrentIndex(0)
        self._tasks.start(desk_of(self.studio, self.theme, self).ask(request), f"ask-{request.id}")

    def save_state(self) -> dict[str, str]:
        return {"tab": str(self.tabs.currentIndex())}

    def restore_state(self, state: dict[str, str]) -> None:
        if state.get("tab") in ("0", "1"):
            self.tabs.setCurrentIndex(int(state["tab"]))

    def _keep(self, request: Request) -> None:
        try:
            self.studio.approvals.keep(request)
        except KitStudioError as error:
            self._failed(error)

    def _export(self, record: Record) -> None:
        name = f"{record.name}-{record.lock_sha256[:8]}.json"
        chosen, _ = QFileDialog.getSaveFileName(self, tr("Export this decision"), name, tr("Records (*.json)"))
        if chosen:
            try:
                self.studio.approvals.export(record, Path(chosen))
            except (KitStudioError, OSError) as error:
                told = error if isinstance(error, KitStudioError) else KitStudioError(str(error), where=chosen)
                self._failed(told)

    def _failed(self, error: KitStudioError) -> None:
        words = " ".join(part for part in (error.where, error.remedy) if part)
        self.banner.tell("critical", visible(error.what), words, ("dismiss", tr("Close"), "close"))


class _WaitingPane(QWidget):
    """List at the left, the chosen request at the right."""

    review_wanted = Signal(object)
    keep_wanted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.model = WaitingModel(self)
        self.list = QListView()
        self.list.setObjectName("waitingList")
        self.list.setAccessibleName(tr("Requests that wait"))
        self.list.setModel(self.model)
        self.list.setItemDelegate(_WaitingDelegate(theme, self.list))
        self.list.setMouseTracking(True)
        self.list.setContentsMargins(0, 0, 0, 0)
        self.list.activated.connect(lambda index: self.review_wanted.emit(index.data(Role.VALUE)))
        self.list.selectionModel().currentChanged.connect(lambda current, _old: self._show(current))
        self._empty = StateView(
            theme,
            "approvals",
            tr("Nothing waits for you"),
            tr("Requests you close without an answer wait here. Until you answer, nothing changes."),
        )
        self._detail = QWidget()
        self._detail_layout = QVBoxLayout(self._detail)
        self._detail_layout.setContentsMargins(theme.px(24), theme.px(20), theme.px(24), theme.px(20))
        side = holder(column(self.list, margins=(8, 8, 8, 8)), "surface")
        side.setMinimumWidth(theme.px(240))
        split = QSplitter()
        split.addWidget(side)
        split.addWidget(holder(column(self._detail, None), "raised"))
        split.setStretchFactor(1, 1)
        split.setSizes([theme.px(280), theme.px(900)])
        split.setChildrenCollapsible(False)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(split)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def show_requests(self, requests: tuple[Request, ...]) -> None:
        """Show what waits; the first one is chosen."""
        self.model.show_requests(requests)
        self._stack.setCurrentIndex(1 if requests else 0)
        if requests:
            self.list.setCurrentIndex(self.model.index(0, 0))

    def _show(self, index: Index) -> None:
        while (item := self._detail_layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        request = index.data(Role.VALUE) if index.isValid() else None
        if not isinstance(request, Request):
            return
        theme = self.theme
        review = button(theme, tr("Review…"), kind="primary", name="waitingReview")
        review.clicked.connect(lambda: self.review_wanted.emit(request))
        keep = button(theme, texts.keep_text(request), name="waitingKeep")
        keep.clicked.connect(lambda: self.keep_wanted.emit(request))
        words = column(
            text_label(visible(request.review.title), Type.HEADING, wrap=True),
            text_label(texts.summary(request.review), ink="secondary", wrap=True),
            ChipRow(theme, count_looks(request.review.counts())),
            theme.px(4),
            row(review, keep, None),
            text_label(tr("Until you answer, nothing of this is granted."), Type.SMALL, "secondary", wrap=True),
            spacing=theme.px(8),
        )
        self._detail_layout.addWidget(holder(words))


class _WaitingDelegate(QStyledItemDelegate):
    """Monogram, name, heaviest count."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        theme = self.theme
        return QSize(theme.px(160), theme.px(12) + theme.line(Type.NAME) + theme.line(Type.SMALL) + theme.px(4))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self.theme
        request = index.data(Role.VALUE)
        rect: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(theme.colour(Token.ACCENT_BORDER))
            painter.setBrush(theme.colour(Token.ACCENT_TINT))
            painter.drawRoundedRect(rect.adjusted(0, 0, -1, -1), 6, 6)
        changed = texts.changes(request)
        subject = changed[0].member.reference if len(changed) == 1 else request.plan.workload or request.name
        side = theme.px(28)
        box = QRect(rect.left() + theme.px(8), rect.top() + (rect.height() - side) // 2, side, side)
        painters.paint_monogram(painter, theme, box, repository_of(subject))
        left, width = box.right() + theme.px(9), rect.right() - box.right() - theme.px(16)
        top = rect.top() + theme.px(6)
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(theme.colour(Token.TEXT))
        name = f"{texts.short_name(subject)} {texts.version_of(subject)}".strip()
        shown = theme.metrics(Type.NAME).elidedText(visible(name), Qt.TextElideMode.ElideRight, width)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRect(left, top, width, theme.line(Type.NAME)), align, shown)
        top += theme.line(Type.NAME) + theme.px(2)
        looks = count_looks(request.review.counts())
        painter.setFont(theme.font(Type.SMALL))
        if looks:
            ink = theme.tone(looks[0].tone)[0]
            painter.drawPixmap(left, top + theme.px(2), theme.pixmap(looks[0].icon, 12, ink))
            painter.setPen(ink)
            painter.drawText(QRect(left + theme.px(16), top, width, theme.line(Type.SMALL)), align, looks[0].text)
        else:
            painter.setPen(theme.colour(Token.SECONDARY))
            painter.drawText(QRect(left, top, width, theme.line(Type.SMALL)), align, request.name)
        painter.restore()


class _HistoryPane(QWidget):
    """Filter, table, the chosen record below."""

    export_wanted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.model = HistoryModel(theme, self)
        self.search = SearchField(theme, tr("Filter by set, title or person"), tr("Filter the history"))
        self.search.setObjectName("historyFilter")
        self.search.setMinimumWidth(theme.px(280))
        self.search.setMaximumWidth(theme.px(320))
        choices = (("all", tr("All"), ""), ("approved", tr("Approved"), ""), ("kept", tr("Kept"), ""))
        self.filter = Segmented(theme, (*choices, ("silent", tr("Silent"), "")), tr("Decisions"))
        self.table = dressed_table(theme, self.model, (110, 220, 150, 0, 110), tr("Decisions"), "historyTable")
        self.record = RecordView(theme)
        self.record.export_wanted.connect(self.export_wanted)
        self._empty = StateView(
            theme,
            "history",
            tr("No decisions yet"),
            tr("Every answer you give is kept here: who, when, what was asked and what was said."),
        )
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.table)
        split.addWidget(self.record)
        split.setChildrenCollapsible(False)
        split.setSizes([theme.px(360), theme.px(280)])
        bar = holder(row(self.search, self.filter, None, margins=(16, 8, 16, 8)), "raised")
        inner = column(bar, line(), spacing=0)
        inner.addWidget(split, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(holder(inner))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self.search.textChanged.connect(lambda _text: self._narrow())
        self.filter.chosen.connect(lambda _key: self._narrow())
        self.table.selectionModel().currentRowChanged.connect(lambda current, _old: self._show(current))

    def show_records(self, records: tuple[Record, ...]) -> None:
        """Show all decisions, newest first."""
        self.model.show_records(records)
        self._stack.setCurrentIndex(1 if records else 0)
        counts = self.model.counts()
        approved = counts["approved"] + counts["approved-without-optional"]
        for key, name, count in (
            ("all", tr("All"), len(records)),
            ("approved", tr("Approved"), approved),
            ("kept", tr("Kept"), counts["kept"]),
            ("silent", tr("Silent"), counts["silent"]),
        ):
            self.filter.label(key, f"{name} {count}")
        self._choose_first()

    def _narrow(self) -> None:
        wanted = {
            "all": frozenset[str](),
            "approved": frozenset({"approved", "approved-without-optional"}),
            "kept": frozenset({"kept"}),
            "silent": frozenset({"silent"}),
        }
        assert set(ANSWERS) >= {answer for group in wanted.values() for answer in group}
        self.model.narrow(self.search.text(), wanted[self.filter.value()])
        self._choose_first()

    def _choose_first(self) -> None:
        if self.model.rowCount():
            self.table.selectRow(0)
        else:
            self.record.show_record(None)

    def _show(self, index: Index) -> None:
        self.record.show_record(self.model.record(index.row()) if index.isValid() else None)
