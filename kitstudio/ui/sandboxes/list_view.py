"""The list of sandboxes: state first, in icon and words; a broken one has its repair in the row."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListView, QPushButton, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kitstudio.models.words import claim
from kitstudio.runtime.backend import SandboxStatus, State
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.models import Index, Role, SandboxModel
from kitstudio.ui.sandboxes.words import memory, state_look, uptime
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.basic import button
from kitstudio.ui.widgets.text import tr, visible


class SandboxList(QListView):
    """``repair_wanted(name)`` from the button in a broken row."""

    repair_wanted = Signal(str)

    def __init__(self, theme: Theme, model: SandboxModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setObjectName("sandboxList")
        self.setAccessibleName(tr("Sandboxes"))
        self.setModel(model)
        self.setItemDelegate(_Delegate(theme, self))
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self._repairs: dict[str, QPushButton] = {}
        model.dataChanged.connect(self._place_repairs)
        model.modelReset.connect(self._place_repairs)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def updateGeometries(self) -> None:
        super().updateGeometries()
        if hasattr(self, "_repairs"):
            self._place_repairs()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        self._place_repairs()

    def _place_repairs(self) -> None:
        """Real buttons over the rows that need one."""
        model = self.model()
        assert isinstance(model, SandboxModel)
        broken = {
            model.sandbox(row).name: (row, model.sandbox(row))
            for row in range(model.rowCount())
            if needs_repair(model.sandbox(row))
        }
        for name in [name for name in self._repairs if name not in broken]:
            self._repairs.pop(name).deleteLater()
        for name, (row, status) in broken.items():
            made = self._repairs.get(name)
            if made is None:
                made = button(self.theme, claim(status.repair, 40), "tools", small=True, name=f"repair-{name}")
                made.setParent(self.viewport())
                made.clicked.connect(lambda _=False, name=name: self.repair_wanted.emit(name))
                self._repairs[name] = made
            area = self.visualRect(model.index(row, 0))
            size = made.sizeHint()
            left = area.left() + self.theme.px(44)
            made.setGeometry(left, area.bottom() - size.height() - self.theme.px(9), size.width(), size.height())
            made.show()


class _Delegate(QStyledItemDelegate):
    """Name and running time, state, set and memory."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        theme = self.theme
        status = index.data(Role.VALUE)
        height = theme.px(9) + theme.line(Type.NAME) + 2 * (theme.line(Type.SMALL) + theme.px(2)) + theme.px(11)
        if isinstance(status, SandboxStatus) and needs_repair(status):
            height += theme.px(36)
        return QSize(theme.px(200), height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self.theme
        status = index.data(Role.VALUE)
        assert isinstance(status, SandboxStatus)
        rect: QRect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.colour(Token.ACCENT_TINT))
            painter.fillRect(QRect(rect.left(), rect.top(), theme.px(3), rect.height()), theme.colour(Token.ACCENT))
        painter.setPen(theme.colour(Token.BORDER))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        look = state_look(status)
        ink = theme.tone(look.tone)[0]
        top = rect.top() + theme.px(9)
        painter.drawPixmap(rect.left() + theme.px(16), top - theme.px(1), theme.pixmap(look.icon, 20, ink))
        left, right = rect.left() + theme.px(44), rect.right() - theme.px(16)
        self._line(
            painter,
            QRect(left, top, right - left, theme.line(Type.NAME)),
            status.name,
            Type.NAME,
            Token.TEXT,
            uptime(status),
        )
        top += theme.line(Type.NAME) + theme.px(2)
        small = theme.line(Type.SMALL)
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(ink)
        shown = theme.metrics(Type.SMALL).elidedText(look.words, Qt.TextElideMode.ElideRight, right - left)
        painter.drawText(QRect(left, top, right - left, small), Qt.AlignmentFlag.AlignVCenter, shown)
        top += small + theme.px(2)
        self._line(
            painter, QRect(left, top, right - left, small), status.set_name, Type.SMALL, Token.SECONDARY, memory(status)
        )
        if option.state & QStyle.StateFlag.State_HasFocus:
            painters.paint_focus(painter, theme, rect.adjusted(1, 1, -1, -2))
        painter.restore()

    def _line(self, painter: QPainter, area: QRect, text: str, role: Type, ink: Token, at_right: str) -> None:
        theme = self.theme
        taken = theme.metrics(Type.SMALL).horizontalAdvance(at_right) + theme.px(8) if at_right else 0
        shown = theme.metrics(role).elidedText(visible(text), Qt.TextElideMode.ElideRight, area.width() - taken)
        painter.setFont(theme.font(role))
        painter.setPen(theme.colour(ink))
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
        if at_right:
            painter.setFont(theme.font(Type.SMALL))
            painter.setPen(theme.colour(Token.SECONDARY))
            painter.drawText(area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, at_right)


def needs_repair(status: SandboxStatus) -> bool:
    """Broken, and something mends it."""
    return status.state is State.BROKEN and bool(status.repair)
