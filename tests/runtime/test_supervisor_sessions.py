"""What a supervisor does about sessions and published ports, without a machine and on a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from kitstudio.runtime import control, sessions
from kitstudio.runtime.attendance import status_of
from kitstudio.runtime.backend import SandboxError, State
from kitstudio.runtime.capabilities.port import PlannedPort
from kitstudio.runtime.ports import PortChoices, write_choices
from kitstudio.runtime.state import SandboxFolder
from kitstudio.runtime.supervisor import Parts, Supervisor
from tests.runtime.fakes import make_folder, make_guest_image
from tests.runtime.test_supervisor import Running

WEB = PlannedPort(80, "web")


class Clock:
    """Stands still until the test moves it; ``sleep`` ends when it was moved far enough."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._moved = asyncio.Condition()
        self.sleepers = 0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        self.sleepers += 1
        async with self._moved:
            await self._moved.wait_for(lambda: self.now >= end)

    async def move(self, seconds: float) -> None:
        self.now += seconds
        async with self._moved:
            self._moved.notify_all()


@asynccontextmanager
async def sandbox(folder: SandboxFolder, clock: Clock | None = None) -> AsyncIterator[Running]:
    box = Running(folder)
    box.task.cancel()
    if clock is not None:
        parts = Parts(box._machine, cast(Any, lambda connection: box.guest), clock, clock.sleep)
        box.supervisor = Supervisor(folder.path, parts)
    else:
        box.supervisor = Supervisor(folder.path, Parts(box._machine, cast(Any, lambda connection: box.guest)))
    box.task = asyncio.create_task(box.supervisor.run())
    try:
        yield box
    finally:
        box.supervisor._stop.set()
        await asyncio.wait_for(asyncio.gather(box.task, return_exceptions=True), 10)


