"""Dropping onto the composer: Kits from the catalog, references as text, files and folders from anywhere."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import tr


class DropVeil(QWidget):
    """Covers the page while something that can be added hangs over it; takes no events."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.words = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def tell(self, words: str) -> None:
        """Show what a drop would do."""
        self.words = words
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = theme.colour(Token.ACCENT_TINT)
        veil.setAlphaF(0.72)
        painter.fillRect(self.rect(), veil)
        pen = QPen(theme.colour(Token.ACCENT), 2, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        edge = theme.px(10)
        painter.drawRoundedRect(self.rect().adjusted(edge, edge, -edge, -edge), 8, 8)
        metrics = theme.metrics(Type.TITLE)
        width = min(metrics.horizontalAdvance(self.words) + theme.px(64), self.width() - theme.px(60))
        box = QRect(0, 0, width, theme.px(48))
        box.moveCenter(self.rect().center())
        painter.setPen(QPen(theme.colour(Token.ACCENT), 1))
        painter.setBrush(theme.colour(Token.RAISED))
        painter.drawRoundedRect(box, 8, 8)
        painter.drawPixmap(
            box.left() + theme.px(14), box.center().y() - theme.px(10), theme.pixmap("plus", 20, Token.ACCENT)
        )
        painter.setFont(theme.font(Type.TITLE))
        painter.setPen(theme.colour(Token.TEXT))
        area = box.adjusted(theme.px(42), 0, -theme.px(12), 0)
        shown = metrics.elidedText(self.words, Qt.TextElideMode.ElideMiddle, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


def drop_words(items: tuple[str, ...]) -> str:
    """What a drop of these would do."""
    if len(items) == 1:
        return tr("Add {item} to the set").format(item=items[0].rstrip("/").rpartition("/")[2] or items[0])
    return tr("Add {n} Kits to the set").format(n=len(items))
