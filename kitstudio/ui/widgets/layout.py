"""Layouts in one line: rows and columns of widgets, spaces and stretches; grounds and separators."""

from __future__ import annotations

from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLayout, QVBoxLayout, QWidget

Item: TypeAlias = QWidget | QLayout | int | None
"""What a row or column holds: a widget, a layout, ``int`` pixels of space, ``None`` for stretch."""
Margins: TypeAlias = tuple[int, int, int, int]


def line(vertical: bool = False) -> QFrame:
    """A one-pixel separator."""
    made = QFrame()
    made.setProperty("line", "v" if vertical else "h")
    return made


def row(
    *items: QWidget | QLayout | int | None, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> QHBoxLayout:
    """A horizontal layout: widgets, layouts, ``int`` for space, ``None`` for stretch."""
    made = QHBoxLayout()
    _fill(made, items, spacing, margins)
    return made


def column(
    *items: QWidget | QLayout | int | None, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> QVBoxLayout:
    """A vertical layout, filled like ``row``."""
    made = QVBoxLayout()
    _fill(made, items, spacing, margins)
    return made


def holder(layout: QLayout, ground: str = "", parent: QWidget | None = None) -> QWidget:
    """A widget around a layout, on a ground."""
    made = QWidget(parent)
    if ground:
        set_ground(made, ground)
    made.setLayout(layout)
    return made


def set_ground(widget: QWidget, ground: str) -> None:
    """Paint ``widget`` with one of the four grounds."""
    widget.setProperty("ground", ground)
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


def _fill(
    layout: QHBoxLayout | QVBoxLayout,
    items: tuple[Item, ...],
    spacing: int,
    margins: Margins,
) -> None:
    layout.setSpacing(spacing)
    layout.setContentsMargins(*margins)
    for item in items:
        if item is None:
            layout.addStretch(1)
        elif isinstance(item, int):
            layout.addSpacing(item)
        elif isinstance(item, QLayout):
            layout.addLayout(item)
        else:
            layout.addWidget(item)
