"""The focus ring: one frame that follows the keyboard, drawn outside the focused control."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractItemView, QApplication, QFocusFrame, QLineEdit, QTabBar, QWidget

from kitstudio.ui.theme import Theme, Token

KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
GAP = 4


class FocusRing(QFocusFrame):
    """Shown for keyboard focus only; fields, lists and tab bars draw their own focus."""

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        application = QApplication.instance()
        assert application is not None
        application.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(event, QFocusEvent) and isinstance(watched, QWidget):
            self._follow(watched, event.reason())
        elif event.type() == QEvent.Type.FocusOut and watched is self.widget():
            self.setWidget(None)  # type: ignore[arg-type]
            self.hide()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.widget() is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.colour(Token.FOCUS), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRect(0, 0, self.width(), self.height()).adjusted(1, 1, -1, -1), 8, 8)

    def _follow(self, widget: QWidget, reason: Qt.FocusReason) -> None:
        draws_own = isinstance(widget, QLineEdit | QAbstractItemView | QTabBar) or widget.property("ownFocus")
        if draws_own or reason not in KEYBOARD or widget.window() is not self._window:
            if self.widget() is not None:
                self.setWidget(None)  # type: ignore[arg-type]
                self.hide()
            return
        self.setWidget(widget)
