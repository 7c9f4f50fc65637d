"""Where an arrow key leads from a box: along its lines first, else to the nearest box that way. Pure."""

from __future__ import annotations

from enum import Enum

from kitstudio.ui.composer.graph.layout import Drawing
from kitstudio.ui.composer.graph.picture import Picture


class Way(Enum):
    """The four arrow keys."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"


def step(picture: Picture, drawing: Drawing, key: str, way: Way) -> str:
    """The key of the next box; the same one where there is none that way, the lowest box where there was none."""
    if key not in drawing.places:
        return next((row[0] for row in drawing.rows if row), "")
    if way in (Way.LEFT, Way.RIGHT):
        return _beside(drawing, key, 1 if way is Way.RIGHT else -1)
    joined = [line.source for line in picture.lines if line.target == key]
    joined += [line.target for line in picture.lines if line.source == key]
    up = way is Way.UP
    for candidates in (joined, list(drawing.places)):
        found = [other for other in candidates if _is_that_way(drawing, key, other, up)]
        if found:
            return min(found, key=lambda other: _distance(drawing, key, other))
    return key


def _beside(drawing: Drawing, key: str, by: int) -> str:
    """The neighbour in the row; past its end the row above or below goes on."""
    flat = [other for row in reversed(drawing.rows) for other in sorted(row, key=lambda k: drawing.places[k][0])]
    place = flat.index(key) + by
    return flat[place] if 0 <= place < len(flat) else key


def _is_that_way(drawing: Drawing, key: str, other: str, up: bool) -> bool:
    here, there = drawing.places[key][1], drawing.places[other][1]
    return other != key and (there < here - 1 if up else there > here + 1)


def _distance(drawing: Drawing, key: str, other: str) -> tuple[float, float]:
    (x, y), (u, v) = drawing.places[key], drawing.places[other]
    return (abs(v - y) * 2 + abs(u - x), abs(u - x))
