"""The approval dialog: the fact, the counts, the findings, and answers that say what they do.

Not modal and without any timer. Closing it in any way but a button means *not decided*: nothing is granted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QCheckBox, QDialog, QMenu, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Finding, Weight
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.finding import FindingWidget
from kitstudio.ui.flow import Flow, ScrollContent
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets.basic import (
    Chip,
    Icon,
    Monogram,
    button,
    column,
    holder,
    line,
    row,
    set_ground,
    text_label,
)
from kitstudio.ui.widgets.composite import Banner, ChipRow
from kitstudio.ui.widgets.focus import FocusRing
from kitstudio.ui.widgets.fold import FoldBody, FoldHeader, permission_lines, uncounted_lines
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import ChipLook, count_looks
from kitstudio.ui.widgets.permission_list import ListLook, PermissionList
from kitstudio.ui.widgets.text import counted, short_digest, tr, visible

_AT_ONCE = 8
_PER_TURN = 4
_MANY = 40
"""With more findings than this the lighter ones stand in one list by group."""


class Answer(StrEnum):
    """What a person can say."""

    APPROVE = "approve"
    WITHOUT_OPTIONAL = "without-optional"
    KEEP = "keep"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer, with the critical findings ticked."""

    answer: Answer
    ticked: frozenset[str] = frozenset()


