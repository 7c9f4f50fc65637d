"""The Sandboxes page: the list, one sandbox, and its launch while it starts.

Every action is a job of the studio; the page asks, shows what the backend says, and asks before data is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import HostMountFolder, SandboxError, SandboxStatus, State, Terminal
from kitstudio.services.app import Studio
from kitstudio.services.credential_uses import uses_in
from kitstudio.services.jobs import Job, JobState, JobView
from kitstudio.services.sandboxes import Launch, Operation
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.fonts import Type
from kitstudio.ui.navigator import Navigator, PageName
from kitstudio.ui.page import Page
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.sandboxes.detail import (
    CREDENTIALS,
    DETAILS,
    LIFECYCLE,
    LOG,
    NETWORK,
    PORTS,
    STORAGE,
    TERMINAL,
    SandboxDetail,
)
from kitstudio.ui.sandboxes.launch_view import LaunchView
from kitstudio.ui.sandboxes.list_view import SandboxList
from kitstudio.ui.sandboxes.models import SandboxModel
from kitstudio.ui.sandboxes.words import acceleration_words
from kitstudio.ui.sign_in.bind_dialog import BindDialog
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
        self._panels: dict[str, TerminalPanel] = {}
        self.model = SandboxModel(self)
        self.list = SandboxList(theme, self.model)
        self.list.selectionModel().currentChanged.connect(lambda current, _old: self._choose_row(current.row()))
        self.list.repair_wanted.connect(lambda name: self._act(name, "repair"))
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
        self.detail.asked.connect(lambda action: self._act(self._chosen, action))
        self.detail.tab_changed.connect(lambda _index: self._fetch_soon())
        self.detail.kit_wanted.connect(navigator.open_kit)
        self.detail.ports.chosen.connect(self._move_port)
        self.detail.storage.open_wanted.connect(self._show_folder)
        self.detail.storage.delete_wanted.connect(self._ask_delete)
        self.detail.credentials.bind_wanted.connect(self._open_bind)
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
        end_with_window(self, self._tasks)
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
        """The terminal of a sandbox, if it was opened."""
        return self._panels.get(name)

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
        if status.state not in (State.RUNNING, State.WAITING):
            panel = self._panels.get(status.name)
            self.detail.show_terminal(panel if panel is not None and panel.session.active else None)
            return
        panel = self._panels.get(status.name)
        if panel is None:
            panel = TerminalPanel(self.theme)
            panel.setObjectName(f"terminal-{status.name}")
            panel.view.setAccessibleName(tr("Terminal of {name}").format(name=status.name))
            panel.strip.acted.connect(partial(self._strip_acted, status.name))
            self._panels[status.name] = panel
        self.detail.show_terminal(panel)
        if self._loop_runs and not panel.property("begun") and self.detail.tabs.currentIndex() == TERMINAL:
            self.open_terminal(status.name)

    def open_terminal(self, name: str) -> None:
        """Connect the terminal of a running sandbox, if it is not connected."""
        panel = self._panels.get(name)
        if panel is not None and not panel.session.active:
            panel.setProperty("begun", True)
            panel.strip.hide()
            self._tasks.start(self._run_terminal(name, panel), f"terminal-{name}")

    async def _run_terminal(self, name: str, panel: TerminalPanel) -> None:
        async def open_pty(columns: int, rows: int) -> Terminal:
            return await self.studio.sandboxes.terminal(name, (), columns=columns, rows=rows)

        again = ("again", tr("Open again"), "refresh")
        try:
            status = await panel.session.run(open_pty)
        except KitStudioError as error:
            words = " ".join(part for part in (visible(error.what), error.remedy) if part)
            panel.strip.tell("critical", tr("The terminal did not open."), words, again)
            return
        panel.strip.tell("info", tr("The session ended."), tr("Exit status {n}.").format(n=status), again)

    def _strip_acted(self, name: str, key: str) -> None:
        if key == "again":
            panel = self._panels[name]
            panel.view.restart()
            self.open_terminal(name)

    # Fetching

    def _fetch_soon(self) -> None:
        if self._loop_runs and self.isVisible() and not self._fetch.isActive():
            self._fetch.start()

    def _fetch_now(self) -> None:
        if self._chosen and self.isVisible():
            self._tasks.start(self._load(self._chosen, self.detail.tabs.currentIndex()), "load")

    async def _load(self, name: str, tab: int) -> None:
        sandboxes = self.studio.sandboxes
        if sandboxes.launching(name) is not None:
            try:
                self.launch.show_hooks(await sandboxes.hooks(name))
            except SandboxError:
                self.launch.show_hooks(())  # there is nothing to ask before the machine exists
            return
        number = self.model.row_of(name)
        if number < 0:
            return
        if tab in (TERMINAL, NETWORK):
            self.detail.show_decisions(await sandboxes.decisions(name))
        elif tab == LIFECYCLE:
            self.detail.lifecycle.show_hooks(await sandboxes.hooks(name))
        elif tab == PORTS:
            self.detail.ports.show_ports(await sandboxes.ports(name))
        elif tab == STORAGE:
            shared = [each for each in await sandboxes.mounts() if name in each.sandboxes]
            self.detail.storage.show_storage(await sandboxes.storage(name), shared)
        elif tab == CREDENTIALS:
            details = await sandboxes.details(name)
            uses = await asyncio.to_thread(uses_in, details.get("effective", ""))
            bound = [each.service for each in await self.studio.credentials.list()]
            self.detail.credentials.show_credentials(uses, bound, self.model.sandbox(number).skipped)
        elif tab == LOG:
            self.detail.log.show_log(await sandboxes.log(name))
        elif tab == DETAILS:
            self.detail.details.show_details(self.model.sandbox(number), await sandboxes.details(name))

    def _ask_acceleration(self) -> None:
        if self._loop_runs and not self._asked_acceleration:
            self._asked_acceleration = True
            self._tasks.start(self._learn_acceleration(), "acceleration")

    async def _learn_acceleration(self) -> None:
        kind, why = await self.studio.sandboxes.acceleration()
        self._acceleration = acceleration_words(kind, visible(why))
        self._say_status(self._rows())

    # Actions

    def _open_bind(self, service: str) -> None:
        dialog = BindDialog(self.theme, self.studio, service, parent=self.window())
        dialog.bound.connect(lambda name: self._tasks.start(self._rebind(name), "bind"))
        dialog.open()

    async def _rebind(self, service: str) -> None:
        await self.studio.sandboxes.rebind(service)
        self._fetch_now()

    def _move_port(self, container: str, host_port: int) -> None:
        self._tasks.start(self._publish(self._chosen, container, host_port), "port")

    async def _publish(self, name: str, container: str, host_port: int) -> None:
        self.detail.ports.show_ports(await self.studio.sandboxes.set_port(name, container, host_port))

    def _open_folder(self, folder: str, missing: str = "") -> None:
        if not folder or not Path(folder).is_dir():
            raise KitStudioError(missing or tr("The folder is not there."), where=folder)
        QDesktopServices.openUrl(QUrl.fromLocalFile(folder))

    def _show_folder(self, folder: str) -> None:
        try:
            self._open_folder(folder)
        except KitStudioError as error:
            self._failed(error)

    def _ask_delete(self, mount: HostMountFolder) -> None:
        self._confirm(
            tr("Delete the shared folder?"),
            tr(
                "{count} of {kit} at {path} are deleted for every sandbox of that Kit, and cannot be brought back."
            ).format(count=counted(mount.files, "file", "files"), kit=visible(mount.owner), path=visible(mount.path)),
            tr("Delete the folder"),
            lambda: self._delete_soon(mount),
        )

    def _delete_soon(self, mount: HostMountFolder) -> None:
        self._tasks.start(self._delete(mount), "mount")

    async def _delete(self, mount: HostMountFolder) -> None:
        await self.studio.sandboxes.remove_mount(mount.id)
        self._fetch_now()

    def _act(self, name: str, action: str) -> None:
        if not name:
            return
        try:
            self._do(name, action)
        except KitStudioError as error:
            self._failed(error)

    def _do(self, name: str, action: str) -> None:
        sandboxes = self.studio.sandboxes
        match action:
            case "start":
                sandboxes.start(name)
                self.refresh()
            case "stop":
                sandboxes.stop(name)
            case "repair":
                sandboxes.repair(name)
            case "terminal":
                self.detail.tabs.setCurrentIndex(TERMINAL)
                self.open_terminal(name)
            case "workspace":
                number = self.model.row_of(name)
                folder = self.model.sandbox(number).workspace if number >= 0 else ""
                self._open_folder(folder, tr("The workspace folder is not there."))
            case "recreate":
                self._confirm(
                    tr("Recreate {name}?").format(name=name),
                    tr(
                        "Its disk is dropped and made anew from the approved set: everything written outside the "
                        "workspace folder and its own storage is lost. Those, and shared folders, are not touched."
                    ),
                    tr("Recreate {name}").format(name=name),
                    lambda: self._recreate(name),
                )
            case "remove":
                self._confirm(
                    tr("Remove {name}?").format(name=name),
                    tr(
                        "The machine is stopped, its disk and its storage are deleted: everything written outside the "
                        "workspace folder is lost. The workspace folder, shared folders and the approval records stay."
                    ),
                    tr("Remove {name}").format(name=name),
                    lambda: self._remove(name),
                )
            case _:
                raise KitStudioError(f"Unknown action {action}.")

    def _recreate(self, name: str) -> None:
        self.studio.sandboxes.recreate(name)
        self.refresh()

    def _remove(self, name: str) -> None:
        self._tasks.start(self._hang_up(name), f"terminal-{name}")
        self._failures.pop(name, None)
        self.studio.sandboxes.remove(name)

    async def _hang_up(self, name: str) -> None:
        """Takes the place of the terminal's task, which ends with it; then the panel goes."""
        panel = self._panels.pop(name, None)
        if panel is not None:
            self.detail.terminals.removeWidget(panel)
            panel.deleteLater()

    def _confirm(self, title: str, sentence: str, verb: str, act: Callable[[], None]) -> None:
        dialog = ConfirmDialog(self.theme, title, sentence, verb, self)

        def go() -> None:
            try:
                act()
            except KitStudioError as error:
                self._failed(error)

        dialog.confirmed.connect(go)
        dialog.open()

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
