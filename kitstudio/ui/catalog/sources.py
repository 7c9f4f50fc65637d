"""The sources list: each carries its own state, so an outage never looks like an empty catalog."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from kitstudio.services.catalog import SourceInfo, SourceKind, SourceState
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import counted, tr, visible

ROW = 42
ICONS = {
    SourceKind.DEMO: "sandboxes",
    SourceKind.REGISTRY: "network",
    SourceKind.LAYOUT: "layers",
    SourceKind.FOLDER: "folder",
    SourceKind.HUB: "seal",
}
STATE_ICONS = {
    SourceState.LOADING: ("spinner", Token.SECONDARY),
    SourceState.OFFLINE: ("offline", Token.NOTICE),
    SourceState.SIGN_IN: ("lock", Token.NOTICE),
    SourceState.LIMITED: ("clock", Token.NOTICE),
    SourceState.ERROR: ("critical", Token.CRITICAL),
}


class SourceRole(int, Enum):
    SOURCE = Qt.ItemDataRole.UserRole + 1


class SourceModel(QAbstractListModel):
    """*All sources*, then each source."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sources: tuple[SourceInfo, ...] = ()

    def show_sources(self, sources: Sequence[SourceInfo]) -> None:
        fresh = tuple(sources)
        if [source.id for source in fresh] == [source.id for source in self._sources]:
            self._sources = fresh
            self.dataChanged.emit(self.index(0), self.index(len(fresh)))
            return
        self.beginResetModel()
        self._sources = fresh
        self.endResetModel()

    def source(self, index: QModelIndex | QPersistentModelIndex) -> SourceInfo | None:
        """None for *All sources*."""
        return self._sources[index.row() - 1] if index.row() > 0 else None

    def row_of(self, source: str) -> int:
        return next((n + 1 for n, info in enumerate(self._sources) if info.id == source), 0)

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._sources) + 1

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        source = self.source(index)
        if role == SourceRole.SOURCE:
            return source
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return ", ".join(self.words(source))
        if role == Qt.ItemDataRole.ToolTipRole and source is not None:
            return visible(str(source.error) if source.error else source.id)
        return None

    def words(self, source: SourceInfo | None) -> tuple[str, str]:
        """Title and second line."""
        if source is not None:
            return visible(source.title), source_detail(source)
        offline = sum(info.state is SourceState.OFFLINE for info in self._sources)
        detail = counted(len(self._sources), "source", "sources")
        return tr("All sources"), f"{detail}, {offline} {tr('offline')}" if offline else detail


def source_detail(source: SourceInfo) -> str:
    """The second line: the state where there is one to tell, else what the source holds."""
    if source.state is SourceState.LOADING:
        return tr("Reading the list")
    if source.state is SourceState.OFFLINE:
        return visible(source.detail) or tr("Offline")
    if source.state is SourceState.SIGN_IN:
        return tr("Sign-in needed")
    if source.state in (SourceState.LIMITED, SourceState.ERROR):
        return visible(source.detail) or tr("Not readable")
    if source.detail:
        text = visible(source.detail)
        return text[:1].upper() + text[1:]
    kits = counted(source.count, "Kit", "Kits")
    return f"{tr('Built in')}, {kits}" if source.kind is SourceKind.DEMO else kits


class SourceDelegate(QStyledItemDelegate):
    """Two lines and an icon, 42 px."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        theme = self.theme
        return QSize(theme.px(120), max(theme.px(ROW), theme.line(Type.BODY) + theme.line(Type.SMALL) + theme.px(8)))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme = self.theme
        model = index.model()
        assert isinstance(model, SourceModel)
        source = model.source(index)
        title, detail = model.words(source)
        on = bool(option.state & QStyle.StateFlag.State_Selected)
        rect: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if on or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(QPen(theme.colour(Token.ACCENT_BORDER if on else Token.BORDER), 1))
            painter.setBrush(theme.colour(Token.ACCENT_TINT if on else Token.SURFACE))
            painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        icon = ICONS[source.kind] if source is not None else "layers"
        side = theme.px(20)
        left = rect.left() + theme.px(8)
        picture = theme.pixmap(icon, 20, Token.ACCENT if on else Token.SECONDARY)
        painter.drawPixmap(left, rect.top() + (rect.height() - side) // 2, picture)
        left += side + theme.px(8)
        role = Type.NAME if on else Type.BODY
        block = theme.line(Type.BODY) + theme.line(Type.SMALL)
        area = QRect(left, rect.top() + (rect.height() - block) // 2, 0, theme.line(Type.BODY))
        area.setRight(rect.right() - theme.px(8))
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setFont(theme.font(role))
        painter.setPen(theme.colour(Token.TEXT))
        painter.drawText(area, align, theme.metrics(role).elidedText(title, Qt.TextElideMode.ElideMiddle, area.width()))
        area.moveTop(area.bottom() + 1)
        area.setHeight(theme.line(Type.SMALL))
        ink = Token.SECONDARY
        if source is not None and source.state in STATE_ICONS:
            name, ink = STATE_ICONS[source.state]
            small = theme.px(12)
            painter.drawPixmap(area.left(), area.top() + (area.height() - small) // 2, theme.pixmap(name, 12, ink))
            area.setLeft(area.left() + small + theme.px(4))
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(ink))
        shown = theme.metrics(Type.SMALL).elidedText(detail, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, align, shown)
        painter.restore()
