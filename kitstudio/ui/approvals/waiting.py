"""Tab *Waiting*: requests nobody has answered yet, each with its findings; a finding opens the dialog at itself."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QListView,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from kitstudio.models.review import Finding
from kitstudio.services.approvals import Kept, Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.models import Index, Role, WaitingModel
from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_WEIGHT, Theme, Token
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.basic import (
    ClickRow,
    Elided,
    Icon,
    button,
    column,
    holder,
    line,
    row,
    set_ground,
    text_label,
)
from kitstudio.ui.widgets.composite import ChipRow, StateView
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import count_looks
from kitstudio.ui.widgets.text import tr, visible, weight_word

_ROWS = 60
"""Findings listed here; the dialog shows all of them."""


class WaitingPane(QWidget):
    """List at the left, the chosen request at the right.

    ``review_wanted(request, key)``: the dialog at the finding with that key, empty for the first.
    """

    review_wanted = Signal(object, str)
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
        self.list.activated.connect(lambda index: self.review_wanted.emit(index.data(Role.VALUE), ""))
        self.list.selectionModel().currentChanged.connect(lambda current, _old: self._show(current))
        self._empty = StateView(
            theme,
            "approvals",
            tr("Nothing waits for you"),
            tr("Updates that ask for more, and requests you close without an answer, wait here. ")
            + tr("Until you answer, nothing changes."),
        )
        self._detail = QScrollArea()
        self._detail.setWidgetResizable(True)
        self._detail.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._detail.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._detail.setAccessibleName(tr("The request"))
        side = holder(column(self.list, margins=(8, 8, 8, 8)), "surface")
        side.setMinimumWidth(theme.px(240))
        split = QSplitter()
        split.addWidget(side)
        split.addWidget(self._detail)
        split.setStretchFactor(1, 1)
        split.setSizes([theme.px(280), theme.px(900)])
        split.setChildrenCollapsible(False)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(split)
        self._unready = QVBoxLayout()
        self._unready.setSpacing(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._unready)
        layout.addWidget(self._stack, 1)

    def show_requests(self, requests: tuple[Request, ...]) -> None:
        """Show what waits; the one that was chosen stays chosen, else the first one is."""
        chosen = self.list.currentIndex().data(Role.VALUE)
        self.model.show_requests(requests)
        self._stack.setCurrentIndex(1 if requests else 0)
        names = [request.name for request in requests]
        place = names.index(chosen.name) if isinstance(chosen, Request) and chosen.name in names else 0
        if requests:
            self.list.setCurrentIndex(self.model.index(place, 0))

    def show_unready(self, kept: tuple[Kept, ...]) -> None:
        """What waits from an earlier run and cannot be judged now: named, with the reason; it is not lost."""
        while (item := self._unready.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for each in kept:
            lead = tr("{name}: {title}").format(name=visible(each.name), title=visible(each.title))
            words = column(text_label(lead, Type.NAME, wrap=True), spacing=self.theme.px(2))
            why = tr("It still waits, and cannot be shown now: {why}").format(why=visible(each.why))
            words.addWidget(text_label(why, Type.SMALL, "secondary", wrap=True))
            icon = Icon(self.theme, "paused", 16)
            told = row(icon, spacing=self.theme.px(8), margins=(16, 8, 16, 8))
            told.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
            told.addLayout(words, 1)
            made = holder(told, "sunken")
            made.setObjectName("waitingUnready")
            self._unready.addWidget(made)

    def choose(self, request: Request) -> None:
        """Make one request the chosen one."""
        for number in range(self.model.rowCount()):
            index = self.model.index(number, 0)
            if index.data(Role.VALUE) == request:
                self.list.setCurrentIndex(index)

    def _show(self, index: Index) -> None:
        request = index.data(Role.VALUE) if index.isValid() else None
        content = ScrollContent()
        set_ground(content, "raised")
        layout = QVBoxLayout(content)
        theme = self.theme
        layout.setContentsMargins(theme.px(24), theme.px(20), theme.px(24), theme.px(20))
        layout.setSpacing(theme.px(8))
        if isinstance(request, Request):
            self._fill(layout, request)
        layout.addStretch(1)
        self._detail.setWidget(content)

    def _fill(self, layout: QVBoxLayout, request: Request) -> None:
        theme = self.theme
        review = button(theme, tr("Review…"), kind="primary", name="waitingReview")
        review.clicked.connect(partial(self.review_wanted.emit, request, ""))
        keep = button(theme, texts.keep_text(request), name="waitingKeep")
        keep.setAccessibleDescription(texts.kept_text(request))
        keep.clicked.connect(partial(self.keep_wanted.emit, request))
        layout.addWidget(text_label(visible(request.review.title), Type.HEADING, wrap=True))
        about = tr("Set {name}. {summary}").format(name=visible(request.name), summary=texts.summary(request.review))
        layout.addWidget(text_label(about, ink="secondary", wrap=True))
        if looks := count_looks(request.review.counts()):
            layout.addWidget(ChipRow(theme, looks))
        layout.addSpacing(theme.px(4))
        layout.addLayout(row(review, keep, None))
        words = tr("Until you answer, nothing of this is granted.")
        layout.addWidget(text_label(words, Type.SMALL, "secondary", wrap=True))
        layout.addSpacing(theme.px(8))
        findings = request.review.findings
        for finding in findings[:_ROWS]:
            layout.addWidget(line())
            layout.addWidget(self._row(request, finding))
        if len(findings) > _ROWS:
            rest = tr("{n} more stand in the dialog.").format(n=len(findings) - _ROWS)
            layout.addWidget(text_label(rest, Type.SMALL, "secondary"))

    def _row(self, request: Request, finding: Finding) -> ClickRow:
        theme, item = self.theme, finding.permission
        made = ClickRow(tr("Open: {finding}").format(finding=texts.spoken(finding)))
        made.setObjectName("waitingFinding")
        words = column(text_label(visible(item.sentence), wrap=True), spacing=theme.px(2))
        words.addLayout(row(Elided(item.entry, Type.MONO, "secondary"), None))
        icon = Icon(theme, ICON_OF_WEIGHT[finding.weight], 16, Token(finding.weight.name.lower()))
        icon.setToolTip(weight_word(finding.weight))
        inner = row(icon, spacing=theme.px(8), margins=(theme.px(4), theme.px(6), theme.px(4), theme.px(6)))
        inner.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        inner.addLayout(words, 1)
        arrow = Icon(theme, "chevron-right", 16)
        inner.addWidget(arrow)
        made.setLayout(inner)
        made.clicked.connect(partial(self.review_wanted.emit, request, finding.key))
        return made


def in_set(request: Request) -> str:
    """Whose answer it is: two sets may wait for the same version of the same Kit."""
    return tr("in {name}").format(name=request.name)


class _WaitingDelegate(QStyledItemDelegate):
    """Monogram, name, heaviest count, and the set."""

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
            past = theme.px(24) + theme.metrics(Type.SMALL).horizontalAdvance(looks[0].text)
            left, width = left + past, width - past
        painter.setPen(theme.colour(Token.SECONDARY))
        where = theme.metrics(Type.SMALL).elidedText(visible(in_set(request)), Qt.TextElideMode.ElideRight, width)
        painter.drawText(QRect(left, top, width, theme.line(Type.SMALL)), align, where)
        painter.restore()
