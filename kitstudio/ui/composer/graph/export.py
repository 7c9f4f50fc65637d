"""The graph as a picture file: SVG for print and the web, PNG for chat; the colours are those on screen."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsScene

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.theme import Theme, Token

LONGEST_SIDE = 12_000
"""Pixels of a PNG's longer side at most: a larger picture is scaled down to it."""
_SHARP = 2.0


def rendered(scene: QGraphicsScene, theme: Theme, path: Path, title: str) -> bytes:
    """The bytes of a picture, in the format the file's name asks for. Raises ``KitStudioError`` for another one."""
    suffix = path.suffix.lower()
    if suffix == ".svg":
        return _svg(scene, theme, title)
    if suffix == ".png":
        return _png(scene, theme)
    raise KitStudioError(
        "A picture is written as SVG or PNG.", where=path.name, remedy="Choose a name that ends in .svg or .png."
    )


def _svg(scene: QGraphicsScene, theme: Theme, title: str) -> bytes:
    area = scene.sceneRect()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(area.size().toSize())
    generator.setViewBox(QRectF(0, 0, area.width(), area.height()))
    generator.setTitle(title)
    painter = QPainter(generator)
    _paint(scene, theme, painter, QRectF(0, 0, area.width(), area.height()))
    painter.end()
    buffer.close()
    return bytes(data.data())


def _png(scene: QGraphicsScene, theme: Theme) -> bytes:
    area = scene.sceneRect()
    sharp = min(_SHARP, LONGEST_SIDE / max(area.width(), area.height(), 1.0))
    size = QSize(max(1, round(area.width() * sharp)), max(1, round(area.height() * sharp)))
    image = QImage(size, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _paint(scene, theme, painter, QRectF(0, 0, size.width(), size.height()))
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not QImageWriter(buffer, QByteArray(b"png")).write(image):
        raise KitStudioError("The picture could not be made.", remedy="Export it as SVG instead.")
    buffer.close()
    return bytes(data.data())


def _paint(scene: QGraphicsScene, theme: Theme, painter: QPainter, target: QRectF) -> None:
    painter.fillRect(target, theme.colour(Token.SURFACE))
    scene.render(painter, target, scene.sceneRect(), Qt.AspectRatioMode.KeepAspectRatio)
