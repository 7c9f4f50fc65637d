"""The middle of the approval dialog: findings one by one, the lighter ones of a long review in a list, and the folds.

Findings are built a few a turn of the loop, so that 300 of them never freeze the window.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.review import Finding, Weight
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.finding import FindingWidget
from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import column, row, set_ground
from kitstudio.ui.widgets.fold import FoldBody, FoldHeader, FoldLine, permission_lines, uncounted_lines
from kitstudio.ui.widgets.permission_list import ListLook, PermissionList
from kitstudio.ui.widgets.text import tr

_AT_ONCE = 8
_PER_TURN = 4
_MANY = 40
"""With more findings than this the lighter ones stand in one list by group."""


class FindingsBody(QScrollArea):
    """``ticked(key, on)`` · ``line_wanted(kit, line)`` · ``completed`` once every finding is on screen."""

    ticked = Signal(str, bool)
    line_wanted = Signal(str, int)
    completed = Signal()
    focused = Signal(object)

    def __init__(self, theme: Theme, request: Request) -> None:
        super().__init__()
        self.setObjectName("approvalScroll")
        self._theme = theme
        self._request = request
        own, listed = split(request.review.findings)
        self._waiting = list(enumerate(own))
        self._listed = _ListedFindings(theme, listed) if listed else None
        self._wanted = ""
        self._ended = False
        self._ended_ticked: bool | None = None
        self.findings: list[FindingWidget] = []
        self.folds: list[FoldHeader] = []
        self._body, self._folds = QVBoxLayout(), QVBoxLayout()
        self._inner = self._middle()
        content = ScrollContent()
        content.setLayout(self._inner)
        set_ground(content, "surface")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(content)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._builder = QTimer(self)
        self._builder.setInterval(0)
        self._builder.timeout.connect(lambda: self._add(_PER_TURN))
        self._add(_AT_ONCE)

    @property
    def complete(self) -> bool:
        """True once every finding is on screen; nothing can be approved before."""
        return not self._waiting

    @property
    def building(self) -> bool:
        return self._builder.isActive()

    def ticks(self) -> tuple[QCheckBox, ...]:
        """The ticks of critical findings, in order."""
        return tuple(widget.tick for widget in self.findings if widget.tick is not None)

    def reveal(self, key: str) -> None:
        """Bring one finding into view and put the keyboard on it; waits until it is built."""
        self._wanted = key
        for widget in self.findings:
            if widget.finding.key == key:
                self._wanted = ""
                self.ensureWidgetVisible(widget)
                widget.take_focus()
                return
        if self._listed is not None and self._listed.reveal(key):
            self._wanted = ""
            self.ensureWidgetVisible(self._listed)

    def wanted_height(self, width: int) -> int:
        """What there is to read, as high as it is at this width; a long review is as high as can be."""
        if not self.complete or self._listed is not None:
            return 1 << 15
        return (
            self._inner.totalHeightForWidth(width)
            if self._inner.hasHeightForWidth()
            else self._inner.sizeHint().height()
        )

    def take_focus(self) -> None:
        """The keyboard onto the first thing to read: the first finding, else the first fold."""
        if self.findings:
            self.findings[0].take_focus()
        elif self._listed is not None:
            self._listed.setFocus(Qt.FocusReason.TabFocusReason)
        elif self.folds:
            self.folds[0].setFocus(Qt.FocusReason.TabFocusReason)

    def end(self, *, ticked: bool | None = None) -> None:
        """No tick means anything any more. ``ticked``: what was ticked when it was decided."""
        self._ended = True
        self._ended_ticked = ticked
        for tick in self.ticks():
            self._settle(tick)

    def _settle(self, tick: QCheckBox) -> None:
        if self._ended_ticked is not None:
            tick.setChecked(self._ended_ticked)
        tick.setEnabled(False)

    def take_head(self, head: QWidget, *, inside: bool) -> bool:
        """Hold the head where large text leaves no room above; False if it stands there already."""
        if inside == (self._inner.indexOf(head) >= 0):
            return False
        if inside:
            self._inner.insertWidget(0, head)
        else:
            self._inner.removeWidget(head)
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.FocusIn and isinstance(watched, QWidget):
            self.ensureWidgetVisible(watched)
            if isinstance(watched, QCheckBox):
                self.focused.emit(watched)
        return super().eventFilter(watched, event)

    def _middle(self) -> QVBoxLayout:
        theme = self._theme
        inner = column(spacing=0)
        self._body.setSpacing(theme.px(8))
        self._body.setContentsMargins(theme.px(24), theme.px(14), theme.px(24), 0)
        inner.addLayout(self._body)
        if self._listed is not None:
            inner.addLayout(column(self._listed, margins=(theme.px(24), theme.px(8), theme.px(24), 0)))
        self._folds.setSpacing(theme.px(8))
        self._folds.setContentsMargins(theme.px(24), theme.px(8), theme.px(24), theme.px(16))
        inner.addLayout(self._folds)
        self._add_settled()
        self._add_rules()
        self._add_uncounted()
        inner.addStretch(1)
        return inner

    def _add_settled(self) -> None:
        """What narrowed and what stayed: collapsed, with counts."""
        theme, review = self._theme, self._request.review
        pair = row(spacing=theme.px(12))
        bodies: list[FoldBody] = []
        for key, icon, ink, name, permissions in (
            ("narrowed", "arrow-down", Token.SUCCESS, tr("Narrowed"), review.narrowed),
            ("unchanged", "success", Token.SECONDARY, tr("Unchanged"), review.unchanged),
        ):
            if not permissions:
                continue
            header = FoldHeader(theme, icon, ink, name, len(permissions), texts.groups_summary(permissions), key)
            body = FoldBody(theme, permission_lines(permissions, icon, ink))
            header.opened.connect(body.show_rows)
            pair.addWidget(header, 1)
            bodies.append(body)
            self.folds.append(header)
        if bodies:
            self._folds.addLayout(pair)
            for body in bodies:
                self._folds.addWidget(body)

    def _add_rules(self) -> None:
        """What the person's rules did beside the findings; open, for it changes what is granted."""
        told = texts.notes_beside(self._request)
        if not told:
            return
        lines = tuple(FoldLine("filter", Token.ACCENT, sentence, "", "") for sentence in told)
        note = tr("where they acted beside the findings")
        header = FoldHeader(self._theme, "filter", Token.ACCENT, tr("Your rules"), len(told), note, "rules")
        body = FoldBody(self._theme, lines)
        header.opened.connect(body.show_rows)
        self._folds.addWidget(header)
        self._folds.addWidget(body)
        self.folds.append(header)
        header.toggle()

    def _add_uncounted(self) -> None:
        review = self._request.review
        if not review.uncounted:
            return
        name = tr("Also changed, not counted by the specification")
        if review.first_grant:
            name = tr("Also in this set, not counted by the specification")
        note = tr("needs no approval of its own")
        header = FoldHeader(self._theme, "info", Token.SECONDARY, name, len(review.uncounted), note, "uncounted")
        body = FoldBody(self._theme, uncounted_lines(review.uncounted))
        header.opened.connect(body.show_rows)
        self._folds.addWidget(header)
        self._folds.addWidget(body)
        self.folds.append(header)
        header.toggle()

    def _add(self, count: int) -> None:
        for index, finding in self._waiting[:count]:
            struck = texts.is_struck(self._request, finding)
            notes = texts.notes_of(self._request, finding)
            widget = FindingWidget(self._theme, finding, index, notes, struck=struck)
            widget.ticked.connect(self.ticked)
            widget.line_wanted.connect(self.line_wanted)
            if self._ended and widget.tick is not None:
                self._settle(widget.tick)
            for part in widget.stops():
                part.installEventFilter(self)
            self._body.addWidget(widget)
            self.findings.append(widget)
        del self._waiting[:count]
        if self._wanted:
            self.reveal(self._wanted)
        if not self._waiting:
            self._builder.stop()
            self.completed.emit()
        elif not self._builder.isActive():
            self._builder.start()


