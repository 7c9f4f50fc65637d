"""A Kit's monogram that can be carried to a set."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QDrag, QMouseEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from kitstudio.models.words import claim
from kitstudio.services.catalog import KitCard
from kitstudio.ui.catalog.pictures import KitPictures
from kitstudio.ui.drag import reference_mime
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import Monogram
from kitstudio.ui.widgets.painters import paint_monogram
from kitstudio.ui.widgets.text import tr, visible


class DragMonogram(Monogram):
    """Press and move starts a drag of the Kit at the version shown."""

    def __init__(
        self, theme: Theme, side: int, pictures: KitPictures | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, "", side, parent)
        self.setObjectName("kit-handle")
        self._pictures = pictures
        self._shown: KitCard | None = None
        self._card: KitCard | None = None
        self._pressed: QPoint | None = None

    def show_card(self, card: KitCard, usable: bool) -> None:
        self._shown = card
        self._card = card if usable else None
        self.show_repository(card.repository)
        self.setCursor(Qt.CursorShape.OpenHandCursor if usable else Qt.CursorShape.ArrowCursor)
        if usable:
            self.setToolTip(tr("{name}: drag it to a set").format(name=visible(card.reference)))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._shown is not None and self._pictures is not None:
            self._pictures.paint(QPainter(self), self.rect(), self._shown)
        else:
            super().paintEvent(event)

    def mime(self) -> QMimeData | None:
        """What a drag of it carries; None where the Kit cannot be used."""
        return reference_mime(self._card.reference) if self._card is not None else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        data = self.mime()
        if self._pressed is None or data is None or self._card is None:
            return
        if (event.position().toPoint() - self._pressed).manhattanLength() < QApplication.startDragDistance():
            return
        self._pressed = None
        start_drag(self, self.theme, self._card, data)


def start_drag(source: QWidget, theme: Theme, card: KitCard, data: QMimeData) -> None:
    """Run a drag with the Kit's monogram and name under the pointer."""
    drag = QDrag(source)
    drag.setMimeData(data)
    drag.setPixmap(drag_picture(theme, card, source.devicePixelRatioF()))
    drag.setHotSpot(QPoint(theme.px(16), theme.px(16)))
    drag.exec(Qt.DropAction.CopyAction)


def drag_picture(theme: Theme, card: KitCard, ratio: float) -> QPixmap:
    """What follows the pointer during a drag."""
    name = claim(card.display_name) or visible(card.repository)
    size = QSize(theme.metrics(Type.NAME).horizontalAdvance(name) + theme.px(56), theme.px(40))
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(theme.colour(Token.ACCENT))
    painter.setBrush(theme.colour(Token.RAISED))
    painter.drawRoundedRect(0, 0, size.width() - 1, size.height() - 1, 6, 6)
    side = theme.px(28)
    paint_monogram(painter, theme, QRect(theme.px(6), theme.px(6), side, side), card.repository)
    painter.setFont(theme.font(Type.NAME))
    painter.setPen(theme.colour(Token.TEXT))
    area = QRect(theme.px(42), 0, size.width(), size.height())
    painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
    painter.end()
    return picture
