"""The foot of the approval dialog: quiet ways out at the left, the answers at the right, what is missing below."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QBoxLayout, QMenu, QPushButton, QWidget

from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import copies, texts
from kitstudio.ui.flow import Flow
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import Icon, button, column, row, set_ground, text_label
from kitstudio.ui.widgets.text import tr


class DialogFoot(QWidget):
    """The buttons. The one that keeps things as they are is the default; approving never is.

    ``compare_wanted`` carries the ``Change`` to compare.
    """

    compare_wanted = Signal(object)

    def __init__(self, theme: Theme, request: Request) -> None:
        super().__init__()
        self._theme = theme
        self._request = request
        self.copy = button(theme, tr("Copy as"), "copy", "flat", name="approvalCopy")
        self.copy.setMenu(self._copies())
        self.compare = button(theme, tr("Compare descriptors"), "swap", "flat", name="approvalCompare")
        self._offer_comparisons()
        self.without = button(theme, texts.without_text(request.review), name="approveWithout")
        self.without.setVisible(request.reduced is not None and bool(texts.without_text(request.review)))
        self.approve = button(theme, texts.approve_text(request.review), name="approveAll")
        self.approve.setProperty("strong", True)
        self.approve.setFont(theme.font(Type.NAME))
        self.keep = button(theme, texts.keep_text(request), kind="primary", name="approvalKeep")
        self.keep.setAutoDefault(True)
        self.keep.setDefault(True)
        self.leave = button(theme, tr("Close"), kind="primary", name="approvalLeave")
        self.leave.hide()
        quiet = row(self.copy, self.compare, None, spacing=theme.px(8))
        answers = Flow(theme.px(8), right=True)
        for choice in (self.without, self.approve, self.keep, self.leave):
            answers.addWidget(choice)
        self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._buttons.setSpacing(theme.px(8))
        self._buttons.addLayout(quiet)
        self._buttons.addLayout(answers, 1)
        self._hint_icon = Icon(theme, "critical", 14, Token.CRITICAL)
        self._hint = text_label("", Type.SMALL, "secondary", wrap=True)
        self._hint.setObjectName("approvalHint")
        self._stays = text_label(texts.undecided_text(request), Type.SMALL, "secondary", wrap=True)
        self._stays.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        hints = row(self._hint_icon, spacing=theme.px(6))
        hints.addWidget(self._hint, 3)
        hints.addWidget(self._stays, 2)
        whole = column(spacing=theme.px(8), margins=(theme.px(24), theme.px(12), theme.px(24), theme.px(10)))
        whole.addLayout(self._buttons)
        whole.addLayout(hints)
        self.setLayout(whole)
        set_ground(self, "background")
        self.describe()

    def show_state(self, ticked: frozenset[str], *, open_: bool, complete: bool) -> None:
        """What may be pressed now. ``open_``: an answer can be given; ``complete``: everything is on screen."""
        review = self._request.review
        words, done = texts.hint(review, ticked)
        if self._request.refused:
            words, done = tr("A rule of yours refuses this; while it stands, nothing approves it."), False
        self._hint.setText(words)
        # No tick of praise: that nothing is critical does not make what stands above harmless.
        self._hint_icon.show_icon("info" if done else "critical", Token.SECONDARY if done else Token.CRITICAL)
        may = open_ and complete and not self._request.refused
        self.approve.setEnabled(may and texts.needed(review, without_optional=False) <= ticked)
        self.without.setEnabled(may and texts.needed(review, without_optional=True) <= ticked)
        self.keep.setEnabled(open_)
        self.describe()

    def end(self, words: str) -> None:
        """No answer is wanted any more: only *Close* is left."""
        for choice in (self.without, self.approve, self.keep):
            choice.hide()
        self._hint.setText(words)
        self._hint_icon.show_icon("info", Token.SECONDARY)
        self._stays.hide()
        self.leave.show()
        self.leave.setDefault(True)
        self.leave.setFocus(Qt.FocusReason.OtherFocusReason)

    def describe(self) -> None:
        """For assistive technology: beside its name, each answer says why it cannot be given, or what follows."""
        for choice in (self.approve, self.without):
            choice.setAccessibleDescription(self._hint.text())
        self.keep.setAccessibleDescription(texts.kept_text(self._request))

    def shown(self) -> tuple[QPushButton, ...]:
        """The buttons on screen, in order."""
        every = (self.copy, self.compare, self.without, self.approve, self.keep, self.leave)
        return tuple(choice for choice in every if not choice.isHidden())

    def arrange(self, width: int) -> None:
        """Two rows where one does not hold the buttons."""
        theme = self._theme
        wanted = sum(choice.sizeHint().width() + theme.px(8) for choice in self.shown()) + theme.px(48)
        fits = wanted <= width
        self._buttons.setDirection(QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom)

    def _copies(self) -> QMenu:
        request = self._request
        menu = QMenu(self.copy)
        menu.addAction(tr("Text"), lambda: _to_clipboard(copies.as_text(request))).setObjectName("copyText")
        menu.addAction(tr("JSON"), lambda: _to_clipboard(copies.as_json(request))).setObjectName("copyJson")
        return menu

    def _offer_comparisons(self) -> None:
        """One changed Kit compares at once; of several the person chooses."""
        comparable = [change for change in texts.changes(self._request) if change.before is not None]
        self.compare.setVisible(bool(comparable))
        if len(comparable) == 1:
            self.compare.clicked.connect(partial(self.compare_wanted.emit, comparable[0]))
        elif comparable:
            menu = QMenu(self.compare)
            for change in comparable:
                menu.addAction(texts.change_text(change), partial(self.compare_wanted.emit, change))
            self.compare.setMenu(menu)


def _to_clipboard(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
