"""The state of one terminal: cells, history, alternate screen, modes. Built on pyte's screen.

What a guest can make grow is bounded: history, savepoints, combining marks, titles. What a guest may not do is
not implemented: reading or writing the clipboard, reporting the title, resizing the window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from unicodedata import category, combining, normalize

import pyte
from pyte import charsets
from pyte.graphics import BG_AIXTERM, BG_ANSI, FG_AIXTERM, FG_ANSI, FG_BG_256, TEXT
from pyte.modes import DECAWM, DECCOLM, DECOM, DECSCNM, IRM, LNM
from pyte.screens import Char, Cursor, Margins, Savepoint, StaticDefaultDict, wcwidth

HISTORY = 10_000

APPLICATION_CURSOR = 1 << 5
MOUSE_CLICKS = 1000 << 5
MOUSE_DRAGS = 1002 << 5
MOUSE_ALL = 1003 << 5
MOUSE_SGR = 1006 << 5
FOCUS_EVENTS = 1004 << 5
BRACKETED_PASTE = 2004 << 5
_ALTERNATE = frozenset({47, 1047, 1049})
_MAX_MARKS = 8
_MAX_TITLE = 80
_BLANK = Char(" ")


@dataclass(frozen=True, slots=True)
class Row:
    """One line that left the screen: cells without trailing blanks, their text, whether it went on below."""

    cells: tuple[Char, ...]
    text: str
    wrapped: bool = False


class Line(StaticDefaultDict[int, Char]):
    """A live line; ``wrapped``: the text went on in the line below."""

    wrapped = False


@dataclass(slots=True)
class _Saved:
    """The main screen while the alternate one is shown."""

    buffer: dict[int, StaticDefaultDict[int, Char]]
    cursor: Cursor
    margins: Margins | None


class Screen(pyte.Screen):
    """pyte's screen, with what it lacks. ``reply`` carries answers to the guest; set it before feeding."""

    def __init__(self, columns: int, lines: int, history: int = HISTORY) -> None:
        self.history: deque[Row] = deque(maxlen=history)
        self.dropped = 0
        """Lines lost from the top of the history: line numbers are absolute, so a selection stays in place."""
        self.reply: Callable[[bytes], None] = lambda _data: None
        self.rang = False
        self.refused_clipboard = False
        self.cursor_shape = 1
        self._main: _Saved | None = None
        self._cells = _cells(_BLANK)
        self._last = ""
        super().__init__(columns, lines)
        self.buffer = _new_buffer(self)

    @property
    def default_char(self) -> Char:
        return _BLANK

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

    # Actions of the parser

    def control(self, char: str) -> None:
        match char:
            case "\x07":
                self.rang = True
            case "\x08":
                self.cursor_back()
            case "\x09":
                self.tab()
            case "\x0a" | "\x0b" | "\x0c":
                self.linefeed()
            case "\x0d":
                self.carriage_return()
            case "\x0e":
                self.shift_out()
            case "\x0f":
                self.shift_in()
            case _:
                return

    def escape(self, intermediates: str, final: str) -> None:
        if intermediates in ("(", ")"):
            self.define_charset(final, intermediates)
            return
        if intermediates == "#" and final == "8":
            self.alignment_display()
        if intermediates:
            return
        match final:
            case "7":
                self.save_cursor()
            case "8":
                self.restore_cursor()
            case "D":
                self.index()
            case "E":
                self.index()
                self.carriage_return()
            case "H":
                self.set_tab_stop()
            case "M":
                self.reverse_index()
            case "c":
                self.reset()
            case "=" | ">":
                return
            case _:
                return

    def csi(self, private: str, params: list[list[int]], intermediates: str, final: str) -> None:
        numbers = [param[0] for param in params]
        first = max(numbers[0], 0) if numbers else 0
        count = max(first, 1)
        if private == "?" and not intermediates and final in "hl":
            self._private_modes([n for n in numbers if n >= 0], final == "h")
        elif intermediates == " " and final == "q" and not private:
            self.cursor_shape = first if first <= 6 else 1
        elif intermediates == "!" and final == "p" and not private:
            self._soft_reset()
        elif private == ">" and final == "c" and not intermediates:
            self.reply(b"\x1b[>0;0;0c")
        elif private or intermediates:
            return
        elif final == "m":
            self._rendition(params)
        elif final == "h":
            self.mode.update(n for n in numbers if n in (IRM, LNM))
        elif final == "l":
            self.mode.difference_update(n for n in numbers if n in (IRM, LNM))
        else:
            self._plain_csi(final, numbers, first, count)

    def osc(self, text: str) -> None:
        code, _, value = text.partition(";")
        if code in ("0", "2"):
            self.title = clean_title(value)
        elif code == "52":
            self.refused_clipboard = True

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
        self._scroll_up(top, bottom, 1)

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
        self.savepoints[:] = [point._replace(cursor=_copy(point.cursor)) for point in kept]
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

    def _plain_csi(self, final: str, numbers: list[int], first: int, count: int) -> None:
        match final:
            case "@":
                self.insert_characters(min(count, self.columns))
            case "A":
                self.cursor_up(count)
            case "B" | "e":
                self.cursor_down(count)
            case "C" | "a":
                self.cursor_forward(count)
            case "D":
                self.cursor_back(count)
            case "E":
                self.cursor_down1(count)
            case "F":
                self.cursor_up1(count)
            case "G" | "`":
                self.cursor_to_column(count)
            case "H" | "f":
                column = max(numbers[1], 1) if len(numbers) > 1 else 1
                self.cursor_position(count, column)
            case "I":
                for _ in range(min(count, self.columns)):
                    self.tab()
            case "J":
                self.erase_in_display(first)
            case "K":
                self.erase_in_line(first)
            case "L":
                self.insert_lines(min(count, self.lines))
            case "M":
                self.delete_lines(min(count, self.lines))
            case "P":
                self.delete_characters(min(count, self.columns))
            case "S":
                top, bottom = self.margins or Margins(0, self.lines - 1)
                self._scroll_up(top, bottom, min(count, bottom - top + 1))
            case "T":
                self._scroll_down(min(count, self.lines))
            case "X":
                self.erase_characters(count)
            case "Z":
                stops = [stop for stop in sorted(self.tabstops) if stop < self.cursor.x][-count:]
                self.cursor.x = stops[0] if stops else 0
            case "b":
                if self._last and self._last.isprintable():
                    self.draw(self._last * min(count, self.columns * self.lines))
            case "c":
                if first == 0:
                    self.reply(b"\x1b[?6c")
            case "d":
                self.cursor_to_line(count)
            case "g":
                self.clear_tab_stop(first)
            case "n":
                self._report(first)
            case "r":
                bottom = numbers[1] if len(numbers) > 1 and numbers[1] > 0 else self.lines
                self._set_margins(count, bottom)
            case "s":
                self.save_cursor()
            case "u":
                self.restore_cursor()
            case _:
                return

    def _set_margins(self, top: int, bottom: int) -> None:
        top, bottom = max(top, 1) - 1, min(bottom, self.lines) - 1
        if bottom > top:
            self.margins = None if (top, bottom) == (0, self.lines - 1) else Margins(top, bottom)
            self.cursor_position()

    def _report(self, what: int) -> None:
        if what == 5:
            self.reply(b"\x1b[0n")
        elif what == 6:
            top = self.margins.top if self.margins is not None and DECOM in self.mode else 0
            self.reply(f"\x1b[{self.cursor.y + 1 - top};{min(self.cursor.x, self.columns - 1) + 1}R".encode())

    def _private_modes(self, numbers: list[int], on: bool) -> None:
        for number in numbers:
            mode = number << 5
            if number in _ALTERNATE:
                self._switch(on, cursor=number == 1049)
            elif number == 1048:
                self.save_cursor() if on else self.restore_cursor()
            elif mode == DECCOLM:
                continue
            elif mode == DECSCNM:
                self.mode.add(mode) if on else self.mode.discard(mode)
                self.dirty.update(range(self.lines))
            elif on:
                self.set_mode(number, private=True)
            else:
                self.reset_mode(number, private=True)
        known = {n << 5 for n in (1, 3, 5, 6, 7, 25, 1000, 1002, 1003, 1004, 1006, 2004)} | {IRM, LNM}
        self.mode.intersection_update(known)

    def _switch(self, on: bool, *, cursor: bool) -> None:
        self.dirty.update(range(self.lines))
        if on and self._main is None:
            self._main = _Saved(self.buffer, _copy(self.cursor), self.margins)
            self.buffer = _new_buffer(self)
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

    def _soft_reset(self) -> None:
        self.margins = None
        self.mode.difference_update({IRM, DECOM, APPLICATION_CURSOR})
        self.mode.add(DECAWM)
        self.cursor.hidden = False
        self.cursor.attrs = _BLANK
        self.charset, self.g0_charset = 0, charsets.LAT1_MAP
        self.savepoints.clear()

    def _rendition(self, params: list[list[int]]) -> None:
        attrs = self.cursor.attrs
        queue = deque(params or [[0]])
        while queue:
            param = queue.popleft()
            code = max(param[0], 0)
            if code == 0:
                attrs = _BLANK
            elif code in (38, 48):
                colour = _colour(param[1:]) if len(param) > 1 else _colour_of_queue(queue)
                if colour:
                    attrs = attrs._replace(fg=colour) if code == 38 else attrs._replace(bg=colour)
            elif code in FG_ANSI or code in FG_AIXTERM:
                attrs = attrs._replace(fg=FG_ANSI.get(code) or FG_AIXTERM[code])
            elif code in BG_ANSI or code in BG_AIXTERM:
                name = BG_ANSI.get(code) or BG_AIXTERM[code]
                attrs = attrs._replace(bg="brightmagenta" if code == 105 else name)
            elif code == 4 and len(param) > 1:
                attrs = attrs._replace(underscore=param[1] != 0)
            elif code == 21:
                attrs = attrs._replace(underscore=True)
            elif code in TEXT:
                attrs = _with_style(attrs, TEXT[code][1:], TEXT[code].startswith("+"))
        self.cursor.attrs = attrs._replace(data=" ")

    def _cell(self, char: str) -> Char:
        return self._shared()[char]

    def _shared(self) -> _Cells:
        """The shared cells of the current rendition: history costs a pointer a cell."""
        attrs = self.cursor.attrs
        if self._cells.attrs is not attrs:
            self._cells = _cells(attrs)
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
        blank = _BLANK._replace(bg=self.cursor.attrs.bg)
        if blank == _BLANK:
            for x in [x for x in line if start <= x < end]:
                del line[x]
        else:
            line.update(zip(range(start, end), repeat(blank)))

    def _scroll_up(self, top: int, bottom: int, count: int) -> None:
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

    def _scroll_down(self, count: int) -> None:
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
        while cells and cells[-1] == _BLANK:
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
                line = Line(_BLANK)
                line.wrapped = row.wrapped
                line.update(enumerate(row.cells))
                buffer[y] = line
            cursor.y += back


