"""The type scale: eight roles, two weights, sizes in pixels times the text scale."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

UI_FALLBACKS = ("Segoe UI", "Adwaita Sans", "Inter", "Cantarell", "Noto Sans", "DejaVu Sans")
MONO_FALLBACKS = ("Cascadia Mono", "Menlo", "Adwaita Mono", "Noto Sans Mono", "DejaVu Sans Mono")
GENERIC_FAMILIES = frozenset({"", "sans", "sans serif", "sans-serif", "serif", "monospace", "mono"})
"""Names fontconfig answers when nobody chose a font: an alias, not a family."""


class Type(StrEnum):
    """Roles of text. ``MONO_FIELD`` is the monospace of fields and the terminal."""

    DISPLAY = "display"
    HEADING = "heading"
    TITLE = "title"
    STRONG = "strong"
    BODY = "body"
    NAME = "name"
    SMALL = "small"
    LABEL = "label"
    MONO = "mono"
    MONO_FIELD = "mono-field"


@dataclass(frozen=True, slots=True)
class TypeStep:
    """Pixels and line at 100 %, and whether the text is semibold or monospace."""

    size: int
    line: int
    strong: bool = False
    mono: bool = False


SCALE: dict[Type, TypeStep] = {
    Type.DISPLAY: TypeStep(20, 28, strong=True),
    Type.HEADING: TypeStep(18, 24, strong=True),
    Type.TITLE: TypeStep(15, 20, strong=True),
    Type.STRONG: TypeStep(14, 20, strong=True),
    Type.BODY: TypeStep(13, 18),
    Type.NAME: TypeStep(13, 18, strong=True),
    Type.SMALL: TypeStep(12, 16),
    Type.LABEL: TypeStep(12, 16, strong=True),
    Type.MONO: TypeStep(12, 18, mono=True),
    Type.MONO_FIELD: TypeStep(13, 18, mono=True),
}


@cache
def ui_families() -> tuple[str, ...]:
    """The system's general font, then the fall-backs; a generic alias yields to an installed fall-back."""
    return _families(QFontDatabase.SystemFont.GeneralFont, UI_FALLBACKS)


@cache
def mono_families() -> tuple[str, ...]:
    """The system's fixed font, then the fall-backs."""
    return _families(QFontDatabase.SystemFont.FixedFont, MONO_FALLBACKS)


def font(role: Type, scale: float = 1.0, *, italic: bool = False) -> QFont:
    """The font of a role at a text scale, with tabular figures where the face has them.

    Contextual alternates are off: a face that turns the x of 640x480 into another letter shows what is not there.
    """
    step = SCALE[role]
    made = QFont()
    made.setFamilies(list(mono_families() if step.mono else ui_families()))
    made.setPixelSize(max(1, round(step.size * scale)))
    made.setWeight(QFont.Weight.DemiBold if step.strong else QFont.Weight.Normal)
    made.setItalic(italic)
    if step.mono:
        made.setStyleHint(QFont.StyleHint.Monospace)
        made.setFixedPitch(True)
    else:
        made.setFeature(QFont.Tag("tnum"), 1)
        made.setFeature(QFont.Tag("calt"), 0)
    return made


def _families(system: QFontDatabase.SystemFont, fallbacks: tuple[str, ...]) -> tuple[str, ...]:
    chosen = QFontDatabase.systemFont(system).family()
    if chosen.lower() in GENERIC_FAMILIES:
        installed = set(QFontDatabase.families())
        return tuple(name for name in fallbacks if name in installed) + (chosen,) * bool(chosen)
    return (chosen, *fallbacks)
