"""Log and Details: untrusted text shown as text, and what exactly runs."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QShortcut, QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.runtime.backend import SandboxStatus
from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.lifecycle_view import output_pane, plain_output
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import button, give_icon, holder, line, row, set_ground, text_label
from kitstudio.ui.widgets.composite import SearchField
from kitstudio.ui.widgets.text import tr

_MAX_DETAIL = 200_000
_REASON = 400
"""Characters of why an optional request was left out."""
_WORDS = {
    "effective": "Effective descriptor",
    "qemu": "QEMU command line",
    "selection": "Optional parts as chosen, and permissions",
    "lock": "Lock",
    "folder": "Folder",
    "console": "Console log",
}


class LogView(QWidget):
    """What the sandbox and its machine wrote; follows the tail until someone scrolls up."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.pane = output_pane(theme, tr("Log"), "sandboxLog")
        copy = button(theme, tr("Copy all"), "copy", "link", name="logCopy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.pane.toPlainText()))
        self.follow = button(theme, tr("Following"), "check", "flat", small=True, name="logFollow")
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        self.follow.toggled.connect(self._follow)
        self.search = SearchField(theme, tr("Find in the log"), tr("Find in the log"))
        self.search.setObjectName("logFind")
        self.search.setMaximumWidth(theme.px(260))
        self.search.textChanged.connect(lambda _text: self._seek(again=False))
        self.search.installEventFilter(self)
        self._verdict = text_label("", Type.SMALL, "secondary")
        self.pane.verticalScrollBar().valueChanged.connect(self._scrolled)
        self._filling = False
        keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self._open_find)
        keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        bar = row(
            text_label(tr("Log"), Type.NAME),
            self.search,
            self._verdict,
            None,
            self.follow,
            copy,
            margins=(16, 6, 16, 6),
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(bar, "raised"))
        layout.addWidget(line())
        layout.addWidget(self.pane, 1)

    def show_log(self, text: str) -> None:
        """Show the log as it is now."""
        shown = plain_output(text) if text else tr("Nothing has been logged.")
        if shown == self.pane.toPlainText():
            return
        bar, place = self.pane.verticalScrollBar(), self.pane.verticalScrollBar().value()
        at = self.pane.textCursor().selectionStart()
        marked = self.pane.textCursor().selectedText()
        self._filling = True
        try:
            self.pane.setPlainText(shown)
            if marked and shown[at : at + len(marked)] == marked:
                cursor = self.pane.textCursor()
                cursor.setPosition(at)
                cursor.setPosition(at + len(marked), QTextCursor.MoveMode.KeepAnchor)
                self.pane.setTextCursor(cursor)
            bar.setValue(bar.maximum() if self.follow.isChecked() else place)
        finally:
            self._filling = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._seek(again=True, backwards=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
                return True
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
        return super().eventFilter(watched, event)

    def _open_find(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _seek(self, *, again: bool, backwards: bool = False) -> None:
        """To the next place; beyond the last one the first again."""
        text = self.search.text()
        cursor = self.pane.textCursor()
        if not again:
            cursor.setPosition(cursor.selectionStart())
            self.pane.setTextCursor(cursor)
        if not text:
            self._verdict.setText("")
            return
        self.follow.setChecked(False)
        flags = QTextDocument.FindFlag(0)
        if backwards:
            flags |= QTextDocument.FindFlag.FindBackward
        if text != text.lower():
            flags |= QTextDocument.FindFlag.FindCaseSensitively
        found = self.pane.find(text, flags)
        if not found:
            self.pane.moveCursor(QTextCursor.MoveOperation.End if backwards else QTextCursor.MoveOperation.Start)
            found = self.pane.find(text, flags)
        self._verdict.setText("" if found else tr("Not found"))

    def _follow(self, on: bool) -> None:
        self.follow.setText(tr("Following") if on else tr("Follow"))
        self.follow.setAccessibleName(self.follow.text())
        give_icon(self._theme, self.follow, "check" if on else "arrow-down", 14)
        if on:
            bar = self.pane.verticalScrollBar()
            bar.setValue(bar.maximum())

    def _scrolled(self, value: int) -> None:
        if not self._filling and value < self.pane.verticalScrollBar().maximum():
            self.follow.setChecked(False)


class DetailsView(QScrollArea):
    """Name by name what the backend says, each copyable; what was skipped comes first."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._shown: tuple[tuple[str, ...], Mapping[str, str]] | None = None
        self.setObjectName("sandboxDetails")
        self.setAccessibleName(tr("Details"))
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def show_details(self, status: SandboxStatus, details: Mapping[str, str]) -> None:
        """Show one sandbox; nothing is rebuilt where nothing changed."""
        if self._shown == (status.skipped, details):
            return
        self._shown = (status.skipped, dict(details))
        theme = self.theme
        content = ScrollContent()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(theme.px(16), theme.px(14), theme.px(16), theme.px(16))
        layout.setSpacing(theme.px(8))
        if status.skipped:
            layout.addWidget(text_label(tr("Optional requests left out of this sandbox"), Type.NAME))
            for item in status.skipped:
                layout.addWidget(text_label(claim(item, _REASON), ink="secondary", wrap=True))
        for key, value in details.items():
            name = tr(_WORDS[key]) if key in _WORDS else key
            layout.addSpacing(theme.px(6))
            copy = button(theme, tr("Copy"), "copy", "link")
            copy.setAccessibleName(tr("Copy {name}").format(name=name))
            copy.clicked.connect(lambda _=False, value=value: QGuiApplication.clipboard().setText(value))
            layout.addLayout(row(text_label(claim(name, 80), Type.NAME), None, copy))
            layout.addWidget(self._block(name, value))
        layout.addStretch(1)
        set_ground(content, "surface")
        self.setWidget(content)

    def _block(self, name: str, value: str) -> QWidget:
        theme = self.theme
        pane = QPlainTextEdit()
        pane.setReadOnly(True)
        pane.setProperty("mono", True)
        pane.setFont(theme.font(Type.MONO))
        pane.setAccessibleName(claim(name, 80))
        pane.document().setDocumentMargin(theme.px(8))
        text = plain_output(value[:_MAX_DETAIL]) or tr("empty")
        pane.setPlainText(text)
        lines = min(text.count("\n") + 1 + len(text) // 110, 18)
        pane.setFixedHeight(lines * theme.line(Type.MONO) + theme.px(20))
        pane.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        return pane
