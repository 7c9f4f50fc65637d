"""The window of one file: asked about before anything unsaved is lost."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kitstudio.services.linting import OpenFile
from kitstudio.ui.drag import references_of
from kitstudio.ui.editor.editors import ask_for_file
from kitstudio.ui.editor.page import EditorPage, title_of
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.focus import FocusRing
from kitstudio.ui.widgets.layout import set_ground
from kitstudio.ui.widgets.text import tr, visible


class EditorWindow(QWidget):
    """A top-level window around one ``EditorPage``. ``left(window)`` once it is closed for good."""

    left = Signal(object)
    open_wanted = Signal(str)

    def __init__(self, theme: Theme, file: OpenFile) -> None:
        super().__init__(None)
        self.page = EditorPage(theme, file, self)
        self.theme = theme
        self._given_up = False
        self.setObjectName("editorWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptDrops(True)
        set_ground(self, "background")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.page)
        room = self.screen().availableSize()
        self.resize(min(theme.px(1120), room.width()), min(theme.px(720), room.height()))
        self.focus_ring = FocusRing(theme, self)
        self.page.title_changed.connect(self._titled)
        self.page.edit.files_dropped.connect(self._open_dropped)
        self._titled(title_of(file.path), False)
        for keys, act in ((QKeySequence.StandardKey.Close, self.close), (QKeySequence.StandardKey.Open, self._ask)):
            QShortcut(QKeySequence(keys), self).activated.connect(act)
        self.page.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.page.dirty and not self._given_up:
            event.ignore()
            self.ask_to_leave()
            return
        self.page.close_tasks()
        event.accept()
        self.left.emit(self)

    def ask_to_leave(self) -> ConfirmDialog:
        """Ask whether the changes may be lost."""
        dialog = ConfirmDialog(
            self.theme,
            tr("Close without saving?"),
            tr("The changes to {name} are not saved and would be lost.").format(
                name=visible(title_of(self.page.file.path))
            ),
            tr("Close without saving"),
            self,
        )
        dialog.confirmed.connect(self._leave)
        dialog.open()
        return dialog

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls() and references_of(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self._open_dropped(event.mimeData())

    def _open_dropped(self, data: QMimeData) -> None:
        for path in references_of(data)[:8]:
            self.open_wanted.emit(path)

    def _leave(self) -> None:
        self._given_up = True
        self.close()

    def _ask(self) -> None:
        chosen = ask_for_file(self, self.page.file.path.parent)
        if chosen:
            self.open_wanted.emit(chosen)

    def _titled(self, title: str, dirty: bool) -> None:
        self.setWindowTitle(f"{visible(title)}[*]")
        self.setWindowModified(dirty)
