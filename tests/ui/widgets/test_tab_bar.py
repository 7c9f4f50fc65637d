"""A bar of tabs keeps room for the one that is bold."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from kitstudio.ui.sandboxes.detail import TAB_NAMES
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import row
from kitstudio.ui.widgets.tab_bar import tab_bar


def test_no_scroll_button_covers_a_tab_whichever_is_chosen(qtbot: QtBot, theme: Theme) -> None:
    bar = tab_bar(TAB_NAMES, "tabs", "Views")
    window = QWidget()
    qtbot.addWidget(window)
    window.setLayout(row(bar, None))
    window.resize(1200, 60)
    window.show()
    for _ in TAB_NAMES:
        qtbot.keyClick(bar, Qt.Key.Key_Right)
        QApplication.processEvents()
        assert bar.width() >= bar.sizeHint().width()
        assert not any(button.isVisible() for button in bar.findChildren(QToolButton))
