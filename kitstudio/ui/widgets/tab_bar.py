"""A bar of tabs that is always as wide as its names: the chosen one is bold, and so wider than it was."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QTabBar


def tab_bar(names: Sequence[str], object_name: str, words: str) -> QTabBar:
    """Tabs at their own width, without a line below; ``words`` is the accessible name."""
    made = QTabBar()
    made.setObjectName(object_name)
    made.setAccessibleName(words)
    made.setDrawBase(False)
    made.setExpanding(False)
    for name in names:
        made.addTab(name)
    # Qt asks for the width when a name changes, not when another tab becomes the bold one: what is missing then would
    # put its scroll buttons over the last tabs.
    made.currentChanged.connect(lambda _index: made.updateGeometry())
    return made
