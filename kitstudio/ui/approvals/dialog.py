"""The approval dialog: the fact, the counts, the findings, and answers that say what they do.

Not modal and without any timer. Closing it in any way but a button means *not decided*: nothing is granted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QCheckBox, QDialog, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.body import FindingsBody
from kitstudio.ui.approvals.config_change import ConfigChange
from kitstudio.ui.approvals.finding import FindingWidget
from kitstudio.ui.approvals.foot import DialogFoot
from kitstudio.ui.approvals.head import DialogHead
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import line
from kitstudio.ui.widgets.composite import Banner
from kitstudio.ui.widgets.focus import FocusRing
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr, visible


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
    ``compare_wanted`` carries a ``texts.Change``; ``line_wanted`` the Kit and the line.
    """

    decided = Signal(object)
    compare_wanted = Signal(object)
    line_wanted = Signal(str, int)

    def __init__(
        self, theme: Theme, request: Request, *, seal: ChipLook | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self.request = request
        self.gone = False
        self.setObjectName("approvalDialog")
        self.setWindowTitle(tr("Approve changes") if not request.review.first_grant else tr("Approve permissions"))
        self.setAccessibleName(visible(request.review.title))
        self.setAccessibleDescription(texts.summary(request.review))
        self.setModal(False)
        self.setMinimumSize(720, 560)
        self.resize(_bounded(QSize(theme.px(1000), theme.px(710))))
        self._ticked: set[str] = set()
        self._finished = False
        self._acting = False
        self._banner = Banner(theme, Tone.CRITICAL)
        self._note = Banner(theme, Tone.INFO)
        self.head = DialogHead(theme, request, seal)
        self.body = FindingsBody(theme, request)
        self.foot = DialogFoot(theme, request)
        self.keep, self.approve, self.without = self.foot.keep, self.foot.approve, self.foot.without
        layout = self._outer = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self.head, line(), self._banner, self._note):
            layout.addWidget(part)
        layout.addWidget(self.body, 1)
        layout.addWidget(line())
        layout.addWidget(self.foot)
        self._ring = FocusRing(theme, self)
        if request.refused:
            self._banner.tell("critical", tr("Refused by your rule."), " ".join(request.refused))
        self._connect()
        self._refresh()

    @property
    def complete(self) -> bool:
        """True once every finding is on screen; nothing can be approved before."""
        return self.body.complete

    @property
    def findings(self) -> list[FindingWidget]:
        return self.body.findings

    def ticks(self) -> tuple[QCheckBox, ...]:
        """The ticks of critical findings, in order."""
        return self.body.ticks()

    def show_behind(self, count: int) -> None:
        """How many other operations wait to be asked about after this one."""
        self.head.show_behind(count)

    def reveal(self, key: str) -> None:
        """Bring the finding with this key into view."""
        self.body.reveal(key)

    def show_config(self, key: str, change: ConfigChange) -> None:
        """What changed in the config of a request this app cannot read (§7.4 counts it as a whole)."""
        for widget in self.findings:
            if widget.finding.key == key:
                widget.show_config(change)

    def refused(self, error: KitStudioError) -> None:
        """The gate said no: tell it here and let the person go on."""
        self._acting = False
        self._banner.tell("critical", visible(error.what), f"{error.remedy} {error.where}".strip())
        self._refresh()

    def asker_gone(self) -> None:
        """Whoever asked needs no answer any more: say so, take none, grant nothing."""
        if self._finished:
            return
        self.gone = True
        self._finished = True
        self.body.end()
        self._banner.hide()
        self._note.tell("info", tr("No answer is needed any more."), texts.gone_text())
        self.foot.end(tr("Nothing was granted and no rule was made."))

    def show_answer(self, words: str, *, approved: bool) -> None:
        """A decision of the past, as it was shown then: what was said, and nothing to press but *Close*."""
        self.gone = True
        self._finished = True
        self.setWindowTitle(tr("As it was shown"))
        self.body.end(ticked=approved)
        self.foot.compare.hide()
        self._note.tell("history", tr("This was decided."), words)
        self.head.show_summary(texts.summary(self.request.review, decided=True))
        told = tr("What narrowed, what stayed the same and what is not counted is in no record.")
        self.foot.end(told)

    def finish(self) -> None:
        """Close after the answer was taken."""
        self._finished = True
        self.accept()

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        self._fit()
        first = self.ticks()[0] if self.ticks() else self.keep
        first.setFocus(Qt.FocusReason.TabFocusReason)

    def reject(self) -> None:
        """Escape: not decided."""
        self._leave()

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window's close button: not decided."""
        if self._acting and not self._finished:
            event.ignore()
            return
        if not self._finished:
            self._leave()
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _fit(self) -> None:
        """No higher than what there is to read."""
        room = self.width()
        content = self.body.wanted_height(room) + self.head.heightForWidth(room) + self.foot.heightForWidth(room)
        self.resize(room, min(self.height(), max(self.minimumHeight(), content + self.theme.px(8))))

    def _connect(self) -> None:
        self.body.ticked.connect(self._tick)
        self.body.line_wanted.connect(self.line_wanted)
        self.body.completed.connect(self._refresh)
        self.body.focused.connect(self._ring.setWidget)
        self.foot.compare_wanted.connect(self.compare_wanted)
        self.without.clicked.connect(lambda: self._decide(Answer.WITHOUT_OPTIONAL))
        self.approve.clicked.connect(lambda: self._decide(Answer.APPROVE))
        self.keep.clicked.connect(lambda: self._decide(Answer.KEEP))
        self.foot.leave.clicked.connect(self._leave)
        QShortcut(QKeySequence("F6"), self).activated.connect(self._next_part)
        QShortcut(QKeySequence("Shift+F6"), self).activated.connect(self._next_part)

    def _next_part(self) -> None:
        """F6: from the findings to the answers and back."""
        if self.body.isAncestorOf(self.focusWidget() or self):
            (self.foot.leave if self.gone else self.keep).setFocus(Qt.FocusReason.TabFocusReason)
        else:
            self.body.take_focus()

    def _leave(self) -> None:
        if self._acting:
            return  # the answer just given is being recorded
        if not self._finished:
            self._finished = True
            self.decided.emit(Decision(Answer.UNDECIDED))
        super().reject()

    def _decide(self, answer: Answer) -> None:
        if self._acting or self._finished:
            return
        self._acting = True
        self._banner.hide()
        self._refresh()
        self.decided.emit(Decision(answer, frozenset(self._ticked)))

    def _tick(self, key: str, on: bool) -> None:
        (self._ticked.add if on else self._ticked.discard)(key)
        self._refresh()

    def _refresh(self) -> None:
        if not self.gone:
            self.foot.show_state(frozenset(self._ticked), open_=not self._acting, complete=self.complete)

    def _arrange(self) -> None:
        """Where large text would leave no room for the findings, the head scrolls with them."""
        self.foot.arrange(self.width())
        heights = []
        for part in (self.head, self.foot):
            layout = part.layout()
            assert layout is not None
            heights.append(layout.heightForWidth(self.width()))
        inside = sum(heights) > self.height() * 0.6
        if inside and self._outer.indexOf(self.head) >= 0:
            self._outer.removeWidget(self.head)
        if self.body.take_head(self.head, inside=inside) and not inside:
            self._outer.insertWidget(0, self.head)
        self.head.setMinimumHeight(heights[0])
        self.foot.setMinimumHeight(heights[1])


def _bounded(size: QSize) -> QSize:
    screen = QGuiApplication.primaryScreen()
    room = screen.availableSize() if screen is not None else size
    return size.boundedTo(QSize(max(720, room.width() - 40), max(560, room.height() - 60)))
