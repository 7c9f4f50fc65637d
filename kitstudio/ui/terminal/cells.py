"""Cells, lines and rows of a terminal, and the bounded text a guest may choose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category

from pyte.screens import Char, Cursor, StaticDefaultDict

BLANK = Char(" ")
_MAX_TITLE = 80
_MAX_CELLS = 4096


@dataclass(frozen=True, slots=True)
class Row:
    """One line that left the screen: cells without trailing blanks, their text, whether it went on below."""

    cells: tuple[Char, ...]
    text: str
    wrapped: bool = False


class Line(StaticDefaultDict[int, Char]):
    """A live line; ``wrapped``: the text went on in the line below."""

    wrapped = False


class Buffer(dict[int, StaticDefaultDict[int, Char]]):
    """Lines by number; a line asked for is there."""

    def __missing__(self, key: int) -> StaticDefaultDict[int, Char]:
        line = self[key] = Line(BLANK)
        return line


class Cells(dict[str, Char]):
    """Cells of one rendition by character, as many as fit."""

    def __init__(self, attrs: Char) -> None:
        super().__init__()
        self.attrs = attrs

    def __missing__(self, char: str) -> Char:
        cell = self.attrs._replace(data=char)
        if len(self) < _MAX_CELLS:
            self[char] = cell
        return cell


@lru_cache(maxsize=64)
def cells_of(attrs: Char) -> Cells:
    """The shared cells of a rendition; the last sixty-four are kept."""
    return Cells(attrs)


def clean_title(text: str) -> str:
    """A title a guest chose: printable, one line, no direction overrides, short."""
    kept = "".join(char for char in text[: _MAX_TITLE * 4] if category(char)[0] != "C" and char not in "\u2028\u2029")
    return " ".join(kept.split())[:_MAX_TITLE]


def column_of(row: Row, index: int) -> int:
    """The column of character ``index`` of ``row.text`` (cells may hold none or several characters)."""
    seen = 0
    for column, cell in enumerate(row.cells):
        if seen + len(cell.data) > index:
            return column
        seen += len(cell.data)
    return len(row.cells)


def copy_of(cursor: Cursor) -> Cursor:
    """A cursor of its own at the same place."""
    fresh = Cursor(cursor.x, cursor.y, cursor.attrs)
    fresh.hidden = cursor.hidden
    return fresh
