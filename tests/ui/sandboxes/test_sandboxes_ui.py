"""The Sandboxes page over a backend of plain values: states, launch, terminal, network, what is asked before loss."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from kitstudio.models.lock import Lock
from kitstudio.models.surface import Surface
from kitstudio.runtime.backend import (
    Decision,
    HookRun,
    HostMountFolder,
    LaunchOptions,
    LaunchPhase,
    OwnStorage,
    Progress,
    PublishedPort,
    SandboxError,
    SandboxStatus,
    State,
)
from kitstudio.services.jobs import Jobs
from kitstudio.services.sandboxes import Launch, Operation, Sandboxes
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.sandboxes.detail import LIFECYCLE, LOG, NETWORK, PORTS, STORAGE
from kitstudio.ui.sandboxes.launch_steps import StepState, steps_of
from kitstudio.ui.sandboxes.launch_view import install_entries
from kitstudio.ui.sandboxes.page import SandboxesPage
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.widgets.basic import ExactEntry

SURFACE = Surface(network_install_allow=("mirror.example:443", "b.example"), network_runtime_allow=("b.example",))
APPROVED: Any = SimpleNamespace(lock=Lock("team-agent", (), SURFACE, ""))
STATUS = SandboxStatus(
    "1", "review", State.RUNNING, "team-agent", "a" * 64, accel="tcg", memory=1340, memory_limit=3815
)
DECISIONS = (
    Decision(1_700_000_000.0, "runtime", "api.example", 443, "allowed", "hub.example/gh:2", "c[0]", 9, "GET", "/repos"),
    Decision(
        1_700_000_001.0, "runtime", "up.example", 443, "refused", "hub.example/gh:2", "c[0]", 14, "PUT", "/x", "PUT"
    ),
    Decision(1_700_000_002.0, "runtime", "telemetry\u202e.example", 8443, "refused"),
)
HOOKS = (
    HookRun("hub.example/agent:1", "install", 0, ("sh", "-c", "true"), "agent", "ok\n", 0, 6.0),
    HookRun("hub.example/git:2", "install", 0, ("sh",), "root", "+ curl\n\x1b[31mred\n", None, 9.0),
)


class Pty:
    """Writes a greeting, remembers what was typed, ends when closed."""

    def __init__(self) -> None:
        self.typed: list[bytes] = []
        self._first = [b"hello from the guest\r\n$ "]
        self._end = asyncio.Event()

    async def read(self) -> bytes:
        if self._first:
            return self._first.pop()
        await self._end.wait()
        return b""

    async def write(self, data: bytes) -> None:
        self.typed.append(data)
        if b"\x04" in data:
            self._end.set()

    async def resize(self, columns: int, rows: int) -> None:
        return None

    async def wait(self) -> int:
        return 0

    async def close(self) -> None:
        self._end.set()


class Machines:
    """A backend without machines: it does what it is told and says what it did."""

    def __init__(self, *statuses: SandboxStatus) -> None:
        self.statuses = {status.name: status for status in statuses}
        self.host_port, self.deleted = 5001, ""
        self.shown_files: object = None
        self.commands: list[object] = []
        self.did: list[str] = []
        self.ptys: list[Pty] = []
        self.go_on = asyncio.Event()
        self.fail: SandboxError | None = None

    def capabilities(self) -> frozenset[str]:
        return frozenset()

    async def acceleration(self) -> tuple[str, str]:
        return "tcg", "KVM did not boot a machine"

    async def create(
        self, _approved: object, options: LaunchOptions, _images: object, progress: Callable[[Progress], None]
    ):  # type: ignore[no-untyped-def]
        progress(Progress(LaunchPhase.PULL, "Everything was cached", 1.0, 0.5))
        progress(Progress(LaunchPhase.BOOT, "Software emulation", 0.5, 2.0))
        await self.go_on.wait()
        if self.fail is not None:
            raise self.fail
        self.statuses[options.name] = replace(STATUS, name=options.name, set_name=options.name)
        return self.statuses[options.name]

    async def start(self, name: str, progress: Callable[[Progress], None]) -> SandboxStatus:
        self.did.append(f"start {name}")
        self.statuses[name] = replace(self.statuses[name], state=State.RUNNING)
        return self.statuses[name]

    async def stop(self, name: str) -> None:
        self.did.append(f"stop {name}")
        self.statuses[name] = replace(self.statuses[name], state=State.STOPPED, started_at=0.0)

    async def remove(self, name: str) -> None:
        self.did.append(f"remove {name}")
        del self.statuses[name]

    async def repair(self, name: str) -> SandboxStatus:
        self.did.append(f"repair {name}")
        self.statuses[name] = replace(self.statuses[name], state=State.STOPPED, broken="", repair="")
        return self.statuses[name]

    async def list(self) -> tuple[SandboxStatus, ...]:
        return tuple(self.statuses.values())

    async def terminal(self, _name: str, command: object, *, columns: int, rows: int, user: str = "") -> Pty:
        self.commands.append(command)
        self.ptys.append(Pty())
        return self.ptys[-1]

    async def launch_commands(self, _name: str) -> Mapping[str, tuple[str, ...]]:
        return {"interactive": ("agent", "--tui"), "headless": (), "shell": ("/bin/sh",)}

    def files(self, _name: str, user: str = "") -> object:
        return self.shown_files

    async def renewed(self, _name: str) -> Mapping[str, str]:
        return {}

    async def ports(self, _name: str) -> tuple[PublishedPort, ...]:
        return (PublishedPort("80/tcp", "web", host_port=self.host_port),)

    async def set_port(self, name: str, container: str, host_port: int) -> tuple[PublishedPort, ...]:
        self.did.append(f"port {container} {host_port}")
        self.host_port = host_port
        return await self.ports(name)

    async def storage(self, _name: str) -> tuple[OwnStorage, ...]:
        return (OwnStorage("/data", "1g"),)

    async def mounts(self) -> tuple[HostMountFolder, ...]:
        return tuple(
            HostMountFolder(letter * 24, "hub.example/gh", f"/{letter}", "/x", sandboxes=(name,))
            for letter, name in (("a", "review"), ("b", "other"))
            if letter not in self.deleted
        )

    async def remove_mount(self, id: str) -> None:
        self.did.append(f"delete {id[0]}")
        self.deleted += id[0]

    async def hooks(self, _name: str) -> tuple[HookRun, ...]:
        return HOOKS

    async def decisions(self, _name: str) -> tuple[Decision, ...]:
        return DECISIONS

    async def log(self, _name: str) -> str:
        return "booted\n"

    async def details(self, _name: str) -> Mapping[str, str]:
        return {"Command line": "qemu-system-x86_64 -m 2048"}

    async def events(self) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    asyncio.set_event_loop(None)
    loop.close()


class Stage:
    """Page, backend and both loops."""

    def __init__(self, qtbot: QtBot, loop: asyncio.AbstractEventLoop, *statuses: SandboxStatus) -> None:
        self.qtbot, self.loop = qtbot, loop
        self.machines = Machines(*statuses)
        jobs = Jobs()

        async def reapprove(_sha: str, _environment: object) -> object:
            return object()

        sandboxes = Sandboxes(self.machines, None, jobs, reapprove)  # type: ignore[arg-type]
        approvals = SimpleNamespace(lock=lambda _name: None)
        self.studio = SimpleNamespace(jobs=jobs, sandboxes=sandboxes, approvals=approvals)
        theme = Theme(Mode.DARK)
        theme.install()
        self.navigator = Navigator()
        self.page = SandboxesPage(self.studio, theme, self.navigator)  # type: ignore[arg-type]
        qtbot.addWidget(self.page)
        self.page.resize(1200, 724)
        self.page.show()

    def run(self, work: Callable[[], object]) -> object:
        """Call something that starts tasks, inside the loop."""

        async def inside() -> object:
            return work()

        return self.loop.run_until_complete(inside())

    def open(self) -> None:
        self.loop.run_until_complete(self.page.opened())

    def until(self, met: Callable[[], bool]) -> None:
        """Turn both loops, as qasync does, until it holds."""

        async def turn() -> bool:
            self.qtbot.wait(1)
            await asyncio.sleep(0)
            return met()

        end = time.monotonic() + 20
        while not self.loop.run_until_complete(turn()):
            assert time.monotonic() < end, "it never happened"

    def click(self, name: str) -> None:
        target = self.page.findChild(QPushButton, name)
        assert target is not None, name
        self.run(lambda: self.qtbot.mouseClick(target, Qt.MouseButton.LeftButton))


def test_no_sandboxes_leads_to_the_composer(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop)
    stage.open()
    went: list[str] = []
    stage.navigator.go.connect(went.append)
    stage.click("state-compose")
    assert went == ["composer"]


def test_a_running_sandbox_opens_its_terminal_and_types_into_it(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.until(lambda: bool(stage.machines.ptys))
    panel = stage.page.panel("review")
    assert panel is not None
    stage.until(lambda: panel.view.vt.row(0).text == "hello from the guest")
    stage.run(lambda: qtbot.keyClicks(panel.view, "ls"))
    stage.until(lambda: stage.machines.ptys[0].typed == [b"l", b"s"])


def test_an_ended_session_can_be_opened_again(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.until(lambda: bool(stage.machines.ptys))
    panel = stage.page.panel("review")
    assert panel is not None
    stage.until(lambda: panel.session.active)
    stage.run(lambda: qtbot.keyClick(panel.view, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier))
    stage.until(panel.strip.isVisible)
    again = panel.strip.findChild(QPushButton, "banner-action")
    stage.run(lambda: qtbot.mouseClick(again, Qt.MouseButton.LeftButton))
    stage.until(lambda: len(stage.machines.ptys) == 2)


def test_launch_shows_phases_and_cancel_ends_it(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop)
    stage.open()
    stage.run(lambda: stage.studio.sandboxes.launch(APPROVED, LaunchOptions("fresh")))
    stage.page.show_sandbox("fresh")
    stage.until(lambda: stage.page.launch.steps[3].step.state is StepState.NOW)
    assert stage.page.launch.isVisible()
    assert [entry.text for entry in stage.page.launch.findChildren(ExactEntry)] == ["mirror.example:443"]
    assert stage.page.model.sandbox(0).set_name == "team-agent"
    assert [view.step.state for view in stage.page.launch.steps[:3]] == [StepState.DONE] * 3
    assert stage.page.model.rowCount() == 1
    stage.click("launchCancel")
    stage.until(lambda: stage.page.empty.isVisible())
    assert stage.page.model.rowCount() == 0


def test_a_start_promises_nothing_a_launch_does(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    """A start runs three phases, opens no install grants, and cancelling it removes no disk."""
    stage = Stage(qtbot, loop, replace(STATUS, state=State.STOPPED))
    stage.open()
    view = stage.page.launch
    view.begin(Launch("review", operation=Operation.START))
    stage.page._right.setCurrentWidget(view)
    assert [step.step.name for step in view.steps if step.isVisible()] == ["Boot", "Startup", "Ready"]
    words = [label.text() for label in view.findChildren(QLabel)]
    assert "Cancel stops the machine. Its disk stays as it is." in words
    assert "Nothing: starting again opens no install grants." in words
    view.begin(Launch("fresh"))
    assert "Not known yet: the approved lock is being read." in [x.text() for x in view.findChildren(QLabel)]


def test_a_failed_launch_says_what_where_and_remedy(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop)
    stage.open()
    stage.machines.fail = SandboxError("The disk is full.", where="convert", remedy="Free 2 GB.")
    stage.machines.go_on.set()
    stage.page.show_sandbox("fresh")
    stage.run(lambda: stage.studio.sandboxes.launch(APPROVED, LaunchOptions("fresh")))
    stage.until(lambda: stage.page.failed.isVisible())
    assert "The disk is full. Free 2 GB." in stage.page.failed.accessibleName()


def test_stop_then_start(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.click("sandboxSwitch")
    stage.until(lambda: stage.page.detail.switch.text() == "Start")
    stage.click("sandboxSwitch")
    stage.until(lambda: stage.page.detail.switch.text() == "Stop")
    assert stage.machines.did == ["stop review", "start review"]


def test_removing_asks_first_and_cancel_is_the_default(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()

    def ask() -> QDialog:
        actions = {action.objectName(): action for action in stage.page.detail.menu().actions()}
        stage.run(actions["remove"].trigger)
        return stage.page.findChild(QDialog, "confirmDialog")

    qtbot.keyClick(ask(), Qt.Key.Key_Return)
    assert stage.machines.did == []
    stage.until(lambda: stage.page.findChild(QDialog, "confirmDialog") is None)
    ask()
    stage.click("confirmGo")
    stage.until(lambda: stage.page.model.rowCount() == 0)
    assert stage.machines.did == ["remove review"] and stage.page.panel("review") is None


def test_a_broken_one_has_its_repair_in_the_row(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    broken = replace(STATUS, state=State.BROKEN, broken="disk image missing", repair="Rebuild the disk")
    stage = Stage(qtbot, loop, broken)
    stage.open()
    stage.until(lambda: stage.page.findChild(QPushButton, "repair-review") is not None)
    assert stage.page.findChild(QPushButton, "repair-review").text() == "Rebuild the disk"
    stage.click("repair-review")
    stage.until(lambda: stage.machines.did == ["repair review"])
    stage.until(lambda: not stage.page.list._repairs)


def test_network_filters_and_says_why(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, replace(STATUS, refused=2))
    stage.open()
    stage.page.detail.tabs.setCurrentIndex(NETWORK)
    view = stage.page.detail.network
    stage.until(lambda: view.model.rowCount() == 3)
    assert view.filter.button("refused").text() == "Refused 2"
    qtbot.mouseClick(view.filter.button("refused"), Qt.MouseButton.LeftButton)
    assert view.model.rowCount() == 2
    view.table.selectRow(0)
    kits: list[str] = []
    view.kit_wanted.connect(kits.append)
    rule = view.findChild(QPushButton, "networkRule")
    assert rule.text() == "gh 2, c[0], kit.yaml line 14"
    qtbot.mouseClick(rule, Qt.MouseButton.LeftButton)
    assert kits == ["hub.example/gh:2"]


def test_hostile_names_in_decisions_are_spelled_out(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.page.detail.tabs.setCurrentIndex(NETWORK)
    model = stage.page.detail.network.model
    stage.until(lambda: model.rowCount() == 3)
    assert "\u202e" not in str(model.index(2, 3).data()) and "202e" in str(model.index(2, 3).data())


def test_hooks_show_output_status_and_duration(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.page.detail.tabs.setCurrentIndex(LIFECYCLE)
    view = stage.page.detail.lifecycle
    stage.until(lambda: view.model.rowCount() == 2)
    assert [str(view.model.index(0, column).data()) for column in range(6)] == [
        "1", "agent 1", "Install", "agent", "Done, exit 0", "0:06",
    ]  # fmt: skip
    view.table.selectRow(1)
    assert "\x1b" not in view.output.pane.toPlainText() and "red" in view.output.pane.toPlainText()


def test_a_missing_workspace_is_told(qtbot: QtBot, loop: asyncio.AbstractEventLoop, tmp_path: Path) -> None:
    stage = Stage(qtbot, loop, replace(STATUS, workspace=str(tmp_path / "gone")))
    stage.open()
    stage.click("sandboxWorkspace")
    assert stage.page.banner.isVisible()


def test_acceleration_and_why_are_said(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    told: list[str] = []
    stage.page.status_changed.connect(lambda _icon, text: told.append(text))
    stage.open()
    stage.until(lambda: bool(told) and "Software emulation" in told[-1] and "KVM did not boot" in told[-1])


def test_state_survives(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS, replace(STATUS, id="2", name="other"))
    stage.open()
    stage.page.show_sandbox("other")
    stage.page.detail.tabs.setCurrentIndex(NETWORK)
    kept = stage.page.save_state()
    fresh = Stage(qtbot, loop, STATUS, replace(STATUS, id="2", name="other"))
    fresh.page.restore_state(kept | {"tab": kept["tab"]})
    assert fresh.page.detail.tabs.currentIndex() == NETWORK
    fresh.page.restore_state({"tab": "nonsense"})


def test_steps_follow_the_reports() -> None:
    todo = steps_of((), 0.0)
    assert [step.state for step in todo] == [StepState.NOW] + [StepState.TODO] * 7
    told = (Progress(LaunchPhase.PULL, seconds=0.0), Progress(LaunchPhase.COMPOSE, "5 Kits", seconds=7.0))
    steps = steps_of(told, 10.0)
    assert [step.state for step in steps[:4]] == [StepState.DONE, StepState.DONE, StepState.NOW, StepState.TODO]
    assert steps[0].seconds == 7.0 and steps[1].seconds is None and steps[2].seconds == 3.0
    done = steps_of((*told, Progress(LaunchPhase.READY, seconds=12.0)), 12.0)
    assert all(step.state is StepState.DONE for step in done)
    failed = steps_of(told, 10.0, failed=True)
    assert failed[2].state is StepState.FAILED


def test_only_what_closes_after_installation_is_listed() -> None:
    surface = Surface(network_install_allow=("a.example", "b.example"), network_runtime_allow=("b.example",))
    assert install_entries(surface) == ("a.example",) and install_entries(None) == ()


def test_ports_tab_publishes_where_it_is_wanted(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.page.detail.tabs.setCurrentIndex(PORTS)
    stage.until(lambda: len(stage.page.detail.ports.rows) == 1)
    row = stage.page.detail.ports.rows[0]
    row.change.click()
    row.field.setValue(9000)
    stage.run(row.apply.click)
    stage.until(lambda: stage.page.detail.ports.rows[0].address == "127.0.0.1:9000")
    assert stage.machines.did == ["port 80/tcp 9000"]


def test_storage_tab_shows_what_this_sandbox_shares_and_asks_before_it_deletes(
    qtbot: QtBot, loop: asyncio.AbstractEventLoop
) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.page.detail.tabs.setCurrentIndex(STORAGE)
    stage.until(lambda: len(stage.page.detail.storage.mounts) == 1)
    assert stage.page.detail.storage.mounts[0].mount.path == "/a"
    stage.page.detail.storage.mounts[0].delete.click()
    dialog = stage.page.findChild(QDialog, "confirmDialog")
    assert dialog is not None and stage.machines.did == []
    stage.run(dialog.findChild(QPushButton, "confirmGo").click)
    stage.until(lambda: stage.page.detail.storage.mounts == [])
    assert stage.machines.did == ["delete a"]


def test_log_is_followed_until_somebody_looks_up_and_searched(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.page.detail.tabs.setCurrentIndex(LOG)
    view = stage.page.detail.log
    stage.until(lambda: view.pane.toPlainText().startswith("booted"))
    lines = "".join(f"line {n}\n" for n in range(300))
    view.show_log(lines)
    bar = view.pane.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    qtbot.keyClicks(view.search, "line 42")
    assert view.pane.textCursor().selectedText() == "line 42" and not view.follow.isChecked()
    place = bar.value()
    view.show_log(lines + "more\n")
    assert bar.value() == place and view.pane.textCursor().selectedText() == "line 42"
    qtbot.keyClicks(view.search, "x")
    assert view._verdict.text() == "Not found"
    qtbot.mouseClick(view.follow, Qt.MouseButton.LeftButton)
    assert bar.value() == bar.maximum()


def test_refusal_offers_the_entry_that_would_have_let_it_through(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage(qtbot, loop, replace(STATUS, refused=2))
    stage.open()
    stage.page.detail.tabs.setCurrentIndex(NETWORK)
    view = stage.page.detail.network
    stage.until(lambda: view.model.rowCount() == 3)
    offered: list[Any] = []
    view.propose_wanted.connect(offered.append)
    view.show_decisions(
        [Decision(1.0, "runtime", "up.example", 443, "refused", reason="no entry names up.example:443")]
    )
    view.table.selectRow(0)
    qtbot.mouseClick(view.findChild(QPushButton, "networkPropose"), Qt.MouseButton.LeftButton)
    assert [proposal.text for proposal in offered] == ["up.example:443"]
    view.show_decisions([Decision(1.0, "runtime", "up.example", 443, "refused", path="c[0].config.runtime.deny[0]")])
    view.table.selectRow(0)
    assert not [b for b in view.findChildren(QPushButton, "networkPropose") if b.isVisible()]
    assert any("stronger than every allowance" in label.text() for label in view.findChildren(QLabel))
