"""What most cards have in common, painted once and kept: frames and chips cost a copy instead of a path each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.painters import ChipLook

MOST = 600
CORNER = 8
"""Pixels at each end of a frame that are not stretched."""


class CardParts(QObject):
    """Kept until the theme changes, and never more than ``MOST``."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._kept: dict[object, QPixmap] = {}
        theme.changed.connect(self._forget)

    def _forget(self) -> None:
        self._kept.clear()

    def frame(self, painter: QPainter, box: QRect, edge: QColor, width: int) -> None:
        """The rounded ground of a card: two ends, and a middle that is stretched."""
        ratio = _ratio(painter)

        def paint(on: QPainter, rect: QRect) -> None:
            on.setPen(QPen(edge, width))
            on.setBrush(self._theme.colour(Token.RAISED))
            inset = width / 2
            on.drawRoundedRect(QRectF(rect).adjusted(inset, inset, -inset, -inset), 6, 6)

        side = self._theme.px(CORNER)
        size = QSize(3 * side, box.height())
        made = self._picture(("frame", edge.rgba(), width, size.height(), ratio), size, ratio, paint)
        right, middle = box.right() + 1 - side, box.width() - 2 * side
        step, height = side * ratio, made.height()
        for left, wide, source in ((box.left(), side, 0), (box.left() + side, middle, 1), (right, side, 2)):
            target = QRectF(left, box.top(), wide, box.height())
            painter.drawPixmap(target, made, QRectF(source * step, 0, step, height))

    def chips(self, painter: QPainter, area: QRect, looks: Sequence[ChipLook]) -> None:
        """One row of chips, 6 px apart; those that do not fit are counted at the end."""
        theme, left = self._theme, area.left()
        gap = theme.px(6)
        for index, look in enumerate(looks):
            made, width = self._chip(painter, look)
            rest = len(looks) - index
            reserve = self._chip(painter, ChipLook(f"+{rest}", Tone.PLAIN))[1] + gap if rest > 1 else 0
            if left + width + reserve > area.right() + 1:
                more, size = self._chip(painter, ChipLook(f"+{rest}", Tone.PLAIN))
                if left + size <= area.right() + 1:
                    painter.drawPixmap(left, area.top(), more)
                return
            painter.drawPixmap(left, area.top(), made)
            left += width + gap

    def _chip(self, painter: QPainter, look: ChipLook) -> tuple[QPixmap, int]:
        ratio = _ratio(painter)
        key = ("chip", look, ratio)
        known = self._kept.get(key)
        if known is None:
            size = painters.chip_size(self._theme, look)
            known = self._picture(key, size, ratio, lambda on, rect: painters.paint_chip(on, self._theme, rect, look))
        return known, round(known.width() / ratio)

    def _picture(self, key: object, size: QSize, ratio: float, paint: Callable[[QPainter, QRect], None]) -> QPixmap:
        known = self._kept.get(key)
        if known is not None:
            return known
        if len(self._kept) >= MOST:
            self._kept.clear()
        made = QPixmap(round(size.width() * ratio), round(size.height() * ratio))
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        on = QPainter(made)
        on.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint(on, QRect(0, 0, size.width(), size.height()))
        on.end()
        self._kept[key] = made
        return made


def _ratio(painter: QPainter) -> float:
    device = painter.device()
    return device.devicePixelRatioF() if device is not None else 1.0
