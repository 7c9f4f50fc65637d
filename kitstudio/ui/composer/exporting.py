"""Writing a set for others: a ``kind: set`` file with tags, with digests, or with both; and the graph as a picture."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QGraphicsScene, QMenu, QPushButton, QWidget

from kitstudio.services.app import Studio
from kitstudio.services.handing_on import ExportForm
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
        menu.setToolTipsVisible(True)
        for name, form, words, about in (
            ("plain", ExportForm.STATED, tr("As it is"), tr("Word for word, comments and all")),
            ("tags", ExportForm.TAGS, tr("With tags"), tr("Follows what the publishers put under their tags")),
            ("digests", ExportForm.DIGESTS, tr("With digests"), tr("Exactly these builds, their tags left out")),
            ("pinned", ExportForm.BOTH, tr("With tags and digests"), tr("Exactly these builds, readable")),
        ):
            action = menu.addAction(words)
            action.setToolTip(about)
            action.setObjectName(f"export-{name}")
            action.triggered.connect(lambda _=False, form=form: self.ask(form))
        tool.setMenu(menu)

    def ask(self, form: ExportForm) -> None:
        """Ask where, and write there."""
        name = f"{self._studio.composer.value.name}-export.yaml"
        chosen, _ = QFileDialog.getSaveFileName(self._owner, tr("Export the set"), name, tr("Sets") + " (*.yaml)")
        if chosen:
            self.export(Path(chosen), form)

    def export(self, path: Path, form: ExportForm = ExportForm.STATED) -> None:
        """Write a ``kind: set`` file for others."""
        self._tasks.start(self._export(path, form), "file")

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

    async def _export(self, path: Path, form: ExportForm) -> None:
        written = await self._studio.composer.export(path, form=form)
        self.told.emit("export", tr("Exported."), visible(str(written)))

    async def _save_picture(self, scene: QGraphicsScene, path: Path) -> None:
        content = rendered(scene, self._theme, path, self._studio.composer.value.name)
        await asyncio.to_thread(write_atomic, path.absolute(), content, mode=0o644)
        self.told.emit("success", tr("The graph was saved."), visible(str(path)))
