"""What came of the tour: the steps, and where the pictures are."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import ExactEntry, Icon, button, column, row, text_label
from kitstudio.ui.widgets.text import tr, visible


class TourDialog(QDialog):
    """Every step with its mark; a failed one with its reason."""

    def __init__(self, theme: Theme, summary: dict[str, object], out: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tour-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("The tour"))
        self.setMinimumWidth(theme.px(480))
        found = summary.get("steps")
        steps = found if isinstance(found, list) else []
        title = tr("The tour is done") if summary.get("ok") else tr("The tour stopped early")
        body = column(text_label(title, Type.HEADING), spacing=theme.px(8), margins=(24, 24, 24, 20))
        for step in steps:
            error = str(step.get("error", ""))
            mark = Icon(theme, "critical", 16, Token.CRITICAL) if error else Icon(theme, "success", 16, Token.SUCCESS)
            name = str(step["name"])
            body.addLayout(row(mark, text_label(name[:1].upper() + name[1:]), None))
            if error:
                body.addWidget(text_label(visible(error), Type.SMALL, "critical", wrap=True))
        body.addSpacing(theme.px(4))
        body.addWidget(text_label(tr("Pictures of every step:"), Type.SMALL, "secondary"))
        body.addWidget(ExactEntry(theme, str(out)))
        pictures = button(theme, tr("Open the folder"), "folder", name="tour-pictures")
        pictures.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(out))))
        close = button(theme, tr("Close"), kind="primary", name="tour-close")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        body.addSpacing(theme.px(8))
        body.addLayout(row(None, pictures, close))
        self.setLayout(body)
        close.setFocus()
