"""What a guest's sequences do to the screen. What a guest may not do is not here: the clipboard is never read, a text
for it is only offered to the person, the title is not reported, the window is not resized.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from pyte.modes import DECCOLM, DECOM, DECSCNM, IRM, LNM
from pyte.screens import Margins

from kitstudio.ui.terminal.cells import clean_title
from kitstudio.ui.terminal.grid import HISTORY, Grid
from kitstudio.ui.terminal.parser import Params
from kitstudio.ui.terminal.rendition import rendered

MOST_OFFERED = 2000
"""Letters of a coded text for the clipboard; a longer one may have been cut by the parser, and is refused."""
MOUSE_CLICKS = 1000 << 5
MOUSE_DRAGS = 1002 << 5
MOUSE_ALL = 1003 << 5
MOUSE_SGR = 1006 << 5
FOCUS_EVENTS = 1004 << 5
BRACKETED_PASTE = 2004 << 5
_ALTERNATE = frozenset({47, 1047, 1049})
_KNOWN = frozenset({n << 5 for n in (1, 3, 5, 6, 7, 25, 1000, 1002, 1003, 1004, 1006, 2004)} | {IRM, LNM})


class Screen(Grid):
    """The parser's ``Actions`` on a grid. ``reply`` carries answers to the guest; set it before feeding."""

    def __init__(self, columns: int, lines: int, history: int = HISTORY) -> None:
        self.reply: Callable[[bytes], None] = lambda _data: None
        self.refused_clipboard = False
        self.offered_clipboard = ""
        """A text the guest wants in the clipboard; a person decides."""
        self.cursor_shape = 1
        super().__init__(columns, lines, history)

    def control(self, char: str) -> None:
        match char:
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

    def csi(self, private: str, params: Params, intermediates: str, final: str) -> None:
        numbers = [param[0] for param in params]
        first = max(numbers[0], 0) if numbers else 0
        count = max(first, 1)
        if private == "?" and not intermediates and final in "hl":
            self._private_modes([n for n in numbers if n >= 0], final == "h")
        elif intermediates == " " and final == "q" and not private:
            self.cursor_shape = first if first <= 6 else 1
        elif intermediates == "!" and final == "p" and not private:
            self.soft_reset()
        elif private == ">" and final == "c" and not intermediates:
            self.reply(b"\x1b[>0;0;0c")
        elif private or intermediates:
            return
        elif final == "m":
            self.cursor.attrs = rendered(self.cursor.attrs, params)
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
            self._offer_clipboard(value)

    # Private helpers

    def _offer_clipboard(self, value: str) -> None:
        """``Pc;Pd`` of OSC 52: a query is refused, a whole text of printable lines is offered."""
        coded = value.partition(";")[2]
        try:
            text = base64.b64decode(coded, validate=True).decode()
        except ValueError:
            text = ""
        if not text or len(coded) > MOST_OFFERED or any(not part.isprintable() for part in text.split("\n")):
            self.refused_clipboard = True
        else:
            self.offered_clipboard = text

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
                self.scroll_up(top, bottom, min(count, bottom - top + 1))
            case "T":
                self.scroll_down(min(count, self.lines))
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
                self.scroll_between(count, bottom)
            case "s":
                self.save_cursor()
            case "u":
                self.restore_cursor()
            case _:
                return

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
                self.show_alternate(on, cursor=number == 1049)
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
        self.mode.intersection_update(_KNOWN)
