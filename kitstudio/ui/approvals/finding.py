"""One finding: weight stripe, category, sentence, exact entry, who asks, and its own tick where it is critical."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QLabel, QSizePolicy, QVBoxLayout, QWidget

from kitstudio.models.review import Asker, Finding, Weight
from kitstudio.models.words import claim
from kitstudio.ui.approvals.texts import meta_words, short_name, version_of
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_GROUP, TONE_OF_WEIGHT, Theme, Token, Tone
from kitstudio.ui.widgets.basic import Chip, ExactEntry, Icon, Painted, WeightLabel, column, line, row, text_label
from kitstudio.ui.widgets.painters import ChipLook, EntryLook, weight_size
from kitstudio.ui.widgets.text import group_word, tr, weight_word

_ASKERS = 4


class FindingWidget(Painted):
    """``ticked`` when the person ticks or unticks; ``line_wanted(kit, line)`` from a descriptor link."""

    ticked = Signal(str, bool)
    line_wanted = Signal(str, int)

    def __init__(self, theme: Theme, finding: Finding, index: int, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.finding = finding
        item = finding.permission
        self.setObjectName(f"finding-{index}")
        self.setAccessibleName(f"{weight_word(item.weight)}. {item.sentence} {item.entry}")
        weight = WeightLabel(theme, item.weight)
        side = QWidget()
        side.setLayout(column(weight, None, margins=(theme.px(16), theme.px(12), 0, 0), spacing=0))
        widest = max(weight_size(theme, each).width() for each in Weight)
        side.setFixedWidth(max(theme.px(116), widest + theme.px(24)))
        body = QVBoxLayout()
        body.setContentsMargins(theme.px(8), theme.px(11), theme.px(16), theme.px(12))
        body.setSpacing(0)
        body.addLayout(
            row(
                Icon(theme, ICON_OF_GROUP[item.group], 16),
                text_label(group_word(item.group), Type.SMALL, "secondary"),
                None,
                spacing=theme.px(6),
            )
        )
        body.addSpacing(theme.px(2))
        body.addWidget(text_label(item.sentence, Type.STRONG, wrap=True))
        body.addSpacing(theme.px(6))
        entry = ExactEntry(theme, item.entry, EntryLook(dashed=finding.removed_refusal))
        if finding.removed_refusal:
            chip = Chip(theme, ChipLook(tr("Removed refusal"), Tone.SERIOUS, "minus", bold=True))
            entry.setMaximumWidth(entry.sizeHint().width())
            body.addLayout(row(entry, chip, None, spacing=theme.px(8)))
        else:
            body.addWidget(entry)
        for asker in item.askers[:_ASKERS] or (Asker("", ""),):
            body.addSpacing(theme.px(6))
            body.addWidget(self._meta(finding, asker))
        if len(item.askers) > _ASKERS:
            body.addSpacing(theme.px(6))
            more = tr("{n} more Kits ask for it").format(n=len(item.askers) - _ASKERS)
            body.addWidget(text_label(more, Type.SMALL, "secondary"))
        self.tick: QCheckBox | None = None
        if finding.tick:
            body.addSpacing(theme.px(8))
            body.addWidget(line())
            body.addSpacing(theme.px(8))
            self.tick = QCheckBox()
            self.tick.setObjectName(f"tick-{index}")
            self.tick.setAccessibleName(finding.tick)
            self.tick.setProperty("alwaysFocus", True)
            self.tick.toggled.connect(lambda on: self.ticked.emit(finding.key, on))
            words = _TickWords(self.tick, finding.tick)
            self.tick.setFixedWidth(theme.px(16))
            layout = row(self.tick, words, spacing=theme.px(8))
            layout.setAlignment(self.tick, Qt.AlignmentFlag.AlignTop)
            layout.setStretch(1, 1)
            body.addLayout(layout)
        inner = row(side, spacing=0, margins=(4, 0, 0, 0))
        inner.addLayout(body, 1)
        self.setLayout(inner)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        shape = QPainterPath()
        shape.addRoundedRect(area, 6, 6)
        painter.fillPath(shape, theme.colour(Token.RAISED))
        painter.save()
        painter.setClipPath(shape)
        stripe = theme.tone(TONE_OF_WEIGHT[self.finding.weight])[0]
        painter.fillRect(QRectF(0, 0, 5, self.height()), stripe)
        painter.restore()
        painter.setPen(QPen(theme.colour(Token.BORDER), 1))
        painter.drawPath(shape)

    def _meta(self, finding: Finding, asker: Asker) -> QLabel:
        """Phase, who and where, and the Kit's own words in italics. All Kit text is escaped."""
        parts = [escape(meta_words(finding))]
        if asker.kit:
            version = version_of(asker.kit)
            who = escape(f"{short_name(asker.kit)} {version}".strip())
            if asker.line:
                words = escape(tr("{kit}, kit.yaml line {line}").format(kit=who, line=asker.line))
                parts.append(f'<a href="#{asker.line}" style="text-decoration:none">{words}</a>')
            else:
                parts.append(who)
        reason = claim(asker.reason)
        said = f"{escape(tr('the Kit says:'))} <i>“{escape(reason)}”</i>" if reason else ""
        parts.append(said or escape(tr("the Kit gives no reason")))
        label = text_label("", Type.SMALL, "secondary", wrap=True)
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setText("&nbsp; · &nbsp;".join(parts))
        label.setOpenExternalLinks(False)
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        if not asker.line:
            label.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        label.linkActivated.connect(lambda _href: self.line_wanted.emit(asker.kit, asker.line))
        return label


class _TickWords(QLabel):
    """The sentence beside a tick: wraps, and works as its label."""

    def __init__(self, tick: QCheckBox, text: str) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        self.setWordWrap(True)
        self._tick = tick

    def mouseReleaseEvent(self, event: object) -> None:
        self._tick.toggle()
