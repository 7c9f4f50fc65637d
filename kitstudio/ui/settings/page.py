"""Settings: one scrolling page, a list at the left that jumps. Nothing waits for an Apply button."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QShowEvent, QUndoStack
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.page import Page
from kitstudio.ui.settings import standard
from kitstudio.ui.settings.section import SettingsContext, SettingsSection, subjects
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import column, line, row, set_ground
from kitstudio.ui.widgets.text import tr

standard.register_all()


class SettingsPage(Page):
    """Every subject of ``section.subjects()``."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self.setAccessibleName(tr("Settings"))
        set_ground(self, "surface")
        self.undo_stack = QUndoStack(self)
        self._tasks = Tasks(self, self._failed)
        self._loop_runs = False
        self._following = True
        context = SettingsContext(studio, theme, navigator, self._tasks, self.undo_stack, self._failed)
        self.sections: dict[str, SettingsSection] = {}
        self.list = QListWidget()
        self.list.setObjectName("settings-list")
        self.list.setAccessibleName(tr("Subjects"))
        self.list.setFixedWidth(theme.px(216))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(theme.px(32), theme.px(20), theme.px(32), theme.px(32))
        self._column.setSpacing(theme.px(28))
        for subject in subjects():
            made = subject.build(context)
            self.sections[subject.key] = made
            self._column.addWidget(made)
            item = QListWidgetItem(made.accessibleName())
            item.setData(Qt.ItemDataRole.UserRole, subject.icon)
            item.setData(Qt.ItemDataRole.UserRole + 1, subject.key)
            item.setToolTip(made.accessibleName())
            self.list.addItem(item)
        self._column.addStretch(1)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._body = body
        self.area.setWidget(body)
        layout = row(spacing=0)
        layout.addLayout(column(self.list, spacing=0, margins=(8, 12, 8, 8)))
        layout.addWidget(line(vertical=True))
        layout.addWidget(self.area, 1)
        self.setLayout(layout)
        self._redress()
        self.list.setCurrentRow(0)
        self.list.currentRowChanged.connect(lambda _: self._jump())
        self.list.itemClicked.connect(lambda _: self._jump())
        self.area.verticalScrollBar().valueChanged.connect(self._follow)
        theme.changed.connect(self._redress)

    def title(self) -> str:
        return tr("Settings")

    async def opened(self) -> None:
        self.status_changed.emit("success", tr("Settings apply at once and are saved"))
        self._loop_runs = True
        if self.isVisible():
            self._look()

    def save_state(self) -> dict[str, str]:
        item = self.list.currentItem()
        return {"subject": str(item.data(Qt.ItemDataRole.UserRole + 1))} if item is not None else {}

    def restore_state(self, state: dict[str, str]) -> None:
        for at in range(self.list.count()):
            if self.list.item(at).data(Qt.ItemDataRole.UserRole + 1) == state.get("subject"):
                self.list.setCurrentRow(at)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look()
        self._jump()

    def _look(self) -> None:
        """Measure and ask when the page is looked at, not at every start of the program."""
        if self._loop_runs:
            for section in self.sections.values():
                section.look()

    def _redress(self) -> None:
        self._body.setMaximumWidth(self.theme.px(968))
        self.list.setFixedWidth(self.theme.px(216))
        for at in range(self.list.count()):
            item = self.list.item(at)
            item.setIcon(self.theme.icon(item.data(Qt.ItemDataRole.UserRole), 20, Token.SECONDARY))
            item.setSizeHint(QSize(0, self.theme.px(34)))

    def _jump(self) -> None:
        shown = list(self.sections.values())
        index = self.list.currentRow()
        if not 0 <= index < len(shown):
            return
        self._body.adjustSize()
        self._following = False
        self.area.verticalScrollBar().setValue(shown[index].y() - self.theme.px(20))
        self._following = True

    def _follow(self, value: int) -> None:
        """Scrolling by hand moves the mark of the list along."""
        if not self._following:
            return
        bar = self.area.verticalScrollBar()
        shown = list(self.sections.values())
        at = len(shown) - 1 if value == bar.maximum() else 0
        if value != bar.maximum():
            at = max((n for n, s in enumerate(shown) if s.y() - self.theme.px(60) <= value), default=0)
        self.list.blockSignals(True)
        self.list.setCurrentRow(at)
        self.list.blockSignals(False)

    def _failed(self, error: KitStudioError) -> None:
        tell = getattr(self.window(), "tell_error", None)
        if tell is not None:
            tell(error)
