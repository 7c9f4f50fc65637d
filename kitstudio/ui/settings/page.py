"""Settings: one scrolling page, a list at the left that jumps. Nothing waits for an Apply button."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.services.caches import Cache, clear_layers, measure
from kitstudio.services.catalog import SourceKind
from kitstudio.services.doctor import Check, Verdict, examine
from kitstudio.ui.catalog.add_source import AddSourceDialog
from kitstudio.ui.catalog.sources import ICONS, source_detail
from kitstudio.ui.fonts import Type
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.page import Page
from kitstudio.ui.settings.rows import Section
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import TEXT_SCALES, Mode, Theme, Token
from kitstudio.ui.widgets import Icon, Segmented, button, column, line, row, set_ground, text_label
from kitstudio.ui.widgets.text import counted, size_text, tr

VERDICTS = {
    Verdict.OK: ("success", Token.SUCCESS),
    Verdict.WARN: ("notice", Token.NOTICE),
    Verdict.FAIL: ("critical", Token.CRITICAL),
}


class SettingsPage(Page):
    """Appearance, sandbox defaults, catalogs, approvals, caches, this computer."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self.setAccessibleName(tr("Settings"))
        set_ground(self, "surface")
        self._tasks = Tasks(self, self._failed)
        self._loop_runs = False
        self._checked = False
        self._sections: dict[str, Section] = {}
        self._list = QListWidget()
        self._list.setObjectName("settings-list")
        self._list.setAccessibleName(tr("Subjects"))
        self._list.setFixedWidth(theme.px(216))
        self._list.currentRowChanged.connect(self._jump)
        self._body = QWidget()
        self._column = QVBoxLayout(self._body)
        self._column.setContentsMargins(theme.px(32), theme.px(20), theme.px(32), theme.px(32))
        self._column.setSpacing(theme.px(24))
        self._build()
        self._column.addStretch(1)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._body.setMaximumWidth(theme.px(968))
        self._area.setWidget(self._body)
        left = column(self._list, spacing=0, margins=(8, 12, 8, 8))
        layout = row(spacing=0)
        layout.addLayout(left)
        layout.addWidget(line(vertical=True))
        layout.addWidget(self._area, 1)
        self.setLayout(layout)
        self._list.setCurrentRow(0)
        theme.changed.connect(self._redress)
        self.destroyed.connect(studio.catalog.changed.subscribe(lambda _: self._draw_sources()))

    def title(self) -> str:
        return tr("Settings")

    async def opened(self) -> None:
        self.status_changed.emit("success", tr("Settings apply at once and are saved"))
        self._loop_runs = True
        if self.isVisible():
            self._look()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look()

    def _look(self) -> None:
        """Measure and check when the page is looked at, not at every start of the program."""
        if not self._loop_runs:
            return
        self._tasks.start(self._draw_caches(), "caches")
        if not self._checked:
            self._checked = True
            self._tasks.start(self._draw_machine(), "machine")

    def _build(self) -> None:
        appearance = self._section("eye", tr("Appearance"))
        modes = Segmented(
            self.theme,
            [(Mode.SYSTEM, tr("System"), ""), (Mode.LIGHT, tr("Light"), ""), (Mode.DARK, tr("Dark"), "")],
            tr("Theme"),
        )
        modes.setObjectName("setting-theme")
        modes.choose(self.studio.settings.text("ui.theme"))
        modes.chosen.connect(self._choose_theme)
        appearance.add(tr("Theme"), tr("System follows the desktop, also when it changes."), modes)
        scales = QComboBox()
        scales.setObjectName("setting-text-scale")
        scales.setAccessibleName(tr("Text size"))
        for scale in TEXT_SCALES:
            scales.addItem(f"{round(scale * 100)} %", scale)
        scales.setCurrentIndex(max(0, scales.findData(self.theme.scale)))
        scales.activated.connect(lambda index: self._choose_scale(scales.itemData(index)))
        appearance.add(tr("Text size"), tr("Everything grows with it."), scales)
        self._build_sandboxes()
        self._sections["catalogs"] = catalogs = self._section(
            "catalog", tr("Catalogs"), tr("No request leaves before a network source is opened for the first time.")
        )
        add = button(self.theme, tr("Add a source"), "plus", name="settings-add-source")
        add.clicked.connect(self._add_source)
        catalogs.action(add)
        self._draw_sources()
        approvals = self._section("approvals", tr("When a Kit changes"))
        approvals.add(
            tr("Ask before anything that asks for more"),
            tr("Always on; this one can’t be turned off."),
            Icon(self.theme, "lock", 16),
            text_label(tr("On"), Type.SMALL, "secondary"),
        )
        self._sections["caches"] = self._section("storage", tr("Caches"))
        self._sections["caches"].add(tr("Measuring…"), "")
        again = button(self.theme, tr("Check again"), "refresh", name="settings-check")
        again.clicked.connect(lambda: self._tasks.start(self._draw_machine(), "machine"))
        self._sections["machine"] = machine = self._section(
            "memory", tr("This computer"), tr("What is here for running sandboxes, and how to get what is missing.")
        )
        machine.action(again)
        machine.add(tr("Looking…"), tr("Acceleration is found out by really booting a machine."))

    def _build_sandboxes(self) -> None:
        settings = self.studio.settings
        section = self._section("sandboxes", tr("Sandbox defaults"), tr("Used where the set states nothing itself."))
        memory = QSpinBox()
        memory.setObjectName("setting-memory")
        memory.setAccessibleName(tr("Memory in MiB"))
        memory.setRange(0, 1_048_576)
        memory.setSingleStep(512)
        memory.setSuffix(" MiB")
        memory.setSpecialValueText(tr("As the set says"))
        memory.setValue(settings.number("sandbox.memory"))
        memory.setMinimumWidth(self.theme.px(150))
        memory.lineEdit().setTextMargins(6, 0, 0, 0)
        memory.editingFinished.connect(lambda: self._set("sandbox.memory", memory.value()))
        section.add(tr("Memory"), tr("Of each new sandbox."), memory)
        cpus = QSpinBox()
        cpus.setObjectName("setting-cpus")
        cpus.setAccessibleName(tr("Processors"))
        cpus.setRange(0, 256)
        cpus.setSpecialValueText(tr("As the set says"))
        cpus.setValue(settings.number("sandbox.cpus"))
        cpus.setMinimumWidth(self.theme.px(150))
        cpus.lineEdit().setTextMargins(6, 0, 0, 0)
        cpus.editingFinished.connect(lambda: self._set("sandbox.cpus", cpus.value()))
        section.add(tr("Processors"), tr("Of each new sandbox."), cpus)
        accel = Segmented(
            self.theme,
            [("", tr("Find out"), ""), ("kvm", "KVM", ""), ("tcg", tr("Software"), "")],
            tr("Acceleration"),
        )
        accel.choose(settings.text("sandbox.accel"))
        accel.chosen.connect(lambda key: self._set("sandbox.accel", key))
        section.add(tr("Acceleration"), tr("What was found on this computer is below."), accel)
        choose = button(self.theme, tr("Choose…"), "folder", name="setting-workspace")
        reset = button(self.theme, tr("None"), name="setting-workspace-none")
        held = self.studio.settings.text("sandbox.workspace")
        self._workspace = text_label(held or tr("None"), Type.MONO)
        choose.clicked.connect(self._choose_workspace)
        reset.clicked.connect(lambda: self._use_workspace(""))
        section.add(
            tr("Workspace folder"),
            tr("Offered at launch; the sandbox sees only this folder."),
            self._workspace,
            choose,
            reset,
        )

    def _section(self, icon: str, title: str, about: str = "") -> Section:
        made = Section(self.theme, title, about)
        self._column.addWidget(made)
        item = QListWidgetItem(self.theme.icon(icon, 20, Token.SECONDARY), title)
        item.setData(Qt.ItemDataRole.UserRole, icon)
        item.setSizeHint(QSize(0, self.theme.px(34)))
        self._list.addItem(item)
        self._order = [*getattr(self, "_order", []), made]
        return made

    def _redress(self) -> None:
        for at in range(self._list.count()):
            item = self._list.item(at)
            item.setIcon(self.theme.icon(item.data(Qt.ItemDataRole.UserRole), 20, Token.SECONDARY))
            item.setSizeHint(QSize(0, self.theme.px(34)))

    def _jump(self, index: int) -> None:
        if 0 <= index < len(self._order) and hasattr(self, "_area"):
            self._area.verticalScrollBar().setValue(self._order[index].y() - self.theme.px(20))

    def _set(self, key: str, value: object) -> None:
        try:
            self.studio.settings.set(key, value)
        except KitStudioError as error:
            self._failed(error)

    def _choose_theme(self, key: str) -> None:
        self._set("ui.theme", key)
        self.theme.choose(mode=Mode(key))

    def _choose_scale(self, scale: float) -> None:
        self._set("ui.text_scale", scale)
        self.theme.choose(scale=scale)

    def _choose_workspace(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Workspace folder"))
        if folder:
            self._use_workspace(folder)

    def _use_workspace(self, folder: str) -> None:
        self._set("sandbox.workspace", folder)
        self._workspace.setText(folder or tr("None"))

    def _add_source(self) -> None:
        AddSourceDialog(self.theme, self.studio.catalog, self.window()).open()

    def _draw_sources(self) -> None:
        section = self._sections["catalogs"]
        state = tuple((source.id, source.title, source_detail(source)) for source in self.studio.catalog.sources())
        if getattr(self, "_sources_drawn", None) == state:
            return
        self._sources_drawn = state
        section.clear()
        for source in self.studio.catalog.sources():
            controls: list[QWidget] = []
            if source.kind is not SourceKind.DEMO:
                remove = button(self.theme, tr("Remove"), kind="link", name=f"remove-{source.id}")
                remove.setAccessibleName(tr("Remove {name}").format(name=source.title))
                remove.clicked.connect(self._remover(source.id))
                controls.append(remove)
            section.add(source.title, source_detail(source), *controls, icon=ICONS[source.kind])

    def _remover(self, source: str) -> Callable[[], None]:
        def remove() -> None:
            self._tasks.start(self.studio.catalog.remove_source(source))

        return remove

    async def _draw_caches(self) -> None:
        caches = await measure(self.studio.home)
        in_use = len(self.studio.sandboxes.list())
        section = self._sections["caches"]
        section.clear()
        for cache in caches:
            controls: list[QWidget] = [text_label(size_text(cache.size), Type.BODY, "secondary")]
            about = cache.about
            if cache.clearable:
                clear = button(self.theme, tr("Clear"), "trash", small=True, name=f"clear-{cache.name}")
                clear.setEnabled(bool(cache.size) and not in_use)
                clear.clicked.connect(lambda _=False, cache=cache: self._clear(cache))
                controls.append(clear)
                if in_use:
                    about += " " + tr("In use by {n}.").format(n=counted(in_use, "sandbox", "sandboxes"))
            section.add(cache.title, about, *controls)

    def _clear(self, cache: Cache) -> None:
        question = QMessageBox(self.window())
        question.setObjectName("clear-question")
        question.setWindowTitle(tr("Clear the cache"))
        question.setText(tr("Clear {size} of {name}?").format(size=size_text(cache.size), name=cache.title.lower()))
        question.setInformativeText(cache.about)
        yes = question.addButton(tr("Clear"), QMessageBox.ButtonRole.DestructiveRole)
        question.addButton(tr("Keep"), QMessageBox.ButtonRole.RejectRole)
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.buttonClicked.connect(
            lambda pressed: self._tasks.start(self._clear_now(), "clear") if pressed is yes else None
        )
        question.open()

    async def _clear_now(self) -> None:
        if not self.studio.sandboxes.list():
            await clear_layers(self.studio.home)
        await self._draw_caches()

    async def _draw_machine(self) -> None:
        section = self._sections["machine"]
        checks: tuple[Check, ...] = await examine(self.studio)
        section.clear()
        for check in checks:
            icon, ink = VERDICTS[check.verdict]
            about = f"{check.detail} {check.remedy}".strip()
            section.add(_check_title(check.name), about, icon=icon, ink=ink)

    def _failed(self, error: KitStudioError) -> None:
        tell = getattr(self.window(), "tell_error", None)
        if tell is not None:
            tell(error)


def _check_title(name: str) -> str:
    """A capital for words, none for the names of programs."""
    if name == "qemu":
        return "QEMU"
    return name if any(letter.isdigit() for letter in name) else name[:1].upper() + name[1:]
