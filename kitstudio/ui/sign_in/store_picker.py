"""Where the secret will be kept: each store with what protects it. What lies unencrypted is never chosen beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QRadioButton, QVBoxLayout, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import Icon, column, holder, row, text_label
from kitstudio.ui.widgets.text import tr, visible

if TYPE_CHECKING:
    from kitstudio.registry.sign_in import StoreChoice


class StorePicker(QWidget):
    """``chosen()`` when the person picks a store; ``value`` is its name, empty while none is."""

    chosen = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAccessibleName(tr("Where the secret is kept"))
        self._group = QButtonGroup(self)
        self._names: dict[str, QRadioButton] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(theme.px(6))
        self._waiting = text_label(tr("Finding out where secrets can be kept…"), Type.SMALL, "secondary")
        self._layout.addWidget(self._waiting)

    @property
    def value(self) -> str:
        """The name of the chosen store."""
        return next((name for name, made in self._names.items() if made.isChecked()), "")

    def show_choice(self, choice: StoreChoice) -> None:
        """Offer the stores there are, and say why the keyring is not among them."""
        self._waiting.hide()
        if choice.fallback_reason:
            reason = text_label(
                tr("{reason} Choose where to keep the secret instead; nothing is chosen for you.").format(
                    reason=visible(choice.fallback_reason)
                ),
                Type.SMALL,
                "notice",
                wrap=True,
            )
            reason.setObjectName("no-keyring")
            icon = Icon(self._theme, "notice", 16, Token.NOTICE)
            note = row(spacing=self._theme.px(8))
            note.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
            note.addWidget(reason, 1)
            self._layout.addWidget(holder(note))
        for protection in choice.offered:
            made = QRadioButton(protection.title)
            made.setObjectName(f"store-{protection.name}")
            made.setAccessibleDescription(protection.sentence)
            made.toggled.connect(lambda on: self.chosen.emit() if on else None)
            self._group.addButton(made)
            self._names[protection.name] = made
            sentence = protection.sentence
            if choice.locked and protection.name == choice.recommended:
                sentence += " " + tr("It is locked: the system asks for its password when you sign in.")
            about = text_label(visible(sentence), Type.SMALL, "secondary", wrap=True)
            indent = column(about, margins=(self._theme.px(24), 0, 0, 0))
            self._layout.addWidget(holder(column(made, indent, spacing=self._theme.px(2))))
            if protection.name == choice.recommended:
                made.setChecked(True)

    def focus(self) -> None:
        """Put the keyboard on the choice."""
        for made in self._names.values():
            made.setFocus(Qt.FocusReason.OtherFocusReason)
            return
