"""One line of text asked for: a command to run, a name, a path. What is wrong with it is said while it is typed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import button, column, holder, line, row, text_label
from kitstudio.ui.widgets.text import tr


class TextDialog(QDialog):
    """``given(text)`` if the person presses the verb. ``fault`` says what is wrong with a text, empty: nothing."""

    given = Signal(str)

    def __init__(
        self,
        theme: Theme,
        title: str,
        sentence: str,
        verb: str,
        fault: Callable[[str], str],
        *,
        text: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._fault = fault
        self.setObjectName("textDialog")
        self.setWindowTitle(title)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.field = QLineEdit(text)
        self.field.setObjectName("textDialogField")
        self.field.setAccessibleName(title)
        self.field.setFont(theme.font(Type.MONO_FIELD))
        self.field.setMaxLength(4000)
        self.field.textChanged.connect(self._judge)
        self._said = text_label("", Type.SMALL, "serious", wrap=True)
        self._said.setMinimumHeight(theme.line(Type.SMALL))
        body = column(
            text_label(title, Type.STRONG, wrap=True),
            text_label(sentence, ink="secondary", wrap=True),
            self.field,
            self._said,
            spacing=theme.px(8),
            margins=(20, 18, 20, 14),
        )
        self.go = button(theme, verb, kind="primary", name="textDialogGo")
        self.go.setDefault(True)
        self.go.clicked.connect(self._go)
        stay = button(theme, tr("Cancel"), name="textDialogCancel")
        stay.clicked.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(body, "raised"), 1)
        layout.addWidget(line())
        layout.addWidget(holder(row(None, stay, self.go, margins=(20, 12, 20, 12)), "background"))
        self.setMinimumWidth(theme.px(480))
        self.field.selectAll()
        self._judge(text)

    def _judge(self, text: str) -> None:
        fault = self._fault(text)
        self._said.setText(fault if text.strip() else "")
        self.go.setEnabled(not fault)

    def _go(self) -> None:
        if not self._fault(self.field.text()):
            self.given.emit(self.field.text())
            self.accept()
