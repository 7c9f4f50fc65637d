"""A question before something is lost. The button that loses nothing is the default."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLabel, QScrollArea, QVBoxLayout, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import Icon, button, column, holder, line, row, set_ground, text_label
from kitstudio.ui.widgets.text import tr

WIDTH, TALL = 480, 320
"""How wide the question is, and how high its words may be before they scroll."""


class ConfirmDialog(QDialog):
    """``confirmed`` if the person presses the verb."""

    confirmed = Signal()

    def __init__(self, theme: Theme, title: str, sentence: str, verb: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("confirmDialog")
        self.setWindowTitle(title)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        icon = Icon(theme, "serious", 20, Token.SERIOUS)
        said = text_label(sentence, wrap=True)
        said.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        heading = text_label(title, Type.STRONG, wrap=True)
        for label in (heading, said):
            label.setMinimumHeight(label.heightForWidth(theme.px(WIDTH - 76)))
        tall = said.minimumHeight() > theme.px(TALL)
        words = column(heading, _scrolled(said, theme.px(TALL)) if tall else said, spacing=theme.px(6))
        head = row(icon, spacing=theme.px(12), margins=(theme.px(20), theme.px(18), theme.px(20), theme.px(18)))
        head.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        head.addLayout(words, 1)
        self.go = button(theme, verb, kind="danger", name="confirmGo")
        self.go.clicked.connect(self._go)
        self.stay = button(theme, tr("Cancel"), kind="primary", name="confirmCancel")
        self.stay.setDefault(True)
        self.stay.clicked.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(head, "raised"), 1)
        layout.addWidget(line())
        layout.addWidget(holder(row(None, self.go, self.stay, margins=(20, 12, 20, 12)), "background"))
        self.setFixedWidth(theme.px(WIDTH))

    def _go(self) -> None:
        self.confirmed.emit()
        self.accept()


def _scrolled(label: QLabel, height: int) -> QScrollArea:
    """Words that are longer than a dialog should be high; the keys reach them."""
    area = QScrollArea()
    area.setFrameShape(QScrollArea.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(label)
    set_ground(label, "raised")
    area.setAccessibleName(label.text())
    area.setMinimumHeight(height)
    return area
