"""Colours of the terminal: the 16 named ones from the theme's tokens, the rest computed as xterm does."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor


@dataclass(frozen=True, slots=True)
class TerminalColours:
    """What the theme gives. Both themes use a dark ground; ``focus`` outlines, ``selection`` and ``match`` tint."""

    ground: QColor
    text: QColor
    green: QColor
    yellow: QColor
    blue: QColor
    red: QColor
    dim: QColor
    magenta: QColor
    cyan: QColor
    selection: QColor
    match: QColor

    def named(self) -> dict[str, QColor]:
        """Names a screen cell uses for the sixteen colours."""
        black = self.ground.lighter(160)
        plain = {
            "black": black,
            "red": self.red,
            "green": self.green,
            "brown": self.yellow,
            "blue": self.blue,
            "magenta": self.magenta,
            "cyan": self.cyan,
            "white": self.text,
        }
        bright = {f"bright{name}": colour.lighter(112) for name, colour in plain.items()}
        return plain | bright | {"brightblack": self.dim, "brightwhite": QColor(255, 255, 255)}


class Colours:
    """Cell colour name → ``QColor``, cached."""

    def __init__(self, colours: TerminalColours) -> None:
        self.base = colours
        self._known = colours.named()

    def foreground(self, name: str) -> QColor:
        return self.base.text if name == "default" else self._colour(name)

    def background(self, name: str) -> QColor:
        return self.base.ground if name == "default" else self._colour(name)

    def _colour(self, name: str) -> QColor:
        known = self._known.get(name)
        if known is None:
            known = QColor(f"#{name}")
            if not known.isValid():
                return self.base.text
            if len(self._known) < 4096:
                self._known[name] = known
        return known
