"""The open editor windows of a program. Light to import: the editor itself is read when the first file is opened."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from kitstudio.registry.threads import Stop, in_thread
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr

if TYPE_CHECKING:
    from kitstudio.ui.editor.window import EditorWindow


class Editors(QObject):
    """The open editor windows of a main window. ``failed(KitStudioError)``; ``empty()`` after the last one closed."""

    failed = Signal(object)
    empty = Signal()
    opened = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._window = parent
        self.windows: list[EditorWindow] = []
        self._tasks = Tasks(self, self.failed.emit)

    def open(self, path: str | Path) -> None:
        """Show the descriptor of a folder or file; the window that has it already comes to the front."""
        self._tasks.start(self._open(Path(path).expanduser()))

    def ask(self) -> None:
        """Ask for a file, then open it."""
        chosen = ask_for_file(self._window, None)
        if chosen:
            self.open(chosen)

    def dirty(self) -> tuple[EditorWindow, ...]:
        """Windows with changes that are not saved."""
        return tuple(window for window in self.windows if window.page.dirty)

    def close(self, then: Callable[[], object]) -> bool:
        """Close them all; where something is not saved, ask first, answer false, and call ``then`` if all may go."""
        for window in tuple(self.windows):
            if not window.page.dirty:
                window.close()
        if not self.windows:
            self._tasks.cancel()
            return True
        first = self.windows[0]
        _raise(first)
        first.ask_to_leave().confirmed.connect(lambda: self.close(then) and then())
        return False

    async def _open(self, path: Path) -> None:
        # The modules are read in a thread, so that the first file does not hold up the window.
        await in_thread(_load)
        from kitstudio.services.linting import open_file
        from kitstudio.ui.editor.window import EditorWindow

        file = await open_file(path)
        same = next((w for w in self.windows if w.page.file.path.absolute() == file.path.absolute()), None)
        if same is not None:
            _raise(same)
            return
        window = EditorWindow(self.theme, file)
        window.left.connect(self._left)
        window.open_wanted.connect(self.open)
        self.windows.append(window)
        window.show()
        window.page.start()
        self.opened.emit(window)

    def _left(self, window: EditorWindow) -> None:
        if window in self.windows:
            self.windows.remove(window)
        if not self.windows:
            self.empty.emit()


def ask_for_file(parent: QWidget | None, folder: Path | None) -> str:
    """A descriptor chosen by a person; empty where none was."""
    chosen, _ = QFileDialog.getOpenFileName(
        parent,
        tr("Edit a descriptor"),
        str(folder or ""),
        tr("Descriptors (*.yaml *.yml);;Dockerfiles (Dockerfile *.dockerfile);;All files (*)"),
    )
    return chosen


def _load(stop: Stop) -> None:
    importlib.import_module("kitstudio.ui.editor.window")


def _raise(window: QWidget) -> None:
    window.show()
    window.raise_()
    window.activateWindow()
