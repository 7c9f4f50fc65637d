"""What the dialogs that take a secret are made of: fields, the eye beside a secret, what runs, a body that scrolls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QToolButton,
    QWidget,
)

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import column, give_icon, holder, icon_button, row, text_label
from kitstudio.ui.widgets.layout import Item
from kitstudio.ui.widgets.text import tr

MAX_TEXT = 65_536
"""Characters a field takes."""

Line: TypeAlias = tuple[str, QLineEdit, QWidget | None]
"""A line of a form: its label, its field, and what stands beside it."""


def text_field(name: str, words: str, text: str = "", example: str = "") -> QLineEdit:
    """A field; ``words`` is its accessible name, ``example`` stands in it while it is empty."""
    made = QLineEdit(text)
    made.setObjectName(name)
    made.setAccessibleName(words)
    made.setPlaceholderText(example)
    made.setMaxLength(MAX_TEXT)
    return made


def secret_field(name: str, words: str) -> QLineEdit:
    """A field that shows dots, and that no input method learns from."""
    made = text_field(name, words)
    made.setEchoMode(QLineEdit.EchoMode.Password)
    made.setInputMethodHints(
        Qt.InputMethodHint.ImhHiddenText | Qt.InputMethodHint.ImhSensitiveData | Qt.InputMethodHint.ImhNoPredictiveText
    )
    return made


def reveal_button(theme: Theme, field: QLineEdit, name: str) -> QToolButton:
    """The eye that shows and hides what is in a secret field."""
    made = icon_button(theme, "eye", tr("Show the secret"), object_name=name)
    made.setCheckable(True)

    def show(on: bool) -> None:
        field.setEchoMode(QLineEdit.EchoMode.Normal if on else QLineEdit.EchoMode.Password)
        words = tr("Hide the secret") if on else tr("Show the secret")
        made.setAccessibleName(words)
        made.setToolTip(words)
        give_icon(theme, made, "eye-off" if on else "eye", 16, Token.SECONDARY)

    made.toggled.connect(show)
    return made


def lines(theme: Theme, fields: Sequence[Line], label_width: int = 0) -> QGridLayout:
    """Labels left, fields right, each label the buddy of its field. ``label_width``: pixels at least."""
    form = QGridLayout()
    form.setHorizontalSpacing(theme.px(12))
    form.setVerticalSpacing(theme.px(8))
    form.setColumnMinimumWidth(0, label_width)
    for at, (name, field, beside) in enumerate(fields):
        label = text_label(name, Type.BODY)
        label.setBuddy(field)
        form.addWidget(label, at, 0)
        form.addWidget(field, at, 1, 1, 1 if beside else 2)
        if beside is not None:
            form.addWidget(beside, at, 2)
    form.setColumnStretch(1, 1)
    return form


class Working(QWidget):
    """What runs, in words over a bar; hidden while nothing does."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self._words = text_label("", Type.SMALL, "secondary", wrap=True)
        bar = QProgressBar()
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setAccessibleName(title)
        self.setLayout(column(self._words, bar, spacing=theme.px(4)))
        self.hide()

    def show_words(self, words: str) -> None:
        """Empty: nothing runs."""
        self.setVisible(bool(words))
        self._words.setText(words)


class ScrolledForm:
    """The layout of a dialog: ``parts`` that scroll where the screen is small, and its buttons below."""

    def __init__(self, theme: Theme, dialog: QDialog, parts: Sequence[Item], buttons: Sequence[QPushButton]) -> None:
        px = theme.px
        self._dialog, self._theme = dialog, theme
        self._body = holder(column(*parts, None, spacing=px(8), margins=(px(24), px(24), px(24), px(8))), "raised")
        self._foot = holder(row(None, *buttons, margins=(px(24), px(12), px(24), px(20))), "raised")
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(self._body)
        dialog.setLayout(column(area, self._foot, spacing=0))
        self._area = area

    def show_part(self, part: QWidget) -> None:
        """A part that came later: the dialog makes room for it, and where the screen has none, scrolls to it."""
        self.fit(16)
        layout = self._body.layout()
        assert layout is not None
        layout.activate()
        self._area.ensureWidgetVisible(part, 0, self._theme.px(8))

    def fit(self, spare: int) -> None:
        """As tall as what is said and ``spare`` pixels, as far as the screen allows; never less than it is."""
        layout = self._body.layout()
        assert layout is not None
        dialog = self._dialog
        wanted = layout.heightForWidth(dialog.width()) + self._foot.sizeHint().height() + self._theme.px(spare)
        most = dialog.screen().availableSize().height() * 9 // 10
        dialog.resize(dialog.width(), min(max(wanted, dialog.height()), most))
