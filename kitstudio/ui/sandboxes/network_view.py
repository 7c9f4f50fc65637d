"""Network, live: every egress decision with the descriptor line that made it, and why a request was refused."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.runtime.backend import Decision
from kitstudio.services.set_changes import propose
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.models import DecisionModel, Index, Verdict, is_refused, short_kit, target
from kitstudio.ui.tables import dressed_table
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import ExactEntry, Icon, button, column, holder, line, row, set_ground, text_label
from kitstudio.ui.widgets.composite import Segmented, StateView
from kitstudio.ui.widgets.text import tr, visible


class NetworkView(QWidget):
    """Filter, table that follows its tail, and the chosen decision below. ``kit_wanted(reference)`` from a link;
    ``propose_wanted(Proposal)`` from a refusal."""

    kit_wanted = Signal(str)
    split_wanted = Signal()
    propose_wanted = Signal(object)

    def __init__(self, theme: Theme, *, split: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._paused = False
        self._held: tuple[Decision, ...] = ()
        self.model = DecisionModel(theme, self)
        self.filter = Segmented(
            theme,
            (
                (Verdict.ALL, tr("All"), ""),
                (Verdict.REFUSED, tr("Refused"), ""),
                (Verdict.ALLOWED, tr("Allowed"), ""),
            ),
            tr("Decisions"),
        )
        self.filter.setObjectName("networkFilter")
        self.filter.chosen.connect(lambda key: self._narrow(Verdict(key)))
        self.pause = button(theme, tr("Pause"), "pause", "flat", small=True, name="networkPause")
        self.pause.setCheckable(True)
        self.pause.toggled.connect(self._pause)
        words, icon = (tr("Close split"), "close") if split else (tr("Show below the terminal"), "table")
        self.split = button(theme, words, icon, "flat", small=True, name="networkSplit")
        self.split.clicked.connect(self.split_wanted)
        title = text_label(tr("Network, live"), Type.NAME)
        bar = row(
            Icon(theme, "network", 16), title, theme.px(4), self.filter, None, self.pause, self.split,
            margins=(16, 5, 8, 5),
        )  # fmt: skip
        self.table = dressed_table(
            theme, self.model, (96, 84, 76, 0, 110, 210), tr("Network decisions"), "networkTable"
        )
        self.table.selectionModel().currentRowChanged.connect(lambda current, _old: self._show(current))
        self._why = QWidget()
        self._why_layout = QVBoxLayout(self._why)
        self._why_layout.setContentsMargins(theme.px(16), theme.px(12), theme.px(16), theme.px(14))
        self._why_layout.setSpacing(theme.px(6))
        self._empty = StateView(
            theme,
            "network",
            tr("Nothing has gone out yet"),
            tr("Every request of this sandbox appears here, with the descriptor line that allowed or refused it."),
        )
        filled = column(self.table, line(), self._why, spacing=0)
        filled.setStretch(0, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(holder(filled))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(bar, "raised"))
        layout.addWidget(line())
        layout.addWidget(self._stack, 1)
        set_ground(self, "raised")
        self._show(None)

    def show_decisions(self, decisions: Sequence[Decision]) -> None:
        """Show these, following the tail unless someone scrolled up or paused."""
        self._held = tuple(decisions)
        if self._paused:
            return
        bar = self.table.verticalScrollBar()
        at_end = bar.value() >= bar.maximum()
        self.model.show_decisions(self._held)
        self._stack.setCurrentIndex(1 if self._held else 0)
        self._label()
        if at_end:
            self.table.scrollToBottom()

    def choose_verdict(self, verdict: Verdict) -> None:
        """Set the filter."""
        self.filter.choose(verdict)
        self._narrow(verdict)

    def _narrow(self, verdict: Verdict) -> None:
        self.model.narrow(verdict)
        self._show(None)

    def _pause(self, on: bool) -> None:
        self._paused = on
        self.pause.setText(tr("Resume") if on else tr("Pause"))
        if not on:
            self.show_decisions(self._held)

    def _label(self) -> None:
        names = {Verdict.ALL: tr("All"), Verdict.REFUSED: tr("Refused"), Verdict.ALLOWED: tr("Allowed")}
        for verdict, count in self.model.counts().items():
            self.filter.label(verdict, f"{names[verdict]} {count}")

    def _show(self, index: Index | None) -> None:
        while (item := self._why_layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        if index is None or not index.isValid():
            self._why.hide()
            return
        decision = self.model.decision(index.row())
        refused = is_refused(decision)
        icon = Icon(self.theme, "deny" if refused else "success", 20, Token.SERIOUS if refused else Token.SUCCESS)
        reason = claim(decision.reason, 300)
        lead = tr("Why: {reason}").format(reason=reason) if reason else (tr("Refused.") if refused else tr("Allowed."))
        words = QVBoxLayout()
        words.setSpacing(self.theme.px(4))
        words.addWidget(text_label(visible(lead), Type.NAME, wrap=True))
        words.addWidget(ExactEntry(self.theme, target(decision)))
        if decision.kit:
            where = f"{short_kit(decision.kit)}, {visible(decision.path)}" if decision.path else short_kit(decision.kit)
            if decision.line:
                where = tr("{where}, kit.yaml line {line}").format(where=where, line=decision.line)
            link = button(self.theme, where, kind="link", name="networkRule")
            link.clicked.connect(lambda: self.kit_wanted.emit(decision.kit))
            words.addLayout(row(text_label(tr("Decided by"), ink="secondary"), link, None, spacing=6))
        else:
            nothing = tr("No entry of the set names this host, and what is not named is refused.")
            words.addWidget(
                text_label(nothing if refused else tr("Decided by this computer."), ink="secondary", wrap=True)
            )
        body = row(icon, spacing=self.theme.px(12))
        body.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        body.addLayout(words, 1)
        if refused:
            self._offer(decision, words, body)
        self._why_layout.addWidget(holder(body))
        self._why.show()

    def _offer(self, decision: Decision, words: QVBoxLayout, body: QHBoxLayout) -> None:
        """The entry that would have allowed it, or why there is none."""
        proposal, why = propose(decision)
        if proposal is None:
            words.addWidget(text_label(tr(why), ink="secondary", wrap=True))
            return
        lead = tr("Proposing opens the set with this entry, undoable and still to be approved:")
        words.addWidget(text_label(lead, ink="secondary", wrap=True))
        words.addWidget(ExactEntry(self.theme, proposal.text))
        go = button(self.theme, tr("Propose this entry"), "composer", "primary", small=True, name="networkPropose")
        go.clicked.connect(lambda: self.propose_wanted.emit(proposal))
        body.addWidget(go, 0, Qt.AlignmentFlag.AlignTop)
