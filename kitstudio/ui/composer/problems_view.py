"""Problems, live: each names what is wrong and offers remedies, one button one undoable step."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kitstudio.models.plan import Member, Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.models.words import claim, exact
from kitstudio.ui.composer.rows import name_and_version, problem_kits
from kitstudio.ui.flow import Flow
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import Icon, Painted, button, line, row, set_ground, text_label
from kitstudio.ui.widgets.text import tr, visible

_SHOWN = 40


class ProblemsView(QWidget):
    """``chosen(kits)`` when a problem is selected, ``remedy_wanted(remedy)`` from a button."""

    chosen = Signal(object)
    remedy_wanted = Signal(object)
    shown = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._key: object = None
        self._chosen = ""
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.widgets: list[ProblemWidget] = []

    def show_problems(
        self, own: Sequence[Problem], runtime: Sequence[Problem] = (), *, loading: bool, launchable: bool
    ) -> None:
        """Show what is wrong with the set, and apart from it what this runtime cannot do.

        Nothing is rebuilt where nothing changed.
        """
        problems = (*own, *runtime)
        key = (problems, len(runtime), loading, launchable)
        if key == self._key:
            return
        self._key = key
        while (item := self._layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.widgets = []
        for number, problem in enumerate(problems[:_SHOWN]):
            if number == len(own):
                self._layout.addWidget(self._apart())
            widget = ProblemWidget(self.theme, problem, number)
            widget.pressed.connect(lambda kits, widget=widget: self._choose(widget, kits))
            widget.remedy_wanted.connect(self.remedy_wanted)
            self._layout.addWidget(widget)
            self.widgets.append(widget)
        if len(problems) > _SHOWN:
            rest = tr("{n} more problems appear when these are solved.").format(n=len(problems) - _SHOWN)
            self._layout.addWidget(text_label(rest, Type.SMALL, "secondary", wrap=True))
        if not problems:
            self._layout.addWidget(self._nothing(loading, launchable))
        chosen = next((w for w in self.widgets if _identity(w.problem) == self._chosen), None)
        if chosen is not None:
            chosen.mark(True)
        self.chosen.emit(frozenset(chosen.problem.kits) if chosen is not None else frozenset())
        self.shown.emit()

    def _apart(self) -> QWidget:
        """What follows is no fault of the set."""
        made = QWidget()
        made.setObjectName("runtimeProblems")
        layout = QVBoxLayout(made)
        layout.setContentsMargins(self.theme.px(16), self.theme.px(10), self.theme.px(16), self.theme.px(8))
        layout.setSpacing(self.theme.px(2))
        layout.addWidget(text_label(tr("Not with sandboxes on this machine"), Type.NAME))
        words = tr("The set may be right; what follows is what this version of Kit Studio cannot enforce.")
        layout.addWidget(text_label(words, Type.SMALL, "secondary", wrap=True))
        set_ground(made, "sunken")
        return made

    def _nothing(self, loading: bool, launchable: bool) -> QWidget:
        if loading:
            icon, ink, words = "spinner", Token.ACCENT, tr("Looking at the Kits of this set…")
        elif launchable:
            icon, ink, words = "success", Token.SUCCESS, tr("Nothing stands in the way of a launch.")
        else:
            icon, ink, words = "info", Token.SECONDARY, tr("Nothing to judge yet.")
        made = QWidget()
        layout = row(Icon(self.theme, icon, 20, ink), spacing=8, margins=(16, 10, 16, 11))
        layout.addWidget(text_label(words, wrap=True), 1)
        whole = QVBoxLayout(made)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(layout)
        whole.addWidget(line())
        made.setObjectName("noProblems")
        made.setAccessibleName(words)
        return made

    def _choose(self, widget: ProblemWidget, kits: frozenset[str]) -> None:
        self._chosen = _identity(widget.problem)
        for each in self.widgets:
            each.mark(each is widget)
        self.chosen.emit(kits)


class ProblemWidget(Painted):
    """One problem: sentence, who, remedies."""

    pressed = Signal(object)
    remedy_wanted = Signal(object)

    def __init__(self, theme: Theme, problem: Problem, number: int) -> None:
        super().__init__(theme)
        self.problem = problem
        self._marked = False
        self.setObjectName(f"problem-{number}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        detail = second_line(problem)
        self.setAccessibleName(f"{visible(problem.message)} {detail}")
        icon = Icon(theme, "critical", 20, Token.CRITICAL)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(text_label(exact(problem.message), Type.NAME, wrap=True))
        if detail:
            words.addWidget(text_label(detail, wrap=True))
        if problem.remedies:
            words.addSpacing(theme.px(7))
            buttons = Flow(theme.px(8))
            for index, remedy in enumerate(problem.remedies[:6]):
                made = button(theme, claim(remedy.label, 60), small=True, name=f"remedy-{number}-{index}")
                made.setToolTip(visible(_tip(remedy)))
                made.clicked.connect(lambda _=False, remedy=remedy: self._remedy(remedy))
                buttons.addWidget(made)
            words.addLayout(buttons)
        body = row(icon, spacing=theme.px(8), margins=(theme.px(16), theme.px(10), theme.px(16), theme.px(11)))
        body.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        body.addLayout(words, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(body)
        layout.addWidget(line())

    def mark(self, on: bool) -> None:
        """Chosen or not."""
        self._marked = on
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), self.theme.colour(Token.ACCENT_TINT if self._marked else Token.SURFACE))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit(frozenset(self.problem.kits))
        super().mousePressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self.pressed.emit(frozenset(self.problem.kits))
        super().focusInEvent(event)

    def _remedy(self, remedy: Remedy) -> None:
        self.remedy_wanted.emit(remedy)


def second_line(problem: Problem) -> str:
    """What stands under the sentence: the detail, else the Kits it is about."""
    if problem.detail:
        return exact(problem.detail)
    if problem.kind in (ProblemKind.EMPTY_SET, ProblemKind.NO_WORKLOAD):
        return ""
    unsaid = any(name_and_version(Member(kit))[0] not in problem.message for kit in problem.kits)
    return f"{problem_kits(problem)}." if unsaid else ""


def _identity(problem: Problem) -> str:
    return f"{problem.kind}|{problem.name}|{'|'.join(problem.kits)}"


def _tip(remedy: Remedy) -> str:
    if remedy.kind is RemedyKind.REPLACE:
        return f"{remedy.kit} → {remedy.other}"
    return remedy.other or remedy.kit
