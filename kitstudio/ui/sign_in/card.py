"""The card that stands where something failed for want of a sign-in: what, where, remedy, and the way in."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.ui.fonts import Type
from kitstudio.ui.sign_in.dialog import SignInDialog
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import ExactEntry, Icon, button, column, row, text_label
from kitstudio.ui.widgets.text import tr, visible


class SignInCard(QFrame):
    """``signed_in(host)`` once the registry took a sign-in: whoever shows the card then tries again. It opens nothing
    by itself."""

    signed_in = Signal(str)

    def __init__(
        self, theme: Theme, studio: Studio, host: str, error: KitStudioError, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._studio, self._host = theme, studio, host
        self.setObjectName("sign-in-card")
        self.setProperty("card", True)
        self.setAccessibleName(str(error))
        words = column(text_label(visible(error.what), Type.NAME, wrap=True), spacing=theme.px(4))
        if error.where:
            words.addWidget(ExactEntry(theme, error.where))
        if error.remedy:
            words.addWidget(text_label(visible(error.remedy), Type.SMALL, "secondary", wrap=True))
        self.action = button(theme, tr("Sign in…"), "user", name="sign-in")
        self.action.setAccessibleName(tr("Sign in to {host}").format(host=host))
        self.action.clicked.connect(self.open_dialog)
        layout = row(spacing=theme.px(12), margins=(16, 12, 16, 12))
        layout.addWidget(Icon(theme, "lock", 20, Token.NOTICE), 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        layout.addWidget(self.action, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(layout)

    def open_dialog(self) -> SignInDialog:
        """The dialog for this host: from the person's click or key."""
        dialog = SignInDialog(self._theme, self._studio, self._host, parent=self.window())
        dialog.signed_in.connect(self.signed_in)
        dialog.open()
        return dialog
