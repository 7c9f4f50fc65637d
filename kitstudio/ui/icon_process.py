"""The program that decodes icons, in a process of its own: ``python -m kitstudio.ui.icon_process``.

It reads requests from its input and writes pixels to its output (``ui.icon_decoder`` is the other end). Before the
first foreign byte is read it gives up what it does not need: no new file, socket or process can be opened, memory and
processor time are bounded. What goes wrong in it costs one icon.
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QBuffer, QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QImage, QImageReader, QPainter
from PySide6.QtSvg import QSvgRenderer

from kitstudio.ui.confinement import allow_time, confine
from kitstudio.ui.icon_decoder import ANSWER, FORMATS, MAX_BYTES, MAX_SIDE, REQUEST

MEMORY = 384 * 1024 * 1024
"""Bytes of address space beside what the libraries took."""
SECONDS = 60
"""Processor time for all icons this process will decode; the other end bounds each one's."""
DECODED_MIB = 64


def main() -> None:
    """Answer requests until the input ends."""
    application = QGuiApplication(["icons", "-platform", "offscreen"])
    QImageReader.setAllocationLimit(DECODED_MIB)
    _warm_up()
    allow_time(SECONDS)
    confine(MEMORY)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(REQUEST.size):
        size, kind, side = REQUEST.unpack(head)
        if not 0 < size <= MAX_BYTES or not 0 < side <= MAX_SIDE or kind >= len(FORMATS):
            break
        data = source.read(size)
        image = decoded(data, FORMATS[kind], side)
        if image.isNull():
            sink.write(ANSWER.pack(0, 0))
        else:
            sink.write(ANSWER.pack(image.width(), image.height()))
            sink.write(_pixels(image))
        sink.flush()
    del application


def decoded(data: bytes, kind: str, side: int) -> QImage:
    """The picture, at most ``side`` pixels a side, its proportions kept; null where it is none."""
    held = QByteArray(data)
    if kind == "svg":
        return _drawn(held, side)
    buffer = QBuffer(held)
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(kind.encode()))
    reader.setDecideFormatFromContent(False)
    reader.setAutoTransform(True)
    image = reader.read()
    if image.isNull():
        return image
    if max(image.width(), image.height()) > side:
        mode = Qt.TransformationMode.SmoothTransformation
        image = image.scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio, mode)
    return image.convertToFormat(QImage.Format.Format_RGBA8888_Premultiplied)


def _drawn(data: QByteArray, side: int) -> QImage:
    renderer = QSvgRenderer(data)
    if not renderer.isValid():
        return QImage()
    size = renderer.defaultSize().scaled(QSize(side, side), Qt.AspectRatioMode.KeepAspectRatio)
    if size.width() < 1 or size.height() < 1:
        return QImage()
    image = QImage(size, QImage.Format.Format_RGBA8888_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter, QRectF(0, 0, size.width(), size.height()))
    painter.end()
    return image


def _pixels(image: QImage) -> bytes:
    row = image.width() * 4
    data = bytes(image.constBits())
    at = image.bytesPerLine()
    return data if at == row else b"".join(data[n * at : n * at + row] for n in range(image.height()))


def _warm_up() -> None:
    """Load every plug-in and the font now: nothing can be opened afterwards."""
    for kind in FORMATS:
        decoded(b"", kind, 1)
    decoded(b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">a</text></svg>', "svg", 9)
    QImageReader.supportedImageFormats()


if __name__ == "__main__":
    main()
