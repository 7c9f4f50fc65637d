"""Fields of settings that are text: each says at once what is wrong with what is typed, and keeps what is right."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.fonts import Type
from kitstudio.ui.settings.rows import cell
from kitstudio.ui.settings.section import SettingsContext
from kitstudio.ui.widgets import button, column, holder, row, text_label
from kitstudio.ui.widgets.text import tr, visible


class TextSetting(QWidget):
    """One line. Kept when the field is left or Return is pressed, if it is right; Escape brings back what is kept."""

    def __init__(
        self,
        context: SettingsContext,
        key: str,
        words: str,
        example: str = "",
        read: Callable[[], str] | None = None,
        write: Callable[[str], object] | None = None,
    ) -> None:
        """``read`` and ``write``: between the field's text and the setting's value, where they differ."""
        super().__init__()
        self._context, self._key, self._words = context, key, words
        self._read = read or (lambda: context.settings.text(key))
        self._write = write or (lambda text: text)
        self.field = QLineEdit(self._read())
        self.field.setObjectName(f"setting-{key}")
        self.field.setAccessibleName(words)
        self.field.setPlaceholderText(example)
        self.field.setProperty("mono", True)
        self.field.setMinimumWidth(context.theme.px(250))
        self.field.textEdited.connect(lambda _: self._judge())
        self.field.editingFinished.connect(self._keep)
        self.wrong = text_label("", Type.SMALL, "critical", wrap=True)
        self.wrong.hide()
        self.setLayout(column(self.field, self.wrong, spacing=context.theme.px(4)))
        self.destroyed.connect(context.settings.changed.subscribe(self._changed))

    def _judge(self) -> bool:
        try:
            self._context.settings.check(self._key, self._write(self.field.text().strip()))
        except KitStudioError as error:
            _tell(self.wrong, self.field, error)
            return False
        _tell(self.wrong, self.field, None)
        return True

    def _keep(self) -> None:
        if self._judge():
            self._context.set(self._key, self._write(self.field.text().strip()), self._words)

    def _changed(self, key: str) -> None:
        if key == self._key and not self.field.hasFocus():
            self.field.setText(self._read())
            _tell(self.wrong, self.field, None)


class ListSetting(QWidget):
    """Several entries: each can be taken out, one more is typed below."""

    def __init__(
        self,
        context: SettingsContext,
        key: str,
        words: str,
        example: str,
        *beside: QWidget,
    ) -> None:
        super().__init__()
        self._context, self._key, self._words = context, key, words
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(context.theme.px(2))
        self._notes: dict[str, str] = {}
        self.field = QLineEdit()
        self.field.setObjectName(f"add-{key}")
        self.field.setAccessibleName(words)
        self.field.setPlaceholderText(example)
        self.field.setProperty("mono", True)
        self.field.textEdited.connect(lambda _: self._judge())
        self.field.returnPressed.connect(self._add)
        self.ok = button(context.theme, tr("Add"), "plus", name=f"add-{key}-ok")
        self.ok.setAccessibleName(tr("Add to {name}").format(name=words))
        self.ok.setEnabled(False)
        self.ok.clicked.connect(self._add)
        self.wrong = text_label("", Type.SMALL, "critical", wrap=True)
        self.wrong.hide()
        self.setMinimumWidth(context.theme.px(250))
        self.field.setMinimumWidth(context.theme.px(250))
        typed = row(self.field, self.ok, *beside, spacing=context.theme.px(8))
        self.setLayout(column(holder(self._rows), typed, self.wrong, spacing=context.theme.px(4)))
        self._draw()
        self.destroyed.connect(context.settings.changed.subscribe(lambda name: self._draw() if name == key else None))

    def values(self) -> tuple[str, ...]:
        """What is kept."""
        return self._context.settings.texts(self._key)

    def add(self, text: str) -> bool:
        """Keep one more; False where it is refused, and the reason is shown."""
        if not self._judge(text):
            return False
        return self._context.set(self._key, (*self.values(), text), tr("Add to {name}").format(name=self._words))

    def remove(self, text: str) -> None:
        """Take one out."""
        left = tuple(value for value in self.values() if value != text)
        self._context.set(self._key, left, tr("Take out of {name}").format(name=self._words))

    def note(self, text: str, words: str) -> None:
        """Say something beside an entry."""
        if self._notes.get(text) != words:
            self._notes[text] = words
            self._draw()

    def tell(self, error: KitStudioError | None) -> None:
        """Say what is wrong with what was typed."""
        _tell(self.wrong, self.field, error)

    def _judge(self, text: str | None = None) -> bool:
        typed = self.field.text().strip() if text is None else text
        self.ok.setEnabled(False)
        if not typed:
            self.tell(None)
            return False
        try:
            self._context.settings.check(self._key, (*self.values(), typed))
        except KitStudioError as error:
            self.tell(error)
            return False
        self.tell(None)
        self.ok.setEnabled(True)
        return True

    def _add(self) -> None:
        if self.add(self.field.text().strip()):
            self.field.clear()
            self.ok.setEnabled(False)

    def _draw(self) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for value in self.values():
            out = button(self._context.theme, tr("Remove"), kind="link", name=f"remove-{self._key}-{value}")
            out.setAccessibleName(tr("Remove {name}").format(name=visible(value)))
            out.clicked.connect(lambda _=False, value=value: self.remove(value))
            words = column(cell(visible(value), Type.MONO), spacing=0)
            if note := self._notes.get(value, ""):
                words.addWidget(text_label(visible(note), Type.SMALL, "secondary", wrap=True))
            line = row(spacing=self._context.theme.px(8))
            line.addLayout(words, 1)
            line.addWidget(out)
            self._rows.addWidget(holder(line))


def _tell(label: QWidget, field: QLineEdit, error: KitStudioError | None) -> None:
    # Here everybody sees which setting it is.
    words = "" if error is None else visible(error.what.removeprefix(f"{error.where}: "))
    words = words[:1].upper() + words[1:]
    label.setText(words)  # type: ignore[attr-defined]
    label.setVisible(error is not None)
    field.setAccessibleDescription(words)
    field.setToolTip(words)
