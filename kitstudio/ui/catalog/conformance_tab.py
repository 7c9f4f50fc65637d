"""The Conformance tab: each check on the artifact with its verdict, run when asked for, since it fetches the layers."""

from __future__ import annotations

import asyncio
from collections import Counter

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QStackedWidget, QWidget

from kitstudio.models.artifact_view import Check, Verdict
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.source import SignInRequired
from kitstudio.services.app import Studio
from kitstudio.services.artifact_checks import PlatformChecks
from kitstudio.services.catalog import KitDetails
from kitstudio.services.jobs import Job
from kitstudio.ui.catalog.kit_tabs import ScrollPane, image_size
from kitstudio.ui.catalog.sign_in_place import SignInPlace, host_in
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import ChipLook, ChipRow, Icon, StateView, button, column, holder, line, row, text_label
from kitstudio.ui.widgets.text import counted, number, size_text, tr, visible

LOOKS = {
    Verdict.FAIL: ("critical", Token.CRITICAL, Tone.CRITICAL),
    Verdict.WARN: ("notice", Token.NOTICE, Tone.NOTICE),
    Verdict.SKIP: ("minus", Token.SECONDARY, Tone.PLAIN),
    Verdict.PASS: ("success", Token.SUCCESS, Tone.SUCCESS),
}


