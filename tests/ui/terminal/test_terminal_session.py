"""A session between a PTY and a view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pytestqt.qtbot import QtBot

from kitstudio.ui.terminal.screen_view import HIGH_WATER
from kitstudio.ui.terminal.session import TerminalSession
from kitstudio.ui.terminal.view import TerminalView
from kitstudio.ui.theme import Mode, Theme


class FakeTerminal:
    """Hands out portions, then waits for ``end``; remembers what it was told, in order."""

    def __init__(self, *portions: bytes, status: int = 0) -> None:
        self.portions = list(portions)
        self.status = status
        self.told: list[bytes | tuple[int, int]] = []
        self.closed = False
        self.read_bytes = 0
        self._end = asyncio.Event()

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        if self.portions:
            portion = self.portions.pop(0)
            self.read_bytes += len(portion)
            return portion
        await self._end.wait()
        return b""

    async def write(self, data: bytes) -> None:
        self.told.append(data)

    async def resize(self, columns: int, rows: int) -> None:
        self.told.append((columns, rows))

    async def wait(self) -> int:
        return self.status

    async def close(self) -> None:
        self.closed = True

    def end(self) -> None:
        self._end.set()


def run(coroutine, qtbot: QtBot):  # type: ignore[no-untyped-def]
    """Turn Qt's loop and asyncio's in one thread, as qasync does for the program."""
    loop = asyncio.new_event_loop()
    try:
        task = loop.create_task(coroutine)
        while not task.done():
            loop.run_until_complete(asyncio.sleep(0))
            qtbot.wait(1)
        return task.result()
    finally:
        loop.close()


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while True:
            if met():
                return
            await asyncio.sleep(0)


def make(qtbot: QtBot) -> TerminalView:
    view = TerminalView(Theme(Mode.DARK))
    qtbot.addWidget(view)
    view.resize(700, 300)
    view.show()
    return view


def test_size_is_told_before_the_first_byte_and_the_end_is_told_row_98(qtbot: QtBot) -> None:
    view = make(qtbot)
    session = TerminalSession(view)
    opened: list[tuple[int, int]] = []

    async def scenario() -> tuple[FakeTerminal, int]:
        terminal = FakeTerminal(b"hello", status=3)

        async def opens(columns: int, rows: int) -> FakeTerminal:
            opened.append((columns, rows))
            return terminal

        task = asyncio.ensure_future(session.run(opens))
        await until(lambda: not terminal.portions and session.active)
        view.typed.emit(b"x")
        view.resized.emit(100, 30)
        await until(lambda: len(terminal.told) == 2)
        terminal.end()
        return terminal, await task

    terminal, status = run(scenario(), qtbot)
    assert opened == [(view.vt.columns, view.vt.lines)] and opened[0] != (80, 24)
    assert terminal.told == [b"x", (100, 30)] and terminal.closed and status == 3
    assert not session.active


def test_a_flood_waits_for_the_view(qtbot: QtBot) -> None:
    view = make(qtbot)
    session = TerminalSession(view)
    portion = b"z" * (1 << 18)
    most: list[int] = []

    async def scenario() -> None:
        terminal = FakeTerminal(*[portion] * 16)

        async def opens(_columns: int, _rows: int) -> FakeTerminal:
            return terminal

        task = asyncio.ensure_future(session.run(opens))
        while terminal.portions or view.waiting:
            most.append(view.waiting)
            await asyncio.sleep(0)
        terminal.end()
        await task

    run(scenario(), qtbot)
    assert max(most) <= HIGH_WATER + len(portion)


def test_cancelling_hangs_up(qtbot: QtBot) -> None:
    view = make(qtbot)
    session = TerminalSession(view)

    async def scenario() -> FakeTerminal:
        terminal = FakeTerminal(b"x")

        async def opens(_columns: int, _rows: int) -> FakeTerminal:
            return terminal

        task = asyncio.ensure_future(session.run(opens))
        await until(lambda: session.active)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return terminal

    assert run(scenario(), qtbot).closed and not session.active
