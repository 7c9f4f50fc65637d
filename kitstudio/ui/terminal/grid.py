"""The state of one terminal: cells, history, alternate screen, margins. Built on pyte's screen.

What a guest can make grow is bounded: history, savepoints, combining marks, titles. What a guest may not do is
not implemented: reading or writing the clipboard, reporting the title, resizing the window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from unicodedata import combining, normalize

import pyte
from pyte import charsets
from pyte.modes import DECAWM, DECOM, IRM
from pyte.screens import Char, Cursor, Margins, Savepoint, StaticDefaultDict, wcwidth

from kitstudio.ui.terminal.cells import BLANK, Buffer, Cells, Line, Row, cells_of, copy_of

HISTORY = 10_000

APPLICATION_CURSOR = 1 << 5
_MAX_MARKS = 8


@dataclass(slots=True)
class _Saved:
    """The main screen while the alternate one is shown."""

    buffer: dict[int, StaticDefaultDict[int, Char]]
    cursor: Cursor
    margins: Margins | None


class Grid(pyte.Screen):
    """pyte's screen, with what it lacks."""

    def __init__(self, columns: int, lines: int, history: int = HISTORY) -> None:
        self.history: deque[Row] = deque(maxlen=history)
        self.dropped = 0
        """Lines lost from the top of the history: line numbers are absolute, so a selection stays in place."""
        self._main: _Saved | None = None
        self._cells = cells_of(BLANK)
        self._last = ""
        super().__init__(columns, lines)
        self.buffer = Buffer()

    @property
    def default_char(self) -> Char:
        return BLANK

    @property
    def alternate(self) -> bool:
        """True while a full-screen program has the screen for itself."""
        return self._main is not None

    def total(self) -> int:
        """Lines in history and on screen."""
        return len(self.history) + self.lines

    def row(self, index: int) -> Row:
        """Line ``index`` counted from the oldest line kept."""
        if index < len(self.history):
            return self.history[index]
        return self._freeze(self.buffer[index - len(self.history)])

    def rows(self) -> Iterator[Row]:
        """Every line kept, oldest first."""
        yield from self.history
        for y in range(self.lines):
            yield self._freeze(self.buffer[y])

    def clear_history(self) -> None:
        """Forget what scrolled away."""
        self.dropped += len(self.history)
        self.history.clear()

    # What pyte does differently, or not at all

    def draw(self, data: str) -> None:
        charset = self.g1_charset if self.charset else self.g0_charset
        if charset is not charsets.LAT1_MAP:
            data = data.translate(charset)
        if data.isascii() and IRM not in self.mode and DECAWM in self.mode:
            self._draw_ascii(data)
        else:
            for char in data:
                self._draw_char(char)
        self._last = data[-1:]

    def index(self) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y != bottom:
            self.cursor.y = min(self.cursor.y + 1, self.lines - 1)
            return
        self.scroll_up(top, bottom, 1)

    def reset(self) -> None:
        main = getattr(self, "_main", None)
        if main is not None:
            self.buffer, self._main = main.buffer, None
        super().reset()
        self.savepoints.clear()

    def save_cursor(self) -> None:
        self.savepoints.clear()
        super().save_cursor()

    def restore_cursor(self) -> None:
        kept: list[Savepoint] = list(self.savepoints)
        super().restore_cursor()
        self.savepoints[:] = [point._replace(cursor=copy_of(point.cursor)) for point in kept]
        if kept and not kept[-1].origin:
            self.mode.discard(DECOM)
        if kept and not kept[-1].wrap:
            self.mode.discard(DECAWM)

    def cursor_to_line(self, line: int | None = None) -> None:
        top = self.margins.top if self.margins is not None and DECOM in self.mode else 0
        self.cursor.y = (line or 1) - 1 + top
        self.ensure_vbounds()

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        if how not in (0, 1, 2):
            return
        self.dirty.add(self.cursor.y)
        line = self.buffer[self.cursor.y]
        start = self.cursor.x if how == 0 else 0
        end = min(self.cursor.x + 1, self.columns) if how == 1 else self.columns
        self._erase(line, start, end)
        if how != 1 and isinstance(line, Line):
            line.wrapped = False

    def erase_in_display(self, how: int = 0, *args: object, **kwargs: object) -> None:
        if how == 3:
            self.clear_history()
            return
        if how not in (0, 1, 2):
            return
        if how == 2 and not self.alternate:
            self._keep_visible()
        rows = {0: range(self.cursor.y + 1, self.lines), 1: range(self.cursor.y), 2: range(self.lines)}[how]
        self.dirty.update(rows)
        for y in rows:
            self.buffer.pop(y, None)
            if self.cursor.attrs.bg != "default":
                self._erase(self.buffer[y], 0, self.columns)
        if how != 2:
            self.erase_in_line(how)

    def erase_characters(self, count: int | None = None) -> None:
        self.dirty.add(self.cursor.y)
        line = self.buffer[self.cursor.y]
        self._erase(line, self.cursor.x, min(self.cursor.x + (count or 1), self.columns))

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Lines leave into the history and come back from it; the cursor stays on its text."""
        lines, columns = lines or self.lines, columns or self.columns
        if (lines, columns) == (self.lines, self.columns):
            return
        if self._main is not None:
            self._shift_rows(self._main.buffer, self._main.cursor, lines, keep=True)
        self._shift_rows(self.buffer, self.cursor, lines, keep=self._main is None)
        for buffer in [self.buffer] + ([self._main.buffer] if self._main is not None else []):
            for line in buffer.values():
                for x in [x for x in line if x >= columns]:
                    del line[x]
        self.lines, self.columns = lines, columns
        self.margins = None
        self.tabstops = set(range(8, columns, 8))
        self.dirty.update(range(lines))
        for cursor in [self.cursor] + ([self._main.cursor] if self._main is not None else []):
            cursor.x, cursor.y = min(cursor.x, columns - 1), min(max(cursor.y, 0), lines - 1)

    # Private helpers

    def scroll_between(self, top: int, bottom: int) -> None:
        top, bottom = max(top, 1) - 1, min(bottom, self.lines) - 1
        if bottom > top:
            self.margins = None if (top, bottom) == (0, self.lines - 1) else Margins(top, bottom)
            self.cursor_position()

    def show_alternate(self, on: bool, *, cursor: bool) -> None:
        self.dirty.update(range(self.lines))
        if on and self._main is None:
            self._main = _Saved(self.buffer, copy_of(self.cursor), self.margins)
            self.buffer = Buffer()
            self.margins = None
        elif not on and self._main is not None:
            hidden = self.cursor.hidden
            self.buffer, self.margins = self._main.buffer, self._main.margins
            if cursor:
                self.cursor = self._main.cursor
                self.cursor.hidden = hidden
            self._main = None
            self.ensure_hbounds()
            self.ensure_vbounds()

    def soft_reset(self) -> None:
        self.margins = None
        self.mode.difference_update({IRM, DECOM, APPLICATION_CURSOR})
        self.mode.add(DECAWM)
        self.cursor.hidden = False
        self.cursor.attrs = BLANK
        self.charset, self.g0_charset = 0, charsets.LAT1_MAP
        self.savepoints.clear()

    def _cell(self, char: str) -> Char:
        return self._shared()[char]

    def _shared(self) -> Cells:
        """The shared cells of the current rendition: history costs a pointer a cell."""
        attrs = self.cursor.attrs
        if self._cells.attrs is not attrs:
            self._cells = cells_of(attrs)
        return self._cells

    def _draw_ascii(self, data: str) -> None:
        position, cell = 0, self._shared().__getitem__
        while position < len(data):
            if self.cursor.x >= self.columns:
                self._wrap()
            x = self.cursor.x
            part = data[position : position + self.columns - x]
            line = self.buffer[self.cursor.y]
            self._mend(line, x, x + len(part))
            line.update(zip(range(x, x + len(part)), map(cell, part), strict=True))
            self.dirty.add(self.cursor.y)
            self.cursor.x += len(part)
            position += len(part)

    def _draw_char(self, char: str) -> None:
        width = wcwidth(char)
        if width <= 0:
            if width == 0 and char != "\x00":
                self._combine(char)
            return
        if self.cursor.x + width > self.columns:
            if DECAWM in self.mode:
                self._wrap()
            else:
                self.cursor.x = max(self.columns - width, 0)
        if IRM in self.mode:
            self.insert_characters(width)
        line, x = self.buffer[self.cursor.y], self.cursor.x
        self._mend(line, x, x + width)
        line[x] = self._cell(char)
        if width == 2 and x + 1 < self.columns:
            line[x + 1] = self._cell("")
        self.dirty.add(self.cursor.y)
        self.cursor.x = min(x + width, self.columns)

    def _combine(self, char: str) -> None:
        x, line = self.cursor.x - 1, self.buffer[self.cursor.y]
        if x > 0 and line[x].data == "":
            x -= 1
        if x < 0 or len(line[x].data) > _MAX_MARKS or not (combining(char) or char in "\ufe0f\u200d"):
            return
        line[x] = line[x]._replace(data=normalize("NFC", line[x].data + char))
        self.dirty.add(self.cursor.y)

    def _wrap(self) -> None:
        line = self.buffer[self.cursor.y]
        if isinstance(line, Line):
            line.wrapped = True
        self.cursor.x = 0
        self.index()

    def _mend(self, line: StaticDefaultDict[int, Char], start: int, end: int) -> None:
        """Half of a wide character must not survive when the other half is overwritten."""
        if start and line[start].data == "":
            line[start - 1] = line[start - 1]._replace(data=" ")
        if end < self.columns and line[end].data == "":
            line[end] = line[end]._replace(data=" ")

    def _erase(self, line: StaticDefaultDict[int, Char], start: int, end: int) -> None:
        self._mend(line, start, end)
        blank = BLANK._replace(bg=self.cursor.attrs.bg)
        if blank == BLANK:
            for x in [x for x in line if start <= x < end]:
                del line[x]
        else:
            line.update(zip(range(start, end), repeat(blank)))

    def scroll_up(self, top: int, bottom: int, count: int) -> None:
        buffer = self.buffer
        for _ in range(count):
            if top == 0 and self._main is None:
                self._remember(buffer[0])
            for y in range(top, bottom):
                buffer[y] = buffer[y + 1]
            buffer.pop(bottom, None)
            if self.cursor.attrs.bg != "default":
                self._erase(buffer[bottom], 0, self.columns)
        self.dirty.update(range(top, bottom + 1))

    def scroll_down(self, count: int) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        for _ in range(min(count, bottom - top + 1)):
            for y in range(bottom, top, -1):
                self.buffer[y] = self.buffer[y - 1]
            self.buffer.pop(top, None)
        self.dirty.update(range(top, bottom + 1))

    def _keep_visible(self) -> None:
        """What a clear wipes from the main screen stays in the history, up to its last line with text."""
        last = max((y for y in range(self.lines) if y in self.buffer and self._freeze(self.buffer[y]).text), default=-1)
        for y in range(last + 1):
            self._remember(self.buffer[y])

    def _remember(self, line: StaticDefaultDict[int, Char]) -> None:
        if len(self.history) == self.history.maxlen:
            self.dropped += 1
        self.history.append(self._freeze(line))

    def _freeze(self, line: StaticDefaultDict[int, Char]) -> Row:
        if not line:
            return Row((), "")
        cells = [line[x] for x in range(min(max(line) + 1, self.columns))]
        while cells and cells[-1] == BLANK:
            cells.pop()
        wrapped = isinstance(line, Line) and line.wrapped
        return Row(tuple(cells), "".join([cell.data for cell in cells]), wrapped)

    def _shift_rows(
        self, buffer: dict[int, StaticDefaultDict[int, Char]], cursor: Cursor, lines: int, *, keep: bool
    ) -> None:
        """Move rows so that ``lines`` fit: blank rows below the cursor go first, then rows into the history."""
        if lines < self.lines:
            surplus = max(cursor.y + 1 - lines, 0)
            for _ in range(surplus):
                if keep:
                    self._remember(buffer[0])
                for y in range(self.lines - 1):
                    buffer[y] = buffer[y + 1]
                buffer.pop(self.lines - 1, None)
            cursor.y -= surplus
            for y in range(lines, self.lines):
                buffer.pop(y, None)
        elif keep:
            back = min(lines - self.lines, len(self.history)) if cursor.y == self.lines - 1 else 0
            if not back:
                return
            for y in range(self.lines - 1, -1, -1):
                buffer[y + back] = buffer[y]
            for y in range(back - 1, -1, -1):
                row = self.history.pop()
                line = Line(BLANK)
                line.wrapped = row.wrapped
                line.update(enumerate(row.cells))
                buffer[y] = line
            cursor.y += back
