"""Heads of pictures, built byte by byte: what a check of sizes looks at."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 16, height: int = 16) -> bytes:
    """A grey PNG; its data is of the stated size only where that is small."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\x80" * width) * height if width * height < 10_000 else b""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def gif(width: int = 16, height: int = 16) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0\x3b"


def jpeg(width: int = 16, height: int = 16) -> bytes:
    comment = b"\xff\xfe" + struct.pack(">H", 6) + b"\xff\xc0ab"
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\0"
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"JF" + comment + frame + b"\xff\xd9"


def webp(width: int = 16, height: int = 16, kind: bytes = b"VP8X") -> bytes:
    if kind == b"VP8X":
        body = b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def svg(inner: str = '<path d="M0 0h8v8z" fill="url(#g)"/>', attributes: str = 'width="24" height="24"') -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{inner}</svg>'.encode()
