"""The strip above the pages: title, search, undo, redo, help."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import Elided, Painted, SearchField, icon_button, row
from kitstudio.ui.widgets.text import tr

HEADER = 48
"""Its height in pixels at a text scale of one."""


class Header(Painted):
    """Shows and offers; what each tool does is connected by the window."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.title = Elided("", Type.TITLE)
        self.title.setObjectName("page-title")
        self.title.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.title.setFixedWidth(theme.px(200))
        self.search = SearchField(theme, tr("Search kits, paste a reference, or run a command"), tr("Search"), "Ctrl K")
        self.search.setObjectName("global-search")
        self.search.setMaximumWidth(theme.px(520))
        self.search.setMinimumWidth(theme.px(240))
        self.undo = icon_button(theme, "undo", tr("Undo"), object_name="undo")
        self.redo = icon_button(theme, "redo", tr("Redo"), object_name="redo")
        self.help = icon_button(theme, "help", tr("Help"), object_name="help")
        self.undo.setEnabled(False)
        self.redo.setEnabled(False)
        layout = row(self.title, spacing=8, margins=(16, 0, 12, 1))
        layout.addWidget(self.search, 10)
        layout.addStretch(1)
        for tool in (self.undo, self.redo, self.help):
            layout.addWidget(tool)
        self.setLayout(layout)
        self.setMinimumHeight(theme.px(HEADER))
        self.setMaximumHeight(theme.px(HEADER))
        theme.changed.connect(self._resize)

    def _resize(self) -> None:
        self.setMinimumHeight(self.theme.px(HEADER))
        self.setMaximumHeight(self.theme.px(HEADER))
        self.title.setFixedWidth(self.theme.px(200))
        self.search.setMaximumWidth(self.theme.px(520))
        self.search.setMinimumWidth(self.theme.px(240))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.colour(Token.BACKGROUND))
        painter.setPen(self.theme.colour(Token.BORDER))
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)
