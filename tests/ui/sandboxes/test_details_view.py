"""Details: why an optional request was left out is told whole."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from kitstudio.runtime.backend import SandboxStatus, State
from kitstudio.ui.sandboxes.text_views import DetailsView
from kitstudio.ui.theme import Theme

WHY = "com.docker.sandbox/credential@1 jotter: no secret is bound to it; its Kit runs without signing in"


def test_the_reason_of_what_was_left_out_is_not_cut(qtbot: QtBot, theme: Theme) -> None:
    view = DetailsView(theme)
    qtbot.addWidget(view)
    view.show_details(SandboxStatus("1", "box", State.RUNNING, "set", "0" * 64, skipped=(WHY, "other: why")), {})
    texts = [label.text() for label in view.findChildren(QLabel)]
    assert WHY in texts and "other: why" in texts
