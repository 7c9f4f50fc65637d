"""The focus ring: one frame that follows the keyboard, drawn outside the focused control."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import (
    QFocusEvent,
    QHideEvent,
    QMoveEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QAbstractSpinBox, QApplication, QComboBox, QLineEdit, QWidget

from kitstudio.ui.theme import Theme, Token

KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
GAP = 4
OWN = (QLineEdit, QComboBox, QAbstractSpinBox, QAbstractItemView)
"""These show focus themselves."""
MOVES = (QMoveEvent, QResizeEvent, QHideEvent, QShowEvent)


class FocusRing(QWidget):
    """Shown for keyboard focus only. It may paint outside the control's bounds, which a style sheet cannot."""

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._target: QWidget | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        application = QApplication.instance()
        assert application is not None
        application.installEventFilter(self)

    def setWidget(self, widget: QWidget) -> None:
        """Stand on a control whatever gave it the focus, as on the ticks of the approval dialog."""
        self._target = widget
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Every event of the program comes by: its class is known for nothing, its type would be made an enumeration.
        if isinstance(event, QFocusEvent):
            if event.gotFocus() and isinstance(watched, QWidget):
                self._follow(watched, event.reason())
            elif event.lostFocus() and watched is self._target:
                self._leave()
        elif (
            self._target is not None
            and isinstance(event, MOVES)
            and isinstance(watched, QWidget)
            and self._stands_on(watched)
        ):
            self._place()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.colour(Token.FOCUS), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 8, 8)

    def _follow(self, widget: QWidget, reason: Qt.FocusReason) -> None:
        draws_own = isinstance(widget, OWN) or bool(widget.property("ownFocus"))
        if draws_own or reason not in KEYBOARD or widget.window() is not self.parentWidget():
            self._leave()
            return
        self._target = widget
        self._place()

    def _stands_on(self, widget: QWidget) -> bool:
        return self._target is not None and (widget is self._target or widget.isAncestorOf(self._target))

    def _leave(self) -> None:
        self._target = None
        self.hide()

    def _place(self) -> None:
        """Around the part of the control that can be seen; nowhere if none can."""
        target, window = self._target, self.parentWidget()
        if target is None or window is None:
            return
        seen: QRect = target.visibleRegion().boundingRect() if target.isVisible() else QRect()
        if seen.isEmpty():
            self.hide()
            return
        place = QRect(target.mapTo(window, QPoint(0, 0)), target.size())
        self.setGeometry(place.adjusted(-GAP, -GAP, GAP, GAP))
        self.show()
        self.raise_()
