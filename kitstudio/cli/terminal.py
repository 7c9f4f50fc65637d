"""A person's terminal joined to one in a sandbox: raw bytes both ways, size kept, always restored."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Awaitable, Callable

from kitstudio.cli.output import UsageError
from kitstudio.runtime.backend import Terminal

CHUNK = 65_536


async def run_terminal(open_terminal: Callable[[int, int], Awaitable[Terminal]]) -> int:
    """Join until the process in the sandbox ends; its exit status."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("This needs a terminal on standard input and output.", remedy="Use exec without -t.")
    size = shutil.get_terminal_size()
    terminal = await open_terminal(size.columns, size.lines)
    loop = asyncio.get_running_loop()
    source, target = sys.stdin.fileno(), sys.stdout.fileno()
    before = termios.tcgetattr(source)
    typed: asyncio.Queue[bytes] = asyncio.Queue()
    resized = asyncio.Event()
    tty.setraw(source)
    loop.add_reader(source, lambda: typed.put_nowait(os.read(source, CHUNK)))
    loop.add_signal_handler(signal.SIGWINCH, resized.set)
    try:
        return await _join(terminal, typed, resized, target)
    finally:
        loop.remove_reader(source)
        loop.remove_signal_handler(signal.SIGWINCH)
        termios.tcsetattr(source, termios.TCSADRAIN, before)
        await terminal.close()


async def _join(terminal: Terminal, typed: asyncio.Queue[bytes], resized: asyncio.Event, target: int) -> int:
    async def keys() -> None:
        while data := await typed.get():
            await terminal.write(data)

    async def sizes() -> None:
        while True:
            await resized.wait()
            resized.clear()
            size = shutil.get_terminal_size()
            await terminal.resize(size.columns, size.lines)

    beside = [asyncio.create_task(keys()), asyncio.create_task(sizes())]
    try:
        while data := await terminal.read():
            view = memoryview(data)
            while view:
                view = view[os.write(target, view) :]
        return await terminal.wait()
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
