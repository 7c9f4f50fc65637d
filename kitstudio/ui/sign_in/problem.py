"""A failure where it happened: what, where, remedy, in the dialog that caused it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import ExactEntry, Icon, column, row, text_label
from kitstudio.ui.widgets.text import visible


class ProblemNote(QWidget):
    """Hidden until ``tell``; plain text only, since a registry's own words are part of it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._what = text_label("", Type.NAME, "critical", wrap=True)
        self._where = ExactEntry(theme, "")
        self._remedy = text_label("", Type.SMALL, "secondary", wrap=True)
        words = column(self._what, self._where, self._remedy, spacing=theme.px(4))
        layout = row(spacing=theme.px(8))
        layout.addWidget(Icon(theme, "critical", 20, Token.CRITICAL), 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        self.setLayout(layout)
        self.hide()

    @property
    def text(self) -> str:
        """Everything that is said; empty while hidden."""
        return self.accessibleName() if not self.isHidden() else ""

    def tell(self, error: KitStudioError, *, where: bool = True) -> None:
        """Show a failure; ``where`` is left out in places that say it themselves."""
        self._what.setText(visible(error.what))
        self._where.text = error.where
        self._where.setVisible(where and bool(error.where))
        self._where.updateGeometry()
        self._remedy.setText(visible(error.remedy))
        self._remedy.setVisible(bool(error.remedy))
        self.setAccessibleName(str(error))
        self.show()
