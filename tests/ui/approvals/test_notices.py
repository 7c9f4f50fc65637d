"""The quiet notice: it begins with host and Kit, leads to that very finding, and answers nothing when dismissed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QSystemTrayIcon, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from kitstudio.services.approvals import Request
from kitstudio.ui.approvals.desk import desk_of
from kitstudio.ui.approvals.notices import ApprovalNotices, notice_words
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme
from tests.ui.approvals.bumps import BUMPS, request_of
from tests.ui.approvals.samples import Gate

Run = Callable[[Awaitable[Any]], Any]
LOOK_ALIKE = request_of(next(bump for bump in BUMPS if bump.name == "statusline-look-alike"))
HOST_MOUNT = replace(request_of(BUMPS[0]), name="other")


class Window(QWidget):
    """A window with the strip above its content."""

    def __init__(self, theme: Theme, gate: Gate) -> None:
        super().__init__()
        self.studio: Any = SimpleNamespace(approvals=gate, catalog=SimpleNamespace(cards=tuple))
        self.navigator = Navigator(self)
        self.notices = ApprovalNotices(self.studio, theme, self.navigator, self)
        self.notices.follow()
        layout = QVBoxLayout(self)
        layout.addWidget(self.notices.banner)
        self.opened: list[tuple[Request, str]] = []
        self.navigator.show_finding.connect(lambda request, key: self.opened.append((request, key)))


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, gate: Gate, run: Run) -> Window:
    window = Window(theme, gate)
    qtbot.addWidget(window)
    window.resize(1000, 200)
    window.show()
    return window


def read(window: Window) -> list[str]:
    return [label.text() for label in window.notices.banner.findChildren(QLabel) if label.text()]


def test_a_notice_begins_with_host_and_kit_and_leads_to_that_very_finding_row_115(
    qtbot: QtBot, window: Window, gate: Gate, run: Run
) -> None:
    run(gate.hold(LOOK_ALIKE))
    assert window.notices.banner.isVisible()
    lead, sentence = read(window)
    assert lead == "api.fоrge.example:443 · statusline 0.4.1" and sentence.startswith("Connects to")
    review = window.notices.banner.findChild(QPushButton, "banner-action")
    qtbot.mouseClick(review, Qt.MouseButton.LeftButton)
    assert window.opened == [(LOOK_ALIKE, LOOK_ALIKE.review.findings[0].key)]
    assert not window.notices.banner.isVisible()


def test_the_heaviest_of_several_is_told_and_the_others_are_counted(window: Window, gate: Gate, run: Run) -> None:
    window.notices._quiet = True
    run(gate.hold(LOOK_ALIKE))
    window.notices._quiet, window.notices._known = False, set()
    run(gate.hold(HOST_MOUNT))
    lead, sentence = read(window)
    assert lead == "host-mount /home/agent/.cache/gh · gh 2.73.0" and sentence.endswith("1 more wait.")


def test_dismissing_leaves_it_waiting_and_tells_it_no_more(qtbot: QtBot, window: Window, gate: Gate, run: Run) -> None:
    run(gate.hold(LOOK_ALIKE))
    qtbot.mouseClick(window.notices.banner.findChild(QPushButton, "banner-second"), Qt.MouseButton.LeftButton)
    assert not window.notices.banner.isVisible() and gate.waiting() == (LOOK_ALIKE,)
    gate.changed.publish(None)
    assert not window.notices.banner.isVisible()


def test_what_was_answered_meanwhile_is_told_no_more(window: Window, gate: Gate, run: Run) -> None:
    run(gate.hold(LOOK_ALIKE))
    run(gate.keep(LOOK_ALIKE))
    assert not window.notices.banner.isVisible()


def test_what_the_person_just_set_aside_is_no_news(theme: Theme, window: Window, gate: Gate, run: Run) -> None:
    desk_of(window.studio, theme, window).seen.add(LOOK_ALIKE.id)
    run(gate.hold(LOOK_ALIKE))
    assert not window.notices.banner.isVisible()


def test_what_waited_before_the_program_started_is_no_news(window: Window, gate: Gate, run: Run) -> None:
    gate.stored = (LOOK_ALIKE,)
    run(window.notices.begin())
    assert gate.waiting() == (LOOK_ALIKE,) and not window.notices.banner.isVisible()


def test_the_desktop_is_told_where_there_is_a_tray(
    window: Window, gate: Gate, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda _self, title, text, _icon: told.append((title, text)))
    run(gate.hold(LOOK_ALIKE))
    assert told and told[0] == notice_words(LOOK_ALIKE, LOOK_ALIKE.review.findings[0])
    assert window.notices._tray is not None
    window.notices._tray.messageClicked.emit()
    assert window.opened == [(LOOK_ALIKE, LOOK_ALIKE.review.findings[0].key)]
