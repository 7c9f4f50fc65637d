"""The Sandboxes page: the list, one sandbox, and its launch while it starts.

Every action is a job of the studio; the page asks, shows what the backend says, and asks before data is lost.
"""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import SandboxError, SandboxStatus, State
from kitstudio.services.app import Studio
from kitstudio.services.jobs import Job, JobState, JobView
from kitstudio.services.sandboxes import Launch, Operation
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.fonts import Type
from kitstudio.ui.navigator import Navigator, PageName
from kitstudio.ui.page import Page
from kitstudio.ui.sandboxes.actions import SandboxActions
from kitstudio.ui.sandboxes.detail import FILES, TERMINAL, SandboxDetail
from kitstudio.ui.sandboxes.files_keeper import FilesKeeper
from kitstudio.ui.sandboxes.launch_view import LaunchView
from kitstudio.ui.sandboxes.list_view import SandboxList
from kitstudio.ui.sandboxes.loading import load_tab
from kitstudio.ui.sandboxes.models import SandboxModel
from kitstudio.ui.sandboxes.sessions import SandboxSessions
from kitstudio.ui.sandboxes.words import acceleration_words
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.terminal.panel import TerminalPanel
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import button, column, holder, line, row, text_label
from kitstudio.ui.widgets.composite import Banner, StateView
from kitstudio.ui.widgets.text import counted, tr, visible

_FETCH_MS = 200
_LAUNCHES = tuple(str(operation) for operation in Operation)