def clean_title(text: str) -> str:
    """A title a guest chose: printable, one line, no direction overrides, short."""
    kept = "".join(char for char in text[: _MAX_TITLE * 4] if category(char)[0] != "C" and char not in "\u2028\u2029")
    return " ".join(kept.split())[:_MAX_TITLE]


def column_of(row: Row, index: int) -> int:
    """The column of character ``index`` of ``row.text`` (cells may hold none or several characters)."""
    seen = 0
    for column, cell in enumerate(row.cells):
        if seen + len(cell.data) > index:
            return column
        seen += len(cell.data)
    return len(row.cells)


def _copy(cursor: Cursor) -> Cursor:
    fresh = Cursor(cursor.x, cursor.y, cursor.attrs)
    fresh.hidden = cursor.hidden
    return fresh


class _Buffer(dict[int, StaticDefaultDict[int, Char]]):
    """Lines by number; a line asked for is there."""

    def __missing__(self, key: int) -> StaticDefaultDict[int, Char]:
        line = self[key] = Line(_BLANK)
        return line


def _new_buffer(_screen: Screen) -> dict[int, StaticDefaultDict[int, Char]]:
    return _Buffer()


class _Cells(dict[str, Char]):
    """Cells of one rendition by character, as many as fit."""

    def __init__(self, attrs: Char) -> None:
        super().__init__()
        self.attrs = attrs

    def __missing__(self, char: str) -> Char:
        cell = self.attrs._replace(data=char)
        if len(self) < 4096:
            self[char] = cell
        return cell


