"""Paints a Kit card: picture, name, publisher, version, one line, authority chips; a failed card with its way out.

Nothing here is a widget, so ten thousand cards cost what the visible ones cost.
"""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from kitstudio.models.words import claim
from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.ui.catalog.card_parts import CardParts
from kitstudio.ui.catalog.card_words import (
    CardAction,
    Failure,
    card_chips,
    card_name,
    failure,
    figures,
    kind_and_version,
)
from kitstudio.ui.catalog.cards import GAP, CardModel, CardRole, card_height
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr, visible

PADDING = 16
PICTURE = 40
LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


class CardDelegate(QStyledItemDelegate):
    """``wanted(reference, fetched_at)`` for a visible row that is not known, or only from what was kept;
    ``acted(reference, action)`` for a click on a failed card's button."""

    wanted = Signal(str, float)
    acted = Signal(str, str)

    def __init__(self, theme: Theme, view: QAbstractItemView) -> None:
        super().__init__(view)
        self.theme = theme
        self._view = view
        self._pictures = CardParts(theme, self)
        self._acted = False

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(self.theme.px(240), card_height(self.theme))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme = self.theme
        card: KitCard = index.data(CardRole.CARD)
        model = index.model()
        assert isinstance(model, CardModel)
        told = self._failure(model, card)
        box = self._box(option.rect)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = theme.colour(Token.ACCENT if selected else Token.BORDER_STRONG if hovered else Token.BORDER)
        if told is not None and not selected:
            edge = theme.tone(told.tone)[0 if told.action is CardAction.SIGN_IN else 2]
        self._pictures.frame(painter, box, edge, 2 if selected else 1)
        if card.kind is CardKind.LOADING:
            self._paint_loading(painter, box, card, model)
            self.wanted.emit(card.reference, card.fetched_at)
        else:
            self._paint_card(painter, box, card, told, model)
            if card.fetched_at:
                self.wanted.emit(card.reference, card.fetched_at)
        if option.state & QStyle.StateFlag.State_HasFocus and not selected:
            painters.paint_focus(painter, theme, box)
        painter.restore()

    def editorEvent(
        self,
        event: QEvent,
        model: QAbstractItemModel,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        """A click on the painted button acts instead of opening the card."""
        if event.type() in (QEvent.Type.MouseButtonRelease, QEvent.Type.MouseButtonPress) and isinstance(
            event, QMouseEvent
        ):
            card: KitCard = index.data(CardRole.CARD)
            assert isinstance(model, CardModel)
            place = self.action_rect(option.rect, card, model)
            if place.contains(event.position().toPoint()) and event.button() is Qt.MouseButton.LeftButton:
                told = self._failure(model, card)
                if event.type() == QEvent.Type.MouseButtonRelease and told is not None:
                    self._acted = True
                    self.acted.emit(card.reference, str(told.action))
                return True
        return super().editorEvent(event, model, option, index)

    def took_click(self) -> bool:
        """Whether the click that just ended was one on a button; asking forgets it."""
        acted, self._acted = self._acted, False
        return acted

    def action_rect(self, rect: QRect, card: KitCard, model: CardModel) -> QRect:
        """Where a failed card's button is; nowhere for the others."""
        told = self._failure(model, card)
        if told is None or told.action is CardAction.NONE:
            return QRect()
        theme = self.theme
        lines = self._lines(self._box(rect))
        width = theme.metrics(Type.LABEL).horizontalAdvance(told.label) + theme.px(20)
        return QRect(lines[2].left(), lines[2].top() - theme.px(1), width, theme.px(24))

    @staticmethod
    def _failure(model: CardModel, card: KitCard) -> Failure | None:
        if card.kind is not CardKind.ERROR:
            return None
        source = model.source(card)
        return failure(card, source.retry_at if source else 0.0)

    def _box(self, rect: QRect) -> QRect:
        theme = self.theme
        pad = theme.px(PADDING)
        bar = self._view.verticalScrollBar()
        right = max(theme.px(4), pad - bar.width()) if bar.isVisible() else pad
        return rect.adjusted(pad, theme.px(GAP), -right, 0)

    def _lines(self, box: QRect) -> tuple[QRect, QRect, QRect]:
        """The three lines right of the picture."""
        theme = self.theme
        left = box.left() + theme.px(12) + theme.px(PICTURE) + theme.px(12)
        width = box.right() - theme.px(12) - left + 1
        first = QRect(left, box.top() + theme.px(11), width, theme.line(Type.STRONG))
        second = QRect(left, first.bottom() + 1 + theme.px(2), width, theme.line(Type.BODY))
        height = max(theme.px(22), theme.line(Type.SMALL) + theme.px(4))
        third = QRect(left, second.bottom() + 1 + theme.px(8), width, height)
        return first, second, third

    def _picture(self, box: QRect) -> QRect:
        theme = self.theme
        side = theme.px(PICTURE)
        return QRect(box.left() + theme.px(12), box.top() + theme.px(12), side, side)

    def _paint_loading(self, painter: QPainter, box: QRect, card: KitCard, model: CardModel) -> None:
        """What is known already, and bars where the rest will stand."""
        theme = self.theme
        first, second, third = self._lines(box)
        model.pictures.paint(painter, self._picture(box), card)
        self._paint_first_line(painter, first, card)
        if card.description:
            self._paint_text(painter, second, claim(card.description), Token.SECONDARY)
        bars = [QRect(third.left(), third.top(), theme.px(110), theme.px(18))]
        if not card.description:
            bars.append(QRect(second.left(), second.top() + theme.px(5), theme.px(260), theme.px(8)))
        painters.paint_skeleton(painter, theme, tuple(bars))
        self._paint_right(painter, third, figures(card))

    def _paint_card(self, painter: QPainter, box: QRect, card: KitCard, told: Failure | None, model: CardModel) -> None:
        theme = self.theme
        first, second, third = self._lines(box)
        model.pictures.paint(painter, self._picture(box), card)
        self._paint_first_line(painter, first, card)
        if told is not None:
            self._paint_failure(painter, second, third, told)
            return
        words = claim(card.description) or tr("No description.")
        self._paint_text(painter, second, words, Token.SECONDARY)
        right = figures(card)
        reason = model.reason(card)
        chips = card_chips(card)
        if reason:
            chips = (ChipLook(tr("Does not fit the set"), Tone.NOTICE, "notice"), *chips)
        room = third.width() - (theme.metrics(Type.SMALL).horizontalAdvance(right) + theme.px(12) if right else 0)
        wide = room >= theme.px(150)
        self._pictures.chips(painter, QRect(third.topLeft(), QSize(room if wide else third.width(), 22)), chips)
        if wide:
            self._paint_right(painter, third, right)

    def _paint_failure(self, painter: QPainter, second: QRect, third: QRect, told: Failure) -> None:
        theme = self.theme
        ink = theme.tone(told.tone)[0]
        icon = theme.px(14)
        painter.drawPixmap(
            second.left(), second.top() + (second.height() - icon) // 2, theme.pixmap(told.icon, 14, ink)
        )
        area = second.adjusted(icon + theme.px(6), 0, 0, 0)
        painter.setFont(theme.font(Type.NAME))
        painter.setPen(ink)
        metrics = theme.metrics(Type.NAME)
        painter.drawText(area, LEFT, metrics.elidedText(told.headline, Qt.TextElideMode.ElideRight, area.width()))
        used = metrics.horizontalAdvance(told.headline) + theme.px(6)
        self._paint_text(painter, area.adjusted(used, 0, 0, 0), told.what, Token.TEXT)
        rest = third
        if told.action is not CardAction.NONE:
            width = theme.metrics(Type.LABEL).horizontalAdvance(told.label) + theme.px(20)
            place = QRect(third.left(), third.top() - theme.px(1), width, theme.px(24))
            self._paint_button(painter, place, told.label)
            rest = third.adjusted(width + theme.px(10), 0, 0, 0)
        self._paint_text(painter, rest, told.remedy, Token.SECONDARY, Type.SMALL)

    def _paint_button(self, painter: QPainter, rect: QRect, label: str) -> None:
        theme = self.theme
        painter.setPen(QPen(theme.colour(Token.BORDER_STRONG), 1))
        painter.setBrush(theme.colour(Token.RAISED))
        painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.setFont(theme.font(Type.LABEL))
        painter.setPen(theme.colour(Token.TEXT))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, label)

    def _paint_first_line(self, painter: QPainter, area: QRect, card: KitCard) -> None:
        theme = self.theme
        right = kind_and_version(card)
        small = theme.metrics(Type.SMALL)
        most = area.width() * 2 // 5
        right = small.elidedText(right, Qt.TextElideMode.ElideRight, most)
        room = area.width() - small.horizontalAdvance(right) - theme.px(12)
        self._paint_right(painter, area, right)
        seal = theme.px(14) + theme.px(4) + small.horizontalAdvance(tr("verified")) if card.verified else 0
        strong = theme.metrics(Type.STRONG)
        name_room = max(theme.px(60), room - (seal + theme.px(6) if seal else 0))
        shown = strong.elidedText(card_name(card), Qt.TextElideMode.ElideRight, name_room)
        painter.setFont(theme.font(Type.STRONG))
        painter.setPen(theme.colour(Token.TEXT))
        painter.drawText(area, LEFT, shown)
        left = strong.horizontalAdvance(shown) + theme.px(6)
        publisher_room = room - left - (seal + theme.px(6) if seal else 0)
        publisher = ""
        if publisher_room >= theme.px(36):
            publisher = small.elidedText(visible(card.publisher), Qt.TextElideMode.ElideMiddle, publisher_room)
            self._paint_text(painter, area.adjusted(left, 0, 0, 0), publisher, Token.SECONDARY, Type.SMALL)
        if card.verified:
            left += small.horizontalAdvance(publisher) + theme.px(6) if publisher else 0
            icon = theme.px(14)
            top = area.top() + (area.height() - icon) // 2
            painter.drawPixmap(area.left() + left, top, theme.pixmap("seal", 14, Token.SUCCESS))
            painter.setPen(theme.colour(Token.SUCCESS))
            painter.setFont(theme.font(Type.SMALL))
            painter.drawText(area.adjusted(left + icon + theme.px(4), 0, 0, 0), LEFT, tr("verified"))

    def _paint_text(self, painter: QPainter, area: QRect, words: str, ink: Token, role: Type = Type.BODY) -> None:
        theme = self.theme
        if area.width() <= 0 or not words:
            return
        painter.setFont(theme.font(role))
        painter.setPen(theme.colour(ink))
        shown = theme.metrics(role).elidedText(words, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, LEFT, shown)

    def _paint_right(self, painter: QPainter, area: QRect, words: str) -> None:
        if not words:
            return
        font: QFont = self.theme.font(Type.SMALL)
        painter.setFont(font)
        painter.setPen(self.theme.colour(Token.SECONDARY))
        painter.drawText(area, RIGHT, words)
