"""Signing in where the failure stands: the card above the list, on the Kit page, or a dialog from a card's button."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import DEMO, LOCAL, RegistryError, parse
from kitstudio.services.app import Studio
from kitstudio.ui.sign_in import SignInCard, SignInDialog
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import column


class SignInPlace(QObject):
    """Keeps one sign-in card in ``place`` while it is needed. ``signed_in(host)``."""

    signed_in = Signal(str)

    def __init__(self, theme: Theme, studio: Studio, place: QWidget) -> None:
        super().__init__(place)
        self._theme, self._studio, self._place = theme, studio, place
        self._layout = column(spacing=0, margins=(16, 12, 16, 0))
        place.setLayout(self._layout)
        self._for: tuple[str, str] | None = None
        self.card: QWidget | None = None

    def show_for(self, host: str, error: KitStudioError | None) -> None:
        """Offer the sign-in at ``host``; a card that stands there for the same failure stays, with what was typed."""
        key = (host, str(error))
        if self._for == key:
            return
        self.clear()
        self._for = key
        told = error or KitStudioError("A sign-in is needed.", where=host)
        card = SignInCard(self._theme, self._studio, host, told)
        card.signed_in.connect(self.signed_in)
        self._layout.addWidget(card)
        self.card = card
        self._place.show()

    def clear(self) -> None:
        """Nothing is asked for."""
        self._for = None
        if self.card is not None:
            self._layout.removeWidget(self.card)
            self.card.hide()
            self.card.deleteLater()
            self.card = None
        self._place.hide()


def ask_to_sign_in(theme: Theme, studio: Studio, host: str, window: QWidget, done: Callable[[str], None]) -> None:
    """Open the sign-in dialog: only ever after a click or a key."""
    dialog = SignInDialog(theme, studio, host, parent=window)
    dialog.signed_in.connect(done)
    dialog.open()


def host_in(reference: str) -> str:
    """The registry a reference names; empty where it names none that could be signed in to."""
    try:
        host = parse(reference).registry
    except RegistryError:
        return ""
    return "" if host in (DEMO, LOCAL) else host
