"""The permission list of the Kit page and the composer: weight → sentence → exact entry → who asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QResizeEvent, QTextLayout
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kitstudio.models.plan import Choice
from kitstudio.models.review import Group, Permission, Phase, Weight
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_GROUP, ICON_OF_WEIGHT, TONE_OF_WEIGHT, Theme, Token
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import EntryLook
from kitstudio.ui.widgets.permission_model import (
    PermissionModel,
    PermissionRow,
    RowKind,
    choice_label,
    entry_rows,
    heading,
    spoken,
)
from kitstudio.ui.widgets.text import phase_words, tr, weight_word

MONOGRAMS = 4


@dataclass(frozen=True, slots=True)
class ListLook:
    """``banded``: groups stand on a sunken band (composer); ``askers``: monograms of who asks; ``padding``: sides."""

    banded: bool = False
    askers: bool = False
    padding: int = 20
    fold_above: int = 0


class PermissionList(QListView):
    """Entries by group. ``switched(kit, path, on)`` when a person turns an optional item."""

    switched = Signal(str, str, bool)
    chosen = Signal(object)

    def __init__(self, theme: Theme, look: ListLook | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.look = look or ListLook()
        self._permissions: tuple[Permission, ...] = ()
        self._choices: tuple[Choice, ...] = ()
        self._phase: Phase | None = None
        self._unfolded: frozenset[Group] = frozenset()
        self._model = PermissionModel(self)
        self.setModel(self._model)
        self.setItemDelegate(_PermissionDelegate(theme, self))
        self.setAccessibleName(tr("Permissions"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMouseTracking(True)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.selectionModel().currentChanged.connect(self._tell_current)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def show_permissions(
        self, permissions: Sequence[Permission], choices: Sequence[Choice] = (), phase: Phase | None = None
    ) -> None:
        """Show a surface; keeps the scroll position and what was unfolded."""
        self._permissions, self._choices, self._phase = tuple(permissions), tuple(choices), phase
        self._rebuild()

    def row_at(self, index: QModelIndex | QPersistentModelIndex) -> PermissionRow:
        return self._model.row_at(index)

    def act(self, index: QModelIndex | QPersistentModelIndex) -> None:
        """Turn the switch of a row, or unfold it."""
        row = self._model.row_at(index)
        if row.kind is RowKind.FOLD and row.group is not None:
            self._unfolded |= {row.group}
            self._rebuild()
        elif row.choice is not None and row.choice.supported:
            self.switched.emit(row.choice.kit, row.choice.path, not row.choice.selected)

    def switch_rect(self, index: QModelIndex) -> QRect:
        """Where the switch of a row is painted, in viewport coordinates; empty without one."""
        delegate = self.itemDelegate()
        assert isinstance(delegate, _PermissionDelegate)
        return delegate.switch_rect(self.visualRect(index), self._model.row_at(index))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if index.isValid() and event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.act(index)
        elif index.isValid() and event.matches(QKeySequence.StandardKey.Copy):
            row = self._model.row_at(index)
            QGuiApplication.clipboard().setText(row.permission.entry if row.permission else spoken(row))
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()

    def _rebuild(self) -> None:
        bar = self.verticalScrollBar()
        place = bar.value()
        self._model.show_rows(
            entry_rows(
                self._permissions,
                self._choices,
                phase=self._phase,
                fold_above=self.look.fold_above,
                unfolded=self._unfolded,
            )
        )
        bar.setValue(place)

    def _tell_current(self, current: QModelIndex) -> None:
        if current.isValid():
            self.chosen.emit(self._model.row_at(current))


class _PermissionDelegate(QStyledItemDelegate):
    """Paints and measures a row with one set of rules; heights come from the text layout."""

    def __init__(self, theme: Theme, view: PermissionList) -> None:
        super().__init__(view)
        self.theme = theme
        self.view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        width = self.view.viewport().width()
        return QSize(width, self._height(self.view.row_at(index), width))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row = self.view.row_at(index)
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        if row.kind is RowKind.GROUP:
            self._paint_group(painter, rect, row)
        else:
            if state & QStyle.StateFlag.State_Selected and self.view.hasFocus():
                painter.fillRect(rect, self.theme.colour(Token.ACCENT_TINT))
            if row.kind is RowKind.FOLD:
                self._paint_fold(painter, rect, row)
            else:
                self._paint_entry(painter, rect, row)
            if not row.last or self.view.look.banded:
                pad = 0 if self.view.look.banded else self.theme.px(self.view.look.padding)
                painter.setPen(self.theme.colour(Token.BORDER))
                painter.drawLine(rect.left() + pad, rect.bottom(), rect.right() - pad, rect.bottom())
        painter.restore()

    def editorEvent(
        self,
        event: QEvent,
        model: QAbstractItemModel,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonRelease:
            row = self.view.row_at(index)
            place = event.position().toPoint()
            on_switch = self.switch_rect(option.rect, row).contains(place)
            if on_switch or row.kind is RowKind.FOLD:
                self.view.act(index)
                return True
        return False

    def switch_rect(self, rect: QRect, row: PermissionRow) -> QRect:
        if row.choice is None:
            return QRect()
        theme, pad = self.theme, self.theme.px(self.view.look.padding)
        width, height = theme.px(32), theme.px(18)
        return QRect(rect.right() + 1 - pad - width, rect.top() + theme.px(8), width, height)

    def _height(self, row: PermissionRow, width: int) -> int:
        theme = self.theme
        if row.kind is RowKind.GROUP:
            return theme.px(32) if self.view.look.banded else theme.px(38)
        if row.kind is RowKind.FOLD:
            return theme.px(32)
        sentence = self._sentence(row, width)[1].height()
        height = theme.px(7) + sentence
        if row.permission is not None:
            height += theme.px(4) + max(self._entry_size(row, width).height(), theme.line(Type.SMALL))
        if self._note(row):
            height += theme.px(2) + self._note_layout(row, width)[1].height()
        return height + theme.px(8)

    def _left(self) -> int:
        return self.theme.px(self.view.look.padding) + self.theme.px(28)

    def _right_words(self, row: PermissionRow) -> str:
        if row.permission is None:
            return ""
        return phase_words(row.permission)

    def _right_width(self, row: PermissionRow) -> int:
        metrics = self.theme.metrics(Type.SMALL)
        words = metrics.horizontalAdvance(self._right_words(row))
        if self.view.look.askers and row.permission is not None:
            askers = min(len(self._kits(row)), MONOGRAMS) * self.theme.px(26)
            return max(words if row.choice is None else 0, askers)
        return words

    def _text_width(self, row: PermissionRow, width: int) -> int:
        reserve = 0
        if row.choice is not None:
            reserve = self.theme.px(32 + 8 + 12) + self.theme.metrics(Type.SMALL).horizontalAdvance(tr("Off"))
        elif self.view.look.askers and row.permission is not None:
            reserve = self.theme.metrics(Type.SMALL).horizontalAdvance(self._right_words(row)) + self.theme.px(8)
        return width - self._left() - self.theme.px(self.view.look.padding) - reserve

    def _words(self, row: PermissionRow) -> str:
        if row.permission is not None:
            return row.permission.sentence
        return choice_label(row.choice) if row.choice is not None else ""

    def _lead(self, row: PermissionRow) -> str:
        item = row.permission
        heavy = item is not None and item.weight >= Weight.NOTICE and not row.off
        return f"{weight_word(item.weight)}. " if heavy and item is not None else ""

    def _sentence(self, row: PermissionRow, width: int) -> tuple[QTextLayout, QSize]:
        lead = self._lead(row)
        ink = self.theme.tone(TONE_OF_WEIGHT[row.permission.weight])[0] if lead and row.permission else None
        room = self._text_width(row, width)
        return painters.wrapped(self.theme, self._words(row), room, Type.BODY, lead=lead, ink=ink)

    def _entry_size(self, row: PermissionRow, width: int) -> QSize:
        assert row.permission is not None
        room = width - self._left() - self.theme.px(self.view.look.padding) - self._right_width(row) - self.theme.px(8)
        return painters.entry_size(self.theme, row.permission.entry, max(self.theme.px(120), room))

    def _note(self, row: PermissionRow) -> str:
        if row.choice is None:
            return ""
        along = row.choice.takes_along
        if row.choice.selected and row.choice.supported:
            return tr("Brings {parts}.").format(parts=along) if along else ""
        off = tr("Off: {reason}.").format(reason=row.choice.reason) if not row.choice.supported else ""
        left = tr("Left out with it: {parts}.").format(parts=along) if along else ""
        return f"{off} {left}".strip()

    def _note_layout(self, row: PermissionRow, width: int) -> tuple[QTextLayout, QSize]:
        room = width - self._left() - self.theme.px(self.view.look.padding)
        return painters.wrapped(self.theme, self._note(row), room, Type.SMALL)

    def _paint_group(self, painter: QPainter, rect: QRect, row: PermissionRow) -> None:
        theme, pad = self.theme, self.theme.px(self.view.look.padding)
        area = QRect(rect)
        if self.view.look.banded:
            painter.fillRect(rect, theme.colour(Token.SUNKEN))
            painter.setPen(theme.colour(Token.BORDER))
            painter.drawLine(rect.left(), rect.bottom(), rect.right(), rect.bottom())
        else:
            area.setTop(rect.top() + theme.px(8))
            painter.setPen(theme.colour(Token.BORDER))
            painter.drawLine(rect.left() + pad, rect.bottom(), rect.right() - pad, rect.bottom())
        icon = ICON_OF_GROUP[row.group] if row.group is not None else "filter"
        side = theme.px(20)
        top = area.top() + (area.height() - side) // 2
        painter.drawPixmap(rect.left() + pad, top, theme.pixmap(icon, 20, Token.SECONDARY))
        left = rect.left() + self._left()
        words = heading(row)
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(theme.colour(Token.TEXT))
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRect(left, area.top(), rect.width(), area.height()), align, words)
        left += theme.metrics(Type.NAME).horizontalAdvance(words) + theme.px(8)
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.SECONDARY))
        painter.drawText(QRect(left, area.top(), rect.width(), area.height()), align, str(row.count))

    def _paint_fold(self, painter: QPainter, rect: QRect, row: PermissionRow) -> None:
        theme = self.theme
        side = theme.px(16)
        left = rect.left() + theme.px(self.view.look.padding) + theme.px(2)
        painter.drawPixmap(left, rect.top() + (rect.height() - side) // 2, theme.pixmap("chevron-right", 16))
        painter.setFont(theme.font(Type.BODY))
        painter.setPen(theme.colour(Token.SECONDARY))
        area = QRect(rect.left() + self._left(), rect.top(), rect.width(), rect.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, spoken(row))

    def _paint_entry(self, painter: QPainter, rect: QRect, row: PermissionRow) -> None:
        theme, pad = self.theme, self.theme.px(self.view.look.padding)
        left, top = rect.left() + self._left(), rect.top() + theme.px(7)
        layout, size = self._sentence(row, rect.width())
        self._paint_mark(painter, rect.left() + pad, top, row)
        painter.setPen(theme.colour(Token.SECONDARY if row.off else Token.TEXT))
        layout.draw(painter, QPointF(left, top))
        top += size.height()
        if row.permission is not None:
            top += theme.px(4)
            entry = self._entry_size(row, rect.width())
            box = QRect(left, top, entry.width(), entry.height())
            painters.paint_entry(painter, theme, box, row.permission.entry, EntryLook(dimmed=row.off))
            self._paint_right(painter, rect, box, row)
            top += entry.height()
        if row.choice is not None:
            self._paint_switch(painter, rect, row)
        if self._note(row):
            note, _ = self._note_layout(row, rect.width())
            painter.setPen(theme.colour(Token.SECONDARY))
            note.draw(painter, QPointF(left, top + theme.px(2)))

    def _paint_mark(self, painter: QPainter, left: int, top: int, row: PermissionRow) -> None:
        theme = self.theme
        top += (theme.line(Type.BODY) - theme.px(16)) // 2
        left += theme.px(2)
        if row.off:
            picture = theme.pixmap("minus", 16, Token.SECONDARY)
        elif row.permission is None:
            picture = theme.pixmap("success", 16, Token.SECONDARY)
        elif row.permission.denies and row.permission.weight is Weight.INFO:
            picture = theme.pixmap("deny", 16, Token.SECONDARY)
        else:
            weight = row.permission.weight
            heavy = weight >= Weight.NOTICE
            ink = theme.tone(TONE_OF_WEIGHT[weight])[0] if heavy else Token.SECONDARY
            picture = theme.pixmap(ICON_OF_WEIGHT[weight], 16, ink)
        painter.drawPixmap(left, top, picture)

    def _paint_right(self, painter: QPainter, rect: QRect, box: QRect, row: PermissionRow) -> None:
        theme, pad = self.theme, self.theme.px(self.view.look.padding)
        right = rect.right() + 1 - pad
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.SECONDARY))
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        if not self.view.look.askers:
            area = QRect(rect.left(), box.top(), right - rect.left(), box.height())
            painter.drawText(area, align, self._right_words(row))
            return
        if row.choice is None:
            area = QRect(rect.left(), rect.top() + theme.px(7), right - rect.left(), theme.line(Type.BODY))
            painter.drawText(area, align, self._right_words(row))
        side = theme.px(22)
        for kit in self._kits(row)[:MONOGRAMS]:
            right -= side
            painters.paint_monogram(painter, theme, QRect(right, box.top() + theme.px(2), side, side), kit)
            right -= theme.px(4)

    def _paint_switch(self, painter: QPainter, rect: QRect, row: PermissionRow) -> None:
        assert row.choice is not None
        theme = self.theme
        track = self.switch_rect(rect, row)
        painters.paint_switch(painter, theme, track, row.choice.selected, row.choice.supported)
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.SECONDARY))
        area = QRect(rect.left(), track.top(), track.left() - theme.px(8) - rect.left(), track.height())
        word = tr("On") if row.choice.selected else tr("Off")
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, word)

    def _kits(self, row: PermissionRow) -> list[str]:
        askers = row.permission.askers if row.permission is not None else ()
        return list(dict.fromkeys(repository_of(asker.kit) for asker in askers))
