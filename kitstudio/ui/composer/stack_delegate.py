"""How a row of the stack is painted: the card, and below it the connector with its reason."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kitstudio.ui.composer.rows import KitRow, Reason
from kitstudio.ui.composer.stack_model import Role, row_looks
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr, visible


class StackDelegate(QStyledItemDelegate):
    """Card, and below it the connector with its reason."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        row = index.data(Role.VALUE)
        assert isinstance(row, KitRow)
        connector = self.theme.px(22) if row.reason is not None else 0
        return QSize(self.theme.px(200), _card_height(self.theme) + connector)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row = index.data(Role.VALUE)
        assert isinstance(row, KitRow)
        card = card_of(self.theme, option.rect, row)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_card(painter, card, row, marked=bool(index.data(Role.MARKED)), selected=selected)
        if row.loading:
            self._paint_loading(painter, card, row)
        else:
            self._paint_content(painter, card, row)
        if row.reason is not None:
            self._paint_reason(
                painter, QRect(card.left(), card.bottom() + 1, card.width(), self.theme.px(22)), row.reason
            )
        painter.restore()

    def _paint_card(self, painter: QPainter, card: QRect, row: KitRow, *, marked: bool, selected: bool) -> None:
        theme = self.theme
        token = Token.CRITICAL if row.problem else Token.ACCENT if selected else Token.BORDER
        width = 2 if row.workload or (selected and not row.problem) else 1
        if row.workload and not row.problem and not selected:
            token = Token.BORDER_STRONG
        painter.setPen(QPen(theme.colour(token), width))
        painter.setBrush(theme.colour(Token.ACCENT_TINT if marked or selected else Token.RAISED))
        half = width // 2
        painter.drawRoundedRect(card.adjusted(half, half, -half - 1, -half - 1), 6, 6)

    def _paint_content(self, painter: QPainter, card: QRect, row: KitRow) -> None:
        theme = self.theme
        side = theme.px(32)
        box = QRect(card.left() + theme.px(10), card.top() + (card.height() - side) // 2, side, side)
        painters.paint_monogram(painter, theme, box, row.repository)
        right = card.right() - theme.px(10) - self._paint_side(painter, card, row)
        left = box.right() + theme.px(11)
        top = card.top() + theme.px(7)
        line = theme.line(Type.NAME)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        tail = f"{row.version}" + (f" · {tr('workload')}" if row.workload else "")
        tail_width = theme.metrics(Type.BODY).horizontalAdvance(tail) + theme.px(26 if row.pinned else 6)
        name = theme.metrics(Type.NAME).elidedText(
            row.name, Qt.TextElideMode.ElideMiddle, max(theme.px(60), right - left - tail_width)
        )
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(theme.colour(Token.TEXT))
        painter.drawText(QRect(left, top, right - left, line), align, name)
        place = left + theme.metrics(Type.NAME).horizontalAdvance(name) + theme.px(6)
        painter.setFont(theme.font(Type.BODY))
        painter.setPen(theme.colour(Token.SECONDARY))
        if row.pinned:
            version_width = theme.metrics(Type.BODY).horizontalAdvance(row.version) + theme.px(6)
            painter.drawText(QRect(place, top, max(0, right - place), line), align, row.version)
            mark = theme.pixmap("lock", 14, Token.SECONDARY)
            painter.drawPixmap(place + version_width, top + (line - theme.px(14)) // 2, mark)
            place += version_width + theme.px(20)
            tail = f"· {tr('workload')}" if row.workload else ""
        shown = theme.metrics(Type.BODY).elidedText(tail, Qt.TextElideMode.ElideRight, max(0, right - place))
        painter.drawText(QRect(place, top, max(0, right - place), line), align, shown)
        looks = tuple(ChipLook(look.text, look.tone, look.icon, look.bold, small=True) for look in row_looks(row))
        painters.paint_chips(painter, theme, QRect(left, top + line + theme.px(2), right - left, theme.px(20)), looks)

    def _paint_side(self, painter: QPainter, card: QRect, row: KitRow) -> int:
        """*Problem*, or the three dots; returns the width taken."""
        theme = self.theme
        if not row.problem:
            side = theme.px(16)
            left = card.right() - theme.px(10) - side
            painter.drawPixmap(
                left, card.top() + (card.height() - side) // 2, theme.pixmap("more", 16, Token.SECONDARY)
            )
            return side + theme.px(8)
        words = tr("Problem")
        width = theme.metrics(Type.SMALL).horizontalAdvance(words) + theme.px(20)
        left = card.right() - theme.px(10) - width
        side = theme.px(16)
        painter.drawPixmap(left, card.top() + (card.height() - side) // 2, theme.pixmap("critical", 16, Token.CRITICAL))
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.CRITICAL))
        area = QRect(left + theme.px(20), card.top(), width, card.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)
        return width + theme.px(8)

    def _paint_loading(self, painter: QPainter, card: QRect, row: KitRow) -> None:
        theme = self.theme
        side = theme.px(32)
        top = card.top() + (card.height() - side) // 2
        box = QRect(card.left() + theme.px(10), top, side, side)
        left = box.right() + theme.px(11)
        bar = QRect(left, card.bottom() - theme.px(20), theme.px(150), theme.px(10))
        painters.paint_skeleton(painter, theme, (box, bar))
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(theme.colour(Token.SECONDARY))
        width = card.right() - left - theme.px(10)
        shown = theme.metrics(Type.NAME).elidedText(visible(row.reference), Qt.TextElideMode.ElideMiddle, width)
        area = QRect(left, card.top() + theme.px(7), width, theme.line(Type.NAME))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)

    def _paint_reason(self, painter: QPainter, area: QRect, reason: Reason) -> None:
        theme = self.theme
        left = area.left() + theme.px(24)
        painter.fillRect(QRect(left, area.top(), 1, area.height()), theme.colour(Token.BORDER_STRONG))
        left += theme.px(10)
        if not reason.far:
            side = theme.px(12)
            top = area.top() + (area.height() - side) // 2
            painter.drawPixmap(left, top, theme.pixmap("arrow-down", 12, Token.SECONDARY))
            left += side + theme.px(6)
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setPen(theme.colour(Token.CRITICAL if reason.missing else Token.SECONDARY))
        for words, role in (
            (f"{reason.before} " if reason.name else reason.before, Type.SMALL),
            (reason.name, Type.LABEL),
            (reason.after, Type.SMALL),
        ):
            if words:
                painter.setFont(theme.font(role))
                room = max(0, area.right() - left)
                shown = theme.metrics(role).elidedText(words, Qt.TextElideMode.ElideRight, room)
                painter.drawText(QRect(left, area.top(), room, area.height()), align, shown)
                left += theme.metrics(role).horizontalAdvance(shown)


def card_of(theme: Theme, rect: QRect, row: KitRow) -> QRect:
    """The card's part of a row's rectangle."""
    pad = theme.px(16)
    return QRect(rect.left() + pad, rect.top(), rect.width() - 2 * pad, _card_height(theme))


def _card_height(theme: Theme) -> int:
    return max(theme.px(56), theme.line(Type.NAME) + theme.px(20) + theme.px(2) + theme.px(16))
