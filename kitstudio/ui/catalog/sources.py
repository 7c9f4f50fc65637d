"""The sources list: each carries its own state, so an outage never looks like an empty catalog."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from kitstudio.services.catalog import SourceInfo, SourceState
from kitstudio.ui.catalog.source_words import ICONS as ICONS
from kitstudio.ui.catalog.source_words import Line, lapsed, seconds_left, state_line, tool_tip
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import counted, tr, visible

ROW = 42


class SourceRole(int, Enum):
    SOURCE = Qt.ItemDataRole.UserRole + 1


class SourceModel(QAbstractListModel):
    """*All sources*, then each source."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sources: tuple[SourceInfo, ...] = ()

    def show_sources(self, sources: Sequence[SourceInfo]) -> None:
        fresh = tuple(sources)
        if fresh == self._sources:
            return
        if [source.id for source in fresh] == [source.id for source in self._sources]:
            self._sources = fresh
            self.tick()
            return
        self.beginResetModel()
        self._sources = fresh
        self.endResetModel()

    def tick(self) -> None:
        """The words of the rows changed: time passed, or a state did."""
        self.dataChanged.emit(self.index(0), self.index(len(self._sources)))

    def counting(self) -> bool:
        """Whether a countdown runs."""
        return any(seconds_left(source) > 0 for source in self._sources)

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
            title, line = self.words(source)
            return f"{title}, {line.text}"
        if role == Qt.ItemDataRole.ToolTipRole and source is not None:
            return tool_tip(source)
        return None

    def words(self, source: SourceInfo | None) -> tuple[str, Line]:
        """Title and second line."""
        if source is not None:
            return visible(source.title), state_line(source)
        detail = counted(len(self._sources), "source", "sources")
        offline = sum(info.state is SourceState.OFFLINE for info in self._sources)
        waiting = sum(info.state is SourceState.SIGN_IN for info in self._sources)
        if waiting:
            return tr("All sources"), Line(f"{detail}, {waiting} {tr('to sign in')}", "lock", Token.NOTICE)
        if offline:
            return tr("All sources"), Line(f"{detail}, {offline} {tr('offline')}")
        return tr("All sources"), Line(detail)


class SourceDelegate(QStyledItemDelegate):
    """Name, state and an icon, 42 px; a name that is too long for its line goes on in another. A dot where a sign-in
    lapsed."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        theme = self.theme
        high = max(theme.px(ROW), theme.line(Type.BODY) + theme.line(Type.SMALL) + theme.px(8))
        model = index.model()
        assert isinstance(model, SourceModel)
        title, _ = model.words(source := model.source(index))
        room = self._view.viewport().width() - theme.px(44) - self._dot(source)
        more = len(title_lines(title, theme.metrics(Type.NAME), room)) - 1
        return QSize(theme.px(120), high + more * theme.line(Type.BODY))

    def _dot(self, source: SourceInfo | None) -> int:
        """The room at the right that the dot of a lapsed sign-in takes."""
        return self.theme.px(14) if source is not None and lapsed(source) else 0

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme = self.theme
        model = index.model()
        assert isinstance(model, SourceModel)
        source = model.source(index)
        title, line = model.words(source)
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
        # Broken as the bold name is, so that choosing a source moves nothing.
        names = title_lines(title, theme.metrics(Type.NAME), rect.width() - theme.px(44) - self._dot(source))
        block = len(names) * theme.line(Type.BODY) + theme.line(Type.SMALL)
        area = QRect(left, rect.top() + (rect.height() - block) // 2, 0, theme.line(Type.BODY))
        area.setRight(rect.right() - theme.px(8))
        if source is not None and lapsed(source):
            dot = theme.px(8)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Token.NOTICE))
            painter.drawEllipse(QRect(area.right() - dot, area.top() + (area.height() - dot) // 2, dot, dot))
            area.setRight(area.right() - dot - theme.px(6))
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setFont(theme.font(role))
        painter.setPen(theme.colour(Token.TEXT))
        for name in names:
            painter.drawText(area, align, name)
            area.moveTop(area.bottom() + 1)
        area.setHeight(theme.line(Type.SMALL))
        area.setRight(rect.right() - theme.px(8))
        if line.icon:
            small = theme.px(12)
            picture = theme.pixmap(line.icon, 12, line.ink)
            painter.drawPixmap(area.left(), area.top() + (area.height() - small) // 2, picture)
            area.setLeft(area.left() + small + theme.px(4))
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(line.ink))
        shown = theme.metrics(Type.SMALL).elidedText(line.text, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, align, shown)
        painter.restore()


def title_lines(title: str, metrics: QFontMetrics, width: int) -> tuple[str, ...]:
    """A name on one line, else broken at its last blank that fits; only what still does not fit is left out, in its
    middle."""
    if metrics.horizontalAdvance(title) <= width:
        return (title,)
    words = title.split(" ")
    for count in range(len(words) - 1, 0, -1):
        first = " ".join(words[:count])
        if metrics.horizontalAdvance(first) <= width:
            rest = " ".join(words[count:])
            return first, metrics.elidedText(rest, Qt.TextElideMode.ElideMiddle, width)
    return (metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, width),)
