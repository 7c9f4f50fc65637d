"""The terminal on screen: paints a ``Screen``, turns keys and mouse into bytes, never blocks the window.

Bytes from the guest are untrusted: they are drawn, nothing else. Incoming data waits in a queue and is taken in
slices of at most ``SLICE_MS``; ``drained`` tells the sender to go on, so memory stays bounded.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QClipboard,
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QWidget
from pyte.modes import DECSCNM

from kitstudio.ui.fonts import Type
from kitstudio.ui.terminal import keys
from kitstudio.ui.terminal.colours import Colours, TerminalColours
from kitstudio.ui.terminal.painting import CellFont, paint_row
from kitstudio.ui.terminal.parser import Parser
from kitstudio.ui.terminal.screen import (
    APPLICATION_CURSOR,
    BRACKETED_PASTE,
    FOCUS_EVENTS,
    MOUSE_ALL,
    MOUSE_CLICKS,
    MOUSE_DRAGS,
    MOUSE_SGR,
    Screen,
    column_of,
)
from kitstudio.ui.terminal.selection import Place, Selection, selected_text, word_at
from kitstudio.ui.theme import Theme, Token

SLICE_MS = 8
FRAME_MS = 33
PORTION = 2048
RESIZE_MS = 80
HIGH_WATER = 1 << 20
_MARGIN = 12


class TerminalView(QAbstractScrollArea):
    """``typed`` carries what goes to the guest, ``resized`` the new size once it came to rest."""

    typed = Signal(bytes)
    resized = Signal(int, int)
    title_changed = Signal(str)
    clipboard_refused = Signal()
    drained = Signal()
    find_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("terminalView")
        self.setAccessibleName(self.tr("Terminal"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled)
        self.setAcceptDrops(False)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
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
        self._dragging = False
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

    # Data from the guest

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
        return QRect(_MARGIN + column * grid.width, _MARGIN + line * grid.height, grid.width, grid.height)

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

    # What a person does

    def copy(self) -> None:
        """Selected text to the clipboard."""
        text = self.selected_text()
        if text:
            QGuiApplication.clipboard().setText(text)

    def paste(self, mode: QClipboard.Mode = QClipboard.Mode.Clipboard) -> None:
        """The clipboard's text, as typing; the guest gets the text, never the clipboard."""
        text = QGuiApplication.clipboard().text(mode)
        if text:
            self._type(keys.paste(text, bracketed=BRACKETED_PASTE in self.vt.mode))

    def select_all(self) -> None:
        first, last = self.vt.dropped, self.vt.dropped + self.vt.total() - 1
        self._select(Selection(Place(first, 0), Place(last, self.vt.columns)))

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

    # Events

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if self._own_shortcut(event) or self._bytes_of(event):
                event.accept()
                return True
        elif event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and _plain_tab(event):
            self.keyPressEvent(event)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        own = self._own_shortcut(event)
        if own:
            match own:
                case "copy":
                    self.copy()
                case "paste":
                    self.paste()
                case "find":
                    self.find_wanted.emit()
                case "page up":
                    self._page(-1)
                case _:
                    self._page(1)
            return
        data = self._bytes_of(event)
        if data:
            self._type(data)
            event.accept()
        else:
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        if event.commitString():
            self._type(event.commitString().encode())
        event.accept()

    def inputMethodQuery(self, query: Qt.InputMethodQuery) -> object:
        if query is Qt.InputMethodQuery.ImCursorRectangle:
            return self._cursor_rect()
        return super().inputMethodQuery(query)

    def focusInEvent(self, event: QFocusEvent) -> None:
        if FOCUS_EVENTS in self.vt.mode:
            self.typed.emit(b"\x1b[I")
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if FOCUS_EVENTS in self.vt.mode:
            self.typed.emit(b"\x1b[O")
        super().focusOutEvent(event)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._rest.start()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._report_mouse(event, pressed=True):
            return
        if event.button() is Qt.MouseButton.MiddleButton:
            selection = QGuiApplication.clipboard().supportsSelection()
            self.paste(QClipboard.Mode.Selection if selection else QClipboard.Mode.Clipboard)
        elif event.button() is Qt.MouseButton.LeftButton:
            place = self._place(event.position().toPoint())
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._selection is not None:
                self._select(Selection(self._selection.anchor, place))
            else:
                self._select(Selection(place, place))
            self._dragging = True

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragging and self._selection is not None:
            self._select(Selection(self._selection.anchor, self._place(event.position().toPoint())))
        elif event.buttons() and self._reporting(event) and self.vt.mode & {MOUSE_DRAGS, MOUSE_ALL}:
            self._send_mouse(32 + _button(event.buttons()), event.position().toPoint(), pressed=True)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._dragging:
            self._dragging = False
            if QGuiApplication.clipboard().supportsSelection() and self.selected_text():
                QGuiApplication.clipboard().setText(self.selected_text(), QClipboard.Mode.Selection)
            return
        self._report_mouse(event, pressed=False)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._report_mouse(event, pressed=True) or event.button() is not Qt.MouseButton.LeftButton:
            return
        self._select(word_at(self.vt, self._place(event.position().toPoint())))

    def wheelEvent(self, event: QWheelEvent) -> None:
        steps = event.angleDelta().y() // 40 or (1 if event.angleDelta().y() > 0 else -1)
        position = event.position().toPoint()
        if self.vt.mode & {MOUSE_CLICKS, MOUSE_DRAGS, MOUSE_ALL} and not (
            event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            self._send_mouse(64 if steps > 0 else 65, position, pressed=True)
        elif self.vt.alternate:
            arrow = b"\x1bO" if APPLICATION_CURSOR in self.vt.mode else b"\x1b["
            self.typed.emit((arrow + (b"A" if steps > 0 else b"B")) * min(abs(steps), 10))
        else:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() - steps)
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Copy, paste, select all, find. ``popup`` moves it up where the screen ends."""
        menu = self.context_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def context_menu(self) -> QMenu:
        """The menu of the right button."""
        menu = QMenu(self)
        menu.setObjectName("terminalMenu")
        for name, text, shortcut, slot, enabled in (
            ("copy", self.tr("Copy"), "Ctrl+Shift+C", self.copy, bool(self.selected_text())),
            ("paste", self.tr("Paste"), "Ctrl+Shift+V", self.paste, bool(QGuiApplication.clipboard().text())),
            ("selectAll", self.tr("Select all"), "", self.select_all, True),
            ("find", self.tr("Find…"), "Ctrl+Shift+F", self.find_wanted.emit, True),
        ):
            action = QAction(text, menu)
            action.setObjectName(name)
            if shortcut:
                action.setShortcut(QKeySequence(shortcut))
            action.setEnabled(enabled)
            action.triggered.connect(lambda _checked=False, call=slot: call())
            menu.addAction(action)
        return menu

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        screen, grid = self.vt, self._grid
        reverse = DECSCNM in screen.mode
        painter.fillRect(event.rect(), self._colours.base.text if reverse else self._colours.base.ground)
        first = self.verticalScrollBar().value()
        for y in range(screen.lines):
            index = first + y
            area = QRect(0, _MARGIN + y * grid.height, self.viewport().width(), grid.height)
            if index >= screen.total() or not area.intersects(event.rect()):
                continue
            line = index + screen.dropped
            row = screen.row(index)
            selected = self._selection.columns(line, screen.columns) if self._selection is not None else (0, 0)
            found = self._found.columns(line, screen.columns) if self._found is not None else (0, 0)
            paint_row(
                painter, row.cells[: screen.columns], _MARGIN, area.top(), grid, self._colours,
                selected=selected, matches=(found,), reversed_screen=reverse,
            )  # fmt: skip
        self._paint_cursor(painter)
        painter.end()

    # Private helpers

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

    def _page(self, direction: int) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + direction * max(1, self.vt.lines - 1))

    def _show_line(self, index: int) -> None:
        bar = self.verticalScrollBar()
        if not bar.value() <= index < bar.value() + self.vt.lines:
            bar.setValue(index - self.vt.lines // 2)

    def _type(self, data: bytes) -> None:
        self._follow = True
        self._selection = None
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())
        self.typed.emit(data)

    def _bytes_of(self, event: QKeyEvent) -> bytes:
        return keys.encode(event, application_cursor=APPLICATION_CURSOR in self.vt.mode)

    def _own_shortcut(self, event: QKeyEvent) -> str:
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if held == Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier:
            return {Qt.Key.Key_C: "copy", Qt.Key.Key_V: "paste", Qt.Key.Key_F: "find"}.get(Qt.Key(event.key()), "")
        if held == Qt.KeyboardModifier.ShiftModifier and not self.vt.alternate:
            return {
                Qt.Key.Key_PageUp: "page up",
                Qt.Key.Key_PageDown: "page down",
                Qt.Key.Key_Insert: "paste",
            }.get(Qt.Key(event.key()), "")
        return ""

    def _select(self, selection: Selection) -> None:
        self._selection = selection
        self.viewport().update()

    def _place(self, position: QPoint) -> Place:
        column = round((position.x() - _MARGIN) / self._grid.width)
        line = (position.y() - _MARGIN) // self._grid.height
        line = min(max(line, 0), self.vt.lines - 1)
        column = min(max(column, 0), self.vt.columns)
        return Place(self.verticalScrollBar().value() + line + self.vt.dropped, column)

    def _reporting(self, event: QMouseEvent) -> bool:
        modes = {MOUSE_CLICKS, MOUSE_DRAGS, MOUSE_ALL}
        return bool(self.vt.mode & modes) and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier

    def _report_mouse(self, event: QMouseEvent, *, pressed: bool) -> bool:
        if not self._reporting(event):
            return False
        self._send_mouse(_button(event.button()), event.position().toPoint(), pressed=pressed)
        return True

    def _send_mouse(self, code: int, position: QPoint, *, pressed: bool) -> None:
        column = min(max((position.x() - _MARGIN) // self._grid.width, 0), self.vt.columns - 1) + 1
        line = min(max((position.y() - _MARGIN) // self._grid.height, 0), self.vt.lines - 1) + 1
        if MOUSE_SGR in self.vt.mode:
            self.typed.emit(f"\x1b[<{code};{column};{line}{'M' if pressed else 'm'}".encode())
        elif column < 224 and line < 224:
            self.typed.emit(b"\x1b[M" + bytes([32 + (code if pressed else 3), 32 + column, 32 + line]))

    def _resize_now(self) -> None:
        self._rest.stop()
        size = self.viewport().size()
        columns = max(2, (size.width() - 2 * _MARGIN) // self._grid.width)
        lines = max(1, (size.height() - 2 * _MARGIN) // self._grid.height)
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
        if screen.cursor.hidden or area.top() >= _MARGIN + screen.lines * self._grid.height:
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


def _plain_tab(event: QKeyEvent) -> bool:
    """Tab belongs to the guest; Ctrl+Tab leaves the terminal."""
    held = event.modifiers() & Qt.KeyboardModifier.ControlModifier
    return event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab) and not held


def _button(button: Qt.MouseButton) -> int:
    if button & Qt.MouseButton.LeftButton:
        return 0
    return 1 if button & Qt.MouseButton.MiddleButton else 2


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
