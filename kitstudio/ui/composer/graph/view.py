"""The view of the graph: zoom, pan, keys. The stack is its accessible twin and shares the selection."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QResizeEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QGraphicsView, QWidget

from kitstudio.ui.composer.graph.items import NodeItem
from kitstudio.ui.composer.graph.scene import GraphScene
from kitstudio.ui.composer.graph.walk import Way, step
from kitstudio.ui.theme import Theme, Token

LEAST, MOST = 0.05, 3.0
READABLE = 0.4
"""A set that would be shown smaller than this begins at its workload instead, and *Fit* shows all of it."""
_BEGIN = 0.75
STEP = 1.25
_WAYS = {Qt.Key.Key_Up: Way.UP, Qt.Key.Key_Down: Way.DOWN, Qt.Key.Key_Left: Way.LEFT, Qt.Key.Key_Right: Way.RIGHT}


class GraphView(QGraphicsView):
    """``chosen(key)`` when a box is selected here; ``zoomed(scale)`` after every zoom."""

    chosen = Signal(str)
    zoomed = Signal(float)
    open_wanted = Signal(str)
    remove_wanted = Signal(str)
    menu_wanted = Signal(str, object)

    def __init__(self, theme: Theme, scene: GraphScene, parent: QWidget | None = None) -> None:
        super().__init__(scene, parent)
        self.theme = theme
        self._graph = scene
        self.current = ""
        self._fits = True
        self._asked = False
        self._pressed: QPoint | None = None
        self.setObjectName("composerGraph")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontSavePainterState, False)
        self.setAcceptDrops(False)
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)
        theme.changed.connect(self._dress)
        self._dress()

    @property
    def scale_now(self) -> float:
        """1.0 is the size everything is drawn for."""
        return self.transform().m11()

    def zoom(self, scale: float) -> None:
        """Show at a scale, within bounds."""
        wanted = min(MOST, max(LEAST, scale))
        self._fits = False
        self._set_scale(wanted)

    def fit(self) -> None:
        """All of it, never larger than it is drawn for; it stays so while the view or the set changes."""
        self._fits = self._asked = True
        self._show_all()

    def _show_all(self) -> None:
        if not self._graph.sceneRect().isEmpty():
            self._set_scale(max(LEAST, self._fitting()))
            self.centerOn(self._graph.sceneRect().center())

    def refit(self) -> None:
        """After a change: fit again if it was fitted, else keep the place."""
        if not self._fits or self._graph.sceneRect().isEmpty() or not self.isVisible():
            return
        if self._asked or self._fitting() >= READABLE:
            self._show_all()
            return
        self._set_scale(_BEGIN)
        base = next((node.key for node in self._graph.picture.nodes if node.workload), "")
        item = self._graph.node(self.current or base)
        self.centerOn(item if item is not None else self._graph.sceneRect().center())

    def _fitting(self) -> float:
        bounds, room = self._graph.sceneRect(), self.viewport().rect()
        return min(room.width() / bounds.width(), room.height() / bounds.height(), 1.0)

    def choose(self, key: str) -> None:
        """Make a box the current one and bring it into view; nothing is emitted."""
        self.current = key
        item = self._graph.node(key)
        if item is not None:
            self.setAccessibleDescription(item.node.spoken)
            if not self._fits:
                self.ensureVisible(QRectF(item.sceneBoundingRect()), self.theme.px(24), self.theme.px(24))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _WAYS and event.modifiers() & Qt.KeyboardModifier.ControlModifier == Qt.KeyboardModifier.NoModifier:
            self._go(step(self._graph.picture, self._graph.drawing, self.current, _WAYS[key]))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(self.scale_now * STEP)
        elif key in (Qt.Key.Key_Minus, Qt.Key.Key_Underscore):
            self.zoom(self.scale_now / STEP)
        elif key == Qt.Key.Key_0:
            self.zoom(1.0)
        elif key == Qt.Key.Key_F:
            self.fit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._reference():
            self.open_wanted.emit(self._reference())
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self._reference():
            self.remove_wanted.emit(self._reference())
        elif key == Qt.Key.Key_Menu and self._reference():
            item = self._graph.node(self.current)
            assert item is not None
            place = self.mapFromScene(item.sceneBoundingRect().center())
            self.menu_wanted.emit(self._reference(), self.viewport().mapToGlobal(place))
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            turned = event.angleDelta().y() or event.pixelDelta().y()
            if turned:
                self.zoom(self.scale_now * (STEP if turned > 0 else 1 / STEP))
            event.accept()
            return
        super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)
        place = event.position().toPoint()
        moved = self._pressed is None or (place - self._pressed).manhattanLength() > 4
        if event.button() is Qt.MouseButton.LeftButton and not moved:
            item = self._box_at(place)
            self._go(item.key if item is not None else "")

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        item = self._box_at(event.position().toPoint())
        if item is not None and item.node.reference:
            self.open_wanted.emit(item.node.reference)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        item = self._box_at(event.pos())
        if item is not None and item.node.reference:
            self._go(item.key)
            self.menu_wanted.emit(item.node.reference, event.globalPos())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.refit()

    def _go(self, key: str) -> None:
        if key != self.current:
            self.choose(key)
            self.chosen.emit(key)

    def _reference(self) -> str:
        item = self._graph.node(self.current)
        return item.node.reference if item is not None else ""

    def _box_at(self, place: QPoint) -> NodeItem | None:
        return next((item for item in self.items(place) if isinstance(item, NodeItem)), None)

    def _set_scale(self, scale: float) -> None:
        self.resetTransform()
        self.scale(scale, scale)
        self.zoomed.emit(scale)

    def _dress(self) -> None:
        self.setBackgroundBrush(self.theme.colour(Token.SURFACE))
        self.viewport().update()
