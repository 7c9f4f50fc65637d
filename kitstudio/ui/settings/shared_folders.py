"""Shared folders: what is kept on this computer for Kits whose sandboxes share a folder; open, delete. Listed off this
thread."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import HostMountFolder
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.widgets import button
from kitstudio.ui.widgets.text import counted, size_text, tr, visible


class SharedFoldersSection(SettingsSection):
    """One row a folder. A folder that a running sandbox has cannot be deleted, and says who has it."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Shared folders"),
            tr(
                "A Kit may ask for a folder of this computer that all of its sandboxes share. It outlives them, and "
                "only you delete it."
            ),
        )
        self.add(tr("Looking…"), "")

    def look(self) -> None:
        self.context.tasks.start(self._list(), "shared-folders")

    async def _list(self) -> None:
        found = await self.studio.sandboxes.mounts()
        self.clear()
        for folder in found:
            self._show(folder)
        if not found:
            self.add(tr("None"), tr("No sandbox here has a Kit that asked for one."))

    def _show(self, folder: HostMountFolder) -> None:
        users = ", ".join(folder.sandboxes) or tr("no sandbox now")
        about = " · ".join(
            (
                folder.owner,
                counted(folder.files, "file", "files"),
                size_text(folder.size),
                tr("used by {names}").format(names=users),
            )
        )
        show = button(self.theme, tr("Open"), "folder", small=True, name=f"open-{folder.id}")
        show.setAccessibleName(tr("Open the shared folder {path}").format(path=visible(folder.path)))
        show.setToolTip(visible(folder.folder))
        show.clicked.connect(lambda: self._open(folder))
        delete = button(self.theme, tr("Delete…"), "trash", small=True, name=f"delete-{folder.id}")
        delete.setAccessibleName(tr("Delete the shared folder {path}").format(path=visible(folder.path)))
        delete.setEnabled(not folder.running)
        if folder.running:
            about += " · " + tr("stop {names} to delete it").format(names=", ".join(folder.running))
        delete.clicked.connect(lambda: self._ask(folder))
        self.add(folder.path, about, show, delete, icon="folder")

    def _open(self, folder: HostMountFolder) -> None:
        if Path(folder.folder).is_dir():
            QDesktopServices.openUrl(QUrl.fromLocalFile(folder.folder))
        else:
            self.context.fail(KitStudioError("The folder is not there.", where=folder.folder))

    def _ask(self, folder: HostMountFolder) -> None:
        words = tr("{count} of {kit} at {path} are deleted for every sandbox of that Kit, and cannot be brought back.")
        dialog = ConfirmDialog(
            self.theme,
            tr("Delete the shared folder?"),
            words.format(
                count=counted(folder.files, "file", "files"), kit=visible(folder.owner), path=visible(folder.path)
            ),
            tr("Delete the folder"),
            self.window(),
        )
        dialog.confirmed.connect(lambda: self.context.tasks.start(self._delete(folder), f"delete-{folder.id}"))
        dialog.open()

    async def _delete(self, folder: HostMountFolder) -> None:
        try:
            await self.studio.sandboxes.remove_mount(folder.id)
        finally:
            self.look()
