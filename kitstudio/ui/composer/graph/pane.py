"""The graph tab: legend, drawing with its zoom controls, and the inspector."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from kitstudio.models.plan import Plan
from kitstudio.ui.composer.graph.inspector import Inspector
from kitstudio.ui.composer.graph.picture import LineKind, picture_of
from kitstudio.ui.composer.graph.scene import GraphScene
from kitstudio.ui.composer.graph.view import STEP, GraphView
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import Painted, button, icon_button, line, row, text_label
from kitstudio.ui.widgets.text import tr

_Part = tuple[LineKind | None, str]


class GraphPane(QWidget):
    """``chosen(reference)`` when a Kit is selected here. ``export_wanted(suffix)`` from the picture menu."""

    chosen = Signal(str)
    export_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._plan = Plan()
        self._marked: frozenset[str] = frozenset()
        self.scene = GraphScene(theme, self)
        self.view = GraphView(theme, self.scene)
        self.view.setAccessibleName(tr("Graph of the set. Arrow keys go from Kit to Kit, + and - zoom, F shows all."))
        self.inspector = Inspector(theme)
        self.legend = Legend(theme, self.view)
        self.controls = _Controls(theme, self.view)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.view, 1)
        layout.addWidget(line(vertical=True))
        layout.addWidget(self.inspector)
        self.view.chosen.connect(self._choose)
        self.view.zoomed.connect(self.controls.show_scale)
        menu = QMenu(self.controls.picture)
        for suffix, words in (("svg", tr("As SVG…")), ("png", tr("As PNG…"))):
            action = menu.addAction(words)
            action.setObjectName(f"picture-{suffix}")
            action.triggered.connect(lambda _=False, suffix=suffix: self.export_wanted.emit(suffix))
        self.controls.picture.setMenu(menu)

    def show_plan(self, plan: Plan) -> None:
        """Show a set. Nothing is laid out where nothing of it changed."""
        self._plan = plan
        if self.scene.show_picture(picture_of(plan)):
            self.view.refit()
        self.inspector.show_kit(plan, self._reference(self.view.current))

    def choose(self, reference: str) -> None:
        """Select a Kit that was selected elsewhere."""
        self.view.choose(reference)
        self._show_choice(reference)

    def mark(self, references: frozenset[str]) -> None:
        """Tint the Kits a chosen problem names."""
        self._marked = references
        self.scene.mark([self.view.current] if self.view.current else [], references)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        gap = self.theme.px(16)
        self.inspector.fit(self.width())
        self.legend.place(gap, self.theme.px(12), self.width() - self.inspector.width() - 2 * gap)
        size = self.controls.sizeHint()
        self.controls.setGeometry(gap, self.view.height() - size.height() - gap, size.width(), size.height())

    def _choose(self, key: str) -> None:
        self._show_choice(key)
        self.chosen.emit(self._reference(key))

    def _show_choice(self, key: str) -> None:
        self.scene.mark([key] if key else [], self._marked)
        self.inspector.show_kit(self._plan, self._reference(key))

    def _reference(self, key: str) -> str:
        item = self.scene.node(key)
        return item.node.reference if item is not None else ""


class Legend(Painted):
    """What the strokes mean."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._lines: list[list[_Part]] = []
        self._parts: tuple[_Part, ...] = (
            (LineKind.NEEDS, tr("needs")),
            (LineKind.WORKS_WITH, tr("works with")),
            (LineKind.CONFLICT, tr("conflict")),
            (None, tr("arrows point to the provider")),
        )
        self.setAccessibleName(tr("Solid lines: needs. Dashed lines: works with. Dotted red lines: conflict."))

    def place(self, x: int, y: int, room: int) -> None:
        """Stand there, in as many lines as the room asks for."""
        self._lines = [[]]
        used = widest = 0
        for part in self._parts:
            width = self._width(part)
            if used and used + width > room:
                self._lines.append([])
                used = 0
            self._lines[-1].append(part)
            used += width
            widest = max(widest, used)
        self.setGeometry(x, y, widest, len(self._lines) * self._height())
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.colour(Token.SURFACE))
        painter.setFont(self.theme.font(Type.SMALL))
        for number, parts in enumerate(self._lines):
            x = 0
            for part in parts:
                self._paint(painter, part, QPoint(x, number * self._height()))
                x += self._width(part)

    def _paint(self, painter: QPainter, part: _Part, at: QPoint) -> None:
        theme, (kind, words) = self.theme, part
        x = at.x()
        if kind is not None:
            pen = QPen(theme.colour(Token.CRITICAL if kind is LineKind.CONFLICT else Token.BORDER_STRONG), 2)
            if kind is not LineKind.NEEDS:
                pen.setDashPattern([1, 2] if kind is LineKind.CONFLICT else [3, 2])
            painter.setPen(pen)
            middle = at.y() + self._height() // 2
            painter.drawLine(x, middle, x + theme.px(28), middle)
            x += theme.px(34)
        painter.setPen(theme.colour(Token.SECONDARY))
        area = QRect(x, at.y(), self._width(part), self._height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)

    def _width(self, part: _Part) -> int:
        words = self.theme.metrics(Type.SMALL).horizontalAdvance(part[1])
        return words + self.theme.px(50 if part[0] is not None else 16)

    def _height(self) -> int:
        return self.theme.line(Type.SMALL) + self.theme.px(6)


class _Controls(QWidget):
    """Zoom out, scale, zoom in, fit, save as a picture."""

    def __init__(self, theme: Theme, view: GraphView) -> None:
        super().__init__(view)
        out = icon_button(theme, "minus", tr("Zoom out (-)"), object_name="zoomOut")
        more = icon_button(theme, "plus", tr("Zoom in (+)"), object_name="zoomIn")
        self._scale = text_label("100 %", Type.SMALL)
        self.fit = button(theme, tr("Fit"), "fit", small=True, name="zoomFit")
        self.picture = button(theme, tr("Picture"), "export", small=True, name="graphPicture")
        out.clicked.connect(lambda: view.zoom(view.scale_now / STEP))
        more.clicked.connect(lambda: view.zoom(view.scale_now * STEP))
        self.fit.clicked.connect(view.fit)
        self.setLayout(row(out, self._scale, more, self.fit, self.picture, spacing=6))
        self.setAccessibleName(tr("Zoom"))

    def show_scale(self, scale: float) -> None:
        """Say the scale."""
        self._scale.setText(f"{round(scale * 100)} %")
