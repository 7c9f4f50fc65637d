"""The Approvals page: what waits for an answer, every answer given, and the person's own rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QDateTime, QEvent, QLocale
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QVBoxLayout, QWidget
from shiboken6 import isValid

from kitstudio.models import lock as locks
from kitstudio.models.effective_rules import effective_rules
from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Plan
from kitstudio.services.app import Studio
from kitstudio.services.approvals import Record, Request, record_json
from kitstudio.services.ground import relock
from kitstudio.services.home import write_atomic
from kitstudio.services.policy import policy_of
from kitstudio.services.records import GRANTING
from kitstudio.ui.approvals import replay
from kitstudio.ui.approvals.desk import desk_of
from kitstudio.ui.approvals.dialog import ApprovalDialog
from kitstudio.ui.approvals.history import HistoryPane
from kitstudio.ui.approvals.models import ANSWERS
from kitstudio.ui.approvals.policy_view import PolicyView
from kitstudio.ui.approvals.rules_view import COMPOSER, RulesView
from kitstudio.ui.approvals.update_words import found_words
from kitstudio.ui.approvals.waiting import WaitingPane
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.page import Page
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import button, holder, line, row
from kitstudio.ui.widgets.composite import Banner
from kitstudio.ui.widgets.tab_bar import tab_bar
from kitstudio.ui.widgets.text import counted, tr, visible

LIST_KIND = "kitstudio approval records"
LOOK, STOP = "Look for updates", "Stop looking"


class ApprovalsPage(Page):
    """Tabs *Waiting*, *History*, *Rules* and *Policy*."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self._tasks = Tasks(self, self._failed)
        self._open = False
        self._looking: asyncio.Task[None] | None = None
        self.banner = Banner(theme, Tone.CRITICAL)
        self.banner.acted.connect(lambda _key: self.banner.hide())
        self.note = Banner(theme, Tone.SUCCESS)
        self.note.acted.connect(lambda _key: self.note.hide())
        self.waiting = WaitingPane(theme)
        self.history = HistoryPane(theme)
        self._stack = QStackedWidget()
        self.rules = RulesView(theme)
        self.policy = PolicyView(theme, studio.settings)
        names = (tr("Waiting"), tr("History"), tr("Rules"), tr("Policy"))
        self.tabs = tab_bar(names, "approvalTabs", tr("Approvals"))
        for pane in (self.waiting, self.history, self.rules, self.policy):
            self._stack.addWidget(pane)
        self.tabs.currentChanged.connect(self._stack.setCurrentIndex)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self.look = button(theme, tr(LOOK), "refresh", small=True, name="approvalLook")
        self.look.setToolTip(tr("Asks the sources of every approved Kit now. What asks for more waits here."))
        layout.addWidget(holder(row(self.tabs, None, self.look, margins=(8, 0, 16, 0)), "surface"))
        layout.addWidget(line())
        layout.addWidget(self.banner)
        layout.addWidget(self.note)
        layout.addWidget(self._stack, 1)
        self._connect()
        self._show_waiting()

    def title(self) -> str:
        return tr("Approvals")

    async def opened(self) -> None:
        """Read what was decided before, now and after every decision."""
        end_with_window(self, self._tasks)
        self._open = True
        await self._read()

    def event(self, event: QEvent) -> bool:
        """Whoever comes to this page, or back to its window, sees what commands brought meanwhile."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.WindowActivate) and self._open:
            self._tasks.start(self.studio.approvals.load(), "load")
        return super().event(event)

    def look_for_updates(self) -> None:
        """Ask the sources of every approved Kit now; a second press ends it."""
        if self._looking is not None:
            self._looking.cancel()
            return
        self._looking = self._tasks.start(self._look(), "look")
        if self._looking is not None:
            self.look.setText(tr(STOP))
            self._looking.add_done_callback(self._looked)

    async def _look(self) -> None:
        self.banner.hide()
        self.note.hide()
        icon, lead, words = found_words(await self.studio.updates.check())
        banner = self.banner if icon == "critical" else self.note
        banner.tell(icon, lead, words, ("dismiss", tr("Close"), "close"))

    def _looked(self, _task: object) -> None:
        self._looking = None
        if isValid(self.look):
            self.look.setText(tr(LOOK))

    def refresh(self) -> None:
        """Show what waits, and what was decided as soon as it is read."""
        self._show_waiting()
        if self._open:
            self._tasks.start(self._read(), "history")

    def answer(self, request: Request, finding: str = "") -> None:
        """Open the dialog for a request, at one of its findings."""
        self.tabs.setCurrentIndex(0)
        self.waiting.choose(request)
        self._tasks.start(desk_of(self.studio, self.theme, self).ask(request, finding))

    def save_state(self) -> dict[str, str]:
        return {"tab": str(self.tabs.currentIndex())}

    def restore_state(self, state: dict[str, str]) -> None:
        if state.get("tab") in [str(number) for number in range(self.tabs.count())]:
            self.tabs.setCurrentIndex(int(state["tab"]))

    def _connect(self) -> None:
        self.look.clicked.connect(self.look_for_updates)
        self.waiting.review_wanted.connect(self.answer)
        self.waiting.keep_wanted.connect(
            lambda request: self._tasks.start(self.studio.approvals.keep(request), f"keep-{request.id}")
        )
        self.history.export_wanted.connect(self._export)
        self.policy.failed.connect(self._failed)
        self.rules.chosen.connect(lambda _name: self._start_rules())
        self.tabs.currentChanged.connect(lambda _tab: self._start_rules())
        self.destroyed.connect(self.studio.settings.changed.subscribe(lambda _key: self._start_rules()))
        self.history.export_all_wanted.connect(self._export_all)
        self.history.replay_wanted.connect(self.replay)
        self.history.return_wanted.connect(lambda record: self._tasks.start(self.go_back(record), "return"))
        self.navigator.show_request.connect(self.answer)
        self.navigator.show_finding.connect(self.answer)
        self.destroyed.connect(self.studio.approvals.changed.subscribe(lambda _: self.refresh()))

    async def _read(self) -> None:
        self.history.show_records(await self.studio.approvals.history())

    def _start_rules(self) -> None:
        """The rules are judged again whenever they are looked at: they follow set, lock and policy."""
        if self._open and self._stack.currentWidget() is self.rules:
            self._tasks.start(self._show_rules(), "rules")

    async def _show_rules(self) -> None:
        value = self.studio.composer.value
        self.rules.show_sets(value.name, await self.studio.approvals.names())
        name = self.rules.name()
        plan: Plan = value.plan
        if name != COMPOSER:
            lock = await self.studio.approvals.lock(name)
            if lock is None:
                why = await self.studio.approvals.tampered(name)
                raise KitStudioError(why or tr("Nothing is approved under this name any more."), where=name)
            stored, document = await self.studio.approvals.granted(locks.sha256(lock))
            plan = await relock(self.studio.judgement, stored, document)
        self.rules.show_rules(effective_rules(plan, policy_of(self.studio.settings)))

    def _show_waiting(self) -> None:
        requests = self.studio.approvals.waiting()
        unready = self.studio.approvals.unready()
        self.waiting.show_requests(requests)
        self.waiting.show_unready(unready)
        count = len(requests) + len(unready)
        self.tabs.setTabText(0, tr("Waiting {n}").format(n=count) if count else tr("Waiting"))
        self.badge_changed.emit(count, False)
        waits = tr("{n} requests wait for your answer").format(n=count)
        if count == 1:
            waits = tr("1 request waits for your answer")
        self.status_changed.emit("paused" if count else "success", waits if count else tr("Nothing waits"))

    def replay(self, record: Record) -> ApprovalDialog:
        """A decision as it was shown, with nothing to press."""
        earlier = (r for r in self.history.model.everything() if r.lock_sha256 == record.previous_sha256)
        previous = next((r for r in earlier if r.answer in GRANTING and r.name == record.name), None)
        dialog = ApprovalDialog(self.theme, replay.request_of(record, previous), parent=self.window())
        when = QLocale().toString(QDateTime.fromSecsSinceEpoch(int(record.time)), "d MMM yyyy, HH:mm:ss")
        words = tr("{answer} by {user}, {when}.").format(
            answer=tr(ANSWERS.get(record.answer, (record.answer, "", None))[0]), user=visible(record.user), when=when
        )
        dialog.show_answer(words, approved=record.answer in GRANTING)
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()
        return dialog

    async def go_back(self, record: Record) -> None:
        """Put an earlier lock in force again: through the gate, which asks where it grants more than today's."""
        request = await self.studio.approvals.rollback(record)
        granted = await desk_of(self.studio, self.theme, self).ask(request)
        if granted is not None:
            words = tr("{name} is at the lock of {when} again; its next launch uses it.").format(
                name=visible(record.name), when=QLocale().toString(QDateTime.fromSecsSinceEpoch(int(record.time)))
            )
            self.note.tell("success", tr("Gone back."), words, ("dismiss", tr("Close"), "close"))

    def _export(self, record: Record) -> None:
        name = f"{record.name}-{record.lock_sha256[:8]}.json"
        chosen, _ = QFileDialog.getSaveFileName(self, tr("Export this decision"), name, tr("Records (*.json)"))
        if chosen:
            self._tasks.start(self.studio.approvals.export(record, Path(chosen)), "export")

    def _export_all(self, records: Sequence[Record]) -> None:
        title = tr("Export {decisions}").format(decisions=counted(len(records), "decision", "decisions"))
        chosen, _ = QFileDialog.getSaveFileName(self, title, "approvals.json", tr("Records (*.json)"))
        if chosen:
            self._tasks.start(asyncio.to_thread(_write_records, tuple(records), Path(chosen)), "export")

    def _failed(self, error: KitStudioError) -> None:
        words = " ".join(part for part in (error.where, error.remedy) if part)
        self.banner.tell("critical", visible(error.what), words, ("dismiss", tr("Close"), "close"))


def _write_records(records: Sequence[Record], file: Path) -> None:
    """Every record given, newest first, each in the form a single export has."""
    document = {"kind": LIST_KIND, "records": [record_json(record) for record in records]}
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    try:
        write_atomic(file.absolute(), text.encode(), mode=0o644)
    except OSError as error:
        raise KitStudioError(f"The file cannot be written: {error.strerror}.", where=str(file)) from error
