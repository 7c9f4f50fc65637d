"""Our own line icons, rendered from SVG in the wanted colour, cached by name, size, colour and device ratio."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.resources import resource

THIN_FROM = 20
"""From this size on the stroke is 1.5 px; smaller pictures get a little more ink."""


@lru_cache(maxsize=2048)
def pixmap(name: str, size: int, colour: str, ratio: float) -> QPixmap:
    """Icon ``name`` as a square of ``size`` device-independent pixels in ``colour`` (``#RRGGBB``)."""
    image = QPixmap(round(size * ratio), round(size * ratio))
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _renderer(name, colour, size < THIN_FROM).render(painter, QRectF(0, 0, image.width(), image.height()))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return image


def icon_names() -> tuple[str, ...]:
    """Every icon there is."""
    return tuple(sorted(path.stem for path in resource("icons").glob("*.svg")))


@lru_cache(maxsize=512)
def _renderer(name: str, colour: str, bolder: bool) -> QSvgRenderer:
    text = _source(name).replace("currentColor", QColor(colour).name())
    if bolder:
        text = text.replace('stroke-width="1.5"', 'stroke-width="1.65"')
    renderer = QSvgRenderer(QByteArray(text.encode()))
    if not renderer.isValid():
        raise KitStudioError("An icon is not a drawable SVG.", where=f"icons/{name}.svg")
    return renderer


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    return resource("icons", f"{name}.svg").read_text(encoding="utf-8")
