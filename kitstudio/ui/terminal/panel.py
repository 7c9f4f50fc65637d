"""A terminal with what stands around it: the find bar, and a strip for what the guest was refused."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.ui.fonts import Type
from kitstudio.ui.terminal.session import TerminalSession
from kitstudio.ui.terminal.view import TerminalView
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import holder, icon_button, row, text_label
from kitstudio.ui.widgets.composite import Banner
from kitstudio.ui.widgets.text import counted, tr


class FindBar(QWidget):
    """Search in what the terminal keeps. Enter goes up, Shift+Enter down, Escape closes."""

    def __init__(self, theme: Theme, view: TerminalView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self.field = QLineEdit()
        self.field.setObjectName("terminalFind")
        self.field.setPlaceholderText(tr("Find in this terminal"))
        self.field.setAccessibleName(tr("Find in this terminal"))
        self.field.setProperty("small", True)
        self.field.setMaximumWidth(theme.px(280))
        self.field.textChanged.connect(lambda _text: self._seek(again=False))
        self.field.installEventFilter(self)
        self._verdict = text_label("", Type.SMALL, "secondary")
        up = icon_button(theme, "chevron-up", tr("Previous place"), small=True, object_name="terminalFindUp")
        down = icon_button(theme, "chevron-down", tr("Next place"), small=True, object_name="terminalFindDown")
        shut = icon_button(theme, "close", tr("Close find"), small=True, object_name="terminalFindClose")
        up.clicked.connect(lambda: self._seek(again=True))
        down.clicked.connect(lambda: self._seek(again=True, backwards=False))
        shut.clicked.connect(self.leave)
        bar = holder(row(self.field, self._verdict, None, up, down, shut, margins=(16, 6, 12, 6)), "raised")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(bar)
        self.hide()

    def open(self) -> None:
        """Show the bar, with the selection as the first thing to look for."""
        text = self._view.selected_text()
        if text and "\n" not in text:
            self.field.setText(text)
        self.show()
        self.field.selectAll()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def leave(self) -> None:
        """Close and go back to the terminal."""
        self.hide()
        self._view.seek("")
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self._seek(again=True, backwards=not shift)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.leave()
                return True
        return super().eventFilter(watched, event)

    def _seek(self, *, again: bool, backwards: bool = True) -> None:
        found = self._view.seek(self.field.text(), backwards=backwards, again=again)
        self._verdict.setText("" if found or not self.field.text() else tr("Not found"))


class TerminalPanel(QWidget):
    """``view`` and ``session`` together; the page runs the session."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view = TerminalView(theme)
        self.session = TerminalSession(self.view, self)
        self.find_bar = FindBar(theme, self.view)
        self.strip = Banner(theme)
        self.strip.setObjectName("terminalStrip")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self.strip, self.find_bar):
            layout.addWidget(part)
        layout.addWidget(self.view, 1)
        self.setFocusProxy(self.view)
        self.view.find_wanted.connect(self.find_bar.open)
        self.view.clipboard_refused.connect(self._say_refused)
        self.strip.acted.connect(lambda _key: self.strip.hide())
        self.clipboard = Banner(theme)
        self.clipboard.setObjectName("terminalClipboard")
        self.clipboard.acted.connect(self._answer_offer)
        self._offered: str | None = None
        self._answered = False
        layout.insertWidget(0, self.clipboard)
        self.view.clipboard_offered.connect(self._ask_offer)

    def _ask_offer(self, text: str) -> None:
        """Once for a session: later texts are refused without a word while the first stands, or after a no."""
        if self._answered or self._offered is not None:
            return
        self._offered = text
        shown = claim(text.replace("\n", " ⏎ "), 80)
        self.clipboard.tell(
            "copy",
            tr("Into your clipboard?"),
            tr("A program in this sandbox offers {n}: {text}").format(
                n=counted(len(text), "letter", "letters"), text=shown
            ),
            ("refuse", tr("No, not in this terminal"), "deny"),
            ("take", tr("Copy it once"), "copy"),
        )

    def _answer_offer(self, key: str) -> None:
        text, self._offered = self._offered, None
        self._answered = True
        self.clipboard.hide()
        if key == "take" and text is not None:
            QGuiApplication.clipboard().setText(text)
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _say_refused(self) -> None:
        self.strip.tell(
            "deny",
            tr("Clipboard refused."),
            tr("A program in this sandbox asked for your clipboard. It was not given."),
            ("dismiss", tr("Close"), "close"),
        )
