"""One terminal session: pumps bytes between a sandbox's PTY and a view.

``run`` is awaited by whoever owns the page, so it ends with it. Reading stops while the view has more than it can
draw, so a guest that floods fills no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject, Signal

from kitstudio.runtime.backend import Terminal
from kitstudio.ui.terminal.screen_view import HIGH_WATER, ScreenView

_MAX_TYPED = 1 << 20

Open = Callable[[int, int], Awaitable[Terminal]]
"""Opens a PTY with (columns, rows)."""


class TerminalSession(QObject):
    """Connects one view with one PTY after the other. ``ended`` carries the exit status."""

    started = Signal()
    ended = Signal(int)

    def __init__(self, view: ScreenView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self._typed: asyncio.Queue[bytes | tuple[int, int]] | None = None
        self._typed_bytes = 0
        self._room: asyncio.Event | None = None
        view.typed.connect(self._keep)
        view.resized.connect(self._keep_size)
        view.drained.connect(self._go_on)

    @property
    def active(self) -> bool:
        """True while a PTY is connected."""
        return self._typed is not None

    async def run(self, open_terminal: Open) -> int:
        """Open a PTY at the view's size, so it is known before the first byte; stay until it ends."""
        terminal = await open_terminal(*self._view.grid_size())
        self._typed, self._room = asyncio.Queue(), asyncio.Event()
        self._typed_bytes = 0
        self.started.emit()
        writer = asyncio.ensure_future(self._write(terminal, self._typed))
        try:
            await self._read(terminal, self._room)
            status = await terminal.wait()
        finally:
            self._typed = self._room = None
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            await terminal.close()
        self.ended.emit(status)
        return status

    async def _read(self, terminal: Terminal, room: asyncio.Event) -> None:
        while data := await terminal.read():
            self._view.feed(data)
            while self._view.waiting > HIGH_WATER:
                room.clear()
                await room.wait()

    async def _write(self, terminal: Terminal, typed: asyncio.Queue[bytes | tuple[int, int]]) -> None:
        while True:
            item = await typed.get()
            if isinstance(item, tuple):
                await terminal.resize(*item)
            else:
                self._typed_bytes -= len(item)
                await terminal.write(item)

    def _keep(self, data: bytes) -> None:
        if self._typed is not None and self._typed_bytes + len(data) <= _MAX_TYPED:
            self._typed_bytes += len(data)
            self._typed.put_nowait(data)

    def _keep_size(self, columns: int, rows: int) -> None:
        if self._typed is not None:
            self._typed.put_nowait((columns, rows))

    def _go_on(self) -> None:
        if self._room is not None:
            self._room.set()
