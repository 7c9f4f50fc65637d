"""The set's file, to be dragged into another application: the file where it is saved, else its text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDrag, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QToolButton, QWidget

from kitstudio.services.composition import Composition
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import give_icon
from kitstudio.ui.widgets.text import tr


class FileHandle(QToolButton):
    """Drag it out; a click or a key opens the menu that does the same through the clipboard."""

    def __init__(self, theme: Theme, value: Callable[[], Composition], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._value = theme, value
        self._pressed: QPoint | None = None
        self.setObjectName("fileHandle")
        self.setProperty("kind", "flat")
        self.setProperty("small", True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr("The set as a file"))
        self.setToolTip(tr("Drag the set into another application, or click to copy it"))
        give_icon(theme, self, "file", 16, Token.SECONDARY)
        self.clicked.connect(self.show_menu)

    def data(self) -> QMimeData:
        """What a drag carries: a saved file as itself, and the text in any case."""
        value = self._value()
        data = QMimeData()
        data.setText(value.state.text)
        data.setData("application/yaml", value.state.text.encode())
        if value.path is not None and not value.dirty:
            data.setUrls([QUrl.fromLocalFile(str(value.path))])
        return data

    def show_menu(self) -> QMenu:
        """Copy the text, copy the path."""
        value = self._value()
        menu = QMenu(self)
        menu.setObjectName("fileHandleMenu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = menu.addAction(tr("Copy the set as text"))
        text.setObjectName("copy-text")
        text.triggered.connect(lambda: QGuiApplication.clipboard().setText(value.state.text))
        path = menu.addAction(tr("Copy the file’s path"))
        path.setObjectName("copy-path")
        path.setEnabled(value.path is not None)
        path.triggered.connect(lambda: QGuiApplication.clipboard().setText(str(value.path)))
        menu.popup(self.mapToGlobal(self.rect().bottomLeft()))
        return menu

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().toPoint() if event.button() is Qt.MouseButton.LeftButton else None
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        far = QApplication.startDragDistance()
        if self._pressed is None or (event.position().toPoint() - self._pressed).manhattanLength() < far:
            return
        self._pressed = None
        self.setDown(False)
        drag = QDrag(self)
        drag.setMimeData(self.data())
        drag.setPixmap(self._theme.pixmap("file", 20, Token.ACCENT))
        drag.exec(Qt.DropAction.CopyAction)
