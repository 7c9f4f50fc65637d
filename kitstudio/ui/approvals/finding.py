"""One finding: weight stripe, category, sentence, exact entry, who asks, and its own tick where it is critical."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QLabel, QLayout, QSizePolicy, QVBoxLayout, QWidget

from kitstudio.models.review import Asker, Finding, Weight
from kitstudio.models.words import said
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.config_change import ConfigChange
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_GROUP, TONE_OF_WEIGHT, Theme, Token, Tone
from kitstudio.ui.widgets.basic import Chip, ExactEntry, Icon, Painted, WeightLabel, column, line, row, text_label
from kitstudio.ui.widgets.painters import ChipLook, EntryLook, weight_size
from kitstudio.ui.widgets.text import group_word, tr, visible

_ASKERS = 4


class FindingWidget(Painted):
    """``ticked`` when the person ticks or unticks; ``line_wanted(kit, line)`` from a descriptor link.

    ``notes``: the person's own rules that acted on it, in words. ``struck``: one of them takes all of the entry away.
    """

    ticked = Signal(str, bool)
    line_wanted = Signal(str, int)

    def __init__(
        self, theme: Theme, finding: Finding, index: int, notes: Sequence[str] = (), *, struck: bool = False
    ) -> None:
        super().__init__(theme)
        self.finding = finding
        item = finding.permission
        self.setObjectName(f"finding-{index}")
        self.setAccessibleName(texts.spoken(finding))
        self._struck = struck
        self._links: list[QLabel] = []
        self.entry = ExactEntry(theme, item.entry, EntryLook(dashed=finding.removed_refusal, struck=struck))
        self.entry.setAccessibleDescription(texts.spoken(finding))
        self.tick = self._tick(index) if finding.tick else None
        self._config = QVBoxLayout()
        self._config.setSpacing(0)
        body = QVBoxLayout()
        body.setContentsMargins(theme.px(8), theme.px(11), theme.px(16), theme.px(12))
        body.setSpacing(0)
        self._fill(body, notes)
        inner = row(self._side(), spacing=0, margins=(4, 0, 0, 0))
        inner.addLayout(body, 1)
        self.setLayout(inner)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)

    def stops(self) -> tuple[QWidget, ...]:
        """What the keyboard stops at, in order."""
        ticks = (self.tick,) if self.tick is not None else ()
        return (self.entry, *self._links, *ticks)

    def take_focus(self) -> None:
        """The keyboard onto what is to be answered here, else onto the entry."""
        (self.tick or self.entry).setFocus(Qt.FocusReason.TabFocusReason)

    def show_config(self, change: ConfigChange) -> None:
        """The config line by line, with what is gone and what is new marked by sign and colour."""
        theme = self.theme
        if change.why:
            self._config.addSpacing(theme.px(6))
            self._config.addWidget(text_label(visible(change.why), Type.SMALL, "secondary", wrap=True))
            return
        self._config.addSpacing(theme.px(6))
        heading = tr("What changed in its config ({gone} gone, {new} new):").format(
            gone=sum(mark == "-" for mark, _ in change.lines), new=sum(mark == "+" for mark, _ in change.lines)
        )
        self._config.addWidget(text_label(heading, Type.SMALL, "secondary", wrap=True))
        inks = {"+": "success", "-": "critical"}
        for mark, text in change.lines:
            label = text_label(f"{mark} {text}", Type.MONO, inks.get(mark, "secondary"), wrap=True)
            label.setObjectName("configLine")
            self._config.addWidget(label)

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

    def _side(self) -> QWidget:
        theme = self.theme
        weight = WeightLabel(theme, self.finding.weight)
        side = QWidget()
        side.setLayout(column(weight, None, margins=(theme.px(16), theme.px(12), 0, 0), spacing=0))
        widest = max(weight_size(theme, each).width() for each in Weight)
        side.setFixedWidth(max(theme.px(116), widest + theme.px(24)))
        return side

    def _fill(self, body: QVBoxLayout, notes: Sequence[str]) -> None:
        theme, item = self.theme, self.finding.permission
        category = text_label(group_word(item.group), Type.SMALL, "secondary")
        body.addLayout(row(Icon(theme, ICON_OF_GROUP[item.group], 16), category, None, spacing=theme.px(6)))
        body.addSpacing(theme.px(2))
        body.addWidget(text_label(visible(item.sentence), Type.STRONG, wrap=True))
        body.addSpacing(theme.px(6))
        self._add_entry(body)
        body.addLayout(self._config)
        for asker in item.askers[:_ASKERS] or (Asker("", ""),):
            body.addSpacing(theme.px(6))
            body.addWidget(self._meta(asker))
        if len(item.askers) > _ASKERS:
            body.addSpacing(theme.px(6))
            more = tr("{n} more Kits ask for it").format(n=len(item.askers) - _ASKERS)
            body.addWidget(text_label(more, Type.SMALL, "secondary"))
        for note in notes:
            body.addSpacing(theme.px(6))
            words = text_label(visible(note), Type.SMALL, "accent", wrap=True)
            words.setObjectName("ruleNote")
            icon = Icon(theme, "filter", 14, Token.ACCENT)
            told = row(icon, spacing=theme.px(6))
            told.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
            told.addWidget(words, 1)
            body.addLayout(told)
        if self.tick is not None:
            body.addSpacing(theme.px(8))
            body.addWidget(line())
            body.addSpacing(theme.px(8))
            body.addLayout(self._tick_row(self.tick))

    def _add_entry(self, body: QVBoxLayout) -> None:
        theme = self.theme
        chips = []
        if self.finding.removed_refusal:
            chips.append(Chip(theme, ChipLook(tr("Removed refusal"), Tone.SERIOUS, "minus", bold=True)))
        if self.finding.moved_from:
            chips.append(Chip(theme, ChipLook(tr("Moved"), Tone.INFO, "swap", bold=True)))
        if self._struck:
            chips.append(Chip(theme, ChipLook(tr("Never granted here"), Tone.INFO, "deny", bold=True)))
        if not chips:
            body.addWidget(self.entry)
            return
        self.entry.setMaximumWidth(self.entry.sizeHint().width())
        body.addLayout(row(self.entry, *chips, None, spacing=theme.px(8)))

    def _tick(self, index: int) -> QCheckBox:
        tick = QCheckBox()
        tick.setObjectName(f"tick-{index}")
        tick.setAccessibleName(self.finding.tick)
        tick.setAccessibleDescription(texts.spoken(self.finding))
        tick.setProperty("alwaysFocus", True)
        tick.toggled.connect(lambda on: self.ticked.emit(self.finding.key, on))
        tick.setFixedWidth(self.theme.px(16))
        return tick

    def _tick_row(self, tick: QCheckBox) -> QLayout:
        words = _TickWords(tick, visible(self.finding.tick))
        layout = row(tick, words, spacing=self.theme.px(8))
        layout.setAlignment(tick, Qt.AlignmentFlag.AlignTop)
        layout.setStretch(1, 1)
        return layout

    def _meta(self, asker: Asker) -> QLabel:
        """Phase, who and where, and the Kit's own words in italics. All Kit text is escaped."""
        parts = [escape(texts.meta_words(self.finding))]
        if asker.kit:
            words = escape(texts.asker_words(asker))
            link = f'<a href="#{asker.line}" style="text-decoration:none">{words}</a>'
            parts.append(link if asker.line else words)
        reason = said(asker.reason)
        claimed = f"{escape(tr('the Kit says:'))} <i>{escape(reason)}</i>" if reason else ""
        parts.append(claimed or escape(texts.reason_words(asker)))
        label = text_label("", Type.SMALL, "secondary", wrap=True)
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setText("&nbsp; · &nbsp;".join(parts))
        label.setOpenExternalLinks(False)
        label.setAccessibleName(f"{texts.asker_words(asker)}, {texts.reason_words(asker)}" if asker.kit else "")
        if asker.line:
            label.setTextInteractionFlags(
                Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
            )
            self._links.append(label)
        else:
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

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._tick.toggle()
