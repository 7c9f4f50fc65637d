"""The supervisor's protocol and order of events, with a machine and guest that are not real."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from kitstudio.runtime import control, sessions, state
from kitstudio.runtime.backend import ExecResult, HookRun, SandboxError, State
from kitstudio.runtime.capabilities.agent_context import Body, Profile
from kitstudio.runtime.capabilities.lifecycle import Hook, Lifecycle, StartFile
from kitstudio.runtime.policy import Phase, RuleText
from kitstudio.runtime.proxy.log import read_decisions
from kitstudio.runtime.qemu.machine import Exit
from kitstudio.runtime.state import SandboxFolder
from kitstudio.runtime.supervisor import Parts, Supervisor
from tests.runtime.fakes import FakeGuest, FakeMachine, make_folder, make_guest_image


def hook(phase: str, command: str, index: int = 0, **more: Any) -> Hook:
    return Hook("r/kit:1", phase, index, f"capabilities[0].config.{phase}[{index}]", ("sh", "-c", command), **more)


class Running:
    def __init__(self, folder: SandboxFolder) -> None:
        self.folder = folder
        self.guest = FakeGuest()
        self.machines: list[FakeMachine] = []
        self.supervisor = Supervisor(folder.path, Parts(self._machine, cast(Any, lambda connection: self.guest)))
        self.task = asyncio.create_task(self.supervisor.run())
        self.steps: list[tuple[str, str]] = []

    def _machine(self) -> Any:
        self.machines.append(FakeMachine())
        return self.machines[-1]

    async def launch(self, *, first: bool = True) -> None:
        async with self._listening() as channel:
            await self.follow(channel, first=first)

    async def follow(self, channel: control.Channel, *, first: bool = True) -> None:
        while True:
            answer = await channel.receive_json()
            if answer.get("ready"):
                return
            self.steps.append((answer["progress"]["phase"], answer["progress"]["text"]))

    @asynccontextmanager
    async def _listening(self, first: bool = True) -> AsyncIterator[control.Channel]:
        while not (self.folder.path / "control.sock").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        async with control.request(self.folder.path, "launch", first=first) as channel:
            yield channel

    async def stop(self) -> None:
        async with control.request(self.folder.path, "stop") as channel:
            await channel.receive_json()
        await asyncio.wait_for(self.task, 10)


@asynccontextmanager
async def running(folder: SandboxFolder) -> AsyncIterator[Running]:
    made = Running(folder)
    try:
        yield made
    finally:
        made.supervisor._stop.set()
        await asyncio.wait_for(asyncio.gather(made.task, return_exceptions=True), 10)


@pytest.fixture(autouse=True)
def guest_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITSTUDIO_GUEST", str(make_guest_image(tmp_path / "guest")))


def hooks_of(folder: SandboxFolder) -> tuple[HookRun, ...]:
    return state.read_json(tuple[HookRun, ...], folder.hooks)


async def test_a_first_launch_goes_through_every_phase_in_order(tmp_path: Path) -> None:
    lifecycle = Lifecycle(
        (hook("install", "i1"), hook("install", "i2", 1, user="db")),
        (hook("startup", "s1"),),
        (StartFile("r/kit:1", "/etc/a", "text", 0o600), StartFile("r/kit:1", "/home/agent/b", "")),
    )
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle)) as box:
        phases: list[tuple[str, Phase]] = []

        def answer(argv: tuple[str, ...]) -> ExecResult:
            phases.append((argv[-1], box.supervisor._proxy.phase))
            assert box.guest.files["/etc/a"] == b"text"
            return ExecResult(0, argv[-1].encode(), b"")

        box.guest.answer = answer
        await box.launch()
        assert phases == [("i1", Phase.INSTALL), ("i2", Phase.INSTALL), ("s1", Phase.RUNTIME)]
        assert list(dict.fromkeys(phase for phase, _ in box.steps)) == [
            "boot", "install hooks", "close install grants", "startup", "ready",
        ]  # fmt: skip
        assert [identity.uid for _, identity, _, _ in box.guest.ran] == [0, 70, 1000]
        assert box.guest.modes == {"/etc/a": (1000, 1000, 0o600), "/home/agent/b": (1000, 1000, 0o644)}
        record = box.folder.read()
        assert record.state is State.RUNNING and record.created
        assert [(h.phase, h.index, h.user, h.status, h.output) for h in hooks_of(box.folder)] == [
            ("install", 0, "root", 0, "i1"), ("install", 1, "db", 0, "i2"), ("startup", 0, "agent", 0, "s1"),
        ]  # fmt: skip
        await box.stop()
        assert box.folder.read().state is State.STOPPED
        assert box.machines[0].stops == 1


async def test_a_later_start_runs_startup_hooks_only_and_keeps_files_that_say_so(tmp_path: Path) -> None:
    lifecycle = Lifecycle(
        (hook("install", "i1"),), (hook("startup", "s1"),), (StartFile("k", "/keep", "new", overwrite=False),)
    )
    folder = make_folder(tmp_path / "box", lifecycle=lifecycle, created=True)
    async with running(folder) as box:
        box.guest.files["/keep"] = b"old"
        async with box._listening(first=False) as channel:
            await box.follow(channel)
        assert [argv[-1] for argv, *_ in box.guest.ran] == ["s1"]
        assert box.guest.files["/keep"] == b"old"


async def test_a_hook_sees_what_it_lists_and_the_sandboxs_own_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PATH", "TERM", "OLDPWD", "HOSTNAME", "WANTED"):
        monkeypatch.setenv(name, "/host-sentinel")
    lifecycle = Lifecycle(startup=(hook("startup", "s", env=("WANTED", "MISSING")),))
    folder = make_folder(tmp_path / "box", lifecycle=lifecycle)
    async with running(folder) as box:
        await box.launch()
        env = box.guest.ran[0][2]
    assert env == {
        "PATH": "/bin", "HOME": "/home/agent", "HOSTNAME": "box", "TERM": "xterm-256color", "PWD": "/work",
        "WANTED": "w",
    }  # fmt: skip


async def test_a_failing_hook_names_kit_and_index_stops_the_rest_and_is_no_sandbox_row_74(
    tmp_path: Path,
) -> None:
    lifecycle = Lifecycle((hook("install", "bad", 2), hook("install", "never", 3)), (hook("startup", "s"),))
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle)) as box:
        box.guest.answer = lambda argv: ExecResult(3, b"", b"no such package\n")
        with pytest.raises(SandboxError, match="install hook 3 of r/kit:1 failed with status 3") as caught:
            await box.launch()
        assert "no such package" in caught.value.what
        assert caught.value.where == "r/kit:1: capabilities[0].config.install[2]"
        await asyncio.wait_for(box.task, 10)
        assert [argv[-1] for argv, *_ in box.guest.ran] == ["bad"]
        assert not box.folder.read().created
        assert box.machines[0].ended.done()


async def test_secret_inputs_stand_in_no_record_log_or_message(tmp_path: Path) -> None:
    lifecycle = Lifecycle((hook("install", "login hunter22", description="hunter22"),))
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle, secrets=("hunter22",))) as box:
        box.guest.answer = lambda argv: ExecResult(1, b"bad password hunter22", b"")
        with pytest.raises(SandboxError) as caught:
            await box.launch()
        assert box.guest.ran[0][0][2] == "login hunter22"
        assert "hunter22" not in str(caught.value) and "<secret>" in str(caught.value)
        assert "hunter22" not in repr(box.steps)
        await asyncio.wait_for(box.task, 10)
        for file in (box.folder.hooks, box.folder.record):
            assert "hunter22" not in file.read_text()
        assert box.folder.launch.stat().st_mode & 0o077 == 0


async def test_a_failing_startup_of_an_existing_sandbox_leaves_it_broken_with_a_repair(tmp_path: Path) -> None:
    lifecycle = Lifecycle(startup=(hook("startup", "bad"),))
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle, created=True)) as box:
        box.guest.answer = lambda argv: ExecResult(1, b"", b"")
        with pytest.raises(SandboxError):
            await box.launch()
        await asyncio.wait_for(box.task, 10)
        record = box.folder.read()
        assert record.state is State.BROKEN and "startup hook 1" in record.broken and record.repair == "Start again"


async def test_a_background_hook_does_not_hold_the_boot(tmp_path: Path) -> None:
    lifecycle = Lifecycle(startup=(hook("startup", "daemon", background=True), hook("startup", "after", 1)))
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle)) as box:
        box.guest.hold["daemon"] = asyncio.Event()
        await box.launch()
        assert [h.status for h in sorted(hooks_of(box.folder), key=lambda h: h.index)] == [None, 0]


async def test_a_client_that_goes_away_takes_its_launch_down(tmp_path: Path) -> None:
    lifecycle = Lifecycle((hook("install", "long"),))
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle)) as box:
        box.guest.hold["long"] = asyncio.Event()
        async with box._listening() as channel:
            while ("install hooks", "r/kit:1: sh -c long") not in box.steps:
                step = (await channel.receive_json())["progress"]
                box.steps.append((step["phase"], step["text"]))
            while not box.guest.ran:  # noqa: ASYNC110
                await asyncio.sleep(0)
        await asyncio.wait_for(box.task, 10)
        assert box.guest.cancelled == [("sh", "-c", "long")]
        assert box.machines[0].ended.done()
        assert not box.folder.read().created


async def test_a_start_that_is_called_off_leaves_the_sandbox_stopped(tmp_path: Path) -> None:
    lifecycle = Lifecycle(startup=(hook("startup", "long"),))
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle, created=True)) as box:
        box.guest.hold["long"] = asyncio.Event()
        async with box._listening(first=False):
            while not box.guest.ran:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        await asyncio.wait_for(box.task, 10)
        assert box.folder.read().state is State.STOPPED and not box.folder.read().broken


async def test_a_machine_that_dies_during_a_hook_ends_the_launch_with_its_reason(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box", lifecycle=Lifecycle((hook("install", "long"),)))) as box:
        box.guest.hold["long"] = asyncio.Event()
        launch = asyncio.create_task(box.launch())
        while not box.guest.ran:  # noqa: ASYNC110
            await asyncio.sleep(0)
        box.machines[0].crash(Exit.PANIC, "The guest crashed. Its last words: oops")
        with pytest.raises(SandboxError, match="last words: oops"):
            await launch


async def test_a_machine_that_dies_later_leaves_a_broken_sandbox(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box")) as box:
        await box.launch()
        box.machines[0].crash(Exit.KILLED, "QEMU was killed by signal 9.")
        await asyncio.wait_for(box.task, 10)
        record = box.folder.read()
        assert record.state is State.BROKEN
        assert "killed by signal 9" in record.broken and record.repair == "Start again"
        assert record.supervisor is None and record.machine is None


async def test_a_guest_that_powers_itself_off_is_stopped_not_broken(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box")) as box:
        await box.launch()
        box.machines[0].crash(Exit.STOPPED, "The machine was stopped.")
        await asyncio.wait_for(box.task, 10)
        assert box.folder.read().state is State.STOPPED


async def test_a_lost_control_connection_is_made_again(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box")) as box:
        await box.launch()
        box.guest.ports.clear()
        box.machines[0].connections[0].lost.set()
        while 3128 not in box.guest.ports:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert len(box.machines[0].connections) == 2


async def test_commands_run_as_the_agent_with_its_environment(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box")) as box:
        await box.launch()
        box.guest.answer = lambda argv: ExecResult(5, b"out", b"err")
        result = await sessions.execute(
            box.folder.path, ["tool", "a b"], stdin=b"", user="", env={"X": "1"}, timeout=None
        )
        assert result == ExecResult(5, b"out", b"err")
        argv, identity, env, cwd = box.guest.ran[-1]
        assert argv == ("tool", "a b") and cwd == "/work"
        assert (identity.uid, identity.gid, identity.groups) == (1000, 1000, (999,))
        assert env["X"] == "1" and env["SECRET"] == "s" and env["https_proxy"] == "http://127.0.0.1:3128"
        echoed = await sessions.execute(
            box.folder.path, ["cat"], stdin=b"\x00\xff" * 70000, user="root", env={}, timeout=None
        )
        assert echoed.stdout == b"\x00\xff" * 70000
        assert box.guest.ran[-1][1].uid == 0
        headless = await sessions.execute(box.folder.path, [], stdin=b"", user="", env={}, timeout=None)
        assert headless.status == 5 and box.guest.ran[-1][0] == ("/agent", "--help")


async def test_output_is_handed_on_as_it_comes_where_somebody_takes_it(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "box")
    async with running(folder) as r:
        await r.launch()
        r.guest.answer = lambda argv: ExecResult(3, b"out", b"err")
        taken: list[tuple[bool, bytes]] = []

        def take(error: bool, data: bytes) -> None:
            taken.append((error, data))

        asked = sessions.execute(folder.path, ["x"], stdin=b"", user="", env={}, timeout=None, on_output=take)
        assert await asked == ExecResult(3, b"", b"")
        assert taken == [(False, b"out"), (True, b"err")]


async def test_an_unknown_user_is_named(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box")) as box:
        await box.launch()
        with pytest.raises(SandboxError, match="nobody"):
            await sessions.execute(box.folder.path, ["x"], stdin=b"", user="nobody", env={}, timeout=None)


async def test_a_command_ends_with_its_client(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box")) as box:
        await box.launch()
        box.guest.hold["sleep"] = asyncio.Event()
        work = asyncio.create_task(
            sessions.execute(box.folder.path, ["sleep"], stdin=b"", user="", env={}, timeout=None)
        )
        while not box.guest.ran:  # noqa: ASYNC110
            await asyncio.sleep(0)
        work.cancel()
        while not box.guest.cancelled:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_terminal_carries_bytes_sizes_and_the_exit_status(tmp_path: Path) -> None:
    lifecycle = Lifecycle(interactive=("-i",))
    async with running(make_folder(tmp_path / "box", lifecycle=lifecycle)) as box:
        await box.launch()
        terminal = await sessions.SocketTerminal.open(box.folder.path, [], columns=100, rows=30, user="")
        assert box.guest.ran[-1][0] == ("/agent", "-i")
        await terminal.resize(132, 43)
        await terminal.write(b"\x1b[31mhi")
        assert await terminal.read() == b"\x1b[31mhi"
        assert box.guest.terminals[0].sizes == [(100, 30), (132, 43)]
        await terminal.write(b"exit\n")
        assert await terminal.read() == b""
        assert await terminal.wait() == 7
        await terminal.close()
        assert box.guest.terminals[0].closed


async def test_the_supervisors_end_ends_open_terminals(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box")) as box:
        await box.launch()
        terminal = await sessions.SocketTerminal.open(box.folder.path, [], columns=80, rows=24, user="")
        await box.stop()
        assert await asyncio.wait_for(terminal.read(), 5) == b""
        await terminal.close()


async def test_the_proxy_behind_the_guests_port_obeys_the_phase(tmp_path: Path) -> None:
    rules = (RuleText(Phase.INSTALL, False, "a.test", "r/kit:1", "allow[0]", 3),)
    async with running(make_folder(tmp_path / "box", rules=rules)) as box:
        await box.launch()
        server = await asyncio.start_server(lambda r, w: box.guest.ports[3128](r, w, "127.0.0.1", 1), "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
            assert b"no entry names a.test:443" in await reader.read()
            writer.close()
        (row,) = read_decisions(box.folder.decisions)
        assert (row.phase, row.verdict) == ("runtime", "refused")


async def test_the_agents_profile_points_at_bodies_and_keeps_what_was_there_row_80(tmp_path: Path) -> None:
    profile = Profile("/work/../AGENTS.md", (Body("k", "/kit/ctx.md"), Body("m", "/.kit-context/02-m.md", "be kind")))
    async with running(make_folder(tmp_path / "box", profile=profile)) as box:
        box.guest.files["/work/../AGENTS.md"] = b"mine\xff\n"
        await box.launch()
        text = box.guest.files["/work/../AGENTS.md"]
        assert text.startswith(b"mine\xff\n") and b"/kit/ctx.md" in text and b"be kind" not in text
        assert box.guest.files["/.kit-context/02-m.md"] == b"be kind"


async def test_requests_before_ready_and_unknown_ones_are_answered(tmp_path: Path) -> None:
    async with running(make_folder(tmp_path / "box", lifecycle=Lifecycle((hook("install", "long"),)))) as box:
        box.guest.hold["long"] = asyncio.Event()
        launch = asyncio.create_task(box.launch())
        while not box.guest.ran:  # noqa: ASYNC110
            await asyncio.sleep(0)
        with pytest.raises(SandboxError, match="still starting"):
            await sessions.execute(box.folder.path, ["x"], stdin=b"", user="", env={}, timeout=None)
        async with control.request(box.folder.path, "launch") as channel:
            with pytest.raises(SandboxError, match="already being started"):
                await channel.receive_json()
        async with control.request(box.folder.path, "fly") as channel:
            with pytest.raises(SandboxError, match="'fly'"):
                await channel.receive_json()
        box.guest.hold["long"].set()
        await launch


async def test_the_socket_works_in_a_folder_deeper_than_a_socket_address(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120) / "box"
    async with running(make_folder(deep)) as box:
        await box.launch()
        async with control.request(deep, "status") as channel:
            assert (await channel.receive_json())["refused"] == 0


async def test_nobody_listens_means_not_running(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="not running"):
        async with control.request(tmp_path, "status"):
            raise AssertionError
