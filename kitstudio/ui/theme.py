"""The one place that names colours, sizes and icons: palette → ``QPalette`` and style sheet over Fusion.

Everything else asks a ``Theme`` for tokens. ``Theme.changed`` fires after the palette or the text scale changed;
widgets that cache pictures or heights drop them then.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache
from typing import Any

from PySide6.QtCore import QObject, QSize, Qt, QTemporaryDir, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QGuiApplication, QIcon, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QStyleFactory

from kitstudio.models.review import Group, Weight
from kitstudio.ui import icons
from kitstudio.ui.fonts import SCALE, Type, font
from kitstudio.ui.resources import resource
from kitstudio.ui.stylesheet import style_sheet


class Token(StrEnum):
    """Names of single colours in ``palette.json``."""

    BACKGROUND = "background"
    SURFACE = "surface"
    RAISED = "raised"
    SUNKEN = "sunken"
    BORDER = "border"
    BORDER_STRONG = "borderStrong"
    TEXT = "text"
    SECONDARY = "textSecondary"
    DISABLED = "textDisabled"
    ACCENT = "accent"
    ACCENT_FILL = "accentFill"
    ACCENT_HOVER = "accentHover"
    ON_ACCENT = "onAccent"
    ACCENT_TINT = "accentTint"
    ACCENT_BORDER = "accentBorder"
    FOCUS = "focus"
    INFO = "info"
    NOTICE = "notice"
    SERIOUS = "serious"
    CRITICAL = "critical"
    SUCCESS = "success"
    TERM_BG = "termBg"
    TERM_TEXT = "termText"
    TERM_GREEN = "termGreen"
    TERM_YELLOW = "termYellow"
    TERM_BLUE = "termBlue"
    TERM_RED = "termRed"
    TERM_DIM = "termDim"


class Tone(StrEnum):
    """Families of three colours (text, tint, border). ``PLAIN`` has no ground."""

    INFO = "info"
    NOTICE = "notice"
    SERIOUS = "serious"
    CRITICAL = "critical"
    SUCCESS = "success"
    ACCENT = "accent"
    PLAIN = "plain"


class Mode(StrEnum):
    """What the person chose in Settings."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


TONE_OF_WEIGHT = {
    Weight.INFO: Tone.INFO,
    Weight.NOTICE: Tone.NOTICE,
    Weight.SERIOUS: Tone.SERIOUS,
    Weight.CRITICAL: Tone.CRITICAL,
}
ICON_OF_WEIGHT = {
    Weight.INFO: "info",
    Weight.NOTICE: "notice",
    Weight.SERIOUS: "serious",
    Weight.CRITICAL: "critical",
}
"""The shape of a weight in a list; an ordinary grant as a chip shows its category instead."""
ICON_OF_GROUP = {
    Group.NETWORK: "network",
    Group.CREDENTIALS: "credentials",
    Group.SSH_AGENT: "ssh-agent",
    Group.STORAGE: "storage",
    Group.HOST_FILES: "folder",
    Group.SKILLS: "skills",
    Group.PORTS: "port",
    Group.USB: "usb",
    Group.PRIVILEGED: "privileged",
    Group.SERVICES: "services",
}
TEXT_SCALES = (1.0, 1.25, 1.5, 1.75, 2.0)


