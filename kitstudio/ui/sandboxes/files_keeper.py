"""Runs what the Files tab asks for: listings, looks and copies, one of each at a time, each cancelled by the next."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import SandboxError, SandboxStatus, State
from kitstudio.services.sandboxes import Sandboxes
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.sandboxes.files_model import below, safe_name
from kitstudio.ui.sandboxes.files_view import LOOK, FilesView
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.widgets.text import size_text, tr, visible

_TELL_SECONDS = 0.1


class FilesKeeper(QObject):
    """Joins a ``FilesView`` to the sandbox that is shown."""

    def __init__(self, view: FilesView, sandboxes: Sandboxes, start: Callable[[], None], parent: QObject) -> None:
        super().__init__(parent)
        self._view = view
        self._sandboxes = sandboxes
        self.tasks = Tasks(self, self._failed)
        self._name = ""
        self._told = 0.0
        view.go_wanted.connect(self.go)
        view.look_wanted.connect(lambda path: self.tasks.start(self._look(path), "look"))
        view.fetch_wanted.connect(self._ask_fetch)
        view.put_wanted.connect(self._ask_put)
        view.cancel_wanted.connect(lambda: self.tasks.start(self._end_copy(), "copy"))
        view.start_wanted.connect(start)

    async def show(self, status: SandboxStatus) -> None:
        """The tab is looked at: read the first folder once; nothing where the sandbox does not run."""
        if status.name != self._name:
            self.tasks.start(self._end_copy(), "copy")
            self._view.forget()
            self._name = status.name
        if status.state not in (State.RUNNING, State.WAITING):
            self._view.forget()
            self._view.show_stopped()
        elif not self._view.folder:
            self._view.show_loading()
            await self._list("", named=False)

    def go(self, path: str, named: bool) -> None:
        """Read a folder; ``named``: a person wrote the path."""
        self._view.show_loading()
        self.tasks.start(self._list(path, named=named), "list")

    def fetch(self, path: str, target: Path) -> None:
        """Copy a file to this computer."""
        self.tasks.start(self._fetch(path, target), "copy")

    def put(self, source: Path, folder: str, *, replace: bool = False) -> None:
        """Copy a file of this computer into a folder of the sandbox."""
        self.tasks.start(self._put(source, folder, replace), "copy")

    async def _list(self, path: str, *, named: bool) -> None:
        name = self._name
        try:
            found = await self._sandboxes.files(name).list(path, named=named)
        except SandboxError as error:
            if name == self._name:
                self._failed(error)
            return
        if name == self._name:
            self._view.show_listing(found)

    async def _look(self, path: str) -> None:
        name = self._name
        data, size = await self._sandboxes.files(name).read(path, LOOK)
        if name == self._name:
            self._view.show_text(path, data, size)

    async def _fetch(self, path: str, target: Path) -> None:
        words = tr("Saving {name}").format(name=visible(path.rsplit("/", 1)[-1]))
        try:
            self._view.show_copy(words, None)
            await self._sandboxes.files(self._name).fetch(path, target, self._teller(words))
        finally:
            self._view.show_copy("", None)

    async def _put(self, source: Path, folder: str, replace: bool) -> None:
        words = tr("Putting {name}").format(name=visible(source.name))
        try:
            self._view.show_copy(words, None)
            await self._sandboxes.files(self._name).put(
                source, below(folder, source.name), self._teller(words), replace=replace
            )
        finally:
            self._view.show_copy("", None)
        await self._list(folder, named=False)

    def _teller(self, words: str) -> Callable[[int, int], None]:
        def tell(done: int, total: int) -> None:
            now = time.monotonic()
            if now - self._told >= _TELL_SECONDS or done == total:
                self._told = now
                self._view.show_copy(f"{words} · {size_text(done)}", min(done / total, 1.0) if total else None)

        return tell

    async def _end_copy(self) -> None:
        """Takes the place of a copy, which ends with it and leaves nothing."""

    def _ask_fetch(self, path: str, name: str) -> None:
        dialog = QFileDialog(self._view.window(), tr("Save a copy"))
        dialog.setObjectName("filesSave")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(safe_name(name))
        dialog.fileSelected.connect(lambda target: self.fetch(path, Path(target)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _ask_put(self, folder: str) -> None:
        dialog = QFileDialog(self._view.window(), tr("Put a file into the sandbox"))
        dialog.setObjectName("filesOpen")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda source: self.offer(Path(source), folder))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def offer(self, source: Path, folder: str) -> None:
        """Put a file, after a question where one of its name is listed."""
        model = self._view.model
        if all(model.entry(row).name != source.name for row in range(model.rowCount())):
            self.put(source, folder)
            return
        dialog = ConfirmDialog(
            self._view.theme,
            tr("Replace {name}?").format(name=visible(source.name)),
            tr("A file of that name is in {folder}. What is in it now is lost.").format(folder=visible(folder)),
            tr("Replace it"),
            self._view.window(),
        )
        dialog.confirmed.connect(lambda: self.put(source, folder, replace=True))
        dialog.open()

    def _failed(self, error: KitStudioError) -> None:
        self._view.show_error(visible(error.what), " ".join(part for part in (error.where, error.remedy) if part))
