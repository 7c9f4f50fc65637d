"""Shared painters: a list row and a page never differ, since both draw with these.

Each picture has a size function and a paint function over the same values.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QTextCharFormat, QTextLayout, QTextOption

from kitstudio.models.review import Chip, Weight
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_GROUP, ICON_OF_WEIGHT, TONE_OF_WEIGHT, Theme, Token, Tone
from kitstudio.ui.widgets.monogram import monogram_letters, monogram_tint
from kitstudio.ui.widgets.text import breakable, tr, weight_word

CHIPS_ON_A_CARD = 4


@dataclass(frozen=True, slots=True)
class ChipLook:
    """Icon, words and tone of a chip."""

    text: str
    tone: Tone = Tone.INFO
    icon: str = ""
    bold: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class EntryLook:
    """How an exact entry stands: ``dashed`` for a removed refusal, ``dimmed`` for one that is off, ``struck`` for one
    that a rule of this machine takes away."""

    dashed: bool = False
    dimmed: bool = False
    struck: bool = False


def chip_look(chip: Chip) -> ChipLook:
    """Below *notice* a chip shows its category; from *notice* up the shape of the weight."""
    heavy = chip.weight >= Weight.NOTICE
    icon = ICON_OF_WEIGHT[chip.weight] if heavy else ICON_OF_GROUP[chip.group]
    return ChipLook(chip.text, TONE_OF_WEIGHT[chip.weight], icon)


def chip_looks(chips: tuple[Chip, ...], limit: int = CHIPS_ON_A_CARD) -> tuple[ChipLook, ...]:
    """Heaviest first, at most ``limit``, then ``+3``; nothing asked for is said."""
    if not chips:
        return (ChipLook(tr("Asks for nothing"), Tone.SUCCESS, "success"),)
    ordered = sorted(chips, key=lambda chip: -chip.weight)
    shown = tuple(chip_look(chip) for chip in ordered[:limit])
    rest = len(ordered) - limit
    return (*shown, ChipLook(f"+{rest}", Tone.PLAIN)) if rest > 0 else shown


def count_looks(counts: dict[Weight, int]) -> tuple[ChipLook, ...]:
    """``1 critical``, ``2 notice``: counts above info, heaviest first."""
    return tuple(
        ChipLook(f"{n} {weight_word(weight).lower()}", TONE_OF_WEIGHT[weight], ICON_OF_WEIGHT[weight], bold=True)
        for weight, n in sorted(counts.items(), reverse=True)
        if n and weight >= Weight.NOTICE
    )


def chip_size(theme: Theme, look: ChipLook) -> QSize:
    metrics = theme.metrics(Type.LABEL if look.bold else Type.SMALL)
    icon = theme.px(_chip_icon(look)) + theme.px(4) if look.icon else theme.px(1)
    height = max(theme.px(20 if look.small else 22), metrics.height() + theme.px(4))
    return QSize(theme.px(5) + icon + metrics.horizontalAdvance(look.text) + theme.px(7) + 1, height)


def paint_chip(painter: QPainter, theme: Theme, rect: QRect, look: ChipLook) -> None:
    ink, tint, border = theme.tone(look.tone)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(border, 1))
    painter.setBrush(tint)
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    left = rect.left() + theme.px(5)
    if look.icon:
        side = theme.px(_chip_icon(look))
        top = rect.top() + (rect.height() - side) // 2
        painter.drawPixmap(left, top, theme.pixmap(look.icon, _chip_icon(look), ink))
        left += side + theme.px(4)
    else:
        left += theme.px(1)
    painter.setFont(theme.font(Type.LABEL if look.bold else Type.SMALL))
    painter.setPen(ink)
    area = QRect(left, rect.top(), rect.right() - left + 1, rect.height())
    painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, look.text)
    painter.restore()


def paint_chips(painter: QPainter, theme: Theme, area: QRect, looks: tuple[ChipLook, ...]) -> None:
    """One row of chips, 6 px apart; those that do not fit are counted at the end."""
    left = area.left()
    for index, look in enumerate(looks):
        size = chip_size(theme, look)
        rest = len(looks) - index
        more = ChipLook(f"+{rest}", Tone.PLAIN)
        reserve = chip_size(theme, more).width() + theme.px(6) if rest > 1 else 0
        if left + size.width() + reserve > area.right() + 1:
            more_size = chip_size(theme, more)
            if left + more_size.width() <= area.right() + 1:
                paint_chip(painter, theme, QRect(left, area.top(), more_size.width(), more_size.height()), more)
            return
        paint_chip(painter, theme, QRect(left, area.top(), size.width(), size.height()), look)
        left += size.width() + theme.px(6)


def paint_monogram(painter: QPainter, theme: Theme, rect: QRect, repository: str) -> None:
    """``repository`` is ``registry/repository`` without tag; ``rect`` is square, already scaled."""
    tint, ink = theme.monogram(monogram_tint(repository))
    side = rect.width()
    at_hundred = side / theme.scale
    radius = theme.px(8 if at_hundred >= 40 else 6 if at_hundred >= 28 else 4)
    outline = ink
    outline.setAlphaF(1 / 3)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(outline, 1))
    painter.setBrush(tint)
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
    ink.setAlphaF(1.0)
    font = theme.font(Type.NAME)
    font.setPixelSize(max(1, round(side * 0.36)))
    painter.setFont(font)
    painter.setPen(ink)
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, monogram_letters(repository))
    painter.restore()


def weight_size(theme: Theme, weight: Weight) -> QSize:
    width = theme.px(20) + theme.px(8) + theme.metrics(Type.NAME).horizontalAdvance(weight_word(weight))
    return QSize(width, max(theme.px(20), theme.line(Type.NAME)))


def paint_weight(painter: QPainter, theme: Theme, rect: QRect, weight: Weight, icon: str = "") -> None:
    """Shape and word of a weight on one line."""
    ink = theme.tone(TONE_OF_WEIGHT[weight])[0]
    side = theme.px(20)
    painter.save()
    top = rect.top() + (rect.height() - side) // 2
    painter.drawPixmap(rect.left(), top, theme.pixmap(icon or ICON_OF_WEIGHT[weight], 20, ink))
    painter.setFont(theme.font(Type.NAME))
    painter.setPen(ink)
    left = rect.left() + side + theme.px(8)
    area = QRect(left, rect.top(), rect.right() - left + 1, rect.height())
    painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, weight_word(weight))
    painter.restore()


def wrapped(
    theme: Theme,
    text: str,
    width: int,
    role: Type,
    *,
    anywhere: bool = False,
    lead: str = "",
    ink: QColor | None = None,
) -> tuple[QTextLayout, QSize]:
    """A laid-out paragraph and its size; lines are as high as the role says. ``lead``: semibold words in ``ink``."""
    layout = QTextLayout(lead + text, theme.font(role))
    if lead:
        start = QTextLayout.FormatRange()
        start.start, start.length = 0, len(lead)
        look = QTextCharFormat()
        look.setFontWeight(QFont.Weight.DemiBold)
        if ink is not None:
            look.setForeground(ink)
        start.format = look
        layout.setFormats([start])
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere if anywhere else QTextOption.WrapMode.WordWrap)
    layout.setTextOption(option)
    line_height = theme.line(role)
    top, widest = 0.0, 0.0
    layout.beginLayout()
    while True:
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(max(1, width))
        line.setPosition(QPointF(0, top + (line_height - line.height()) / 2))
        top += line_height
        widest = max(widest, line.naturalTextWidth())
    layout.endLayout()
    return layout, QSize(min(width, int(widest) + 1), int(max(top, line_height)))


def entry_size(theme: Theme, text: str, width: int) -> QSize:
    """Size of an exact entry that may be ``width`` wide; it wraps, it is never elided."""
    pad = theme.px(8)
    _, inner = wrapped(theme, breakable(text) or tr("empty"), width - 2 * pad - 2, Type.MONO, anywhere=True)
    return QSize(min(width, inner.width() + 2 * pad + 2), inner.height() + 2 * theme.px(3) + 2)


def paint_entry(painter: QPainter, theme: Theme, rect: QRect, text: str, look: EntryLook | None = None) -> None:
    """An exact entry in its box: bytes as they are, invisible characters spelled out."""
    look = look or EntryLook()
    pad = theme.px(8)
    layout, _ = wrapped(theme, breakable(text) or tr("empty"), rect.width() - 2 * pad - 2, Type.MONO, anywhere=True)
    pen = QPen(theme.colour(Token.SERIOUS if look.dashed else Token.BORDER), 1)
    if look.dashed:
        pen.setStyle(Qt.PenStyle.DashLine)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    painter.setBrush(theme.colour(Token.SUNKEN))
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    painter.setPen(theme.colour(Token.DISABLED if look.dimmed else Token.SECONDARY if look.struck else Token.TEXT))
    place = QPointF(rect.left() + pad + 1, rect.top() + theme.px(3) + 1)
    layout.draw(painter, place)
    for number in range(layout.lineCount() if look.struck else 0):
        line = layout.lineAt(number).naturalTextRect().translated(place)
        painter.drawLine(QPointF(line.left(), line.center().y()), QPointF(line.right(), line.center().y()))
    painter.restore()


def paint_switch(painter: QPainter, theme: Theme, rect: QRect, on: bool, enabled: bool = True) -> None:
    """The track and knob of a switch, 32 by 18 at 100 %."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    track = QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5)
    if on:
        fill = theme.colour(Token.ACCENT_FILL if enabled else Token.BORDER)
        painter.setPen(QPen(fill, 1))
        painter.setBrush(fill)
    else:
        painter.setPen(QPen(theme.colour(Token.BORDER_STRONG if enabled else Token.BORDER), 1))
        painter.setBrush(theme.colour(Token.RAISED))
    painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
    knob = rect.height() - 2 * theme.px(3)
    left = rect.right() + 1 - theme.px(3) - knob if on else rect.left() + theme.px(3)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(Token.ON_ACCENT if on else Token.BORDER_STRONG if enabled else Token.BORDER))
    painter.drawEllipse(QRectF(left, rect.top() + theme.px(3), knob, knob))
    painter.restore()


def paint_skeleton(painter: QPainter, theme: Theme, rects: tuple[QRect, ...]) -> None:
    """Static bars in the shape of what comes."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(Token.BORDER))
    for rect in rects:
        painter.drawRoundedRect(rect, 4, 4)
    painter.restore()


def paint_focus(painter: QPainter, theme: Theme, rect: QRect, radius: int = 6) -> None:
    """The ring of a focused row or card, inside ``rect``."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour(Token.FOCUS), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(QRectF(rect).adjusted(1, 1, -1, -1), radius, radius)
    painter.restore()


def _chip_icon(look: ChipLook) -> int:
    return 12 if look.small else 14
