"""Inputs of the whole set: one editor for each shape of argument, judged while it is typed.

Secrets are masked, kept out of undo texts and exports, and never shown in a tool tip.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QGridLayout, QLineEdit, QMenu, QToolButton, QVBoxLayout, QWidget

from kitstudio.models.args import check_value
from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Input, Member
from kitstudio.models.references import whole_reference
from kitstudio.models.words import claim, exact
from kitstudio.ui.composer.rows import name_and_version
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import Elided, Icon, icon_button, row, text_label
from kitstudio.ui.widgets.text import tr, visible

REST_MS = 180
"""How long typing rests before the set is judged anew; the field's own verdict comes at once."""


class InputsView(QWidget):
    """``changed(kit, name, value or None)`` when a value is to be taken over; ``offer_wanted(kit, name)``."""

    changed = Signal(str, str, object)
    offer_wanted = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._editors: dict[tuple[str, str], InputEditor] = {}
        self._grid = QVBoxLayout(self)
        self._grid.setContentsMargins(theme.px(16), theme.px(4), theme.px(16), theme.px(12))
        self._grid.setSpacing(theme.px(8))
        self._none = text_label(tr("No Kit of this set asks for an input."), ink="secondary", wrap=True)
        self._grid.addWidget(self._none)

    def show_inputs(self, inputs: Sequence[Input]) -> None:
        """Show these; an editor that stays keeps its text, cursor and focus."""
        wanted = {(each.kit, each.name): each for each in inputs}
        self._none.setVisible(not wanted)
        if list(wanted) != list(self._editors):
            for key in [key for key in self._editors if key not in wanted]:
                gone = self._editors.pop(key)
                self._grid.removeWidget(gone)
                gone.hide()
                gone.deleteLater()
            for place, (key, each) in enumerate(wanted.items()):
                editor = self._editors.get(key)
                if editor is None:
                    editor = InputEditor(self.theme, each)
                    editor.changed.connect(self.changed)
                    editor.offer_wanted.connect(self.offer_wanted)
                    self._editors[key] = editor
                self._grid.removeWidget(editor)
                self._grid.insertWidget(place, editor)
                editor.show()
            self._editors = {key: self._editors[key] for key in wanted}
        for key, each in wanted.items():
            self._editors[key].show_input(each)

    def editor(self, kit: str, name: str) -> InputEditor | None:
        """The editor of an input."""
        return self._editors.get((kit, name))

    def first_wrong(self) -> InputEditor | None:
        """The first editor with an error."""
        return next((editor for editor in self._editors.values() if editor.input.error), None)

    def say_effect(self, kit: str, name: str, words: str) -> None:
        """What a value adds to the surface, under its field."""
        for key, editor in self._editors.items():
            editor.say_effect(words if key == (kit, name) else "")


