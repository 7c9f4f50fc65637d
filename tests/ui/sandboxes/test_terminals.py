"""Several terminals of one sandbox: a session each, names, ends, and what they may be opened with."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QLabel, QMenu, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from kitstudio.runtime.backend import State
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.sandboxes.detail import NETWORK, TERMINAL
from kitstudio.ui.sandboxes.terminals import Mode, Opening, SandboxTerminals, command_fault, words_of
from kitstudio.ui.theme import Mode as Look
from kitstudio.ui.theme import Theme
from tests.ui.sandboxes.test_sandboxes_ui import STATUS, Stage, loop  # noqa: F401

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def begun(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> tuple[Stage, SandboxTerminals]:  # noqa: F811
    stage = Stage(qtbot, loop, STATUS)
    stage.open()
    stage.until(lambda: bool(stage.machines.ptys))
    terminals = stage.page.sessions.of("review")
    assert terminals is not None
    return stage, terminals


def test_each_terminal_is_a_session_of_its_own(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    stage, terminals = begun(qtbot, loop)
    shell = stage.run(lambda: terminals.add(Opening(Mode.SHELL, ("/bin/sh",))))
    stage.until(lambda: len(stage.machines.ptys) == 2)
    assert stage.machines.commands == [(), ("/bin/sh",)]
    stage.until(lambda: shell.session.active and shell.view.vt.row(0).text == "hello from the guest")
    stage.run(lambda: qtbot.keyClicks(shell.view, "x"))
    stage.until(lambda: stage.machines.ptys[1].typed == [b"x"])
    assert stage.machines.ptys[0].typed == []
    assert [terminals.tabs.tabText(at) for at in range(2)] == ["Interactive", "Shell"]


def test_two_of_a_kind_have_two_names_and_a_person_gives_a_third(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
) -> None:
    stage, terminals = begun(qtbot, loop)
    stage.run(lambda: terminals.add(Opening()))
    assert terminals.tabs.tabText(1) == "Interactive 2"
    stage.run(lambda: terminals.rename(1))
    dialog = terminals.findChild(QDialog, "textDialog")
    dialog.field.setText("  build & test ")  # type: ignore[attr-defined]
    stage.run(dialog.findChild(QPushButton, "textDialogGo").click)
    assert terminals.tabs.tabText(1) == "build && test"
    assert "build & test" in terminals.panels[1].view.accessibleName()


def test_menu_of_modes_shows_the_exact_commands_and_offers_none_that_is_not_stated(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
) -> None:
    stage, terminals = begun(qtbot, loop)
    stage.run(terminals.new.click)
    stage.until(lambda: terminals.findChild(QMenu, "terminalModes") is not None)
    menu = terminals.findChild(QMenu, "terminalModes")
    actions: dict[str, QAction] = {action.objectName(): action for action in menu.actions()}
    assert actions[Mode.INTERACTIVE].text() == "Interactive: agent --tui"
    assert not actions[Mode.HEADLESS].isEnabled() and "not stated" in actions[Mode.HEADLESS].text()
    stage.run(actions[Mode.SHELL].trigger)
    stage.until(lambda: stage.machines.commands[-1] == ("/bin/sh",))
    menu.close()


def test_a_command_is_taken_word_by_word(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    stage, terminals = begun(qtbot, loop)
    stage.run(terminals._ask_command)
    dialog = terminals.findChild(QDialog, "textDialog")
    go = dialog.findChild(QPushButton, "textDialogGo")
    assert not go.isEnabled()
    dialog.field.setText("grep 'a b")  # type: ignore[attr-defined]
    assert not go.isEnabled()
    dialog.field.setText("grep 'a b' *.txt")  # type: ignore[attr-defined]
    stage.run(lambda: qtbot.keyClick(dialog.field, Qt.Key.Key_Return))  # type: ignore[attr-defined]
    stage.until(lambda: stage.machines.commands[-1] == ("grep", "a b", "*.txt"))
    assert command_fault("") and not command_fault("true") and words_of("a 'b c'") == ("a", "b c")


def test_exit_status_is_shown_and_closing_an_ended_one_asks_nothing(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
) -> None:
    stage, terminals = begun(qtbot, loop)
    panel = terminals.panels[0]
    stage.until(lambda: panel.session.active)
    stage.run(lambda: qtbot.keyClick(panel.view, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier))
    stage.until(panel.strip.isVisible)
    assert "Exit status 0" in panel.strip.accessibleName()
    stage.run(lambda: qtbot.keyClick(panel.view, Qt.Key.Key_W, CTRL_SHIFT))
    assert terminals.panels == () and terminals._none.isVisible()
    stage.page.refresh()
    assert terminals.panels == ()  # nobody asked for another one


def test_closing_a_running_one_asks_and_ends_only_it(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    stage, terminals = begun(qtbot, loop)
    second = stage.run(lambda: terminals.add(Opening(Mode.SHELL, ("/bin/sh",))))
    stage.until(lambda: second.session.active)
    stage.run(lambda: qtbot.keyClick(second.view, Qt.Key.Key_W, CTRL_SHIFT))
    assert len(terminals.panels) == 2
    stage.run(terminals.findChild(QPushButton, "confirmGo").click)
    stage.until(lambda: stage.machines.ptys[1]._end.is_set())
    assert len(terminals.panels) == 1 and terminals.panels[0].session.active


def test_keys_move_between_terminals_and_carry_the_focus(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
) -> None:
    stage, terminals = begun(qtbot, loop)
    stage.run(lambda: terminals.add(Opening(Mode.SHELL, ("/bin/sh",))))
    stage.page.activateWindow()
    stage.run(lambda: qtbot.keyClick(terminals.panels[1].view, Qt.Key.Key_PageDown, CTRL_SHIFT))
    assert terminals.current is terminals.panels[0]
    assert terminals.focusProxy() is terminals.panels[0]


def test_sessions_go_on_while_the_window_has_no_display_row_97(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
) -> None:
    """The window is hidden as when its screen goes; what came meanwhile is there again, over the same sessions."""
    stage, terminals = begun(qtbot, loop)
    panel = terminals.panels[0]
    stage.until(lambda: panel.session.active)
    stage.page.hide()
    panel.view.feed(b"\r\nwritten in the dark")
    stage.until(lambda: panel.view.waiting == 0)
    handle = stage.page.window().windowHandle()
    handle.destroy()
    stage.page.show()
    stage.until(lambda: stage.page.isVisible())
    assert len(stage.machines.ptys) == 1 and panel.session.active and terminals.current is panel
    assert any("written in the dark" in panel.view.vt.row(at).text for at in range(panel.view.vt.total()))
    stage.run(lambda: qtbot.keyClicks(panel.view, "x"))
    stage.until(lambda: b"x" in stage.machines.ptys[0].typed)
    assert stage.machines.did == []  # the guest was not touched


def test_looking_elsewhere_and_coming_back_keeps_the_session(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
) -> None:
    stage, terminals = begun(qtbot, loop)
    stage.page.detail.tabs.setCurrentIndex(NETWORK)
    stage.page.detail.tabs.setCurrentIndex(TERMINAL)
    stage.page.refresh()
    assert len(stage.machines.ptys) == 1 and len(terminals.panels) == 1


@pytest.mark.parametrize("state", [State.STOPPED, State.BROKEN])
def test_a_sandbox_that_goes_says_so_in_its_terminals(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
    state: State,
) -> None:
    stage, terminals = begun(qtbot, loop)
    panel = terminals.panels[0]
    stage.until(lambda: panel.session.active)
    stage.machines.statuses["review"] = replace(STATUS, state=state)
    pty = stage.machines.ptys[0]

    async def lost() -> int:
        return 255

    pty.wait = lost  # type: ignore[method-assign]
    pty._end.set()
    stage.until(lambda: "The sandbox stopped." in panel.strip.accessibleName())


@pytest.mark.parametrize(
    ("sentence", "scrolls"), [("Short.", False), ("• a line\n" * 12, False), ("word " * 900, True)]
)
def test_a_question_shows_all_its_words(qtbot: QtBot, sentence: str, scrolls: bool) -> None:
    dialog = ConfirmDialog(Theme(Look.DARK), "Recreate?", sentence, "Go on")
    qtbot.addWidget(dialog)
    dialog.show()
    said = next(label for label in dialog.findChildren(QLabel) if label.text() == sentence)
    assert said.height() >= said.heightForWidth(said.width())
    assert bool(dialog.findChildren(QScrollArea)) == scrolls and dialog.height() < 600
