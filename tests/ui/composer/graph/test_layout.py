"""The layout of the graph: pure, and the same for the same set."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from kitstudio.ui.composer.graph.layout import Box, Drawing, Link, curve, lay_out
from kitstudio.ui.composer.graph.picture import Line, LineKind, Node, NodeKind, Picture
from kitstudio.ui.composer.graph.walk import Way, step

WIDTH, HEIGHT = 196.0, 56.0


def boxes(count: int, base: bool = True) -> list[Box]:
    return [Box(f"k{n}", WIDTH, HEIGHT, 0 if base and n == 0 else 1) for n in range(count)]


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[Box], list[Link]]:
    """Any set: links mostly downwards in order, circles among them."""
    count = draw(st.integers(0, 40))
    if not count:
        return [], []
    number = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(number, number, st.sampled_from(["needs", "works-with"])), max_size=60))
    return boxes(count), [Link(f"k{a}", f"k{b}", kind) for a, b, kind in pairs if a != b]


@settings(max_examples=60, deadline=None)
@given(sets())
def test_any_set_is_drawn_without_overlaps_and_every_line_ends_at_its_boxes(made: tuple[list[Box], list[Link]]) -> None:
    found, links = made
    drawing = lay_out(found, links)
    assert set(drawing.places) == {box.key for box in found}
    assert sorted(itertools.chain(*drawing.rows)) == sorted(drawing.places)
    for (x, y), (u, v) in itertools.combinations(drawing.places.values(), 2):
        assert abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT
    assert len(drawing.routes) == len(links)
    for link, route in zip(links, drawing.routes, strict=True):
        for key, (x, y) in ((link.source, route[0]), (link.target, route[-1])):
            left, top = drawing.places[key]
            assert left <= x <= left + WIDTH and y in (top, top + HEIGHT)
    assert lay_out(found, links) == drawing


def test_a_kit_stands_above_all_it_needs_and_the_workload_below_everything() -> None:
    links = [Link("k1", "k0"), Link("k2", "k1"), Link("k3", "k2"), Link("k3", "k0")]
    drawing = lay_out([*boxes(4), Box("packages", WIDTH, HEIGHT, -1)], links)
    height = {key: place[1] for key, place in drawing.places.items()}
    assert height["k3"] < height["k2"] < height["k1"] < height["k0"] < height["packages"]


def test_what_is_missing_stands_below_the_kit_that_wants_it() -> None:
    drawing = lay_out([*boxes(2), Box("missing", WIDTH, HEIGHT)], [Link("k1", "missing")])
    assert drawing.places["k1"][1] < drawing.places["missing"][1]


def test_a_row_that_would_be_too_wide_becomes_several() -> None:
    drawing = lay_out(boxes(200), [Link(f"k{n}", "k0") for n in range(1, 200)])
    assert max(map(len, drawing.rows)) <= 17
    assert drawing.width < 24 * (WIDTH + 60)


def test_lines_to_one_kit_share_their_way() -> None:
    links = [Link("k1", "k0"), Link("k2", "k1"), Link("k3", "k1"), Link("k2", "k0"), Link("k3", "k0")]
    routes = lay_out(boxes(4), links).routes
    assert routes[3][1] == routes[4][1] and routes[3][-1] == routes[4][-1]


def test_a_circle_is_drawn_all_the_same() -> None:
    drawing = lay_out(boxes(3), [Link("k1", "k2"), Link("k2", "k1")])
    assert len(drawing.routes) == 2 and drawing.places["k1"] != drawing.places["k2"]


def test_nothing_and_one_box_are_drawings_too() -> None:
    assert lay_out([], []) == Drawing({}, (), ())
    assert lay_out(boxes(1), []).places == {"k0": (0.0, 0.0)}


def test_a_line_leaves_and_arrives_upright() -> None:
    assert curve((0, 0), (10, 20), 0.0) == (0, 0) and curve((0, 0), (10, 20), 1.0) == (10, 20)
    near = curve((0, 0), (100, 100), 0.05)
    assert near[1] > 5 * near[0]


def test_arrow_keys_follow_lines_and_then_the_rows() -> None:
    nodes = tuple(Node(box.key, NodeKind.KIT, box.key, "", box.key) for box in boxes(5))
    lines = tuple(Line(a, b, LineKind.NEEDS) for a, b in (("k1", "k0"), ("k2", "k0"), ("k3", "k1"), ("k4", "k2")))
    drawing = lay_out(boxes(5), [Link(line.source, line.target) for line in lines])
    picture = Picture(nodes, lines)
    assert step(picture, drawing, "", Way.UP) == "k0"
    assert step(picture, drawing, "k3", Way.DOWN) == "k1" and step(picture, drawing, "k4", Way.DOWN) == "k2"
    assert step(picture, drawing, "k1", Way.UP) == "k3" and step(picture, drawing, "k3", Way.UP) == "k3"
    assert step(picture, drawing, "k0", Way.DOWN) == "k0"
    right = step(picture, drawing, "k3", Way.RIGHT)
    assert right == "k4" and step(picture, drawing, right, Way.LEFT) == "k3"
