"""The terminal on screen: paints a ``Screen``, follows its end, finds text, never blocks the window.

Bytes from the guest are untrusted: they are drawn, nothing else. Incoming data waits in a queue and is taken in
slices of at most ``SLICE_MS``; ``drained`` tells the sender to go on, so memory stays bounded.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter

from PySide6.QtCore import QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QWidget
from pyte.modes import DECSCNM

from kitstudio.ui.fonts import Type
from kitstudio.ui.terminal.cells import column_of
from kitstudio.ui.terminal.colours import Colours, TerminalColours
from kitstudio.ui.terminal.painting import CellFont, paint_row
from kitstudio.ui.terminal.parser import Parser
from kitstudio.ui.terminal.screen import (
    Screen,
)
from kitstudio.ui.terminal.selection import Place, Selection, selected_text
from kitstudio.ui.theme import Theme, Token

SLICE_MS = 8
FRAME_MS = 33
PORTION = 2048
RESIZE_MS = 80
HIGH_WATER = 1 << 20
MARGIN = 12


class ScreenView(QAbstractScrollArea):
    """Draws what the guest sends. ``typed`` carries answers (and, below, input), ``resized`` the size come to rest."""

    typed = Signal(bytes)
    resized = Signal(int, int)
    title_changed = Signal(str)
    clipboard_refused = Signal()
    clipboard_offered = Signal(str)
    drained = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("terminalView")
        self.setAccessibleName(self.tr("Terminal"))
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setAcceptDrops(False)
        self._theme = theme
        self._grid = CellFont.of(theme.font(Type.MONO_FIELD))
        self._colours = Colours(_terminal_colours(theme))
        self.vt = Screen(80, 24)
        self.vt.reply = self.typed.emit
        self._parser = Parser(self.vt)
        self._queue: deque[bytes] = deque()
        self.waiting = 0
        """Bytes taken in and not drawn yet."""
        self._selection: Selection | None = None
        self._query = ""
        self._found: Selection | None = None
        self._title = ""
        self._slices = QTimer(self)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._take_slice)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(RESIZE_MS)
        self._rest.timeout.connect(self._resize_now)
        self._follow = True
        self._seen_dropped = 0
        self._painted = 0.0
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        theme.changed.connect(self._redress)

    def feed(self, data: bytes) -> None:
        """Take in bytes; they are drawn from the event loop."""
        if data:
            self._queue.append(data)
            self.waiting += len(data)
            if not self._slices.isActive():
                self._slices.start()

    def cell_rect(self, column: int, line: int) -> QRect:
        """Where a cell of the visible part is painted."""
        grid = self._grid
        return QRect(MARGIN + column * grid.width, MARGIN + line * grid.height, grid.width, grid.height)

    def restart(self) -> None:
        """Forget everything: for a new session in the same view."""
        self._queue.clear()
        self.waiting = 0
        columns, lines = self.vt.columns, self.vt.lines
        self.vt = Screen(columns, lines)
        self.vt.reply = self.typed.emit
        self._parser = Parser(self.vt)
        self._selection = self._found = None
        self._follow, self._seen_dropped = True, 0
        self._sync()

    def grid_size(self) -> tuple[int, int]:
        """(columns, rows) the view has room for now; resizes that wait are applied first."""
        self._resize_now()
        return self.vt.columns, self.vt.lines

    def selected_text(self) -> str:
        return selected_text(self.vt, self._selection) if self._selection is not None else ""

    def seek(self, query: str, *, backwards: bool = True, again: bool = False) -> bool:
        """Go to the next place of ``query`` (case counts only if it has capitals); False where there is none."""
        self._query = query
        if not query:
            self._found = None
            self.viewport().update()
            return False
        fold = query == query.lower()
        rows = list(self.vt.rows())
        order = list(range(len(rows) - 1, -1, -1) if backwards else range(len(rows)))
        if again and self._found is not None:
            here = self._found.first.line - self.vt.dropped
            turn = order.index(here) + 1 if here in order else 0
            order = order[turn:] + order[:turn]
        needle = query.lower() if fold else query
        for index in order:
            text = rows[index].text.lower() if fold else rows[index].text
            at = text.rfind(needle) if backwards else text.find(needle)
            if at >= 0:
                line = index + self.vt.dropped
                self._found = Selection(
                    Place(line, column_of(rows[index], at)), Place(line, column_of(rows[index], at + len(query)))
                )
                self._show_line(index)
                self.viewport().update()
                return True
        self._found = None
        self.viewport().update()
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._rest.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        screen, grid = self.vt, self._grid
        reverse = DECSCNM in screen.mode
        painter.fillRect(event.rect(), self._colours.base.text if reverse else self._colours.base.ground)
        first = self.verticalScrollBar().value()
        for y in range(screen.lines):
            index = first + y
            area = QRect(0, MARGIN + y * grid.height, self.viewport().width(), grid.height)
            if index >= screen.total() or not area.intersects(event.rect()):
                continue
            line = index + screen.dropped
            row = screen.row(index)
            selected = self._selection.columns(line, screen.columns) if self._selection is not None else (0, 0)
            found = self._found.columns(line, screen.columns) if self._found is not None else (0, 0)
            paint_row(
                painter, row.cells[: screen.columns], MARGIN, area.top(), grid, self._colours,
                selected=selected, matches=(found,), reversed_screen=reverse,
            )  # fmt: skip
        self._paint_cursor(painter)
        painter.end()

    def _take_slice(self) -> None:
        started = perf_counter()
        while self._queue and (perf_counter() - started) * 1000 < SLICE_MS:
            data = self._queue.popleft()
            if len(data) > PORTION:
                self._queue.appendleft(data[PORTION:])
                data = data[:PORTION]
            self._parser.feed(data)
            self.waiting -= len(data)
        if not self._queue:
            self._slices.stop()
        if not self._queue or (started - self._painted) * 1000 >= FRAME_MS:
            self._painted = started
            self._after_feed()
        if self.waiting < HIGH_WATER:
            self.drained.emit()

    def _after_feed(self) -> None:
        screen = self.vt
        self._sync()
        if screen.title != self._title:
            self._title = screen.title
            self.title_changed.emit(self._title)
        if screen.refused_clipboard:
            screen.refused_clipboard = False
            self.clipboard_refused.emit()
        if screen.offered_clipboard:
            text, screen.offered_clipboard = screen.offered_clipboard, ""
            self.clipboard_offered.emit(text)

    def _sync(self) -> None:
        """Scroll bar and picture follow the screen; someone reading further up is not moved."""
        screen, bar = self.vt, self.verticalScrollBar()
        bottom = len(screen.history)
        before = bar.value()
        follow = self._follow
        dropped, self._seen_dropped = screen.dropped - self._seen_dropped, screen.dropped
        bar.blockSignals(True)
        bar.setRange(0, bottom)
        bar.setPageStep(screen.lines)
        bar.setValue(bottom if follow else max(before - dropped, 0))
        bar.blockSignals(False)
        screen.dirty.clear()
        self.viewport().update()

    def _scrolled(self, value: int) -> None:
        self._follow = value >= self.verticalScrollBar().maximum()
        self.viewport().update()

    def _show_line(self, index: int) -> None:
        bar = self.verticalScrollBar()
        if not bar.value() <= index < bar.value() + self.vt.lines:
            bar.setValue(index - self.vt.lines // 2)

    def _select(self, selection: Selection) -> None:
        self._selection = selection
        self.viewport().update()

    def _resize_now(self) -> None:
        self._rest.stop()
        size = self.viewport().size()
        columns = max(2, (size.width() - 2 * MARGIN) // self._grid.width)
        lines = max(1, (size.height() - 2 * MARGIN) // self._grid.height)
        if (columns, lines) != (self.vt.columns, self.vt.lines):
            self.vt.resize(lines, columns)
            self._selection = self._found = None
            self._sync()
            self.resized.emit(columns, lines)

    def _cursor_rect(self) -> QRect:
        screen = self.vt
        y = len(screen.history) - self.verticalScrollBar().value() + screen.cursor.y
        return self.cell_rect(min(screen.cursor.x, screen.columns - 1), y)

    def _paint_cursor(self, painter: QPainter) -> None:
        screen = self.vt
        area = self._cursor_rect()
        if screen.cursor.hidden or area.top() >= MARGIN + screen.lines * self._grid.height:
            return
        ink = self._colours.base.text
        if not self.hasFocus():
            painter.setPen(ink)
            painter.drawRect(area.adjusted(0, 0, -1, -1))
        elif screen.cursor_shape in (3, 4):
            painter.fillRect(area.adjusted(0, area.height() - 2, 0, 0), ink)
        elif screen.cursor_shape in (5, 6):
            painter.fillRect(QRect(area.left(), area.top(), 2, area.height()), ink)
        else:
            painter.fillRect(area, ink)
            line = screen.row(len(screen.history) + screen.cursor.y)
            x = min(screen.cursor.x, screen.columns - 1)
            if x < len(line.cells):
                painter.setPen(self._colours.base.ground)
                painter.setFont(self._grid.face(line.cells[x]))
                painter.drawText(area.left(), round(area.top() + self._grid.ascent), line.cells[x].data)

    def _redress(self) -> None:
        self._grid = CellFont.of(self._theme.font(Type.MONO_FIELD))
        self._colours = Colours(_terminal_colours(self._theme))
        self._rest.start()
        self.viewport().update()


def _terminal_colours(theme: Theme) -> TerminalColours:
    magenta, cyan = 9, 1
    selection = QColor(theme.colour(Token.TERM_BLUE))
    selection.setAlphaF(0.35)
    match = QColor(theme.colour(Token.TERM_YELLOW))
    match.setAlphaF(0.45)
    return TerminalColours(
        ground=theme.colour(Token.TERM_BG),
        text=theme.colour(Token.TERM_TEXT),
        green=theme.colour(Token.TERM_GREEN),
        yellow=theme.colour(Token.TERM_YELLOW),
        blue=theme.colour(Token.TERM_BLUE),
        red=theme.colour(Token.TERM_RED),
        dim=theme.colour(Token.TERM_DIM),
        magenta=max(theme.monogram(magenta), key=QColor.lightness),
        cyan=max(theme.monogram(cyan), key=QColor.lightness),
        selection=selection,
        match=match,
    )
