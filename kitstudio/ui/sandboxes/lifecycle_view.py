"""Lifecycle: the hooks that ran, with output, exit status and duration."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.runtime.backend import HookRun
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.models import HookModel, Index, short_kit
from kitstudio.ui.tables import dressed_table
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import Chip, Elided, button, holder, line, row, text_label
from kitstudio.ui.widgets.composite import StateView
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr, visible

MAX_LINES = 10_000


def output_pane(theme: Theme, name: str, object_name: str) -> QPlainTextEdit:
    """A read-only pane on the terminal's ground; its lines are capped."""
    pane = QPlainTextEdit()
    pane.setObjectName(object_name)
    pane.setAccessibleName(name)
    pane.setReadOnly(True)
    pane.setProperty("terminal", True)
    pane.setProperty("mono", True)
    pane.setFont(theme.font(Type.MONO))
    pane.setMaximumBlockCount(MAX_LINES)
    pane.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
    pane.document().setDocumentMargin(theme.px(12))
    return pane


def plain_output(text: str) -> str:
    """Untrusted output as lines: what cannot be seen is spelled out, colours are left out."""
    return "\n".join(visible(line.rstrip("\r")) for line in text.replace("\t", "    ").split("\n"))


class HookOutput(QWidget):
    """Heading and output of one hook."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.pane = output_pane(theme, tr("Output of the hook"), "hookOutput")
        self._title = text_label("", Type.NAME)
        self._what = Elided("", ink="secondary")
        self._chip = Chip(theme, ChipLook("", Tone.PLAIN, "user"))
        self._copy = button(theme, tr("Copy"), "copy", "link", name="hookCopy")
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.pane.toPlainText()))
        bar = row(self._title, spacing=8, margins=(20, 8, 20, 8))
        bar.addWidget(self._what, 1)
        bar.addWidget(self._chip)
        bar.addWidget(self._copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(bar, "surface"))
        layout.addWidget(line())
        layout.addWidget(self.pane, 1)
        self.show_hook(None, 0)

    def show_hook(self, hook: HookRun | None, number: int) -> None:
        """Show a hook's output; the place of reading stays while it grows."""
        self._chip.setVisible(hook is not None)
        self._copy.setVisible(hook is not None)
        if hook is None:
            self._title.setText(tr("Output"))
            self._what.show_text(tr("no hook has run"))
            self.pane.setPlainText("")
            return
        self._title.setText(tr("Output of hook {n}").format(n=number))
        self._what.show_text(claim(hook.description) or f"{short_kit(hook.kit)}: {' '.join(hook.command)}")
        tone = Tone.SERIOUS if hook.user == "root" else Tone.PLAIN
        self._chip.show_look(ChipLook(tr("as {user}").format(user=visible(hook.user)), tone, "user"))
        text = plain_output(hook.output)
        shown = self.pane.toPlainText()
        if text == shown:
            return
        bar = self.pane.verticalScrollBar()
        at_end = bar.value() >= bar.maximum()
        place = bar.value()
        if shown and text.startswith(shown):
            cursor = self.pane.textCursor()
            cursor.movePosition(cursor.MoveOperation.End)
            cursor.insertText(text[len(shown) :])
        else:
            self.pane.setPlainText(text)
        bar.setValue(bar.maximum() if at_end else place)


class LifecycleView(QWidget):
    """Hooks above, output of the chosen one below."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = HookModel(theme, self)
        self.table = dressed_table(theme, self.model, (64, 0, 110, 110, 220, 80), tr("Lifecycle hooks"), "hookTable")
        self.output = HookOutput(theme)
        self._empty = StateView(
            theme,
            "tools",
            tr("No hooks"),
            tr("The Kits of this sandbox run nothing when it is installed or started."),
        )
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.table)
        split.addWidget(self.output)
        split.setChildrenCollapsible(False)
        split.setSizes([theme.px(180), theme.px(420)])
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(split)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self.table.selectionModel().currentRowChanged.connect(lambda current, _old: self._show(current))

    def show_hooks(self, hooks: Sequence[HookRun]) -> None:
        """Show these; the chosen one stays chosen."""
        chosen = self.table.currentIndex().row()
        self.model.show_hooks(hooks)
        self._stack.setCurrentIndex(1 if hooks else 0)
        if hooks:
            chosen = chosen if 0 <= chosen < len(hooks) else 0
            self.table.selectRow(chosen)
            self._show(self.model.index(chosen, 0))

    def _show(self, index: Index) -> None:
        if index.isValid():
            self.output.show_hook(self.model.hook(index.row()), index.row() + 1)
        else:
            self.output.show_hook(None, 0)