class ApprovalDialog(QDialog):
    """One request. ``decided`` carries the ``Decision``; the owner acts on it and then calls ``finish``.

    Until ``finish`` the dialog stays, so a refusal of the gate is told where the person is looking.
    """

    decided = Signal(object)
    compare_wanted = Signal()
    line_wanted = Signal(str, int)

    def __init__(
        self, theme: Theme, request: Request, *, seal: ChipLook | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self.request = request
        self.setObjectName("approvalDialog")
        self.setWindowTitle(tr("Approve changes") if not request.review.first_grant else tr("Approve permissions"))
        self.setAccessibleName(request.review.title)
        self.setModal(False)
        self.setMinimumSize(720, 560)
        self.resize(_bounded(QSize(theme.px(1000), theme.px(710))))
        self._ticked: set[str] = set()
        self._finished = False
        own, listed = _split(request.review.findings)
        self._waiting = list(enumerate(own))
        self._listed = _ListedFindings(theme, listed) if listed else None
        self.findings: list[FindingWidget] = []
        self._banner = Banner(theme, Tone.CRITICAL)
        self._banner.acted.connect(lambda _key: self._banner.hide())
        self._body = QVBoxLayout()
        self._folds = QVBoxLayout()
        layout = self._outer = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self._head_part, self._foot_part = self._head(seal), self._foot()
        layout.addWidget(self._head_part)
        layout.addWidget(line())
        layout.addWidget(self._banner)
        layout.addWidget(self._middle(), 1)
        layout.addWidget(line())
        layout.addWidget(self._foot_part)
        self._builder = QTimer(self)
        self._builder.setInterval(0)
        self._builder.timeout.connect(lambda: self._add_findings(_PER_TURN))
        self._add_findings(_AT_ONCE)
        self._ring = FocusRing(theme, self)
        self._refresh()

    @property
    def complete(self) -> bool:
        """True once every finding is on screen; nothing can be approved before."""
        return not self._waiting

    def ticks(self) -> tuple[QCheckBox, ...]:
        """The ticks of critical findings, in order."""
        return tuple(widget.tick for widget in self.findings if widget.tick is not None)

    def refused(self, error: KitStudioError) -> None:
        """The gate said no: tell it here and let the person go on."""
        self._banner.tell("critical", visible(error.what), f"{error.remedy} {error.where}".strip())
        self._enable(True)

    def finish(self) -> None:
        """Close after the answer was taken."""
        self._finished = True
        self.accept()

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        first = self.ticks()[0] if self.ticks() else self.keep
        first.setFocus(Qt.FocusReason.TabFocusReason)

    def reject(self) -> None:
        """Escape: not decided."""
        self._leave()

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window's close button: not decided."""
        if not self._finished:
            self._leave()
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange_buttons()

    def _leave(self) -> None:
        if not self._finished:
            self._finished = True
            self.decided.emit(Decision(Answer.UNDECIDED))
        super().reject()

    def _decide(self, answer: Answer) -> None:
        self._banner.hide()
        self._enable(False)
        self.decided.emit(Decision(answer, frozenset(self._ticked)))

    # Parts

    def _head(self, seal: ChipLook | None) -> QWidget:
        theme, request = self.theme, self.request
        changed = texts.changes(request)
        single = changed[0] if len(changed) == 1 else None
        subject = single.member.reference if single else request.plan.workload or request.name
        where = Flow(theme.px(6))
        if single is not None:
            where.addWidget(text_label(visible(repository_of(subject)), Type.MONO, "secondary"))
        if seal is not None:
            where.addWidget(Chip(theme, seal))
        kits = counted(len(request.plan.members), "Kit", "Kits")
        place = tr("in set {name}").format(name=request.name) if single else f"{request.name}, {kits}"
        where.addWidget(text_label(visible(place), Type.SMALL, "secondary"))
        if single is not None:
            before = single.before.digest if single.before is not None else ""
            for widget in self._digests(before, single.member.digest):
                where.addWidget(widget)
        title = text_label(visible(request.review.title), Type.DISPLAY, wrap=True)
        title.setObjectName("approvalTitle")
        words = column(title, spacing=theme.px(2))
        words.addLayout(where)
        monogram = Monogram(theme, repository_of(subject), 48)
        top = row(monogram, spacing=theme.px(16))
        top.setAlignment(monogram, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words, 1)
        counts = row(spacing=theme.px(12))
        looks = count_looks(request.review.counts())
        if looks:
            counts.addWidget(ChipRow(theme, looks))
        counts.addWidget(text_label(texts.summary(request.review), Type.BODY, "secondary", wrap=True), 1)
        whole = column(spacing=theme.px(12), margins=(theme.px(24), theme.px(16), theme.px(24), theme.px(12)))
        whole.addLayout(top)
        whole.addLayout(counts)
        return holder(whole, "raised")

    def _digests(self, before: str, after: str) -> list[QWidget]:
        def mono(digest: str) -> QWidget:
            label = text_label(short_digest(digest), Type.MONO, "secondary")
            label.setToolTip(digest)
            return label

        if not before or before == after:
            return [text_label(tr("digest"), Type.SMALL, "secondary"), mono(after)] if after else []
        return [
            text_label(tr("digest"), Type.SMALL, "secondary"),
            mono(before),
            Icon(self.theme, "arrow-right", 14),
            mono(after),
        ]

    def _middle(self) -> QWidget:
        theme, review = self.theme, self.request.review
        inner = self._inner = column(spacing=0)
        self._body.setSpacing(theme.px(8))
        self._body.setContentsMargins(theme.px(24), theme.px(14), theme.px(24), 0)
        inner.addLayout(self._body)
        if self._listed is not None:
            inner.addLayout(column(self._listed, margins=(theme.px(24), theme.px(8), theme.px(24), 0)))
        self._folds.setSpacing(theme.px(8))
        self._folds.setContentsMargins(theme.px(24), theme.px(8), theme.px(24), theme.px(16))
        inner.addLayout(self._folds)
        inner.addStretch(1)
        pair = row(spacing=theme.px(12))
        bodies: list[FoldBody] = []
        for key, icon, ink, name, permissions in (
            ("narrowed", "arrow-down", Token.SUCCESS, tr("Narrowed"), review.narrowed),
            ("unchanged", "success", Token.SECONDARY, tr("Unchanged"), review.unchanged),
        ):
            if not permissions:
                continue
            note = texts.groups_summary(permissions)
            header = FoldHeader(theme, icon, ink, name, len(permissions), note, key)
            body = FoldBody(theme, permission_lines(permissions, icon, ink))
            header.opened.connect(body.show_rows)
            pair.addWidget(header, 1)
            bodies.append(body)
        if bodies:
            self._folds.addLayout(pair)
            for body in bodies:
                self._folds.addWidget(body)
        if review.uncounted:
            self._add_uncounted()
        content = ScrollContent()
        content.setLayout(inner)
        set_ground(content, "surface")
        area = QScrollArea()
        area.setObjectName("approvalScroll")
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return area

    def _add_uncounted(self) -> None:
        review = self.request.review
        note = tr("needs no approval of its own")
        name = tr("Also changed, not counted by the specification")
        if review.first_grant:
            name = tr("Also in this set, not counted by the specification")
        header = FoldHeader(self.theme, "info", Token.SECONDARY, name, len(review.uncounted), note, "uncounted")
        body = FoldBody(self.theme, uncounted_lines(review.uncounted))
        header.opened.connect(body.show_rows)
        self._folds.addWidget(header)
        self._folds.addWidget(body)
        header.toggle()

    def _foot(self) -> QWidget:
        theme, request = self.theme, self.request
        self._copy = button(theme, tr("Copy as"), "copy", "flat", name="approvalCopy")
        menu = QMenu(self._copy)
        menu.addAction(tr("Text"), lambda: _to_clipboard(texts.as_text(request))).setObjectName("copyText")
        menu.addAction(tr("JSON"), lambda: _to_clipboard(texts.as_json(request))).setObjectName("copyJson")
        self._copy.setMenu(menu)
        self._compare = button(theme, tr("Compare descriptors"), "swap", "flat", name="approvalCompare")
        self._compare.clicked.connect(self.compare_wanted)
        self._compare.setVisible(request.granted is not None)
        self.without = button(theme, texts.without_text(request.review), name="approveWithout")
        self.without.setVisible(request.reduced is not None and bool(texts.without_text(request.review)))
        self.without.clicked.connect(lambda: self._decide(Answer.WITHOUT_OPTIONAL))
        self.approve = button(theme, texts.approve_text(request.review), name="approveAll")
        self.approve.setProperty("strong", True)
        font = theme.font(Type.NAME)
        self.approve.setFont(font)
        self.approve.clicked.connect(lambda: self._decide(Answer.APPROVE))
        self.keep = button(theme, texts.keep_text(request), kind="primary", name="approvalKeep")
        self.keep.clicked.connect(lambda: self._decide(Answer.KEEP))
        self.keep.setAutoDefault(True)
        self.keep.setDefault(True)
        quiet = row(self._copy, self._compare, None, spacing=theme.px(8))
        answers = Flow(theme.px(8), right=True)
        for choice in (self.without, self.approve, self.keep):
            answers.addWidget(choice)
        self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._buttons.setSpacing(theme.px(8))
        self._buttons.addLayout(quiet)
        self._buttons.addLayout(answers, 1)
        self._hint_icon = Icon(theme, "critical", 14, Token.CRITICAL)
        self._hint = text_label("", Type.SMALL, "secondary", wrap=True)
        self._hint.setObjectName("approvalHint")
        stays = text_label(texts.undecided_text(request), Type.SMALL, "secondary", wrap=True)
        stays.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        hints = row(self._hint_icon, spacing=theme.px(6))
        hints.addWidget(self._hint, 3)
        hints.addWidget(stays, 2)
        whole = column(spacing=theme.px(8), margins=(theme.px(24), theme.px(12), theme.px(24), theme.px(10)))
        whole.addLayout(self._buttons)
        whole.addLayout(hints)
        foot = QWidget()
        foot.setLayout(whole)
        set_ground(foot, "background")
        return foot

    # State

    def _add_findings(self, count: int) -> None:
        for index, finding in self._waiting[:count]:
            widget = FindingWidget(self.theme, finding, index)
            widget.ticked.connect(self._tick)
            widget.line_wanted.connect(self.line_wanted)
            if widget.tick is not None:
                widget.tick.installEventFilter(self)
            self._body.addWidget(widget)
            self.findings.append(widget)
        del self._waiting[:count]
        if not self._waiting:
            self._builder.stop()
            self._refresh()
        elif not self._builder.isActive():
            self._builder.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.FocusIn and isinstance(watched, QCheckBox):
            area = self.findChild(QScrollArea, "approvalScroll")
            if area is not None:
                area.ensureWidgetVisible(watched)
            self._ring.setWidget(watched)
        return super().eventFilter(watched, event)

    def _tick(self, key: str, on: bool) -> None:
        (self._ticked.add if on else self._ticked.discard)(key)
        self._refresh()

    def _refresh(self) -> None:
        words, done = texts.hint(self.request.review, frozenset(self._ticked))
        self._hint.setText(words)
        # No tick of praise: that nothing is critical does not make what stands above harmless.
        self._hint_icon.show_icon("info" if done else "critical", Token.SECONDARY if done else Token.CRITICAL)
        self._enable(True)

    def _enable(self, on: bool) -> None:
        review = self.request.review
        ticked = frozenset(self._ticked)
        self.approve.setEnabled(on and self.complete and texts.needed(review, without_optional=False) <= ticked)
        self.without.setEnabled(on and self.complete and texts.needed(review, without_optional=True) <= ticked)
        self.keep.setEnabled(on)

    def _arrange_buttons(self) -> None:
        """Two rows where one does not hold them."""
        shown = [b for b in (self._copy, self._compare, self.without, self.approve, self.keep) if not b.isHidden()]
        wanted = sum(b.sizeHint().width() + self.theme.px(8) for b in shown) + self.theme.px(48)
        fits = wanted <= self.width()
        self._buttons.setDirection(QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom)
        heights = []
        for part in (self._head_part, self._foot_part):
            layout = part.layout()
            assert layout is not None
            heights.append(layout.heightForWidth(self.width()))
        self._place_head(inside=sum(heights) > self.height() * 0.6)
        self._foot_part.setMinimumHeight(heights[1])
        self._head_part.setMinimumHeight(heights[0])

    def _place_head(self, *, inside: bool) -> None:
        """Where large text would leave no room for the findings, the head scrolls with them."""
        if inside == (self._inner.indexOf(self._head_part) >= 0):
            return
        if inside:
            self._outer.removeWidget(self._head_part)
            self._inner.insertWidget(0, self._head_part)
        else:
            self._inner.removeWidget(self._head_part)
            self._outer.insertWidget(0, self._head_part)


class _ListedFindings(PermissionList):
    """The lighter findings of a long review, as high as its rows, so the dialog scrolls as one."""

    def __init__(self, theme: Theme, findings: tuple[Finding, ...]) -> None:
        super().__init__(theme, ListLook(banded=True, askers=True, padding=16))
        self.setObjectName("approvalListed")
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.show_permissions([finding.permission for finding in findings])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        rows = range(self.model().rowCount())
        self.setFixedHeight(sum(self.sizeHintForRow(number) for number in rows) + 2)


def _split(findings: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Findings shown one by one, and those of a long review that stand in the list."""
    if len(findings) <= _MANY:
        return findings, ()
    own = tuple(f for f in findings if f.tick or f.removed_refusal or f.weight >= Weight.SERIOUS)
    return own, tuple(f for f in findings if f not in own)


def _bounded(size: QSize) -> QSize:
    screen = QGuiApplication.primaryScreen()
    room = screen.availableSize() if screen is not None else size
    return size.boundedTo(QSize(max(720, room.width() - 40), max(560, room.height() - 60)))


def _to_clipboard(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
