"""Work of a page ends when its window closes, not when Qt gets round to deleting it."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from kitstudio.ui.tasks import Tasks


def end_with_window(page: QWidget, tasks: Tasks) -> None:
    """Cancel ``tasks`` as soon as the window of ``page`` says that it is closed."""
    closed = getattr(page.window(), "closed", None)
    if closed is not None:
        closed.connect(tasks.cancel)
