"""Left of the text: line numbers and marks. Also how a finding is told, wherever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from kitstudio.services.linting import Mark, Severity
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets.text import tr, visible

if TYPE_CHECKING:
    from kitstudio.ui.editor.text_edit import TextEdit

INK_OF = {Severity.ERROR: Token.CRITICAL, Severity.WARNING: Token.SERIOUS, Severity.NOTE: Token.NOTICE}
ICON_OF = {Severity.ERROR: "critical", Severity.WARNING: "serious", Severity.NOTE: "notice"}


class Gutter(QWidget):
    """Numbers and the worst mark of each visible line; a click on a mark goes to it."""

    def __init__(self, edit: TextEdit) -> None:
        super().__init__(edit)
        self._edit = edit
        self.setAccessibleName(tr("Line numbers"))

    def sizeHint(self) -> QSize:
        return QSize(self._edit.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        edit, theme = self._edit, self._edit.theme
        painter = QPainter(self)
        painter.fillRect(event.rect(), theme.colour(Token.SURFACE))
        painter.setFont(edit.font())
        current = edit.textCursor().blockNumber()
        block = edit.firstVisibleBlock()
        top = round(edit.blockBoundingGeometry(block).translated(edit.contentOffset()).top())
        width = self.width() - theme.px(10)
        while block.isValid() and top <= event.rect().bottom():
            height = round(edit.blockBoundingRect(block).height())
            if block.isVisible() and top + height >= event.rect().top():
                number = block.blockNumber()
                painter.setPen(theme.colour(Token.TEXT if number == current else Token.SECONDARY))
                painter.drawText(QRect(0, top, width, height), Qt.AlignmentFlag.AlignRight, str(number + 1))
                severity = edit.by_line.get(number + 1)
                if severity is not None:
                    side = min(theme.px(14), height)
                    picture = theme.pixmap(ICON_OF[severity], 14, INK_OF[severity])
                    painter.drawPixmap(theme.px(4), top + (height - side) // 2, picture)
            block = block.next()
            top += height

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cursor = self._edit.cursorForPosition(QPoint(0, round(event.position().y())))
        line = cursor.blockNumber() + 1
        mark = next((mark for mark in self._edit.marks if mark.line == line), None)
        self._edit.go_to(line, mark.column if mark is not None else 1)
        self._edit.setFocus(Qt.FocusReason.MouseFocusReason)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            line = self._edit.cursorForPosition(QPoint(0, event.pos().y())).blockNumber() + 1
            found = [told(mark) for mark in self._edit.marks if mark.line == line]
            QToolTip.showText(event.globalPos(), "\n".join(found[:5]), self)
            return True
        return super().event(event)


def told(mark: Mark) -> str:
    """A finding in words, plain text."""
    return visible(f"{mark.message}. {mark.remedy}" if mark.remedy else mark.message)
