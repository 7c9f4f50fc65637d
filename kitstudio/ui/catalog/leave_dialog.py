"""Before a browser is asked to open an address a Kit names: the address in full, and a person's yes."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import ExactEntry, button, column, row, text_label
from kitstudio.ui.widgets.text import tr


class LeaveDialog(QDialog):
    """Shows an address in full before a browser is asked to open it."""

    def __init__(self, theme: Theme, address: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("leave-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open in the browser"))
        self.setMinimumWidth(theme.px(480))
        self._address = address
        web = QUrl(address, QUrl.ParsingMode.StrictMode)
        allowed = web.isValid() and web.scheme() in ("https", "http")
        words = tr("The Kit’s publisher chose this address. It opens in your browser, outside Kit Studio.")
        if not allowed:
            words = tr("This is not a web address, so it is not opened.")
        go = button(theme, tr("Open"), "external", name="leave-open")
        go.setEnabled(allowed)
        go.clicked.connect(self._go)
        stay = button(theme, tr("Stay here"), kind="primary", name="leave-stay")
        stay.setDefault(True)
        stay.clicked.connect(self.reject)
        self.setLayout(
            column(
                text_label(tr("Leave for the source page?"), Type.HEADING),
                text_label(words, Type.BODY, "secondary", wrap=True),
                ExactEntry(theme, address),
                8,
                row(None, go, stay),
                spacing=theme.px(10),
                margins=(24, 24, 24, 20),
            )
        )
        stay.setFocus()

    def _go(self) -> None:
        QDesktopServices.openUrl(QUrl(self._address, QUrl.ParsingMode.StrictMode))
        self.accept()
