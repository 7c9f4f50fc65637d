"""Boxes and lines of the graph: one plain ``QGraphicsObject`` each, owned by the scene from the first moment.

No class stands before ``QGraphicsObject`` in the bases, and nothing removed is kept on the Python side: an item goes
by ``deleteLater`` alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsObject, QStyleOptionGraphicsItem, QWidget

from kitstudio.ui.composer.graph.layout import Point, curve
from kitstudio.ui.composer.graph.picture import Line, LineKind, Node, NodeKind
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.text import visible

NODE = (196, 56)
BASE = (220, 64)
PACKAGES = (220, 44)
SMALLEST_TEXT = 0.35
"""Below this scale words are bars: they could not be read, and painting them costs most."""
_CENTRE = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


class NodeItem(QGraphicsObject):
    """A box. ``key`` is its node's."""

    def __init__(self, theme: Theme, node: Node) -> None:
        super().__init__()
        self._theme = theme
        self.node = node
        self.chosen = False
        self.marked = False
        self.setZValue(2)
        self.setToolTip(visible(node.reference or node.title))

    @property
    def key(self) -> str:
        return self.node.key

    def show_node(self, node: Node) -> None:
        """Another state of the same box."""
        if node != self.node:
            self.prepareGeometryChange()
            self.node = node
            self.setToolTip(visible(node.reference or node.title))
            self.update()

    def mark(self, *, chosen: bool, marked: bool) -> None:
        """Selected, and named by the problem that is selected."""
        if (chosen, marked) != (self.chosen, self.marked):
            self.chosen, self.marked = chosen, marked
            self.update()

    def box(self) -> QRectF:
        """The box itself, without the room for its outline."""
        return QRectF(0, 0, *box_size(self._theme, self.node))

    def boundingRect(self) -> QRectF:
        room = self._theme.px(5)
        return self.box().adjusted(-room, -room, room, room)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_box(painter)
        if option.levelOfDetailFromTransform(painter.worldTransform()) < SMALLEST_TEXT:
            self._paint_bars(painter)
        else:
            self._paint_words(painter)

    def _paint_box(self, painter: QPainter) -> None:
        theme, node, box = self._theme, self.node, self.box()
        dashed = node.kind is not NodeKind.KIT
        token = Token.CRITICAL if node.problem else Token.BORDER_STRONG if dashed or node.workload else Token.BORDER
        if self.chosen:
            painter.setPen(QPen(theme.colour(Token.FOCUS), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-3, -3, 3, 3), 8, 8)
        pen = QPen(theme.colour(token), 2 if node.workload or self.chosen else 1)
        if dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(theme.colour(Token.ACCENT_TINT if self.chosen or self.marked else Token.RAISED))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _paint_words(self, painter: QPainter) -> None:
        theme, node, box = self._theme, self.node, self.box()
        side = theme.px(32)
        left = theme.px(12)
        place = QRect(left, int(box.height() - side) // 2, side, side)
        if node.kind is NodeKind.KIT:
            painters.paint_monogram(painter, theme, place, node.repository)
        else:
            icon, ink = ("layers", Token.SECONDARY) if node.kind is NodeKind.PACKAGES else ("critical", Token.CRITICAL)
            size = theme.px(20)
            painter.drawPixmap(
                place.left() + (side - size) // 2, int(box.height() - size) // 2, theme.pixmap(icon, 20, ink)
            )
        right = int(box.width()) - theme.px(8)
        if node.problem and node.kind is NodeKind.KIT:
            size = theme.px(16)
            right -= size
            painter.drawPixmap(right, int(box.height() - size) // 2, theme.pixmap("critical", 16, Token.CRITICAL))
            right -= theme.px(6)
        left = place.right() + theme.px(11)
        name, small = theme.line(Type.NAME), theme.line(Type.SMALL)
        top = int(box.height() - name - small) // 2
        for words, role, ink, line, y in (
            (node.title, Type.NAME, Token.TEXT, name, top),
            (node.subtitle, Type.SMALL, Token.SECONDARY, small, top + name),
        ):
            area = QRect(left, y, max(0, right - left), line)
            painter.setFont(theme.font(role))
            painter.setPen(theme.colour(ink))
            elide = Qt.TextElideMode.ElideMiddle
            painter.drawText(area, _CENTRE, theme.metrics(role).elidedText(visible(words), elide, area.width()))

    def _paint_bars(self, painter: QPainter) -> None:
        theme, box = self._theme, self.box()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(Token.BORDER_STRONG))
        painter.drawRect(QRectF(theme.px(12), box.height() / 2 - theme.px(10), theme.px(28), theme.px(20)))
        painter.drawRect(QRectF(theme.px(52), box.height() / 2 - theme.px(6), box.width() * 0.45, theme.px(10)))


class LineItem(QGraphicsObject):
    """A line with its label; trouble has a sign in its middle as well as a colour."""

    def __init__(self, theme: Theme, line: Line, points: Sequence[Point]) -> None:
        super().__init__()
        self._theme = theme
        self.setZValue(1)
        self.lit = False
        self.show_line(line, points)

    def show_line(self, line: Line, points: Sequence[Point]) -> None:
        """Another way, or another label."""
        self.prepareGeometryChange()
        self.line = line
        self._points = tuple(points)
        self._path = _path(points)
        self._label = self._label_rect()
        room = self._theme.px(12)
        self._bounds = self._path.boundingRect().united(self._label).adjusted(-room, -room, room, room)
        self.setToolTip(visible(line.label))
        self.update()

    def light(self, on: bool) -> None:
        """Joined to the chosen box."""
        if on != self.lit:
            self.lit = on
            self.setZValue(1.5 if on else 1)
            self.update()

    @property
    def path(self) -> QPainterPath:
        return self._path

    def pen(self) -> QPen:
        """How the line is drawn."""
        line = self.line
        colour = self._theme.colour(
            Token.CRITICAL if line.trouble else Token.ACCENT if self.lit else Token.BORDER_STRONG
        )
        pen = QPen(colour, 1.5 if line.kind is not LineKind.HOLDS else 1)
        if line.kind is LineKind.WORKS_WITH:
            pen.setDashPattern([4, 3])
        elif line.kind is LineKind.CONFLICT:
            pen.setWidthF(2)
            pen.setDashPattern([1, 2])
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        return pen

    def boundingRect(self) -> QRectF:
        return self._bounds

    def shape(self) -> QPainterPath:
        shape = QPainterPath()
        shape.addRect(self._label)
        return shape

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = self.pen()
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(self._path)
        if self.line.kind in (LineKind.NEEDS, LineKind.WORKS_WITH):
            self._paint_head(painter, pen.color())
        if option.levelOfDetailFromTransform(painter.worldTransform()) >= SMALLEST_TEXT:
            self._paint_label(painter)

    def _paint_head(self, painter: QPainter, colour: QColor) -> None:
        end, before = self._points[-1], curve(self._points[-2], self._points[-1], 0.94)
        angle = math.atan2(end[1] - before[1], end[0] - before[0])
        size = self._theme.px(10)
        head = QPolygonF([QPointF(*end)])
        for side in (-0.42, 0.42):
            turned = angle + math.pi + side
            head.append(QPointF(end[0] + size * math.cos(turned), end[1] + size * math.sin(turned)))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawPolygon(head)

    def _paint_label(self, painter: QPainter) -> None:
        theme, line = self._theme, self.line
        if not line.label:
            return
        painter.fillRect(self._label, theme.colour(Token.SURFACE))
        left = self._label.left() + theme.px(4)
        if line.trouble:
            side = theme.px(14)
            top = self._label.center().y() - side / 2
            painter.drawPixmap(QPointF(left, top), theme.pixmap("critical", 14, Token.CRITICAL))
            left += side + theme.px(4)
        role = _label_role(line)
        painter.setFont(theme.font(role))
        painter.setPen(theme.colour(Token.CRITICAL if line.trouble else Token.TEXT if self.lit else Token.SECONDARY))
        area = QRectF(left, self._label.top(), self._label.right() - left, self._label.height())
        elide = Qt.TextElideMode.ElideRight
        painter.drawText(
            area, _CENTRE, theme.metrics(role).elidedText(visible(line.label), elide, int(area.width()) + 1)
        )

    def _label_rect(self) -> QRectF:
        theme, line = self._theme, self.line
        if not line.label:
            return QRectF()
        role = _label_role(line)
        width = min(theme.metrics(role).horizontalAdvance(visible(line.label)), theme.px(180)) + theme.px(9)
        if line.trouble:
            width += theme.px(18)
        height = theme.line(role) + theme.px(4)
        # In the first part of its way a line is still its own; further down it may share it with others.
        t = 1.0 if line.kind is LineKind.CONFLICT and len(self._points) > 2 else 0.5 if len(self._points) == 2 else 0.38
        x, y = curve(self._points[0], self._points[1], t)
        return QRectF(x - width / 2, y - height / 2, width, height)


def box_size(theme: Theme, node: Node) -> Point:
    """Width and height of a box at the current text scale."""
    width, height = PACKAGES if node.kind is NodeKind.PACKAGES else BASE if node.workload else NODE
    least = theme.line(Type.NAME) + theme.line(Type.SMALL) + theme.px(8)
    return (theme.px(width), max(theme.px(height), least))


def _label_role(line: Line) -> Type:
    return Type.MONO if line.kind is LineKind.NEEDS else Type.SMALL


def _path(points: Sequence[Point]) -> QPainterPath:
    path = QPainterPath(QPointF(*points[0]))
    for start, end in itertools.pairwise(points):
        middle = (start[1] + end[1]) / 2
        path.cubicTo(QPointF(start[0], middle), QPointF(end[0], middle), QPointF(*end))
    return path
