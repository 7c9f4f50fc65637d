"""What an icon's bytes are, by their own first words: PNG, JPEG, WebP, GIF, SVG; never by what a server calls them.

Only heads are read here: kind, width, height, and for SVG that nothing in it runs or reaches out. Decoding belongs to
a process of its own. What is larger than the limits is refused before anybody allocates a picture.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from enum import StrEnum
from xml.parsers import expat

from kitstudio.registry.reference import RegistryError

MAX_SIDE = 2048
MAX_PIXELS = 2048 * 2048
MAX_ELEMENTS = 5000
MAX_DEPTH = 40
DEFAULT_SIDE = 256
"""Side of an SVG that states none: it is drawn at whatever size is asked for."""


class IconRefused(RegistryError):
    """An icon that will not be shown."""


class IconFormat(StrEnum):
    """The formats that are shown; of a GIF the first frame."""

    PNG = "png"
    JPEG = "jpeg"
    WEBP = "webp"
    GIF = "gif"
    SVG = "svg"


@dataclass(frozen=True, slots=True)
class Head:
    """Format and size in pixels."""

    format: IconFormat
    width: int
    height: int


def inspect(data: bytes) -> Head:
    """The head of an icon within the limits; raises ``IconRefused``."""
    try:
        head = _head(data)
    except (struct.error, IndexError):
        raise IconRefused("The picture breaks off in its head.") from None
    if head is None:
        raise IconRefused("This is no PNG, JPEG, WebP, GIF or SVG picture.")
    if not 0 < head.width <= MAX_SIDE or not 0 < head.height <= MAX_SIDE or head.width * head.height > MAX_PIXELS:
        raise IconRefused(f"The picture is {head.width:,} × {head.height:,} pixels; {MAX_SIDE:,} a side is the limit.")
    return head


def _head(data: bytes) -> Head | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        if data[12:16] != b"IHDR":
            raise IconRefused("The PNG has no head.")
        return Head(IconFormat.PNG, *struct.unpack(">II", data[16:24]))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Head(IconFormat.GIF, *struct.unpack("<HH", data[6:10]))
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    start = data[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()
    return _svg(data) if start.startswith((b"<?xml", b"<svg", b"<!--")) else None


def _jpeg(data: bytes) -> Head:
    at = 2
    while at < len(data):
        if data[at] != 0xFF:
            raise IconRefused("The JPEG is damaged.")
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker in (0x01, *range(0xD0, 0xD9)):
            continue
        if marker in (0xD9, 0xDA):
            break
        (length,) = struct.unpack(">H", data[at : at + 2])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 3 : at + 7])
            return Head(IconFormat.JPEG, width, height)
        if length < 2:
            break
        at += length
    raise IconRefused("The JPEG states no size.")


def _webp(data: bytes) -> Head:
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        if len(data) < 30:
            raise IndexError
        return Head(IconFormat.WEBP, width, height)
    if kind == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack("<I", data[21:25])
        return Head(IconFormat.WEBP, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return Head(IconFormat.WEBP, width & 0x3FFF, height & 0x3FFF)
    raise IconRefused("The WebP states no size.")


_ALLOWED = frozenset(
    (
        *("svg", "g", "defs", "symbol", "use", "title", "desc", "metadata", "path", "rect", "circle", "ellipse"),
        *("line", "polyline", "polygon", "text", "tspan", "textPath", "linearGradient", "radialGradient", "stop"),
        *("clipPath", "mask", "pattern", "marker", "style", "switch", "filter", "view"),
    )
)
_FEW = {"use": 16, "pattern": 4, "mask": 4, "marker": 4, "filter": 8}
"""Parts that draw others again, and by referring to each other without end."""
_FILTERS = re.compile(r"fe(?!Image)[A-Z][A-Za-z]+")
_OUTSIDE = re.compile(r"url\s*\(\s*['\"]?\s*(?!['\"]?#)|@import|expression\s*\(|javascript:|\\", re.IGNORECASE)
_LENGTH = re.compile(r"\s*(\d{1,7}(?:\.\d{0,20})?)\s*(px)?\s*")
_SVG = "http://www.w3.org/2000/svg"
_ANNOTATIONS = ("http://www.inkscape.org/", "http://sodipodi.", "http://www.w3.org/1999/02/22-rdf", "http://purl.org/",
                "http://creativecommons.org/", "http://web.resource.org/cc")  # fmt: skip


class _SvgReader:
    """Walks an SVG once and refuses at the first thing that runs, reaches out or grows without end."""

    def __init__(self) -> None:
        self.head: Head | None = None
        self._depth = 0
        self._elements = 0
        self._styles = 0
        self._counted: dict[str, int] = {}

    def doctype(self, *_: object) -> None:
        raise IconRefused("The SVG brings its own document type.")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH or self._elements > MAX_ELEMENTS:
            raise IconRefused("The SVG has too many parts.")
        space, _, local = name.rpartition(" ")
        if self._depth == 1:
            if local != "svg" or space not in ("", _SVG):
                raise IconRefused("This is XML, but no SVG.")
            self.head = _svg_size(attributes)
        elif space in ("", _SVG) and local not in _ALLOWED and not _FILTERS.fullmatch(local):
            raise IconRefused(f"The SVG holds “{local[:40]}”, which an icon does not need.")
        elif space not in ("", _SVG) and not space.startswith(_ANNOTATIONS):
            raise IconRefused("The SVG holds parts of another language.")
        self._counted[local] = self._counted.get(local, 0) + 1
        if self._counted[local] > _FEW.get(local, MAX_ELEMENTS):
            raise IconRefused("The SVG has too many parts.")
        self._styles += local == "style"
        for key, value in attributes.items():
            self._attribute(key.rpartition(" ")[2], value)

    def end(self, name: str) -> None:
        self._depth -= 1
        self._styles -= name.rpartition(" ")[2] == "style"

    def text(self, text: str) -> None:
        if self._styles:
            self._style(text)

    def instruction(self, *_: object) -> None:
        raise IconRefused("The SVG holds instructions for a program.")

    def _attribute(self, name: str, value: str) -> None:
        if name.lower().startswith("on"):
            raise IconRefused("The SVG runs a script.")
        if name.lower() in ("href", "src", "base") and not value.strip().startswith("#"):
            raise IconRefused("The SVG reaches outside itself.")
        self._style(value)

    @staticmethod
    def _style(text: str) -> None:
        if _OUTSIDE.search(text):
            raise IconRefused("The SVG reaches outside itself.")


def _svg(data: bytes) -> Head | None:
    reader = _SvgReader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.EntityDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    # Pieces of a style sheet are judged whole: a word cut in two would pass.
    parser.buffer_text = True
    parser.buffer_size = 1 << 20
    parser.CharacterDataHandler = reader.text
    parser.ProcessingInstructionHandler = reader.instruction
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        raise IconRefused("The SVG is not well formed.") from None
    return reader.head


def _svg_size(attributes: dict[str, str]) -> Head:
    found = [_LENGTH.fullmatch(attributes.get(name, "")) for name in ("width", "height")]
    sides = [round(float(match[1])) or 1 for match in found if match]
    if len(sides) == 2:
        return Head(IconFormat.SVG, sides[0], sides[1])
    return Head(IconFormat.SVG, DEFAULT_SIDE, DEFAULT_SIDE)