class Theme(QObject):
    """Tokens of the current mode at the current text scale."""

    changed = Signal()

    def __init__(self, mode: Mode = Mode.SYSTEM, scale: float = 1.0) -> None:
        super().__init__()
        self._mode = mode
        self._scale = scale
        self._files = QTemporaryDir()
        self._metrics: dict[tuple[Type, bool], QFontMetrics] = {}
        self._fonts: dict[tuple[Type, bool], QFont] = {}
        self._colours = _palettes()[self._resolved()]
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._system_changed)

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def scale(self) -> float:
        return self._scale

    @property
    def dark(self) -> bool:
        return self._resolved() == "dark"

    def install(self) -> None:
        """Dress the application: Fusion, palette, font and style sheet."""
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.setStyle(QStyleFactory.create("Fusion"))
        self._dress(application)

    def choose(self, mode: Mode | None = None, scale: float | None = None) -> None:
        """Switch mode or text scale and tell everyone."""
        self._mode = self._mode if mode is None else mode
        self._scale = self._scale if scale is None else min(2.0, max(1.0, scale))
        self._rebuild()

    def colour(self, token: Token) -> QColor:
        return QColor(self._colours[token])

    def tone(self, tone: Tone) -> tuple[QColor, QColor, QColor]:
        """(text, tint, border) of a tone."""
        if tone is Tone.PLAIN:
            return self.colour(Token.SECONDARY), QColor(0, 0, 0, 0), self.colour(Token.BORDER)
        return tuple(QColor(self._colours[f"{tone}{part}"]) for part in ("", "Tint", "Border"))  # type: ignore[return-value]

    def monogram(self, index: int) -> tuple[QColor, QColor]:
        """(tint, text) of one of the twelve monogram colours."""
        tint, text = _monograms()[self._resolved()][index % 12]
        return QColor(tint), QColor(text)

    def px(self, value: float) -> int:
        """A length at the current text scale."""
        return round(value * self._scale)

    def font(self, role: Type, *, italic: bool = False) -> QFont:
        """The font of a role, cached until the scale changes; a copy, so that a caller may change it."""
        key = (role, italic)
        if key not in self._fonts:
            self._fonts[key] = font(role, self._scale, italic=italic)
        return QFont(self._fonts[key])

    def metrics(self, role: Type, *, italic: bool = False) -> QFontMetrics:
        """Font metrics of a role, cached until the scale changes."""
        key = (role, italic)
        if key not in self._metrics:
            self._metrics[key] = QFontMetrics(self.font(role, italic=italic))
        return self._metrics[key]

    def line(self, role: Type) -> int:
        """Line height of a role; never less than the face needs."""
        return max(self.px(SCALE[role].line), self.metrics(role).height())

    def pixmap(self, name: str, size: int = 20, colour: Token | QColor = Token.SECONDARY, ratio: float = 0) -> QPixmap:
        """An icon as a picture of ``size`` px at 100 %."""
        wanted = self.colour(colour) if isinstance(colour, Token) else colour
        return icons.pixmap(name, self.px(size), wanted.name(), ratio or _ratio())

    def icon(
        self,
        name: str,
        size: int = 16,
        colour: Token = Token.TEXT,
        on: Token | None = None,
        disabled: Token | None = None,
    ) -> QIcon:
        """An icon for buttons: normal, checked (``on``) and disabled pictures for ordinary and dense screens."""
        made = QIcon()
        for ratio in sorted({1.0, 2.0, _ratio()}):
            for state, token in ((QIcon.State.Off, colour), (QIcon.State.On, on or colour)):
                made.addPixmap(self.pixmap(name, size, token, ratio), QIcon.Mode.Normal, state)
                off = disabled or Token.BORDER_STRONG
                made.addPixmap(self.pixmap(name, size, off, ratio), QIcon.Mode.Disabled, state)
        return made

    def icon_size(self, size: int = 16) -> QSize:
        return QSize(self.px(size), self.px(size))

    def _resolved(self) -> str:
        if self._mode is Mode.SYSTEM:
            dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
            return "dark" if dark else "light"
        return str(self._mode)

    def _system_changed(self) -> None:
        if self._mode is Mode.SYSTEM:
            self._rebuild()

    def _rebuild(self) -> None:
        self._colours = _palettes()[self._resolved()]
        self._metrics.clear()
        self._fonts.clear()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            self._dress(application)
        self.changed.emit()

    def _dress(self, application: QApplication) -> None:
        application.setPalette(self._qpalette())
        application.setFont(self.font(Type.BODY))
        application.setStyleSheet(style_sheet(self._colours, self.px, self._sheet_picture))

    def _sheet_picture(self, name: str, token: str) -> str:
        """A recoloured SVG for ``image: url(…)``, the one thing a style sheet cannot draw itself."""
        colour = self._colours[token]
        target = self._files.filePath(f"{name}-{colour[1:]}.svg")
        text = resource("icons", f"{name}.svg").read_text(encoding="utf-8").replace("currentColor", colour)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        return target

    def _qpalette(self) -> QPalette:
        role = QPalette.ColorRole
        made = QPalette()
        for target, token in {
            role.Window: Token.BACKGROUND,
            role.Base: Token.RAISED,
            role.AlternateBase: Token.SURFACE,
            role.Button: Token.RAISED,
            role.WindowText: Token.TEXT,
            role.Text: Token.TEXT,
            role.ButtonText: Token.TEXT,
            role.PlaceholderText: Token.DISABLED,
            role.Highlight: Token.ACCENT_TINT,
            role.HighlightedText: Token.TEXT,
            role.Link: Token.ACCENT,
            role.LinkVisited: Token.ACCENT,
            role.Accent: Token.ACCENT,
            role.Light: Token.RAISED,
            role.Midlight: Token.SURFACE,
            role.Mid: Token.BORDER,
            role.Dark: Token.BORDER_STRONG,
            role.ToolTipBase: Token.RAISED,
            role.ToolTipText: Token.TEXT,
        }.items():
            made.setColor(target, self.colour(token))
        for target in (role.WindowText, role.Text, role.ButtonText):
            made.setColor(QPalette.ColorGroup.Disabled, target, self.colour(Token.DISABLED))
        return made


def _ratio() -> float:
    screen = QGuiApplication.primaryScreen()
    return screen.devicePixelRatio() if screen is not None else 1.0


@cache
def _data() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(resource("resources", "palette.json").read_text(encoding="utf-8"))
    return loaded


@cache
def _palettes() -> dict[str, dict[str, str]]:
    return {mode: dict(_data()[mode]) for mode in ("light", "dark")}


@cache
def _monograms() -> dict[str, list[tuple[str, str]]]:
    return {mode: [(pair[0], pair[1]) for pair in _data()["monograms"][mode]] for mode in ("light", "dark")}
