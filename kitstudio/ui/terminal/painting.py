"""Painting rows of cells: runs of one rendition at a time, every glyph held to its column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from pyte.screens import Char

from kitstudio.ui.terminal.colours import Colours


@dataclass(frozen=True, slots=True)
class CellFont:
    """A monospace font forced onto a grid of whole pixels."""

    faces: tuple[QFont, QFont, QFont, QFont]
    width: int
    height: int
    ascent: float

    @classmethod
    def of(cls, font: QFont) -> CellFont:
        """Measure ``font``; its letters are spaced so that each takes the same whole number of pixels."""
        metrics = QFontMetricsF(font)
        advance = metrics.horizontalAdvance("m" * 20) / 20
        width = max(1, round(advance))
        faces = []
        for bold, italic in ((False, False), (True, False), (False, True), (True, True)):
            face = QFont(font)
            face.setBold(bold)
            face.setItalic(italic)
            own = QFontMetricsF(face).horizontalAdvance("m" * 20) / 20
            face.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, width - own)
            faces.append(face)
        height = max(1, round(metrics.ascent() + metrics.descent()))
        return cls((faces[0], faces[1], faces[2], faces[3]), width, height, metrics.ascent())

    def face(self, cell: Char) -> QFont:
        """The font of a cell's rendition."""
        return self.faces[bool(cell.bold) + 2 * bool(cell.italics)]


def paint_row(
    painter: QPainter,
    cells: Iterable[Char],
    left: int,
    top: int,
    grid: CellFont,
    colours: Colours,
    *,
    selected: tuple[int, int] = (0, 0),
    matches: tuple[tuple[int, int], ...] = (),
    reversed_screen: bool = False,
) -> None:
    """One line. ``selected`` and ``matches`` are column ranges painted over the cells' own ground."""
    row = tuple(cells)
    for start, end in _runs(row):
        cell = row[start]
        ground, _ink = _colours_of(cell, colours, reversed_screen)
        area = QRectF(left + start * grid.width, top, (end - start) * grid.width, grid.height)
        if ground != colours.base.ground:
            painter.fillRect(area, ground)
    _tint(painter, selected, colours.base.selection, left, top, grid)
    for match in matches:
        _tint(painter, match, colours.base.match, left, top, grid)
    for start, end in _runs(row):
        _text(painter, row, start, end, left, top, grid, colours, reversed_screen)


def _text(
    painter: QPainter,
    row: tuple[Char, ...],
    start: int,
    end: int,
    left: int,
    top: int,
    grid: CellFont,
    colours: Colours,
    reversed_screen: bool,
) -> None:
    cell = row[start]
    _ground, ink = _colours_of(cell, colours, reversed_screen)
    painter.setFont(grid.face(cell))
    painter.setPen(ink)
    base = top + grid.ascent
    column = start
    while column < end:
        data = row[column].data
        if len(data) == 1 and data.isascii():
            stop = column + 1
            while stop < end and len(row[stop].data) == 1 and row[stop].data.isascii():
                stop += 1
            text = "".join(c.data for c in row[column:stop])
            if not text.isspace():
                painter.drawText(QPointF(left + column * grid.width, base), text)
            column = stop
            continue
        if data:
            wide = 2 if column + 1 < len(row) and row[column + 1].data == "" else 1
            _glyph(painter, data, left + column * grid.width, top, wide, grid, ink)
        column += 1
    if cell.underscore or cell.strikethrough:
        painter.setPen(QPen(ink, 1))
        y = base + 2 if cell.underscore else top + grid.height * 0.55
        painter.drawLine(QPointF(left + start * grid.width, y), QPointF(left + end * grid.width - 1, y))


def _glyph(painter: QPainter, data: str, x: int, top: int, wide: int, grid: CellFont, ink: QColor) -> None:
    if "\u2500" <= data <= "\u259f" and _box(painter, data, x, top, grid, ink):
        return
    painter.save()
    painter.setClipRect(QRectF(x, top, wide * grid.width, grid.height))
    painter.drawText(QPointF(x, top + grid.ascent), data)
    painter.restore()


_ARMS = {
    "─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "udr", "┤": "udl", "┬": "lrd",
    "┴": "lru", "┼": "lrud", "╭": "rd", "╮": "ld", "╯": "lu", "╰": "ru", "╴": "l", "╵": "u", "╶": "r", "╷": "d",
}  # fmt: skip
_EIGHTHS_UP = "▁▂▃▄▅▆▇█"
_EIGHTHS_LEFT = "▉▊▋▌▍▎▏"


def _box(painter: QPainter, data: str, x: int, top: int, grid: CellFont, ink: QColor) -> bool:
    """Lines and blocks drawn by hand, so that they join from cell to cell. False where the font must."""
    width, height = grid.width, grid.height
    if data in _ARMS:
        middle, centre = x + width // 2, top + height // 2
        for arm in _ARMS[data]:
            match arm:
                case "l":
                    painter.fillRect(QRectF(x, centre, middle - x + 1, 1), ink)
                case "r":
                    painter.fillRect(QRectF(middle, centre, x + width - middle, 1), ink)
                case "u":
                    painter.fillRect(QRectF(middle, top, 1, centre - top + 1), ink)
                case _:
                    painter.fillRect(QRectF(middle, centre, 1, top + height - centre), ink)
        return True
    if data in _EIGHTHS_UP:
        part = round(height * (_EIGHTHS_UP.index(data) + 1) / 8)
        painter.fillRect(QRectF(x, top + height - part, width, part), ink)
        return True
    if data in _EIGHTHS_LEFT:
        painter.fillRect(QRectF(x, top, round(width * (7 - _EIGHTHS_LEFT.index(data)) / 8), height), ink)
        return True
    if data == "▀":
        painter.fillRect(QRectF(x, top, width, height - height // 2), ink)
        return True
    if data in "░▒▓":
        shade = QColor(ink)
        shade.setAlphaF({"░": 0.25, "▒": 0.5, "▓": 0.75}[data])
        painter.fillRect(QRectF(x, top, width, height), shade)
        return True
    return False


def _tint(painter: QPainter, span: tuple[int, int], colour: QColor, left: int, top: int, grid: CellFont) -> None:
    start, end = span
    if end > start:
        painter.fillRect(QRectF(left + start * grid.width, top, (end - start) * grid.width, grid.height), colour)


def _colours_of(cell: Char, colours: Colours, reversed_screen: bool) -> tuple[QColor, QColor]:
    """(ground, ink)."""
    ground, ink = colours.background(cell.bg), colours.foreground(cell.fg)
    if cell.reverse != reversed_screen:
        ground, ink = ink, ground
    return ground, ink


def _runs(row: tuple[Char, ...]) -> Iterable[tuple[int, int]]:
    """Ranges of columns that share a rendition."""
    start = 0
    while start < len(row):
        first = row[start]
        style = first[1:]
        end = start + 1
        while end < len(row) and (row[end] is first or row[end][1:] == style):
            end += 1
        yield start, end
        start = end
