"""Storage: what a sandbox keeps for itself, and the folders of this computer it shares with others of its Kit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.runtime.backend import HostMountFolder, OwnStorage
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.rows_pane import RowsPane
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import ExactEntry, Icon, button, holder, line, row, text_label
from kitstudio.ui.widgets.composite import SectionHeader, StateView
from kitstudio.ui.widgets.text import counted, size_text, tr, visible


class StorageView(RowsPane):
    """``open_wanted(folder)`` and ``delete_wanted(HostMountFolder)`` of a shared folder."""

    open_wanted = Signal(str)
    delete_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        empty = StateView(
            theme,
            "storage",
            tr("No storage of its own"),
            tr(
                "No Kit of this set asks for storage. What the sandbox writes lies in its layer, until it is recreated."
            ),
        )
        super().__init__(empty, parent)
        self.theme = theme
        self._shown: tuple[object, ...] | None = None
        self.mounts: list[MountRow] = []

    def show_storage(self, own: Sequence[OwnStorage], shared: Sequence[HostMountFolder]) -> None:
        """Show these, one line each."""
        found = (tuple(own), tuple(shared))
        if found == self._shown:
            return
        self._shown = found
        self.begin()
        self.mounts = []
        if own:
            self.add(SectionHeader(tr("Its own"), tr("deleted with the sandbox")))
            for volume in own:
                self._add_ruled(volume_row(self.theme, volume))
        if shared:
            self.add(SectionHeader(tr("Shared"), tr("by every sandbox with the Kit, kept until deleted")))
            for mount in shared:
                made = MountRow(self.theme, mount)
                made.open_wanted.connect(self.open_wanted)
                made.delete_wanted.connect(self.delete_wanted)
                self.mounts.append(made)
                self._add_ruled(made)
        self.end(empty=not (own or shared))

    def _add_ruled(self, widget: QWidget) -> None:
        self.add(line())
        self.add(widget)


def volume_row(theme: Theme, volume: OwnStorage) -> QWidget:
    """One volume: path, what it is, what it takes."""
    kind = tr("in memory, emptied at every stop") if volume.in_memory else tr("on disk")
    limit = tr("at most {size}").format(size=claim(volume.size, 40)) if volume.size.strip() else tr("no stated size")
    used = "" if volume.in_memory else tr("{size} in use").format(size=size_text(volume.used))
    words = " · ".join(part for part in (kind, limit, used) if part)
    if not volume.mounted:
        words += " · " + tr("kept, the set no longer asks for it")
    return _line(theme, "memory" if volume.in_memory else "storage", volume.path, words)


class MountRow(QWidget):
    """One shared folder, with what can be done about it."""

    open_wanted = Signal(str)
    delete_wanted = Signal(object)

    def __init__(self, theme: Theme, mount: HostMountFolder, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.mount = mount
        users = (
            counted(len(mount.sandboxes), "sandbox", "sandboxes") if mount.sandboxes else tr("used by no sandbox now")
        )
        files = counted(mount.files, "file", "files")
        words = " · ".join((visible(mount.owner), files, size_text(mount.size), users))
        self.open = button(theme, tr("Open"), "folder", "flat", small=True, name="mountOpen")
        self.open.setAccessibleName(tr("Open the shared folder {path}").format(path=visible(mount.path)))
        self.open.setToolTip(visible(mount.folder))
        self.open.clicked.connect(lambda: self.open_wanted.emit(mount.folder))
        self.delete = button(theme, tr("Delete…"), "trash", "flat", small=True, name="mountDelete")
        self.delete.setAccessibleName(tr("Delete the shared folder {path}").format(path=visible(mount.path)))
        self.delete.setEnabled(not mount.running)
        if mount.running:
            self.delete.setToolTip(tr("In use by {names}").format(names=visible(", ".join(mount.running))))
        self.delete.clicked.connect(lambda: self.delete_wanted.emit(mount))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(_line(theme, "folder", mount.path, words, self.open, self.delete))


def _line(theme: Theme, icon: str, path: str, words: str, *tools: QWidget) -> QWidget:
    picture = Icon(theme, icon, 20)
    texts = QVBoxLayout()
    texts.setSpacing(theme.px(3))
    texts.addWidget(ExactEntry(theme, path))
    texts.addWidget(text_label(words, Type.SMALL, "secondary", wrap=True))
    body = row(picture, spacing=theme.px(10), margins=(theme.px(16), theme.px(9), theme.px(12), theme.px(9)))
    body.setAlignment(picture, Qt.AlignmentFlag.AlignTop)
    body.addLayout(texts, 1)
    for tool in tools:
        body.addWidget(tool, 0, Qt.AlignmentFlag.AlignTop)
    return holder(body)
