"""The picture of a Kit wherever one stands: its own icon where that may be fetched, else its monogram."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPixmap

from kitstudio.services.catalog import KitCard
from kitstudio.ui.kit_icons import KitIcons
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.painters import paint_monogram

if TYPE_CHECKING:
    from kitstudio.services.app import Studio


class KitPictures(QObject):
    """Paints a card's picture. ``arrived(url)`` when an icon came that was not there before.

    ``trust`` says from which sources icons are fetched at all; from the others a monogram is shown, and nothing
    leaves this computer.
    """

    arrived = Signal(str)

    def __init__(self, theme: Theme, icons: KitIcons | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons = icons
        self._trusted: frozenset[str] = frozenset()
        if icons is not None:
            icons.arrived.connect(self.arrived)

    def trust(self, sources: frozenset[str]) -> None:
        """The sources whose icons may be fetched."""
        self._trusted = sources

    def icon(self, card: KitCard, side: int) -> QPixmap | None:
        """The Kit's own icon as a square of ``side`` px; None where its monogram stands."""
        if self._icons is None or not card.icon_url:
            return None
        return self._icons.icon(card, card.source in self._trusted, side)

    def paint(self, painter: QPainter, rect: QRect, card: KitCard) -> None:
        """Icon or monogram, in a square of ``rect``."""
        icon = self.icon(card, rect.width())
        if icon is None or icon.isNull():
            theme, device = self._theme, painter.device()
            ratio = device.devicePixelRatioF() if device is not None else 1.0
            painter.drawPixmap(rect.topLeft(), _monogram(theme, theme.dark, card.repository, rect.width(), ratio))
        else:
            paint_icon(painter, self._theme, rect, icon)

    def pixmap(self, card: KitCard, side: int, ratio: float) -> QPixmap:
        """The picture by itself, for a table's cell or a menu."""
        icon = self.icon(card, side)
        if icon is None or icon.isNull():
            return _monogram(self._theme, self._theme.dark, card.repository, side, ratio)
        made = _blank(side, ratio)
        painter = QPainter(made)
        paint_icon(painter, self._theme, QRect(0, 0, side, side), icon)
        painter.end()
        return made


def paint_icon(painter: QPainter, theme: Theme, rect: QRect, icon: QPixmap) -> None:
    """An icon on a ground of its own, in the shape of a monogram: any picture sits as calmly as its neighbours."""
    at_hundred = rect.width() / theme.scale
    radius = theme.px(8 if at_hundred >= 40 else 6 if at_hundred >= 28 else 4)
    box = QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5)
    shape = QPainterPath()
    shape.addRoundedRect(box, radius, radius)
    painter.save()
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
    painter.fillPath(shape, theme.colour(Token.RAISED))
    painter.setClipPath(shape)
    size = icon.deviceIndependentSize()
    scale = min(rect.width() / max(1.0, size.width()), rect.height() / max(1.0, size.height()))
    width, height = size.width() * scale, size.height() * scale
    left = rect.left() + (rect.width() - width) / 2
    top = rect.top() + (rect.height() - height) / 2
    painter.drawPixmap(QRectF(left, top, width, height), icon, QRectF(icon.rect()))
    painter.setClipping(False)
    painter.setPen(QPen(theme.colour(Token.BORDER), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box, radius, radius)
    painter.restore()


@lru_cache(maxsize=512)
def _monogram(theme: Theme, dark: bool, repository: str, side: int, ratio: float) -> QPixmap:
    made = _blank(side, ratio)
    painter = QPainter(made)
    paint_monogram(painter, theme, QRect(0, 0, side, side), repository)
    painter.end()
    return made


def _blank(side: int, ratio: float) -> QPixmap:
    made = QPixmap(round(side * ratio), round(side * ratio))
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    return made


def kit_icons(studio: Studio, parent: QObject) -> KitIcons:
    """The icons of this program's home."""
    return KitIcons(studio, parent)
