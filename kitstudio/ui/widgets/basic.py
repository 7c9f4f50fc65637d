"""Small widgets over the shared painters: chip, monogram, weight, exact entry, labels, buttons."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from kitstudio.models.review import Weight
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.layout import column as column
from kitstudio.ui.widgets.layout import holder as holder
from kitstudio.ui.widgets.layout import line as line
from kitstudio.ui.widgets.layout import row as row
from kitstudio.ui.widgets.layout import set_ground as set_ground
from kitstudio.ui.widgets.painters import ChipLook, EntryLook
from kitstudio.ui.widgets.text import tr, visible, weight_word


class Painted(QWidget):
    """A widget that draws itself with a theme and follows it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        theme.changed.connect(self._restyle)

    def _restyle(self) -> None:
        self.updateGeometry()
        self.update()


class Chip(Painted):
    """Icon and words on a tint; not clickable."""

    def __init__(self, theme: Theme, look: ChipLook, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.show_look(look)

    def show_look(self, look: ChipLook) -> None:
        self.look = look
        self.setAccessibleName(look.text)
        self._restyle()

    def sizeHint(self) -> QSize:
        return painters.chip_size(self.theme, self.look)

    def paintEvent(self, event: QPaintEvent) -> None:
        painters.paint_chip(QPainter(self), self.theme, self.rect(), self.look)


class Monogram(Painted):
    """The picture of a Kit: letters on a tint, ``side`` px at 100 %."""

    def __init__(self, theme: Theme, repository: str = "", side: int = 40, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._side = side
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.show_repository(repository)

    def show_repository(self, repository: str) -> None:
        self.repository = repository
        self.setToolTip(repository)
        self.setAccessibleName(repository)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(self._side), self.theme.px(self._side))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.repository:
            painters.paint_monogram(QPainter(self), self.theme, self.rect(), self.repository)


class WeightLabel(Painted):
    """Shape and word of a weight."""

    def __init__(self, theme: Theme, weight: Weight, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.weight = weight
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(weight_word(weight))

    def sizeHint(self) -> QSize:
        return painters.weight_size(self.theme, self.weight)

    def paintEvent(self, event: QPaintEvent) -> None:
        painters.paint_weight(QPainter(self), self.theme, self.rect(), self.weight)


class ExactEntry(Painted):
    """An entry exactly as the descriptor has it: wraps, never elides; Ctrl+C copies its bytes."""

    def __init__(self, theme: Theme, text: str, look: EntryLook | None = None, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.text = text
        self.look = look or EntryLook()
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Exact entry: {text}").format(text=visible(text)))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy = self.addAction(tr("Copy"))
        copy.triggered.connect(self.copy)
        shortcut = QShortcut(QKeySequence.StandardKey.Copy, self)
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(self.copy)

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)

    def sizeHint(self) -> QSize:
        return painters.entry_size(self.theme, self.text, self.theme.px(640))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(96), self.theme.px(26))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return painters.entry_size(self.theme, self.text, width).height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.setMinimumHeight(self.heightForWidth(self.width()))

    def paintEvent(self, event: QPaintEvent) -> None:
        size = painters.entry_size(self.theme, self.text, self.width())
        painter = QPainter(self)
        painters.paint_entry(painter, self.theme, QRect(0, 0, size.width(), size.height()), self.text, self.look)
        if self.hasFocus():
            painters.paint_focus(painter, self.theme, QRect(0, 0, size.width(), size.height()), 4)


class Switch(QAbstractButton):
    """On or off, with the word beside it."""

    def __init__(self, theme: Theme, name: str, on: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setCheckable(True)
        self.setChecked(on)
        self.setAccessibleName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        metrics = self.theme.metrics(Type.SMALL)
        word = max(metrics.horizontalAdvance(tr("On")), metrics.horizontalAdvance(tr("Off")))
        return QSize(word + self.theme.px(6) + self.theme.px(32), max(self.theme.px(22), metrics.height()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        width, height = self.theme.px(32), self.theme.px(18)
        track = QRect(self.width() - width, (self.height() - height) // 2, width, height)
        painters.paint_switch(painter, self.theme, track, self.isChecked(), self.isEnabled())
        painter.setFont(self.theme.font(Type.SMALL))
        painter.setPen(self.theme.colour(Token.SECONDARY if self.isEnabled() else Token.DISABLED))
        area = QRect(0, 0, track.left() - self.theme.px(6), self.height())
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(area, align, tr("On") if self.isChecked() else tr("Off"))


class Icon(QLabel):
    """An icon as a label that follows the theme."""

    def __init__(
        self, theme: Theme, name: str, size: int = 20, colour: Token = Token.SECONDARY, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._size = theme, size
        theme.changed.connect(self._draw)
        self.show_icon(name, colour)

    def show_icon(self, name: str, colour: Token = Token.SECONDARY) -> None:
        self._name, self._colour = name, colour
        self._draw()

    def _draw(self) -> None:
        self.setPixmap(self._theme.pixmap(self._name, self._size, self._colour))
        self.setFixedSize(self._theme.icon_size(self._size))


class Elided(QLabel):
    """One line that elides (in the middle for references) and keeps the whole text in the tool tip."""

    def __init__(
        self,
        text: str = "",
        role: Type = Type.BODY,
        ink: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._whole = ""
        dress(self, role, ink)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        self._whole = visible(text)
        self.setAccessibleName(self._whole)
        self.updateGeometry()
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()
            self._fit()

    def sizeHint(self) -> QSize:
        self.ensurePolished()
        return QSize(self.fontMetrics().horizontalAdvance(self._whole) + 2, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(self._whole, self._mode, max(0, self.width()))
        self.setToolTip(self._whole if shown != self._whole else "")
        super().setText(shown)


def dress(label: QLabel, role: Type, ink: str = "") -> None:
    """Give a label its type role and ink; plain text only."""
    label.setProperty("role", str(role))
    if ink:
        label.setProperty("ink", ink)
    label.setTextFormat(Qt.TextFormat.PlainText)


def text_label(text: str, role: Type = Type.BODY, ink: str = "", *, wrap: bool = False) -> QLabel:
    """A plain-text label in a role."""
    label = QLabel(text)
    dress(label, role, ink)
    label.setWordWrap(wrap)
    if wrap:
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        label.setSizePolicy(policy)
    return label


def button(
    theme: Theme,
    text: str,
    icon: str = "",
    kind: str = "",
    *,
    name: str = "",
    small: bool = False,
) -> QPushButton:
    """A push button. ``kind``: empty, ``primary``, ``flat``, ``link``, ``danger``. ``name``: its object name."""
    made = QPushButton(text)
    made.setAutoDefault(False)
    made.setCursor(Qt.CursorShape.PointingHandCursor if kind == "link" else Qt.CursorShape.ArrowCursor)
    if kind:
        made.setProperty("kind", kind)
    if small:
        made.setProperty("small", True)
    if name:
        made.setObjectName(name)
    made.setAccessibleName(text)
    made.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    if icon:
        give_icon(theme, made, icon, 14 if small or kind == "link" else 16, _BUTTON_INK.get(kind, Token.TEXT))
    return made


def icon_button(theme: Theme, icon: str, name: str, *, small: bool = False, object_name: str = "") -> QToolButton:
    """A flat button that is only an icon; ``name`` is its accessible name and tool tip."""
    made = QToolButton()
    made.setProperty("kind", "flat")
    if small:
        made.setProperty("small", True)
    made.setAccessibleName(name)
    made.setToolTip(name)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    if object_name:
        made.setObjectName(object_name)
    give_icon(theme, made, icon, 16, Token.SECONDARY)
    return made


def give_icon(
    theme: Theme,
    target: QAbstractButton,
    icon: str,
    size: int = 16,
    colour: Token = Token.TEXT,
    on: Token | None = None,
) -> None:
    """Set a button's icon now and after every theme change."""
    follower = target.findChild(_IconFollower)
    if follower is None:
        follower = _IconFollower(theme, target)
    follower.show_icon(icon, size, colour, on)


class ClickRow(QFrame):
    """A row that works like a button: click, Enter or Space."""

    clicked = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.clicked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
        else:
            super().keyPressEvent(event)


class _IconFollower(QObject):
    """Redraws its button's icon; a child of the button, so it goes with it."""

    def __init__(self, theme: Theme, target: QAbstractButton) -> None:
        super().__init__(target)
        self._theme, self._target = theme, target
        theme.changed.connect(self._draw)

    def show_icon(self, icon: str, size: int, colour: Token, on: Token | None) -> None:
        self._icon, self._size, self._colour, self._on = icon, size, colour, on
        self._draw()

    def _draw(self) -> None:
        self._target.setIcon(self._theme.icon(self._icon, self._size, self._colour, self._on))
        self._target.setIconSize(self._theme.icon_size(self._size))


_BUTTON_INK = {
    "primary": Token.ON_ACCENT,
    "flat": Token.SECONDARY,
    "link": Token.ACCENT,
    "danger": Token.CRITICAL,
}