class InputEditor(QWidget):
    """Label, field, and the line below it: what is wrong, what the value adds, or what is expected."""

    changed = Signal(str, str, object)
    offer_wanted = Signal(str, str)

    def __init__(self, theme: Theme, each: Input) -> None:
        super().__init__()
        self.theme = theme
        self.input = each
        self._effect = ""
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._take)
        owner = " ".join(part for part in name_and_version(Member(each.kit)) if part) if each.kit else tr("the set")
        label = Elided(each.name)
        label.setFixedWidth(theme.px(116))
        label.setToolTip(visible(f"{each.name} · {owner}"))
        self.field: QLineEdit | QComboBox
        if each.arg.enum:
            self.field = self._combo(each)
        else:
            self.field = self._line(each)
        self.field.setObjectName(f"input-{each.name}")
        self.field.setAccessibleName(f"{each.name}, {owner}")
        self.field.setAccessibleDescription(claim(each.arg.description, 300))
        self._icon = Icon(theme, "info", 14)
        self._help = text_label("", Type.SMALL, "secondary", wrap=True)
        self._line_below = row(self._icon, spacing=theme.px(4))
        self._line_below.addWidget(self._help, 1)
        self.more = icon_button(theme, "more", tr("More for {name}").format(name=visible(each.name)), small=True)
        self.more.setObjectName(f"inputMore-{each.name}")
        menu = QMenu(self.more)
        offer = menu.addAction(tr("Offer to users of this set"))
        offer.setObjectName(f"offer-{each.name}")
        offer.triggered.connect(lambda _=False: self.offer_wanted.emit(self.input.kit, self.input.name))
        self.more.setMenu(menu)
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(theme.px(12))
        layout.setVerticalSpacing(theme.px(4))
        layout.addWidget(label, 0, 0)
        layout.addWidget(self.field, 0, 1)
        layout.addWidget(self.more, 0, 2)
        layout.addLayout(self._line_below, 1, 1)
        layout.setColumnStretch(1, 1)
        self.show_input(each)

    def show_input(self, each: Input) -> None:
        """The value and verdict as the set is judged; text being typed is left alone."""
        self.input = each
        self.more.setVisible(can_be_offered(each))
        target = whole_reference(each.value or "")
        self.field.setEnabled(not target)
        if target and isinstance(self.field, QLineEdit):
            self._rest.stop()
        if not self._rest.isActive():
            self._show_value(each)
            self._say(each.error)

    def say_effect(self, words: str) -> None:
        """Words under the field while nothing is wrong."""
        self._effect = words
        if not self._rest.isActive():
            self._say(self.input.error)

    def flush(self) -> None:
        """Take over what was typed now."""
        if self._rest.isActive():
            self._rest.stop()
            self._take()

    def _combo(self, each: Input) -> QComboBox:
        combo = QComboBox()
        if each.arg.default is None and not each.arg.required:
            combo.addItem(tr("not set"), None)
        elif each.arg.default is None and each.value is None:
            combo.addItem(tr("Choose…"), None)
        for value in each.arg.enum:
            words = exact(value) if value else tr("empty: {meaning}").format(meaning=_meaning(each))
            combo.addItem(words, value)
        combo.activated.connect(lambda _index: self.changed.emit(self.input.kit, self.input.name, combo.currentData()))
        return combo

    def _line(self, each: Input) -> QLineEdit:
        field = QLineEdit()
        field.setProperty("mono", True)
        field.textEdited.connect(lambda _text: self._typed())
        field.editingFinished.connect(self.flush)
        if each.secret:
            field.setEchoMode(QLineEdit.EchoMode.Password)
            lock = QAction(self.theme.icon("lock", 16, Token.SECONDARY), "", field)
            field.addAction(lock, QLineEdit.ActionPosition.LeadingPosition)
            eye = QAction(self.theme.icon("eye", 16, Token.SECONDARY), tr("Show"), field)
            eye.triggered.connect(lambda: self._reveal(eye))
            field.addAction(eye, QLineEdit.ActionPosition.TrailingPosition)
            words = tr("Required, kept out of exports") if each.arg.required else tr("Kept out of exports")
            field.setPlaceholderText(words)
        else:
            self._verdict = QAction(field)
            field.addAction(self._verdict, QLineEdit.ActionPosition.TrailingPosition)
            self._verdict.setVisible(False)
            default = exact(each.arg.default) if each.arg.default is not None else ""
            field.setPlaceholderText(tr("Required") if each.arg.required and each.arg.default is None else default)
        return field

    def _reveal(self, eye: QAction) -> None:
        assert isinstance(self.field, QLineEdit)
        hidden = self.field.echoMode() is QLineEdit.EchoMode.Password
        self.field.setEchoMode(QLineEdit.EchoMode.Normal if hidden else QLineEdit.EchoMode.Password)
        eye.setIcon(self.theme.icon("eye-off" if hidden else "eye", 16, Token.SECONDARY))
        eye.setText(tr("Hide") if hidden else tr("Show"))

    def _typed(self) -> None:
        """The verdict at once, the judgement of the whole set when typing rests."""
        self._rest.start()
        self._say(self._own_verdict())

    def _own_verdict(self) -> str:
        assert isinstance(self.field, QLineEdit)
        text = self.field.text()
        if not text and self.input.arg.required and self.input.arg.default is None:
            return tr("A value is needed.")
        if not text:
            return ""
        try:
            check_value(self.input.name, self.input.arg, text)
        except KitStudioError as error:
            return f"{error.what} {error.remedy}".strip()
        return ""

    def _take(self) -> None:
        assert isinstance(self.field, QLineEdit)
        text = self.field.text()
        value = text if text or self.input.arg.default else None
        self.changed.emit(self.input.kit, self.input.name, value)

    def _show_value(self, each: Input) -> None:
        if isinstance(self.field, QComboBox):
            value = each.arg.default if each.value is None else each.value
            self.field.setCurrentIndex(max(0, self.field.findData(value)))
        else:
            text = "" if whole_reference(each.value or "") else each.value or ""
            if self.field.text() != text:
                self.field.setText(text)

    def _say(self, error: str) -> None:
        field = self.field
        wrong = bool(error)
        if field.property("state") != ("error" if wrong else ""):
            field.setProperty("state", "error" if wrong else "")
            field.style().unpolish(field)
            field.style().polish(field)
        if isinstance(field, QLineEdit) and not self.input.secret:
            shown = bool(field.text()) and (wrong or bool(self.input.arg.pattern))
            self._verdict.setVisible(shown)
            icon, token = ("critical", Token.CRITICAL) if wrong else ("success", Token.SUCCESS)
            self._verdict.setIcon(self.theme.icon(icon, 16, token))
            self._verdict.setText(tr("Not accepted") if wrong else tr("Accepted"))
        target = whole_reference(self.input.value or "")
        if target and not wrong:
            self._below("", "secondary", tr("Answered by the set’s own input {name}.").format(name=visible(target)))
        elif wrong:
            self._below("critical", "critical", exact(error))
        elif self._effect:
            self._below("notice", "notice", self._effect)
        else:
            self._below("", "secondary", claim(self.input.arg.description, 240))

    def _below(self, icon: str, ink: str, words: str) -> None:
        self._icon.setVisible(bool(icon and words))
        if icon:
            self._icon.show_icon(icon, Token(ink))
        self._help.setVisible(bool(words))
        if self._help.property("ink") != ink:
            self._help.setProperty("ink", ink)
            self._help.style().unpolish(self._help)
            self._help.style().polish(self._help)
        self._help.setText(words)
        self.field.setToolTip("")


def can_be_offered(each: Input) -> bool:
    """A Kit's own input that is not answered by the set yet (§9.5)."""
    return bool(each.kit) and not whole_reference(each.value or "")


def _meaning(each: Input) -> str:
    return claim(each.arg.description, 60) or tr("no value")