@lru_cache(maxsize=64)
def _cells(attrs: Char) -> _Cells:
    return _Cells(attrs)


def _with_style(attrs: Char, name: str, on: bool) -> Char:
    values = attrs._asdict()
    values[name] = on
    return Char(**values)


def _colour(parts: list[int]) -> str:
    """Colon form: ``5:N``, ``2:R:G:B`` or ``2:SPACE:R:G:B``."""
    if parts[:1] == [5] and len(parts) > 1:
        return _indexed(parts[1])
    if parts[:1] == [2] and len(parts) >= 4:
        return _rgb(parts[-3:])
    return ""


def _colour_of_queue(queue: deque[list[int]]) -> str:
    kind = queue.popleft()[0] if queue else -1
    if kind == 5 and queue:
        return _indexed(queue.popleft()[0])
    if kind == 2 and len(queue) >= 3:
        return _rgb([queue.popleft()[0] for _ in range(3)])
    return ""


_NAMES = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")


def _indexed(number: int) -> str:
    if 0 <= number < 8:
        return _NAMES[number]
    if 8 <= number < 16:
        return f"bright{_NAMES[number - 8]}"
    return FG_BG_256[number] if 16 <= number < 256 else ""


def _rgb(parts: list[int]) -> str:
    red, green, blue = (min(max(part, 0), 255) for part in parts)
    return f"{red:02x}{green:02x}{blue:02x}"
