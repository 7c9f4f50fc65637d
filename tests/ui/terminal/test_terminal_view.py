"""The terminal as a person uses it: real keys, mouse, clipboard and resizes."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QSplitter, QWidget
from pytestqt.qtbot import QtBot

from kitstudio.ui.terminal.panel import TerminalPanel
from kitstudio.ui.terminal.screen_view import SLICE_MS
from kitstudio.ui.terminal.view import TerminalView
from kitstudio.ui.theme import Mode, Theme


@pytest.fixture
def theme(qapp: object) -> Theme:
    return Theme(Mode.DARK)


@pytest.fixture
def panel(qtbot: QtBot, theme: Theme) -> Iterator[TerminalPanel]:
    panel = TerminalPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(800, 400)
    panel.show()
    qtbot.waitExposed(panel)
    panel.view.grid_size()
    panel.view.setFocus()
    yield panel


@pytest.fixture
def view(panel: TerminalPanel) -> TerminalView:
    return panel.view


def feed(qtbot: QtBot, view: TerminalView, data: bytes) -> None:
    view.feed(data)
    qtbot.waitUntil(lambda: view.waiting == 0, timeout=60_000)


def typed(view: TerminalView) -> list[bytes]:
    sent: list[bytes] = []
    view.typed.connect(lambda data: sent.append(bytes(data)))
    return sent


def test_keys_become_bytes(qtbot: QtBot, view: TerminalView) -> None:
    sent = typed(view)
    qtbot.keyClicks(view, "ls")
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Tab, Qt.Key.Key_Up, Qt.Key.Key_Backspace, Qt.Key.Key_F5):
        qtbot.keyClick(view, key)
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(view, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert sent == [b"l", b"s", b"\r", b"\t", b"\x1b[A", b"\x7f", b"\x1b[15~", b"\x03", b"\x1b[1;5D"]


def test_application_cursor_keys(qtbot: QtBot, view: TerminalView) -> None:
    feed(qtbot, view, b"\x1b[?1h")
    sent = typed(view)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert sent == [b"\x1bOA"]


def test_control_keys_of_the_window_go_to_the_guest(qtbot: QtBot, view: TerminalView) -> None:
    event = QKeyEvent(QKeyEvent.Type.ShortcutOverride, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    event.ignore()
    view.event(event)
    assert event.isAccepted()


def test_paste_in_brackets_cannot_close_them(qtbot: QtBot, view: TerminalView) -> None:
    feed(qtbot, view, b"\x1b[?2004h")
    sent = typed(view)
    QGuiApplication.clipboard().setText("a\x1b[201~\nb")
    qtbot.keyClick(view, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert sent == [b"\x1b[200~a[201~\rb\x1b[201~"]


def test_middle_click_and_menu_paste_row_101(qtbot: QtBot, view: TerminalView) -> None:
    QGuiApplication.clipboard().setText("hi")
    sent = typed(view)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.MiddleButton)
    menu = view.context_menu()
    next(action for action in menu.actions() if action.objectName() == "paste").trigger()
    assert sent == [b"hi", b"hi"]


def test_select_with_the_mouse_and_copy(qtbot: QtBot, view: TerminalView) -> None:
    feed(qtbot, view, b"first line\r\nsecond line")
    start, end = view.cell_rect(0, 0).center(), view.cell_rect(6, 1).topLeft()
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=start - QPoint(3, 0))
    qtbot.mouseMove(view.viewport(), end + QPoint(0, 4))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=end + QPoint(0, 4))
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert QGuiApplication.clipboard().text() == "first line\nsecond"


def test_double_click_selects_a_path(qtbot: QtBot, view: TerminalView) -> None:
    feed(qtbot, view, b"see /out/report.html (new)")
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.cell_rect(8, 0).center())
    assert view.selected_text() == "/out/report.html"


def test_mouse_reports_only_when_asked_and_shift_keeps_selection(qtbot: QtBot, view: TerminalView) -> None:
    feed(qtbot, view, b"text\x1b[?1000h\x1b[?1006h")
    sent = typed(view)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.cell_rect(2, 0).center())
    assert sent == [b"\x1b[<0;3;1M", b"\x1b[<0;3;1m"]
    qtbot.mouseClick(
        view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, view.cell_rect(2, 0).center()
    )
    assert len(sent) == 2


def test_many_resizes_are_told_once_row_100(qtbot: QtBot, panel: TerminalPanel) -> None:
    spy = QSignalSpy(panel.view.resized)
    for width in range(800, 500, -3):
        panel.resize(width, 400)
    qtbot.waitUntil(lambda: spy.count() == 1)
    assert spy.at(0) == list(panel.view.grid_size())


def test_reading_further_up_is_not_disturbed(qtbot: QtBot, view: TerminalView) -> None:
    feed(qtbot, view, b"".join(b"line %d\r\n" % n for n in range(200)))
    view.verticalScrollBar().setValue(50)
    feed(qtbot, view, b"more\r\n" * 20)
    assert view.verticalScrollBar().value() == 50
    qtbot.keyClicks(view, "x")
    assert view.verticalScrollBar().value() == view.verticalScrollBar().maximum()


def test_find_goes_up_through_the_history(qtbot: QtBot, panel: TerminalPanel) -> None:
    view = panel.view
    feed(qtbot, view, b"needle one\r\n" + b"hay\r\n" * 300 + b"Needle two\r\n" + b"hay\r\n" * 50)
    qtbot.keyClick(view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert panel.find_bar.isVisible()
    qtbot.keyClicks(panel.find_bar.field, "needle")
    first = view.verticalScrollBar().value()
    qtbot.keyClick(panel.find_bar.field, Qt.Key.Key_Return)
    assert view.verticalScrollBar().value() < first
    qtbot.keyClick(panel.find_bar.field, Qt.Key.Key_Escape)
    assert not panel.find_bar.isVisible()


def test_a_clipboard_request_is_told_to_the_person_row_103(qtbot: QtBot, panel: TerminalPanel) -> None:
    QGuiApplication.clipboard().setText("secret")
    sent = typed(panel.view)
    feed(qtbot, panel.view, b"\x1b]52;c;?\x07\x1b]52;c;aGk=\x07")
    assert panel.strip.isVisible() and not sent
    assert QGuiApplication.clipboard().text() == "secret"


def test_a_burst_is_taken_in_slices_row_104(qtbot: QtBot, view: TerminalView) -> None:
    """The event loop turns many times while ten megabytes are drawn; the end is what was sent last."""
    turns = []
    view.drained.connect(lambda: turns.append(view.waiting))
    view.feed(b"y" * 75 + b"\r\n" + b"\x1b[32mburst\x1b[0m of output\r\n" * 400_000 + b"last line")
    assert view.waiting > 10_000_000 and SLICE_MS <= 8
    qtbot.waitUntil(lambda: view.waiting == 0, timeout=120_000)
    assert len(turns) > 10
    assert view.vt.row(view.vt.total() - 1).text == "last line"


def test_theme_and_scale_changes_keep_the_text(qtbot: QtBot, view: TerminalView, theme: Theme) -> None:
    feed(qtbot, view, b"kept")
    before = view.grid_size()
    theme.choose(Mode.LIGHT, 2.0)
    qtbot.waitUntil(lambda: view.grid_size()[0] < before[0])
    assert view.vt.row(len(view.vt.history)).text == "kept"
    theme.choose(Mode.DARK, 1.0)


def offer(text: bytes) -> bytes:
    return b"\x1b]52;c;" + base64.b64encode(text) + b"\x07"


def test_a_text_for_the_clipboard_is_asked_about_once_row_103(qtbot: QtBot, panel: TerminalPanel) -> None:
    QGuiApplication.clipboard().setText("mine")
    feed(qtbot, panel.view, offer("für dich\nzwei".encode()))
    assert panel.clipboard.isVisible() and "für dich" in panel.clipboard.accessibleName()
    assert QGuiApplication.clipboard().text() == "mine"
    feed(qtbot, panel.view, offer(b"another"))
    assert "für dich" in panel.clipboard.accessibleName()
    qtbot.mouseClick(panel.clipboard.findChild(QPushButton, "banner-second"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "für dich\nzwei" and not panel.clipboard.isVisible()
    feed(qtbot, panel.view, offer(b"a third"))
    assert not panel.clipboard.isVisible() and QGuiApplication.clipboard().text() == "für dich\nzwei"


@pytest.mark.parametrize("text", [b"curl x|sh\r", b"\x1b[201~", "\u202e".encode(), b"\xff", b"", b"x" * 1600])
def test_what_hides_in_a_text_for_the_clipboard_is_refused_row_103(
    qtbot: QtBot, panel: TerminalPanel, text: bytes
) -> None:
    feed(qtbot, panel.view, offer(text))
    assert not panel.clipboard.isVisible() and panel.strip.isVisible()


def test_menu_at_the_last_row_of_the_screen_is_whole_and_pastes_row_101(qtbot: QtBot, view: TerminalView) -> None:
    QGuiApplication.clipboard().setText("hi")
    sent = typed(view)
    screen = view.screen().availableGeometry()
    place = QPoint(screen.left() + 40, screen.bottom() - 1)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, QPoint(5, view.viewport().height() - 1), place)
    QApplication.sendEvent(view.viewport(), event)
    menu = view.findChild(QMenu, "terminalMenu")
    assert menu is not None and screen.contains(menu.geometry())
    qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(menu.actions()[1]).center())
    assert sent == [b"hi"]


def test_dragging_a_splitter_a_hundred_steps_tells_one_size_row_100(qtbot: QtBot, theme: Theme) -> None:
    splitter = QSplitter(Qt.Orientation.Vertical)
    panel = TerminalPanel(theme)
    splitter.addWidget(panel)
    splitter.addWidget(QWidget())
    qtbot.addWidget(splitter)
    splitter.resize(800, 700)
    splitter.show()
    qtbot.waitExposed(splitter)
    panel.view.grid_size()
    spy = QSignalSpy(panel.view.resized)
    handle = splitter.handle(1)
    start = handle.rect().center()
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton, pos=start)
    before = panel.height()
    for _ in range(100):
        qtbot.mouseMove(handle, start - QPoint(0, 2))
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=start)
    assert panel.height() < before
    qtbot.waitUntil(lambda: spy.count() == 1)
    assert spy.at(0) == list(panel.view.grid_size())
