"""Building blocks of the settings page: a section with a box of rows."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLayout, QSizePolicy, QVBoxLayout, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import Elided, Icon, column, holder, line, row, text_label
from kitstudio.ui.widgets.text import visible


def cell(text: str, role: Type = Type.BODY, ink: str = "") -> Elided:
    """Text that takes the width it is given, and no more: a table's cell."""
    made = Elided(text, role, ink)
    made.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    return made


class Section(QWidget):
    """A heading, a sentence, and a box of rows."""

    def __init__(self, theme: Theme, title: str, about: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setAccessibleName(title)
        self._head = row(text_label(title, Type.HEADING), None)
        self._box = QFrame()
        self._box.setProperty("card", True)
        self._rows = QVBoxLayout(self._box)
        self._rows.setContentsMargins(theme.px(16), 0, theme.px(16), 0)
        self._rows.setSpacing(0)
        layout = self._column = column(self._head, spacing=theme.px(2))
        if about:
            layout.addWidget(text_label(about, Type.BODY, "secondary", wrap=True))
        layout.addSpacing(theme.px(10))
        layout.addWidget(self._box)
        self.setLayout(layout)

    def action(self, widget: QWidget) -> None:
        """Put a widget at the right of the heading."""
        self._head.addWidget(widget)

    def below(self, widget: QWidget) -> None:
        """Put a widget under the box."""
        self._column.addSpacing(self.theme.px(8))
        self._column.addWidget(widget)

    def fill(self, layout: QLayout) -> None:
        """Put a layout of one's own into the box: a table."""
        self._rows.addWidget(holder(layout))

    def clear(self) -> None:
        """Take all rows out."""
        while (item := self._rows.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()

    def add(
        self,
        title: str,
        about: str,
        *controls: QWidget,
        icon: str = "",
        ink: Token = Token.SECONDARY,
        below: bool = False,
    ) -> QWidget:
        """One row: words at the left, controls at the right, or ``below`` the words where they need the width."""
        if self._rows.count():
            self._rows.addWidget(line())
        words = column(text_label(visible(title), Type.BODY, wrap=True), spacing=2)
        if about:
            words.addWidget(text_label(visible(about), Type.SMALL, "secondary", wrap=True))
        if below:
            words.addSpacing(self.theme.px(6))
            words.addLayout(row(*controls, None, spacing=self.theme.px(10)))
        else:
            words.insertStretch(0, 1)
            words.addStretch(1)
        made = QWidget()
        layout = row(spacing=self.theme.px(10), margins=(0, self.theme.px(10), 0, self.theme.px(10)))
        if icon:
            layout.addWidget(Icon(self.theme, icon, 20, ink), 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        for control in () if below else controls:
            layout.addWidget(control)
        made.setLayout(layout)
        made.setMinimumHeight(self.theme.px(52))
        self._rows.addWidget(made)
        return made
