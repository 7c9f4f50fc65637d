"""Keyboard, mouse and clipboard of the terminal: what a person does, as the bytes a guest expects."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QClipboard,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QMenu, QWidget

from kitstudio.ui.terminal import keys
from kitstudio.ui.terminal.grid import APPLICATION_CURSOR
from kitstudio.ui.terminal.screen import (
    BRACKETED_PASTE,
    FOCUS_EVENTS,
    MOUSE_ALL,
    MOUSE_CLICKS,
    MOUSE_DRAGS,
    MOUSE_SGR,
)
from kitstudio.ui.terminal.screen_view import MARGIN, ScreenView
from kitstudio.ui.terminal.selection import Place, Selection, word_at
from kitstudio.ui.theme import Theme


class TerminalView(ScreenView):
    """``typed`` carries what goes to the guest. The clipboard's text goes there when pasted, never the clipboard."""

    find_wanted = Signal()
    tab_wanted = Signal(str)
    """new, close, next, previous: of the terminals that stand beside this one."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self._dragging = False

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
                case "page down":
                    self._page(1)
                case tab:
                    self.tab_wanted.emit(tab)
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

    def _page(self, direction: int) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + direction * max(1, self.vt.lines - 1))

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
            return {
                Qt.Key.Key_C: "copy",
                Qt.Key.Key_V: "paste",
                Qt.Key.Key_F: "find",
                Qt.Key.Key_T: "new",
                Qt.Key.Key_W: "close",
                Qt.Key.Key_PageDown: "next",
                Qt.Key.Key_PageUp: "previous",
            }.get(Qt.Key(event.key()), "")
        if held == Qt.KeyboardModifier.ShiftModifier and not self.vt.alternate:
            return {
                Qt.Key.Key_PageUp: "page up",
                Qt.Key.Key_PageDown: "page down",
                Qt.Key.Key_Insert: "paste",
            }.get(Qt.Key(event.key()), "")
        return ""

    def _place(self, position: QPoint) -> Place:
        column = round((position.x() - MARGIN) / self._grid.width)
        line = (position.y() - MARGIN) // self._grid.height
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
        column = min(max((position.x() - MARGIN) // self._grid.width, 0), self.vt.columns - 1) + 1
        line = min(max((position.y() - MARGIN) // self._grid.height, 0), self.vt.lines - 1) + 1
        if MOUSE_SGR in self.vt.mode:
            self.typed.emit(f"\x1b[<{code};{column};{line}{'M' if pressed else 'm'}".encode())
        elif column < 224 and line < 224:
            self.typed.emit(b"\x1b[M" + bytes([32 + (code if pressed else 3), 32 + column, 32 + line]))


def _plain_tab(event: QKeyEvent) -> bool:
    """Tab belongs to the guest; Ctrl+Tab leaves the terminal."""
    held = event.modifiers() & Qt.KeyboardModifier.ControlModifier
    return event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab) and not held


def _button(button: Qt.MouseButton) -> int:
    if button & Qt.MouseButton.LeftButton:
        return 0
    return 1 if button & Qt.MouseButton.MiddleButton else 2