class SandboxesPage(Page):
    """List at the left; launch, sandbox or a state at the right."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self._tasks = Tasks(self, self._failed)
        self._loop_runs = False
        self._asked_acceleration = False
        self._acceleration = ""
        self._chosen = ""
        self._launching = ""
        self._failures: dict[str, KitStudioError] = {}
        self.deeds: SandboxActions
        self.model = SandboxModel(self)
        self.list = SandboxList(theme, self.model)
        self.list.selectionModel().currentChanged.connect(lambda current, _old: self._choose_row(current.row()))
        self.list.repair_wanted.connect(lambda name: self.deeds.act(name, "repair"))
        self._count = text_label("", Type.NAME)
        new = button(theme, tr("New from set"), "plus", small=True, name="newSandbox")
        new.clicked.connect(lambda: navigator.go.emit(PageName.COMPOSER))
        bar = row(self._count, None, new, margins=(16, 9, 16, 9))
        side = column(holder(bar), line(), spacing=0)
        side.addWidget(self.list, 1)
        left = holder(side, "surface")
        left.setMinimumWidth(theme.px(240))
        self.empty = StateView(
            theme,
            "sandboxes",
            tr("No sandboxes"),
            tr("Compose a set and launch it. What it may do is shown before anything starts."),
            [("compose", tr("Open the composer"), "composer"), ("catalog", tr("Look at the catalog"), "catalog")],
        )
        self.empty.acted.connect(lambda key: navigator.go.emit("composer" if key == "compose" else "catalog"))
        self.failed = StateView(theme, "critical", "", "", tone=Tone.CRITICAL)
        self.failed.acted.connect(self._after_failure)
        self.launch = LaunchView(theme)
        self.launch.cancelled.connect(self._cancel)
        self.detail = SandboxDetail(theme)
        self.detail.asked.connect(lambda action: self.deeds.act(self._chosen, action))
        self.detail.tab_changed.connect(lambda _index: self._fetch_soon())
        self.detail.kit_wanted.connect(navigator.open_kit)
        self.sessions = SandboxSessions(theme, studio.sandboxes, self._failed, self)
        self.sessions.gone.connect(self.detail.drop_terminals)
        self.files = FilesKeeper(
            self.detail.files, studio.sandboxes, lambda: self.deeds.act(self._chosen, "start"), self
        )
        self.deeds = SandboxActions(self, studio, theme, navigator, self.detail)
        self.deeds.failed.connect(self._failed)
        self.deeds.began.connect(self.refresh)
        self.deeds.done.connect(self._fetch_now)
        self.deeds.terminal_wanted.connect(self.open_terminal)
        self.deeds.removing.connect(self._forget)
        self._right = QStackedWidget()
        for view in (self.empty, self.failed, self.launch, self.detail):
            self._right.addWidget(view)
        self.banner = Banner(theme, Tone.CRITICAL)
        self.banner.acted.connect(lambda _key: self.banner.hide())
        self.splitter = QSplitter()
        self.splitter.setObjectName("sandboxSplitter")
        self.splitter.addWidget(left)
        self.splitter.addWidget(self._right)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setSizes([theme.px(284), theme.px(916)])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.banner)
        layout.addWidget(self.splitter, 1)
        self._fetch = QTimer(self)
        self._fetch.setSingleShot(True)
        self._fetch.setInterval(_FETCH_MS)
        self._fetch.timeout.connect(self._fetch_now)
        self._clock = QTimer(self)
        self._clock.setInterval(1000)
        self._clock.timeout.connect(self._tick)
        navigator.show_sandbox.connect(self.show_sandbox)
        self.destroyed.connect(studio.sandboxes.changed.subscribe(self._changed))
        self.destroyed.connect(studio.jobs.changed.subscribe(self._job_changed))
        self.refresh()

    def title(self) -> str:
        return tr("Sandboxes")

    async def opened(self) -> None:
        """Follow the backend: list once, then every change it tells."""
        for tasks in (self._tasks, self.sessions.tasks, self.files.tasks, self.deeds.tasks):
            end_with_window(self, tasks)
        self._loop_runs = True
        self._clock.start()
        self._tasks.start(self.studio.sandboxes.watch(), "watch")
        await self.studio.sandboxes.refresh()
        self.refresh()
        if self.isVisible():
            self._ask_acceleration()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask_acceleration()
        self._fetch_soon()

    def show_sandbox(self, name: str) -> None:
        """Choose a sandbox, also one whose launch has just begun."""
        self._chosen = name
        self.refresh()

    def panel(self, name: str) -> TerminalPanel | None:
        """The terminal of a sandbox that is shown, if one was opened."""
        terminals = self.sessions.of(name)
        return terminals.current if terminals is not None else None

    def refresh(self) -> None:
        """Show the list and the chosen sandbox as they are known."""
        rows = self._rows()
        self.model.show_sandboxes(rows)
        self._count.setText(counted(len(rows), "sandbox", "sandboxes"))
        names = [row.name for row in rows]
        if self._chosen not in names and self._chosen not in self._failures:
            self._chosen = names[0] if names else ""
        number = self.model.row_of(self._chosen)
        if number >= 0 and self.list.currentIndex().row() != number:
            self.list.setCurrentIndex(self.model.index(number, 0))
        self._show_chosen()
        self._say_status(rows)

    def save_state(self) -> dict[str, str]:
        return {"chosen": self._chosen, "tab": str(self.detail.tabs.currentIndex())}

    def restore_state(self, state: dict[str, str]) -> None:
        self._chosen = state.get("chosen", "")
        tab = state.get("tab", "")
        if tab.isdigit() and int(tab) < self.detail.tabs.count():
            self.detail.tabs.setCurrentIndex(int(tab))
        self.refresh()

    # What is shown

    def _rows(self) -> tuple[SandboxStatus, ...]:
        """Known sandboxes, and names whose first launch runs."""
        known = self.studio.sandboxes.list()
        names = {status.name for status in known}
        new = [name for name in self._launch_names() if name not in names]
        return (*known, *(self._starting(name) for name in new))

    def _starting(self, name: str) -> SandboxStatus:
        launch = self.studio.sandboxes.launching(name)
        set_name = launch.lock.name if launch is not None and launch.lock is not None else ""
        phase = launch.steps[-1].phase.value if launch is not None and launch.steps else ""
        return SandboxStatus(name, name, State.STARTING, set_name, "", phase=phase)

    def _launch_names(self) -> list[str]:
        found = []
        for job in self.studio.jobs.running():
            verb, _, name = job.view.title.partition(" ")
            if verb in _LAUNCHES and self.studio.sandboxes.launching(name) is not None:
                found.append(name)
        return found

    def _show_chosen(self) -> None:
        name = self._chosen
        launch = self.studio.sandboxes.launching(name) if name else None
        if launch is not None:
            if self._launching != name:
                self._begin_launch(launch)
            self.launch.show_launch(launch)
            self._right.setCurrentWidget(self.launch)
            self._fetch_soon()
            return
        if self._launching == name:
            self._launching = ""
            self.launch.end()
        if name in self._failures:
            self._show_failure(name)
            return
        number = self.model.row_of(name)
        if number < 0:
            self._right.setCurrentWidget(self.empty)
            return
        status = self.model.sandbox(number)
        self.detail.show_status(status)
        self._right.setCurrentWidget(self.detail)
        self._show_terminal(status)
        self._fetch_soon()

    def _begin_launch(self, launch: Launch) -> None:
        self._launching = launch.name
        number = self.model.row_of(launch.name)
        known = self.model.sandbox(number).set_name if number >= 0 else ""
        set_name = launch.lock.name if launch.lock is not None else known
        kits = counted(len(launch.lock.kits), "Kit", "Kits") if launch.lock is not None else ""
        self.launch.begin(launch, " · ".join(part for part in (set_name, kits) if part))

    def _show_failure(self, name: str) -> None:
        error = self._failures[name]
        known = self.model.row_of(name) >= 0
        actions = [("compose", tr("Back to the set"), "composer"), ("dismiss", tr("Close"), "close")]
        self.failed.show_state(
            "critical",
            tr("{name} did not start").format(name=name),
            visible(" ".join(part for part in (error.what, error.remedy) if part)),
            actions,
            "" if known else tr("Nothing was left behind but downloaded layers."),
            error.where,
            Tone.CRITICAL,
        )
        self._right.setCurrentWidget(self.failed)

    def _say_status(self, rows: tuple[SandboxStatus, ...]) -> None:
        running = sum(row.state in (State.RUNNING, State.WAITING) for row in rows)
        words = tr("{running} of {all} running").format(running=running, all=len(rows))
        self.status_changed.emit("info", f"{words} · {self._acceleration}" if self._acceleration else words)
        attention = sum(row.state in (State.BROKEN, State.WAITING) or bool(row.refused) for row in rows)
        self.badge_changed.emit(attention, True)

    # Terminals

    def _show_terminal(self, status: SandboxStatus) -> None:
        terminals = self.sessions.of(status.name)
        if status.state not in (State.RUNNING, State.WAITING):
            held = terminals if terminals is not None and terminals.active else None
            self.detail.show_terminal(held)
            return
        self.detail.show_terminal(self.sessions.make(status.name))
        if self._loop_runs and self.detail.tabs.currentIndex() == TERMINAL:
            self.sessions.begin(status.name)

    def open_terminal(self, name: str) -> None:
        """See that a terminal of a running sandbox is connected."""
        self.detail.tabs.setCurrentIndex(TERMINAL)
        number = self.model.row_of(name)
        if number >= 0 and self.model.sandbox(number).state in (State.RUNNING, State.WAITING):
            self.sessions.begin(name, again=True)

    # Fetching

    def _fetch_soon(self) -> None:
        if self._loop_runs and self.isVisible() and not self._fetch.isActive():
            self._fetch.start()

    def _fetch_now(self) -> None:
        if self._chosen and self.isVisible():
            self._tasks.start(self._load(self._chosen, self.detail.tabs.currentIndex()), "load")

    async def _load(self, name: str, tab: int) -> None:
        if self.studio.sandboxes.launching(name) is not None:
            try:
                self.launch.show_hooks(await self.studio.sandboxes.hooks(name))
            except SandboxError:
                self.launch.show_hooks(())  # there is nothing to ask before the machine exists
            return
        number = self.model.row_of(name)
        if number >= 0:
            status = self.model.sandbox(number)
            if tab == FILES:
                await self.files.show(status)
            else:
                await load_tab(self.studio, self.detail, status, tab)

    def _ask_acceleration(self) -> None:
        if self._loop_runs and not self._asked_acceleration:
            self._asked_acceleration = True
            self._tasks.start(self._learn_acceleration(), "acceleration")

    async def _learn_acceleration(self) -> None:
        kind, why = await self.studio.sandboxes.acceleration()
        self._acceleration = acceleration_words(kind, visible(why))
        self._say_status(self._rows())

    def _cancel(self) -> None:
        job = self._job(self._launching)
        if job is not None:
            job.cancel()

    def _job(self, name: str) -> Job | None:
        titles = {f"{verb} {name}" for verb in _LAUNCHES}
        return next((job for job in self.studio.jobs.running() if job.view.title in titles), None)

    def _after_failure(self, key: str) -> None:
        self._failures.pop(self._chosen, None)
        self.refresh()
        if key == "compose":
            self.navigator.go.emit(PageName.COMPOSER)

    def _forget(self, name: str) -> None:
        self.sessions.end(name)
        self._failures.pop(name, None)

    # Events of the studio

    def _changed(self, name: str) -> None:
        if name and name == self._chosen and self.studio.sandboxes.launching(name) is not None:
            self._show_chosen()
        else:
            self.refresh()

    def _job_changed(self, view: JobView) -> None:
        verb, _, name = view.title.partition(" ")
        if (
            view.error is not None
            and view.state is JobState.FAILED
            and verb in (*_LAUNCHES, "Stop", "Remove", "Repair")
        ):
            if verb in _LAUNCHES:
                self._failures[name] = view.error
                self._chosen = self._chosen or name
                self.refresh()
            else:
                self._failed(view.error)
        elif view.state is JobState.RUNNING and verb in _LAUNCHES:
            self._failures.pop(name, None)

    def _choose_row(self, row_number: int) -> None:
        if 0 <= row_number < self.model.rowCount():
            name = self.model.sandbox(row_number).name
            if name != self._chosen:
                self._chosen = name
                self._show_chosen()

    def _tick(self) -> None:
        if self.isVisible():
            self.model.tick()
            self.detail.show_facts()

    def _failed(self, error: KitStudioError) -> None:
        words = " ".join(part for part in (error.where, error.remedy) if part)
        self.banner.tell("critical", visible(error.what), words, ("dismiss", tr("Close"), "close"))