class _ListedFindings(PermissionList):
    """The lighter findings of a long review, as high as its rows, so the dialog scrolls as one."""

    def __init__(self, theme: Theme, findings: tuple[Finding, ...]) -> None:
        super().__init__(theme, ListLook(banded=True, askers=True, padding=16))
        self.setObjectName("approvalListed")
        self.setAccessibleName(tr("Lighter findings"))
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._keys = {finding.key: finding.permission for finding in findings}
        self.show_permissions([finding.permission for finding in findings])

    def reveal(self, key: str) -> bool:
        """Choose the row of a finding, if it is here."""
        wanted = self._keys.get(key)
        for number in range(self.model().rowCount()) if wanted is not None else ():
            index: QModelIndex = self.model().index(number, 0)
            if self.row_at(index).permission == wanted:
                self.setCurrentIndex(index)
                self.setFocus(Qt.FocusReason.TabFocusReason)
                return True
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        rows = range(self.model().rowCount())
        self.setFixedHeight(sum(self.sizeHintForRow(number) for number in rows) + 2)


def split(findings: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Findings shown one by one, and those of a long review that stand in the list."""
    if len(findings) <= _MANY:
        return findings, ()
    own = tuple(f for f in findings if f.tick or f.removed_refusal or f.weight >= Weight.SERIOUS)
    return own, tuple(f for f in findings if f not in own)
