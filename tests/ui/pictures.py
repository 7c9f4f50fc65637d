"""Real pictures of the formats icons come in, for tests that decode them."""

from __future__ import annotations

import struct

from PySide6.QtCore import QBuffer
from PySide6.QtGui import QColor, QImage


def encoded(kind: str, width: int = 32, height: int = 32, colour: str = "#3366cc") -> bytes:
    """One colour as PNG, JPEG or WebP."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    assert image.save(buffer, kind)  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def two_frames() -> bytes:
    """A GIF of one pixel: the first frame red, the second blue."""
    head = b"GIF89a" + struct.pack("<HH", 1, 1) + b"\x80\0\0" + b"\xff\0\0" + b"\0\0\xff"
    red = b"\x2c" + struct.pack("<HHHH", 0, 0, 1, 1) + b"\0\x02\x02\x44\x01\0"
    blue = b"\x2c" + struct.pack("<HHHH", 0, 0, 1, 1) + b"\0\x02\x02\x4c\x01\0"
    return head + red + blue + b"\x3b"