class ConformanceTab(QWidget):
    """Asks, runs with a cancel, shows. ``signed_in(host)`` from a failure."""

    signed_in = Signal(str)

    def __init__(self, theme: Theme, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._studio = theme, studio
        self._details: KitDetails | None = None
        self._done: dict[str, tuple[PlatformChecks, ...]] = {}
        self._job: Job | None = None
        self._tasks = Tasks(self, self._failed)
        self._state = StateView(theme, "seal", "", "")
        self._state.acted.connect(lambda _: self.run())
        self._words = text_label("", Type.BODY, wrap=True)
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(tr("Checking"))
        cancel = button(theme, tr("Cancel"), "close", small=True, name="conformance-cancel")
        cancel.clicked.connect(self.cancel)
        running = column(self._words, self._bar, row(cancel, None), None, spacing=12, margins=(20, 20, 20, 20))
        self._pane = ScrollPane(theme)
        place = QWidget()
        self._sign_in = SignInPlace(theme, studio, place)
        self._sign_in.signed_in.connect(self.signed_in)
        self._refused = holder(column(place, None, spacing=0))
        self._stack = QStackedWidget()
        for part in (self._state, holder(running), self._pane, self._refused):
            self._stack.addWidget(part)
        self.setLayout(column(self._stack, spacing=0))

    @property
    def running(self) -> bool:
        return self._job is not None

    def show_details(self, details: KitDetails) -> None:
        """Offer the checks of this artifact; show them where they were run before."""
        if self._details is not None and self._details.artifact.digest != details.artifact.digest:
            self.cancel()
        self._details = details
        known = self._done.get(details.artifact.digest)
        if known is not None:
            self._show(known)
        elif self._job is None:
            self._offer()

    def run(self) -> None:
        """Fetch the layers and judge every platform."""
        details = self._details
        if details is None or self._job is not None:
            return
        self._words.setText(
            tr("Fetching {size} of layers and reading them. Nothing is run.").format(
                size=size_text(image_size(details.artifact))
            )
        )
        self._bar.setRange(0, 0)
        self._stack.setCurrentIndex(1)
        self._tasks.start(self._work(details), "checks")

    def cancel(self) -> None:
        """Stop; what was fetched stays in the cache."""
        if self._job is not None:
            self._job.cancel()

    def resume(self) -> None:
        """After a sign-in: what failed goes on."""
        if self._stack.currentWidget() is self._refused:
            self.run()

    async def _work(self, details: KitDetails) -> None:
        async def checks(job: Job) -> tuple[PlatformChecks, ...]:
            def told(done: int, total: int) -> None:
                job.report(tr("{n} of {total} layers").format(n=number(done), total=number(total)), done / total)
                self._bar.setRange(0, total)
                self._bar.setValue(done)

            return (await self._studio.catalog.checked(_exact(details), told))[1]

        title = tr("Checking {name}").format(name=visible(details.card.reference))
        self._job = self._studio.jobs.run(title, checks)
        try:
            found = await self._job.wait()
        except asyncio.CancelledError:
            self._offer()
            return
        finally:
            self._job = None
        self._done[details.artifact.digest] = found
        if self._details is details:
            self._show(found)

    def _offer(self) -> None:
        details = self._details
        if details is None:
            return
        size = size_text(image_size(details.artifact))
        platforms = len(details.artifact.platforms)
        words = tr("The checks of the specification on the published artifact: manifest, config and files.")
        cost = tr("They fetch the layers, {size}").format(size=size)
        if platforms > 1:
            cost += " " + tr("for each of {n} platforms").format(n=platforms)
        self._state.show_state("seal", tr("Not checked yet"), f"{words} {cost}.", [("run", tr("Check it"), "play")])
        self._stack.setCurrentIndex(0)

    def _show(self, found: tuple[PlatformChecks, ...]) -> None:
        theme, pane = self._theme, self._pane
        pane.clear()
        for group in found:
            counts = Counter(check.verdict for check in group.checks)
            looks = tuple(
                ChipLook(f"{counts[verdict]} {_word(verdict).lower()}", LOOKS[verdict][2], LOOKS[verdict][0])
                for verdict in LOOKS
                if counts[verdict]
            )
            platforms = ", ".join(visible(name) for name in group.platforms if name)
            pane.heading(platforms or tr("This artifact"), counted(len(group.checks), "check", "checks"))
            pane.add(ChipRow(theme, looks))
            pane.body.addSpacing(theme.px(6))
            order = list(LOOKS)
            for check in sorted(group.checks, key=lambda check: order.index(check.verdict)):
                pane.add(_check_row(theme, check))
                pane.add(line())
        again = button(theme, tr("Check again"), "refresh", "link", name="conformance-again")
        again.clicked.connect(self.run)
        pane.body.addLayout(row(again, None))
        pane.end()
        self._stack.setCurrentIndex(2)

    def _failed(self, error: KitStudioError) -> None:
        reference = self._details.card.reference if self._details else ""
        if isinstance(error, SignInRequired) and (host := host_in(reference)):
            self._sign_in.show_for(host, error)
            self._stack.setCurrentWidget(self._refused)
            return
        self._state.show_error(error, [("retry", tr("Try again"), "refresh")])
        self._stack.setCurrentIndex(0)


def _check_row(theme: Theme, check: Check) -> QWidget:
    icon, ink, _ = LOOKS[check.verdict]
    head = row(Icon(theme, icon, 16, ink), text_label(_word(check.verdict), Type.NAME, str(ink)), spacing=8)
    name = text_label(visible(check.id), Type.MONO)
    name.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    head.addWidget(name)
    head.addStretch(1)
    made = column(head, spacing=theme.px(2), margins=(0, 2, 0, 2))
    inner = column(
        text_label(visible(check.requirement), Type.BODY, "secondary", wrap=True),
        spacing=theme.px(2),
        margins=(theme.px(24), 0, 0, 0),
    )
    for finding in check.findings:
        if finding.detail:
            inner.addWidget(text_label(visible(finding.detail), Type.BODY, wrap=True))
    made.addLayout(inner)
    shown = holder(made)
    shown.setAccessibleName(f"{_word(check.verdict)}: {check.id}. {check.requirement}. {check.detail}")
    return shown


def _word(verdict: Verdict) -> str:
    return tr(
        {
            Verdict.FAIL: "Failed",
            Verdict.WARN: "Fell short",
            Verdict.SKIP: "Not judged",
            Verdict.PASS: "Passed",
        }[verdict]
    )


def _exact(details: KitDetails) -> str:
    """The reference with the digest that is shown: the tag may have moved meanwhile."""
    if "@" in details.card.reference:
        return details.card.reference
    return f"{details.card.reference}@{details.artifact.digest}"
