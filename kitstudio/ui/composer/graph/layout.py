"""Where the boxes of a graph stand and how its lines run: layers by depth, few crossings, one trunk to each target.

Pure: the same boxes and links always give the same drawing. Rows that would be too wide are broken into several.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Point = tuple[float, float]
_SWEEPS: Final = 6
_SETTLE: Final = 8
_BEND: Final = 24.0
"""Width of the place a line takes where it passes a row."""


@dataclass(frozen=True, slots=True)
class Box:
    """One box, in composition order. ``level``: -1 below the base, 0 the base, 1 above it."""

    key: str
    width: float
    height: float
    level: int = 1


@dataclass(frozen=True, slots=True)
class Link:
    """``source`` stands above ``target``. Links of one ``bundle`` to one target share their way.

    ``pull``: how much it draws its boxes towards each other.
    """

    source: str
    target: str
    bundle: str = ""
    pull: int = 1


@dataclass(frozen=True, slots=True)
class Drawing:
    """``places``: left upper corner by key. ``routes``: points from source to target, one for each link given."""

    places: Mapping[str, Point]
    routes: tuple[tuple[Point, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    width: float = 0.0
    height: float = 0.0


@dataclass(slots=True)
class _Slot:
    """A box, or a line passing a row."""

    key: str
    width: float
    x: float = 0.0


def lay_out(boxes: Sequence[Box], links: Sequence[Link], *, gap: Point = (40.0, 96.0), widest: int = 0) -> Drawing:
    """Place boxes in rows, the base at the bottom. ``widest``: boxes in a row, 0: as suits their number."""
    if not boxes:
        return Drawing({}, (), ())
    sizes = {box.key: box for box in boxes}
    links = [link for link in links if link.source in sizes and link.target in sizes]
    rows = _rows(boxes, links, widest or max(6, math.ceil(math.sqrt(len(boxes) * 1.4))))
    row_of = {key: number for number, row in enumerate(rows) for key in row}
    chains = [_chain(link, row_of) for link in links]
    slots = _slots(rows, chains, sizes)
    neighbours = _neighbours(chains, [link.pull for link in links])
    _order(slots, neighbours)
    _spread(slots, neighbours, gap[0])
    tops = _tops(slots, sizes, gap[1])
    return _drawn(slots, chains, sizes, row_of, tops)


def curve(start: Point, end: Point, t: float) -> Point:
    """A point of the line between two points of a route: it leaves and arrives upright."""
    middle = (start[1] + end[1]) / 2
    a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    return (
        a * start[0] + b * start[0] + c * end[0] + d * end[0],
        a * start[1] + b * middle + c * middle + d * end[1],
    )


def _rows(boxes: Sequence[Box], links: Sequence[Link], widest: int) -> list[list[str]]:
    """Rows from the bottom up; a box stands above everything it leads to, as far as the order allows."""
    place = {box.key: number for number, box in enumerate(boxes)}
    below: dict[str, list[str]] = defaultdict(list)
    for link in links:
        below[link.source].append(link.target)
    ranks: dict[str, int] = {}
    for box in sorted(boxes, key=lambda box: (box.level, bool(below[box.key]), place[box.key])):
        lower = [ranks[key] for key in below[box.key] if key in ranks] if box.level > 0 else []
        ranks[box.key] = max([box.level, *(rank + 1 for rank in lower)])
    by_rank: dict[int, list[str]] = defaultdict(list)
    for box in boxes:
        by_rank[ranks[box.key]].append(box.key)
    rows: list[list[str]] = []
    for rank in sorted(by_rank):
        row = sorted(by_rank[rank], key=lambda key: (min((place[k] for k in below[key]), default=-1), place[key]))
        parts = math.ceil(len(row) / widest)
        size = math.ceil(len(row) / parts)
        rows += [row[start : start + size] for start in range(0, len(row), size)]
    return rows


def _chain(link: Link, row_of: Mapping[str, int]) -> tuple[str, ...]:
    """The keys a link passes: its source, one bend in each row between, its target."""
    start, end = row_of[link.source], row_of[link.target]
    step = -1 if end < start else 1
    bends = [f"\0{link.bundle}\0{link.target}\0{row}" for row in range(start + step, end, step)]
    return (link.source, *bends, link.target)


def _slots(
    rows: Sequence[Sequence[str]], chains: Sequence[Sequence[str]], sizes: Mapping[str, Box]
) -> list[list[_Slot]]:
    slots = [[_Slot(key, sizes[key].width) for key in row] for row in rows]
    known: set[str] = set()
    for chain in chains:
        for key in chain[1:-1]:
            if key not in known:
                known.add(key)
                slots[int(key.rpartition("\0")[2])].append(_Slot(key, _BEND))
    return slots


def _neighbours(chains: Sequence[Sequence[str]], pulls: Sequence[int]) -> dict[str, list[str]]:
    """What each key is joined to; one that pulls more is named more often."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for chain, pull in zip(chains, pulls, strict=True):
        for one, other in itertools.pairwise(chain):
            found[one][other] = pull
            found[other][one] = pull
    return {key: [other for other, pull in others.items() for _ in range(pull)] for key, others in found.items()}


