"""A range of text in a terminal: absolute lines (they keep their number while others scroll away) and columns."""

from __future__ import annotations

from dataclasses import dataclass

from kitstudio.ui.terminal.screen import Screen


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A cell border: before column ``column`` of absolute line ``line``."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Selection:
    """From where the button went down to where it is; either may be first."""

    anchor: Place
    head: Place

    @property
    def first(self) -> Place:
        return min(self.anchor, self.head)

    @property
    def last(self) -> Place:
        return max(self.anchor, self.head)

    @property
    def empty(self) -> bool:
        return self.anchor == self.head

    def columns(self, line: int, width: int) -> tuple[int, int]:
        """The selected columns of an absolute line."""
        if self.empty or not self.first.line <= line <= self.last.line:
            return (0, 0)
        start = self.first.column if line == self.first.line else 0
        end = self.last.column if line == self.last.line else width
        return (start, end)


def selected_text(screen: Screen, selection: Selection) -> str:
    """The text of a selection: wrapped lines joined, trailing blanks left out."""
    parts: list[str] = []
    for line in range(max(selection.first.line, screen.dropped), selection.last.line + 1):
        index = line - screen.dropped
        if index >= screen.total():
            break
        row = screen.row(index)
        start, end = selection.columns(line, screen.columns)
        text = "".join(cell.data for cell in row.cells[start:end])
        goes_on = row.wrapped and end >= screen.columns and line != selection.last.line
        parts.append(text if goes_on else text.rstrip() + "\n")
    return "".join(parts).removesuffix("\n")


def word_at(screen: Screen, place: Place) -> Selection:
    """The word (or path, or address) around a place."""
    row = screen.row(place.line - screen.dropped)
    cells = [cell.data or "x" for cell in row.cells]
    inside = [bool(text.strip()) and text not in "\"'`()[]{}<>|,;" for text in cells]
    column = min(place.column, len(cells) - 1)
    if column < 0 or not inside[column]:
        return Selection(place, Place(place.line, place.column + 1))
    start, end = column, column + 1
    while start > 0 and inside[start - 1]:
        start -= 1
    while end < len(cells) and inside[end]:
        end += 1
    return Selection(Place(place.line, start), Place(place.line, end))