@asynccontextmanager
async def service(answer: bytes) -> AsyncIterator[int]:
    """A program that says something to everybody, then repeats what it hears."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield int(server.sockets[0].getsockname()[1])


@pytest.fixture(autouse=True)
def guest_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITSTUDIO_GUEST", str(make_guest_image(tmp_path / "guest")))


async def bound(box: Running) -> dict[str, int]:
    async with control.request(box.folder.path, "ports") as channel:
        return cast("dict[str, int]", (await channel.receive_json())["bound"])


async def talk(port: int, words: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(words)
    writer.write_eof()
    async with asyncio.timeout(10):
        found = await reader.read()
    writer.close()
    return found


async def test_idle_sandbox_is_stopped_at_its_limit_and_the_countdown_is_told_row_95(tmp_path: Path) -> None:
    clock = Clock()
    async with sandbox(make_folder(tmp_path / "box", idle=1800.0), clock) as box:
        await box.launch()
        status = await status_of(box.folder)
        assert status.idle_stop > status.started_at + 1700
        while not clock.sleepers:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await clock.move(1799)
        await asyncio.sleep(0)
        assert not box.task.done()
        await clock.move(2)
        await asyncio.wait_for(box.task, 10)
    status = await status_of(box.folder)
    assert (status.state, status.note) == (State.STOPPED, "Stopped after 30 minutes without a session.")
    assert status.idle_stop == 0 and not status.broken


async def test_session_holds_the_sandbox_and_the_time_begins_anew_at_its_end_row_95(tmp_path: Path) -> None:
    clock = Clock()
    async with sandbox(make_folder(tmp_path / "box", idle=60.0), clock) as box:
        await box.launch()
        box.guest.hold["wait"] = asyncio.Event()
        command = asyncio.create_task(
            sessions.execute(box.folder.path, ["wait"], stdin=b"", user="", env={}, timeout=None)
        )
        while not box.guest.ran or box.guest.ran[-1][0] != ("wait",):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert (await status_of(box.folder)).idle_stop == 0
        await clock.move(10_000)
        box.guest.hold["wait"].set()
        await command
        assert not box.task.done()
        while (await status_of(box.folder)).idle_stop == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await clock.move(61)
        await asyncio.wait_for(box.task, 10)
    assert (await status_of(box.folder)).note == "Stopped after 1 minute without a session."


async def test_sandbox_without_a_limit_has_no_countdown_row_95(tmp_path: Path) -> None:
    clock = Clock()
    async with sandbox(make_folder(tmp_path / "box", idle=0.0), clock) as box:
        await box.launch()
        await clock.move(1e9)
        assert (await status_of(box.folder)).idle_stop == 0
        assert clock.sleepers == 0


async def test_connection_to_a_published_port_is_a_session_and_carries_both_ways(tmp_path: Path) -> None:
    clock = Clock()
    async with (
        service(b"hello ") as guest_port,
        sandbox(make_folder(tmp_path / "box", idle=60.0, ports=(WEB,)), clock) as box,
    ):
        box.guest.services[80] = guest_port
        await box.launch()
        port = (await bound(box))["80/tcp"]
        assert (await status_of(box.folder)).ports == (f"127.0.0.1:{port}->80/tcp",)
        assert await talk(port, b"x" * 300_000) == b"hello " + b"x" * 300_000
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.readexactly(6) == b"hello "
        await clock.move(1000)
        assert box.supervisor._sessions.left() is None
        writer.close()
        await writer.wait_closed()


async def test_port_nobody_listens_on_closes_the_connection(tmp_path: Path) -> None:
    async with sandbox(make_folder(tmp_path / "box", ports=(WEB,))) as box:
        await box.launch()
        assert await talk((await bound(box))["80/tcp"]) == b""


async def test_published_port_survives_a_lost_control_connection_row_86(tmp_path: Path) -> None:
    async with service(b"hello") as guest_port, sandbox(make_folder(tmp_path / "box", ports=(WEB,))) as box:
        box.guest.services[80] = guest_port
        await box.launch()
        port = (await bound(box))["80/tcp"]
        assert await talk(port) == b"hello"
        box.guest.ports.clear()
        box.machines[0].connections[0].lost.set()
        while 3128 not in box.guest.ports:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert (await bound(box))["80/tcp"] == port
        assert await talk(port) == b"hello"


async def test_fixed_port_that_is_taken_ends_the_launch_by_name(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "box", ports=(WEB,), created=True)
    async with service(b"") as taken:
        write_choices(folder.path, PortChoices(fixed={"80/tcp": taken}))
        async with sandbox(folder) as box:
            with pytest.raises(SandboxError, match=f"Port {taken} of this computer, where 80/tcp"):
                await box.launch(first=False)


async def test_last_port_that_is_taken_gives_way_to_a_free_one(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "box", ports=(WEB,))
    async with service(b"") as taken:
        write_choices(folder.path, PortChoices(last={"80/tcp": taken}))
        async with sandbox(folder) as box:
            await box.launch()
            assert (await bound(box))["80/tcp"] not in (0, taken)


async def test_ports_are_open_only_while_the_sandbox_runs(tmp_path: Path) -> None:
    async with service(b"hello") as guest_port:
        async with sandbox(make_folder(tmp_path / "box", ports=(WEB,))) as box:
            box.guest.services[80] = guest_port
            await box.launch()
            port = (await bound(box))["80/tcp"]
            reader, _ = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.readexactly(5) == b"hello"
            await box.stop()
            assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await talk(port)
        assert (await status_of(box.folder)).ports == ()


async def test_flood_of_connections_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kitstudio.runtime.ports.MOST_CONNECTIONS", 3)
    async with service(b"hello") as guest_port, sandbox(make_folder(tmp_path / "box", ports=(WEB,))) as box:
        box.guest.services[80] = guest_port
        await box.launch()
        port = (await bound(box))["80/tcp"]
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for reader, _ in held:
            assert await reader.readexactly(5) == b"hello"
        assert await talk(port) == b""
        for _, writer in held:
            writer.close()