def _order(slots: list[list[_Slot]], neighbours: Mapping[str, Sequence[str]]) -> None:
    """Barycentre sweeps: each slot moves towards the middle of those it is joined to in the row swept from."""
    row_of = {slot.key: number for number, row in enumerate(slots) for slot in row}
    for sweep in range(_SWEEPS):
        upwards = sweep % 2 == 0
        numbers = range(1, len(slots)) if upwards else range(len(slots) - 2, -1, -1)
        for number in numbers:
            from_row = number - 1 if upwards else number + 1
            count = max(1, len(slots[from_row]) - 1)
            place = {slot.key: index / count for index, slot in enumerate(slots[from_row])}
            own = {slot.key: index / max(1, len(slots[number]) - 1) for index, slot in enumerate(slots[number])}

            def middle(slot: _Slot, place: Mapping[str, float] = place, own: Mapping[str, float] = own) -> float:
                near = [place[key] for key in neighbours.get(slot.key, ()) if key in place]
                return sum(near) / len(near) if near else own[slot.key]

            slots[number].sort(key=middle)
    assert len(row_of) == sum(map(len, slots))


def _spread(slots: list[list[_Slot]], neighbours: Mapping[str, Sequence[str]], gap: float) -> None:
    """Horizontal places (of middles): near those it is joined to, in order, never over each other."""
    known: dict[str, _Slot] = {slot.key: slot for row in slots for slot in row}
    for row in slots:
        x = -(sum(slot.width for slot in row) + gap * (len(row) - 1)) / 2
        for slot in row:
            slot.x = x + slot.width / 2
            x += slot.width + gap
    for turn in range(_SETTLE):
        for row in slots if turn % 2 == 0 else reversed(slots):
            wanted = []
            for slot in row:
                near = [known[key].x for key in neighbours.get(slot.key, ())]
                wanted.append(sum(near) / len(near) if near else slot.x)
            right, left = list(wanted), list(wanted)
            for index in range(1, len(row)):
                least = (row[index - 1].width + row[index].width) / 2 + gap
                right[index] = max(right[index], right[index - 1] + least)
            for index in range(len(row) - 2, -1, -1):
                least = (row[index + 1].width + row[index].width) / 2 + gap
                left[index] = min(left[index], left[index + 1] - least)
            for slot, one, other in zip(row, right, left, strict=True):
                slot.x = (one + other) / 2


def _tops(slots: Sequence[Sequence[_Slot]], sizes: Mapping[str, Box], gap: float) -> list[tuple[float, float]]:
    """Top and height of each row; the last row stands highest."""
    heights = [max((sizes[slot.key].height for slot in row if slot.key in sizes), default=0.0) for row in slots]
    tops = [0.0] * len(slots)
    y = 0.0
    for number in range(len(slots) - 1, -1, -1):
        tops[number] = y
        y += heights[number] + gap
    return list(zip(tops, heights, strict=True))


def _drawn(
    slots: Sequence[Sequence[_Slot]],
    chains: Sequence[Sequence[str]],
    sizes: Mapping[str, Box],
    row_of: Mapping[str, int],
    tops: Sequence[tuple[float, float]],
) -> Drawing:
    middle = {slot.key: slot.x for row in slots for slot in row}
    left = min(slot.x - slot.width / 2 for row in slots for slot in row)
    right = max(slot.x + slot.width / 2 for row in slots for slot in row)
    places = {}
    for key, box in sizes.items():
        top, height = tops[row_of[key]]
        places[key] = (middle[key] - box.width / 2 - left, top + (height - box.height) / 2)
    ports = _ports(chains, sizes, middle)
    routes = []
    for chain in chains:
        source, target = chain[0], chain[-1]
        down = row_of[source] > row_of[target]
        points = [_port(places, sizes, source, ports[(source, chain[1])], bottom=down)]
        for key in chain[1:-1]:
            top, height = tops[int(key.rpartition("\0")[2])]
            points.append((middle[key] - left, top + height / 2))
        points.append(_port(places, sizes, target, ports[(target, chain[-2])], bottom=not down))
        routes.append(tuple(points))
    rows = tuple(tuple(slot.key for slot in row if slot.key in sizes) for row in slots)
    height = max(top + height for top, height in tops)
    return Drawing(places, tuple(routes), rows, right - left, height)


def _ports(
    chains: Sequence[Sequence[str]], sizes: Mapping[str, Box], middle: Mapping[str, float]
) -> dict[tuple[str, str], float]:
    """Where along a box's edge each of its lines begins or ends, as a part of its width: in the order they come."""
    sides: dict[tuple[str, bool], dict[str, None]] = defaultdict(dict)
    for chain in chains:
        sides[(chain[0], True)][chain[1]] = None
        sides[(chain[-1], False)][chain[-2]] = None
    found = {}
    for (key, _), others in sides.items():
        ordered = sorted(others, key=lambda other: middle[other])
        for index, other in enumerate(ordered):
            found[(key, other)] = (index + 1) / (len(ordered) + 1)
    return found


def _port(places: Mapping[str, Point], sizes: Mapping[str, Box], key: str, part: float, *, bottom: bool) -> Point:
    x, y = places[key]
    return (x + sizes[key].width * part, y + sizes[key].height if bottom else y)
