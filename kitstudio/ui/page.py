"""What the main window expects of a page of the rail.

A page is built as ``SomePage(studio, theme, navigator)`` and starts no task while it is built: ``opened`` is awaited
once the window is up and the loop runs.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QWidget

from kitstudio.services.app import Studio
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme


class Page(QWidget):
    """A page with a title, a badge and, where something is edited, an undo stack."""

    title_changed = Signal(str)
    badge_changed = Signal(int, bool)
    """(count, attention): 0 hides the badge; attention gives it the serious look."""
    status_changed = Signal(str, str)
    """(icon, text) for the footer while no job runs and this page is shown."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.studio = studio
        self.theme = theme
        self.navigator = navigator
        self.undo_stack: QUndoStack | None = None

    def title(self) -> str:
        """What the header says."""
        return ""

    async def opened(self) -> None:
        """Called once, after the window is shown: start what the page needs."""

    def save_state(self) -> dict[str, str]:
        """What should survive a restart, as text by name."""
        return {}

    def restore_state(self, state: dict[str, str]) -> None:
        """Take over what ``save_state`` once returned; unknown or damaged values are left alone."""
