"""Composite widgets every page uses: states, banner, segmented control, headers, search field, chip row."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.basic import ExactEntry, Icon, Painted, button, column, give_icon, row, text_label
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr, visible

Action = tuple[str, str, str]
"""(key, label, icon) of a button in a state or banner; the first one of a state is the filled one."""


class Segmented(QWidget):
    """A row of exclusive choices in one outline."""

    chosen = Signal(str)

    def __init__(
        self, theme: Theme, choices: Sequence[tuple[str, str, str]], name: str, parent: QWidget | None = None
    ) -> None:
        """``choices``: (key, label, icon or empty)."""
        super().__init__(parent)
        self.setAccessibleName(name)
        self._buttons: dict[str, QPushButton] = {}
        self._group = QButtonGroup(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        last = len(choices) - 1
        for index, (key, label, icon) in enumerate(choices):
            made = QPushButton(label)
            made.setCheckable(True)
            made.setAutoDefault(False)
            place = "only" if last == 0 else "first" if index == 0 else "last" if index == last else "middle"
            made.setProperty("segment", place)
            made.setAccessibleName(f"{name}: {label}")
            made.setObjectName(f"segment-{key}")
            if icon:
                give_icon(theme, made, icon, 14, Token.SECONDARY, Token.ACCENT)
            self._group.addButton(made)
            self._buttons[key] = made
            made.clicked.connect(lambda _=False, key=key: self.chosen.emit(key))
            layout.addWidget(made)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        if choices:
            self._buttons[choices[0][0]].setChecked(True)

    def value(self) -> str:
        return next((key for key, made in self._buttons.items() if made.isChecked()), "")

    def choose(self, key: str) -> None:
        """Select without emitting."""
        self._buttons[key].setChecked(True)

    def label(self, key: str, text: str) -> None:
        self._buttons[key].setText(text)

    def button(self, key: str) -> QPushButton:
        return self._buttons[key]


class StateView(QWidget):
    """A designed empty, error or waiting state: picture, heading, sentence, up to two actions, a hint."""

    acted = Signal(str)

    def __init__(
        self,
        theme: Theme,
        icon: str,
        heading: str,
        sentence: str,
        actions: Sequence[Action] = (),
        hint: str = "",
        where: str = "",
        tone: Tone = Tone.PLAIN,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(theme.px(32), theme.px(24), theme.px(32), theme.px(24))
        self.show_state(icon, heading, sentence, actions, hint, where, tone)

    def show_state(
        self,
        icon: str,
        heading: str,
        sentence: str,
        actions: Sequence[Action] = (),
        hint: str = "",
        where: str = "",
        tone: Tone = Tone.PLAIN,
    ) -> None:
        """Show another state in place."""
        theme = self.theme
        while (item := self._layout.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        body = QWidget()
        centre = Qt.AlignmentFlag.AlignHCenter
        inner = column(spacing=0)
        body.setLayout(inner)
        inner.addWidget(_Emblem(theme, icon, tone), 0, centre)
        inner.addSpacing(theme.px(16))
        title = text_label(heading, Type.HEADING, wrap=True)
        title.setAlignment(centre)
        inner.addWidget(title)
        inner.addSpacing(theme.px(4))
        words = text_label(sentence, Type.BODY, "secondary", wrap=True)
        words.setAlignment(centre)
        words.setMaximumWidth(theme.px(440))
        words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)
        if sentence:
            inner.addLayout(_centred(words))
        if where:
            inner.addSpacing(theme.px(12))
            entry = ExactEntry(theme, where)
            entry.setMaximumWidth(min(theme.px(520), entry.sizeHint().width()))
            inner.addLayout(_centred(entry))
        if actions:
            inner.addSpacing(theme.px(20))
            inner.addWidget(self._buttons(actions), 0, centre)
        if hint:
            inner.addSpacing(theme.px(14))
            small = text_label(hint, Type.SMALL, "secondary", wrap=True)
            small.setAlignment(centre)
            inner.addWidget(small)
        self._layout.addStretch(1)
        self._layout.addWidget(body)
        self._layout.addStretch(1)
        self.setAccessibleName(f"{heading}. {sentence}")

    def show_error(self, error: KitStudioError, actions: Sequence[Action] = ()) -> None:
        """What, where and remedy of a failure."""
        self.show_state("critical", visible(error.what), visible(error.remedy), actions, "", error.where, Tone.CRITICAL)

    def _buttons(self, actions: Sequence[Action]) -> QWidget:
        held = QWidget()
        layout = row(spacing=self.theme.px(8))
        held.setLayout(layout)
        for index, (key, label, icon) in enumerate(actions):
            made = button(self.theme, label, icon, "primary" if index == 0 else "", name=f"state-{key}")
            made.clicked.connect(lambda _=False, key=key: self.acted.emit(key))
            layout.addWidget(made)
        return held


class Banner(Painted):
    """A full-width strip above content that stays: what is the matter, and one action."""

    acted = Signal(str)

    def __init__(self, theme: Theme, tone: Tone = Tone.NOTICE, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._tone = tone
        self._key = ""
        self._second_key = ""
        self._icon = Icon(theme, "notice", 20, Token(str(tone)))
        self._lead = text_label("", Type.NAME, str(tone))
        self._words = text_label("", Type.BODY, wrap=True)
        self._words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._action = button(theme, "", small=True, name="banner-action")
        self._action.clicked.connect(lambda: self.acted.emit(self._key))
        self._second = button(theme, "", small=True, name="banner-second")
        self._second.clicked.connect(lambda: self.acted.emit(self._second_key))
        parts = (self._icon, self._lead, self._words, self._action, self._second)
        self.setLayout(row(*parts, spacing=10, margins=(16, 9, 16, 9)))
        self.hide()

    def tell(
        self, icon: str, lead: str, words: str, action: Action | None = None, second: Action | None = None
    ) -> None:
        """Show the strip."""
        self._second.setVisible(second is not None)
        if second is not None:
            self._second_key, label, picture = second
            self._second.setText(label)
            self._second.setAccessibleName(label)
            give_icon(self.theme, self._second, picture, 14)
        self._icon.show_icon(icon, Token(str(self._tone)))
        self._lead.setText(lead)
        self._words.setText(visible(words))
        self.setAccessibleName(f"{lead} {words}")
        self._action.setVisible(action is not None)
        if action is not None:
            self._key, label, picture = action
            self._action.setText(label)
            self._action.setAccessibleName(label)
            give_icon(self.theme, self._action, picture, 14)
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        _, tint, border = self.theme.tone(self._tone)
        painter = QPainter(self)
        painter.fillRect(self.rect(), tint)
        painter.setPen(QPen(border, 1))
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)


class SectionHeader(QWidget):
    """A heading with a quiet count or sentence, and room for actions at the right."""

    def __init__(
        self, title: str, note: str = "", role: Type = Type.NAME, height: int = 40, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.title = text_label(title, role)
        self.note = text_label(note, Type.BODY if role is Type.NAME else Type.SMALL, "secondary")
        self._row = row(self.title, self.note, None, spacing=8, margins=(16, 0, 16, 0))
        self.setLayout(self._row)
        self.setMinimumHeight(height)

    def add(self, widget: QWidget) -> None:
        """Put a widget at the right end."""
        self._row.addWidget(widget)


class SearchField(QLineEdit):
    """A field with a magnifier, a clear button and an optional key hint at its right."""

    def __init__(
        self, theme: Theme, placeholder: str, name: str, hint: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(name)
        self._glass = Icon(theme, "search", 16)
        self._glass.setParent(self)
        self._hint = QLabel(hint, self)
        self._hint.setProperty("keys", True)
        for part in (self._glass, self._hint):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.textChanged.connect(lambda _: self._place())
        theme.changed.connect(self._place)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """The magnifier at the left, the key hint at the right where nothing else needs the room."""
        side = self.theme.px(16)
        left = self.theme.px(9)
        self._glass.move(left, (self.height() - side) // 2)
        self.setTextMargins(side + self.theme.px(6), 0, 0, 0)
        size = self._hint.sizeHint()
        words = self.fontMetrics().horizontalAdvance(self.placeholderText()) + left + side + self.theme.px(24)
        self._hint.setVisible(bool(self._hint.text()) and not self.text() and words + size.width() < self.width())
        top = (self.height() - size.height()) // 2
        self._hint.setGeometry(QRect(self.width() - size.width() - 8, top, size.width(), size.height()))


class ChipRow(Painted):
    """Chips in a row that wraps."""

    def __init__(self, theme: Theme, looks: Sequence[ChipLook] = (), parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_looks(looks)

    def show_looks(self, looks: Sequence[ChipLook]) -> None:
        self.looks = tuple(looks)
        self.setAccessibleName(", ".join(look.text for look in self.looks))
        self.setVisible(bool(self.looks))
        self._restyle()

    def sizeHint(self) -> QSize:
        sizes = [painters.chip_size(self.theme, look) for look in self.looks]
        gap = self.theme.px(6)
        return QSize(sum(s.width() + gap for s in sizes) - gap, max((s.height() for s in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        sizes = [painters.chip_size(self.theme, look) for look in self.looks]
        return QSize(max((s.width() for s in sizes), default=0), max((s.height() for s in sizes), default=0))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return places[-1][1].bottom() + 1 if places else 0

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for look, rect in self._places(self.width()):
            painters.paint_chip(painter, self.theme, rect, look)

    def _places(self, width: int) -> list[tuple[ChipLook, QRect]]:
        left, top, gap, found = 0, 0, self.theme.px(6), []
        for look in self.looks:
            size = painters.chip_size(self.theme, look)
            if left and left + size.width() > width:
                left, top = 0, top + size.height() + gap
            found.append((look, QRect(left, top, size.width(), size.height())))
            left += size.width() + gap
        return found


class Skeleton(Painted):
    """Static bars where text will stand; ``lines`` are widths in parts of the whole."""

    def __init__(self, theme: Theme, lines: Sequence[float] = (0.4, 0.9, 0.7), parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._lines = tuple(lines)
        self.setAccessibleName(tr("Loading"))
        self.setMinimumHeight(theme.px(22) * len(self._lines))

    def paintEvent(self, event: QPaintEvent) -> None:
        height, step = self.theme.px(10), self.theme.px(22)
        bars = tuple(
            QRect(0, index * step + (step - height) // 2, int(self.width() * part), height)
            for index, part in enumerate(self._lines)
        )
        painters.paint_skeleton(QPainter(self), self.theme, bars)


def _centred(widget: QWidget) -> QHBoxLayout:
    """``widget`` in the middle, as wide as its maximum and the place allow."""
    made = QHBoxLayout()
    made.addStretch(1)
    made.addWidget(widget, 100)
    made.addStretch(1)
    return made


class _Emblem(Painted):
    """The 28 px picture in its 64 px box."""

    def __init__(self, theme: Theme, icon: str, tone: Tone) -> None:
        super().__init__(theme)
        self._icon, self._tone = icon, tone
        self.setFixedSize(theme.px(64), theme.px(64))

    def paintEvent(self, event: QPaintEvent) -> None:
        ink, tint, border = self.theme.tone(self._tone)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(border, 1))
        painter.setBrush(self.theme.colour(Token.RAISED) if self._tone is Tone.PLAIN else tint)
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 8, 8)
        side = self.theme.px(28)
        painter.drawPixmap(
            (self.width() - side) // 2, (self.height() - side) // 2, self.theme.pixmap(self._icon, 28, ink)
        )
