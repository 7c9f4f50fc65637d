"""The dialog that adds a source: one field, what it takes, and the failure where it happened."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFileDialog, QLineEdit, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.catalog import Catalog
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import ExactEntry, button, column, row, text_label
from kitstudio.ui.widgets.text import tr, visible


class AddSourceDialog(QDialog):
    """``added(id)`` once the source is in the list."""

    added = Signal(str)

    def __init__(self, theme: Theme, catalog: Catalog, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("add-source")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Add a source"))
        self.setMinimumWidth(theme.px(520))
        self._catalog = catalog
        self._tasks = Tasks(self, self._tell)
        self._field = QLineEdit()
        self._field.setObjectName("add-source-text")
        self._field.setAccessibleName(tr("Registry, namespace, repository or layout"))
        self._field.setPlaceholderText("registry.example/team")
        self._field.setProperty("mono", True)
        self._field.textChanged.connect(self._edited)
        self._field.returnPressed.connect(self._add)
        folder = button(theme, tr("Choose a folder…"), "folder", name="add-source-folder")
        folder.clicked.connect(self._choose)
        self._what = text_label("", Type.BODY, "critical", wrap=True)
        self._where = ExactEntry(theme, "")
        self._remedy = text_label("", Type.SMALL, "secondary", wrap=True)
        for part in (self._what, self._where, self._remedy):
            part.hide()
        self._theme = theme
        self._ok = button(theme, tr("Add source"), "plus", "primary", name="add-source-ok")
        self._ok.clicked.connect(self._add)
        self._ok.setEnabled(False)
        cancel = button(theme, tr("Cancel"), name="add-source-cancel")
        cancel.clicked.connect(self.reject)
        examples = column(spacing=theme.px(2))
        for entry, meaning in (
            ("registry.example", tr("a registry host: every repository it lists")),
            ("docker.io/acme", tr("a namespace")),
            ("registry.example/team/kit", tr("one repository")),
            ("/srv/layout", tr("an OCI image layout on this computer")),
        ):
            examples.addLayout(
                row(text_label(entry, Type.MONO), text_label(meaning, Type.SMALL, "secondary"), None, spacing=12)
            )
        self.setLayout(
            column(
                text_label(tr("Add a source"), Type.HEADING),
                text_label(
                    tr("Where Kits come from. Nothing is asked of a network source before you open it."),
                    Type.BODY,
                    "secondary",
                    wrap=True,
                ),
                row(self._field, folder),
                self._what,
                self._where,
                self._remedy,
                4,
                examples,
                8,
                row(None, cancel, self._ok),
                spacing=theme.px(10),
                margins=(24, 24, 24, 20),
            )
        )

    def _edited(self, text: str) -> None:
        self._ok.setEnabled(bool(text.strip()))
        for part in (self._what, self._where, self._remedy):
            part.hide()

    def _choose(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Choose an OCI image layout"))
        if folder:
            self._field.setText(folder)

    def _add(self) -> None:
        if self._ok.isEnabled():
            self._ok.setEnabled(False)
            self._ok.setText(tr("Adding…"))
            self._tasks.start(self._work(self._field.text().strip()), "add")

    async def _work(self, text: str) -> None:
        try:
            info = await self._catalog.add_source(text)
        finally:
            self._ok.setText(tr("Add source"))
            self._ok.setEnabled(True)
        self.added.emit(info.id)
        self.accept()

    def _tell(self, error: KitStudioError) -> None:
        self._what.setText(visible(error.what))
        self._what.show()
        self._remedy.setText(visible(error.remedy))
        self._remedy.setVisible(bool(error.remedy))
        self._where.text = error.where
        self._where.setVisible(bool(error.where))
        self._where.updateGeometry()
        self._field.setFocus()
