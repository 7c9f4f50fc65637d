"""Writing a set for others: a ``kind: set`` file with tags, with digests, or with both; and the graph as a picture."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QGraphicsScene, QMenu, QPushButton, QWidget

from kitstudio.services.app import Studio
from kitstudio.services.home import write_atomic
from kitstudio.ui.composer.graph.export import rendered
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr, visible


class Exporting(QObject):
    """``told(icon, lead, words)`` when a file is written."""

    told = Signal(str, str, str)

    def __init__(self, studio: Studio, theme: Theme, tasks: Tasks, owner: QWidget) -> None:
        super().__init__(owner)
        self._studio, self._theme, self._tasks, self._owner = studio, theme, tasks, owner

    def fill_menu(self, tool: QPushButton) -> None:
        """The ways a set is handed on."""
        menu = QMenu(tool)
        for name, words, pin in (("plain", tr("As it is"), False), ("pinned", tr("With digests"), True)):
            action = menu.addAction(words)
            action.setObjectName(f"export-{name}")
            action.triggered.connect(lambda _=False, pin=pin: self.ask(pin=pin))
        tool.setMenu(menu)

    def ask(self, *, pin: bool) -> None:
        """Ask where, and write there."""
        name = f"{self._studio.composer.value.name}-export.yaml"
        chosen, _ = QFileDialog.getSaveFileName(self._owner, tr("Export the set"), name, tr("Sets") + " (*.yaml)")
        if chosen:
            self.export(Path(chosen), pin=pin)

    def export(self, path: Path, *, pin: bool = False) -> None:
        """Write a ``kind: set`` file for others."""
        self._tasks.start(self._export(path, pin=pin), "file")

    def ask_picture(self, scene: QGraphicsScene, suffix: str) -> None:
        """Ask where the graph goes as a picture."""
        name = f"{self._studio.composer.value.name}.{suffix}"
        kinds = f"{suffix.upper()} (*.{suffix})"
        chosen, _ = QFileDialog.getSaveFileName(self._owner, tr("Save the graph as a picture"), name, kinds)
        if chosen:
            path = Path(chosen)
            self.save_picture(scene, path if path.suffix else path.with_suffix(f".{suffix}"))

    def save_picture(self, scene: QGraphicsScene, path: Path) -> None:
        """Write the graph as a picture."""
        self._tasks.start(self._save_picture(scene, path), "picture")

    async def _export(self, path: Path, *, pin: bool) -> None:
        written = await self._studio.composer.export(path, pin=pin)
        self.told.emit("export", tr("Exported."), visible(str(written)))

    async def _save_picture(self, scene: QGraphicsScene, path: Path) -> None:
        content = rendered(scene, self._theme, path, self._studio.composer.value.name)
        await asyncio.to_thread(write_atomic, path.absolute(), content, mode=0o644)
        self.told.emit("success", tr("The graph was saved."), visible(str(path)))
