"""The tool bar keeps every part whole: where there is no room, words go before anything is cut."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from kitstudio.services.composition import Composition, SetState
from kitstudio.ui.composer.toolbar import Toolbar
from kitstudio.ui.theme import Mode, Theme


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("width", [1200, 1850])
def test_nothing_in_the_bar_is_cut_at_any_text_size(qtbot: QtBot, scale: float, width: int) -> None:
    theme = Theme(Mode.LIGHT, scale)
    theme.install()
    bar = Toolbar(theme)
    qtbot.addWidget(bar)
    bar.resize(width, bar.sizeHint().height())
    bar.show()
    bar.show_composition(Composition(SetState("")), empty=True)
    QApplication.processEvents()
    for part in (bar.view, *bar.tools()):
        assert part.width() >= part.sizeHint().width()
        assert bar.rect().contains(part.geometry())
    assert [tool.accessibleName() for tool in bar.tools()] == [
        "Open",
        "Save",
        "Export",
        "Publish",
        "Launch: no Kits yet",
    ]
    if scale == 1.0 and width == 1850:
        assert bar.launch.text() == "Launch: no Kits yet" and bar.publish.text() == "Publish"
    Theme(Mode.LIGHT).install()
