"""Rows of a sandbox's tab, one below the other, or what is said where there are none."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.widgets.composite import StateView
from kitstudio.ui.widgets.layout import set_ground


class RowsPane(QWidget):
    """``begin``, then ``add`` each row, then ``end``. ``empty``: what stands there instead."""

    def __init__(self, empty: StateView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        content = ScrollContent()
        self._rows = QVBoxLayout(content)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(0)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        self._stack = QStackedWidget()
        self._stack.addWidget(empty)
        self._stack.addWidget(area)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        set_ground(self, "raised")

    def begin(self) -> None:
        """Take the rows that are there away."""
        while (item := self._rows.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()

    def add(self, row: QWidget) -> None:
        """Put a row below the others."""
        self._rows.addWidget(row)

    def end(self, *, empty: bool) -> None:
        """The rows are complete; ``empty``: there is nothing to show."""
        self._rows.addStretch(1)
        self._stack.setCurrentIndex(0 if empty else 1)
