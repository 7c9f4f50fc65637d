"""The scene of the graph: boxes and lines follow the picture; what stays is moved, what goes is deleted by Qt."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, QRectF
from PySide6.QtWidgets import QGraphicsScene

from kitstudio.ui.composer.graph.items import LineItem, NodeItem, box_size
from kitstudio.ui.composer.graph.layout import Box, Drawing, Link, Point, lay_out
from kitstudio.ui.composer.graph.picture import Line, LineKind, Node, NodeKind, Picture
from kitstudio.ui.theme import Theme

_LineKey = tuple[str, str, LineKind]


class GraphScene(QGraphicsScene):
    """``show_picture`` is the one way in; items are found by the key of their node."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.picture = Picture()
        self.drawing = Drawing({}, (), ())
        self._nodes: dict[str, NodeItem] = {}
        self._lines: dict[_LineKey, LineItem] = {}
        self._chosen: frozenset[str] = frozenset()
        self._marked: frozenset[str] = frozenset()
        theme.changed.connect(self._again)

    def show_picture(self, picture: Picture) -> bool:
        """Show another picture; True where anything moved, came or went."""
        if picture == self.picture:
            return False
        same = _shape(picture) == _shape(self.picture)
        self.picture = picture
        if not same:
            self.drawing = _drawing(self._theme, picture)
        self._place_nodes()
        self._place_lines()
        self._draw_marks()
        if not same:
            room = self._theme.px(48)
            bounds = QRectF(0, 0, self.drawing.width, self.drawing.height)
            for item in self._lines.values():
                bounds = bounds.united(item.boundingRect())
            self.setSceneRect(bounds.adjusted(-room, -room, room, room))
        return not same

    @property
    def sag(self) -> float:
        """How far a line between two boxes of one row hangs below them."""
        return self._theme.px(40)

    def node(self, key: str) -> NodeItem | None:
        """The box of a key."""
        return self._nodes.get(key)

    def line(self, source: str, target: str, kind: LineKind) -> LineItem | None:
        """The line between two boxes."""
        return self._lines.get((source, target, kind))

    def mark(self, chosen: Iterable[str], marked: Iterable[str]) -> None:
        """Boxes that are selected, and those a problem names."""
        self._chosen, self._marked = frozenset(chosen), frozenset(marked)
        self._draw_marks()

    def _again(self) -> None:
        picture, self.picture = self.picture, Picture()
        self.show_picture(picture)
        for item in self._lines.values():
            item.update()

    def _place_nodes(self) -> None:
        wanted = {node.key: node for node in self.picture.nodes}
        for key in [key for key in self._nodes if key not in wanted]:
            _let_go(self._nodes.pop(key))
        for key, node in wanted.items():
            item = self._nodes.get(key)
            if item is None:
                item = NodeItem(self._theme, node)
                self.addItem(item)
                self._nodes[key] = item
            else:
                item.show_node(node)
            item.setPos(*self.drawing.places[key])

    def _place_lines(self) -> None:
        routes = iter(self.drawing.routes)
        wanted: dict[_LineKey, tuple[Line, tuple[Point, ...]]] = {}
        for line in self.picture.lines:
            points = _straight(self, line) if _is_free(line) else next(routes)
            wanted[(line.source, line.target, line.kind)] = (line, points)
        for key in [key for key in self._lines if key not in wanted]:
            _let_go(self._lines.pop(key))
        for key, (line, points) in wanted.items():
            item = self._lines.get(key)
            if item is None:
                item = LineItem(self._theme, line, points)
                self.addItem(item)
                self._lines[key] = item
            else:
                item.show_line(line, points)

    def _draw_marks(self) -> None:
        for key, item in self._nodes.items():
            item.mark(chosen=key in self._chosen, marked=key in self._marked)
        for (source, target, _), line in self._lines.items():
            line.light(bool(self._chosen & {source, target}))


def _let_go(item: NodeItem | LineItem) -> None:
    """Qt deletes it, in its own time: no wrapper is left that could outlive the scene."""
    item.hide()
    item.deleteLater()


def _drawing(theme: Theme, picture: Picture) -> Drawing:
    boxes = [Box(node.key, *box_size(theme, node), level=_level(node)) for node in picture.nodes]
    links = [
        Link(line.source, line.target, line.kind, pull=8 if line.kind is LineKind.HOLDS else 1)
        for line in picture.lines
        if not _is_free(line)
    ]
    rows = len(picture.nodes)
    return lay_out(boxes, links, gap=(theme.px(44), theme.px(104 if rows <= 30 else 84)))


def _level(node: Node) -> int:
    return -1 if node.kind is NodeKind.PACKAGES else 0 if node.workload else 1


def _is_free(line: Line) -> bool:
    """A conflict has no above and below: it is drawn between its two boxes wherever they stand."""
    return line.kind is LineKind.CONFLICT


def _straight(scene: GraphScene, line: Line) -> tuple[Point, ...]:
    """From box to box; between two of one row it hangs below them, where it can be seen and read."""
    one, other = (_area(scene, key) for key in (line.source, line.target))
    upper, lower = (one, other) if one.top() <= other.top() else (other, one)
    if abs(upper.center().y() - lower.center().y()) < 1:
        left, right = (upper, lower) if upper.left() <= lower.left() else (lower, upper)
        start, end = left.left() + left.width() * 0.8, right.left() + right.width() * 0.2
        low = max(left.bottom(), right.bottom()) + scene.sag
        return ((start, left.bottom()), ((start + end) / 2, low), (end, right.bottom()))
    return ((upper.center().x(), upper.bottom()), (lower.center().x(), lower.top()))


def _area(scene: GraphScene, key: str) -> QRectF:
    item = scene.node(key)
    assert item is not None
    return item.box().translated(*scene.drawing.places[key])


def _shape(picture: Picture) -> object:
    boxes = tuple((node.key, node.kind, node.workload) for node in picture.nodes)
    return boxes, tuple((line.source, line.target, line.kind) for line in picture.lines)
