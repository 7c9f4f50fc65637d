"""What a Kit does inside its sandbox beside what it asks for, under its permissions: hooks, files, instructions."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.review import Uncounted
from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.fold import FoldBody, FoldHeader, uncounted_lines
from kitstudio.ui.widgets.text import tr

_HEIGHT = 240


class InsidePanel(QWidget):
    """A fold that is open from the start: what §7.4 does not count is not hidden. Empty: not there at all."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("kit-inside")
        self._theme = theme
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(theme.px(20), theme.px(8), theme.px(20), theme.px(12))
        self._layout.setSpacing(theme.px(6))
        self.hide()

    def show_uncounted(self, uncounted: Sequence[Uncounted]) -> None:
        """Show these rows in place of the last ones."""
        while (item := self._layout.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.deleteLater()
        self.setVisible(bool(uncounted))
        if not uncounted:
            return
        header = FoldHeader(
            self._theme,
            "info",
            Token.SECONDARY,
            tr("Inside its sandbox"),
            len(uncounted),
            tr("not counted as permissions"),
            "inside",
        )
        body = FoldBody(self._theme, uncounted_lines(uncounted))
        content = ScrollContent()
        stacked = QVBoxLayout(content)
        stacked.setContentsMargins(0, 0, 0, 0)
        stacked.addWidget(body)
        stacked.addStretch(1)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setMaximumHeight(self._theme.px(_HEIGHT))
        area.setWidget(content)
        header.opened.connect(body.show_rows)
        header.opened.connect(area.setVisible)
        self._layout.addWidget(header)
        self._layout.addWidget(area)
        header.toggle()
