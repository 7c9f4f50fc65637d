"""The focus ring follows the keyboard, not the mouse."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import FocusRing, button, column


def test_the_ring_stands_around_what_the_keyboard_reached(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    window = QWidget()
    qtbot.addWidget(window)
    box, field, press = QCheckBox("Mixin"), QLineEdit(), button(theme, "Add to set")
    window.setLayout(column(box, field, press, margins=(20, 20, 20, 20)))
    ring = FocusRing(theme, window)
    with qtbot.waitActive(window):
        window.show()
    press.setFocus(Qt.FocusReason.MouseFocusReason)
    assert not ring.isVisible()
    box.setFocus(Qt.FocusReason.TabFocusReason)
    assert ring.isVisible()
    assert ring.geometry().contains(box.geometry())
    field.setFocus(Qt.FocusReason.TabFocusReason)
    assert not ring.isVisible()
    press.setFocus(Qt.FocusReason.MouseFocusReason)
    assert not ring.isVisible()
    press.setFocus(Qt.FocusReason.OtherFocusReason)
    box.setFocus(Qt.FocusReason.BacktabFocusReason)
    box.move(40, 60)
    assert ring.geometry().contains(box.geometry())
    box.hide()
    assert not ring.isVisible()
