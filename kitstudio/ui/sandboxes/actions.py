"""What a person does with a sandbox: each a job of the studio, asked about first where something is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import HostMountFolder
from kitstudio.services.app import Studio
from kitstudio.services.set_changes import Proposal, set_of
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.sandboxes.detail import SandboxDetail
from kitstudio.ui.sign_in.bind_dialog import BindDialog
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import counted, tr, visible


class SandboxActions(QObject):
    """``began``: a job was started. ``done``: what a tab shows has changed. ``removing(name)`` before a removal."""

    failed = Signal(object)
    began = Signal()
    done = Signal()
    terminal_wanted = Signal(str)
    removing = Signal(str)

    def __init__(
        self, page: QWidget, studio: Studio, theme: Theme, navigator: Navigator, detail: SandboxDetail
    ) -> None:
        super().__init__(page)
        self._page = page
        self._studio = studio
        self._theme = theme
        self._navigator = navigator
        self._detail = detail
        self.tasks = Tasks(self, self.failed.emit)
        detail.ports.chosen.connect(self._move_port)
        detail.storage.open_wanted.connect(self._show_folder)
        detail.storage.delete_wanted.connect(self._ask_delete)
        detail.credentials.bind_wanted.connect(self._open_bind)
        detail.propose_wanted.connect(self._propose)

    def act(self, name: str, action: str) -> None:
        """Do what a button or menu of ``name`` says."""
        if not name:
            return
        try:
            self._do(name, action)
        except KitStudioError as error:
            self.failed.emit(error)

    def _do(self, name: str, action: str) -> None:
        sandboxes = self._studio.sandboxes
        match action:
            case "start":
                sandboxes.start(name)
                self.began.emit()
            case "stop":
                sandboxes.stop(name)
            case "repair":
                sandboxes.repair(name)
            case "terminal":
                self.terminal_wanted.emit(name)
            case "workspace":
                status = next((each for each in sandboxes.list() if each.name == name), None)
                _open_folder(status.workspace if status else "", tr("The workspace folder is not there."))
            case "set":
                self.tasks.start(self._change_set(name), "set")
            case "recreate":
                self._confirm(
                    tr("Recreate {name}?").format(name=name),
                    tr(
                        "Its disk is dropped and made anew from the approved set: everything written outside the "
                        "workspace folder and its own storage is lost. Those, and shared folders, are not touched."
                    ),
                    tr("Recreate {name}").format(name=name),
                    lambda: self._recreate(name),
                )
            case "remove":
                self._confirm(
                    tr("Remove {name}?").format(name=name),
                    tr(
                        "The machine is stopped, its disk and its storage are deleted: everything written outside the "
                        "workspace folder is lost. The workspace folder, shared folders and the approval records stay."
                    ),
                    tr("Remove {name}").format(name=name),
                    lambda: self._remove(name),
                )
            case _:
                raise KitStudioError(f"Unknown action {action}.")

    def _propose(self, proposal: Proposal) -> None:
        if self._detail.status is not None:
            self.tasks.start(self._change_set(self._detail.status.name, proposal), "set")

    async def _change_set(self, name: str, proposal: Proposal | None = None) -> None:
        status = await self._studio.sandboxes.status(name)
        found = await set_of(self._studio.approvals, name, status.lock_sha256, proposal)
        self._navigator.change_set.emit(found)

    def _recreate(self, name: str) -> None:
        self._studio.sandboxes.recreate(name)
        self.began.emit()

    def _remove(self, name: str) -> None:
        self.removing.emit(name)
        self._studio.sandboxes.remove(name)

    def _open_bind(self, service: str) -> None:
        dialog = BindDialog(self._theme, self._studio, service, parent=self._page.window())
        dialog.bound.connect(lambda name: self.tasks.start(self._rebind(name), "bind"))
        dialog.open()

    async def _rebind(self, service: str) -> None:
        await self._studio.sandboxes.rebind(service)
        self.done.emit()

    def _move_port(self, container: str, host_port: int) -> None:
        if self._detail.status is not None:
            self.tasks.start(self._publish(self._detail.status.name, container, host_port), "port")

    async def _publish(self, name: str, container: str, host_port: int) -> None:
        self._detail.ports.show_ports(await self._studio.sandboxes.set_port(name, container, host_port))

    def _show_folder(self, folder: str) -> None:
        try:
            _open_folder(folder, tr("The folder is not there."))
        except KitStudioError as error:
            self.failed.emit(error)

    def _ask_delete(self, mount: HostMountFolder) -> None:
        self._confirm(
            tr("Delete the shared folder?"),
            tr(
                "{count} of {kit} at {path} are deleted for every sandbox of that Kit, and cannot be brought back."
            ).format(count=counted(mount.files, "file", "files"), kit=visible(mount.owner), path=visible(mount.path)),
            tr("Delete the folder"),
            lambda: self._delete_soon(mount),
        )

    def _delete_soon(self, mount: HostMountFolder) -> None:
        self.tasks.start(self._delete(mount), "mount")

    async def _delete(self, mount: HostMountFolder) -> None:
        await self._studio.sandboxes.remove_mount(mount.id)
        self.done.emit()

    def _confirm(self, title: str, sentence: str, verb: str, act: Callable[[], None]) -> None:
        dialog = ConfirmDialog(self._theme, title, sentence, verb, self._page)

        def go() -> None:
            try:
                act()
            except KitStudioError as error:
                self.failed.emit(error)

        dialog.confirmed.connect(go)
        dialog.open()


def _open_folder(folder: str, missing: str) -> None:
    if not folder or not Path(folder).is_dir():
        raise KitStudioError(missing, where=folder)
    QDesktopServices.openUrl(QUrl.fromLocalFile(folder))
