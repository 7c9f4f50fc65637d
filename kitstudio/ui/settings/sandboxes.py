"""Sandbox defaults: memory, processors, acceleration, workspace folder."""

from __future__ import annotations

from PySide6.QtWidgets import QFileDialog, QSpinBox

from kitstudio.ui.fonts import Type
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.widgets import Elided, Segmented, button
from kitstudio.ui.widgets.text import tr


class SandboxesSection(SettingsSection):
    """Used where the set states nothing itself."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context, tr("Sandbox defaults"), tr("Used where the set states nothing itself."))
        settings = context.settings
        self._memory = self._number("sandbox.memory", "setting-memory", tr("Memory in MiB"), 1_048_576)
        self._memory.setSingleStep(512)
        self._memory.setSuffix(" MiB")
        self.add(tr("Memory"), tr("Of each new sandbox."), self._memory)
        self._cpus = self._number("sandbox.cpus", "setting-cpus", tr("Processors"), 256)
        self.add(tr("Processors"), tr("Of each new sandbox."), self._cpus)
        self._idle = self._number("sandbox.idle_minutes", "setting-idle", tr("Minutes without a session"), 525_600)
        self._idle.setSpecialValueText(tr("Never"))
        self._idle.setSuffix(tr(" minutes"))
        about = tr("Without a terminal, command or connection. A set with “long-running” is never stopped.")
        self.add(tr("Stop when idle"), about, self._idle)
        choices = [("", tr("Find out"), ""), ("kvm", "KVM", ""), ("tcg", tr("Software"), "")]
        self._accel = Segmented(self.theme, choices, tr("Acceleration"))
        self._accel.choose(settings.text("sandbox.accel"))
        self._accel.chosen.connect(lambda key: context.set("sandbox.accel", key, tr("Choose the acceleration")))
        self.add(tr("Acceleration"), tr("What was found on this computer is below."), self._accel)
        choose = button(self.theme, tr("Choose…"), "folder", name="setting-workspace")
        choose.clicked.connect(self._choose_workspace)
        reset = button(self.theme, tr("None"), name="setting-workspace-none")
        reset.setAccessibleName(tr("No workspace folder"))
        reset.clicked.connect(lambda: context.set("sandbox.workspace", "", tr("No workspace folder")))
        self._workspace = Elided(settings.text("sandbox.workspace") or tr("None"), Type.MONO)
        self._workspace.setMaximumWidth(self.theme.px(320))
        about = tr("Offered at launch; the sandbox sees only this folder.")
        self.add(tr("Workspace folder"), about, self._workspace, choose, reset)

    def changed(self, key: str) -> None:
        settings = self.context.settings
        if key == "sandbox.memory":
            self._memory.setValue(settings.number(key))
        elif key == "sandbox.cpus":
            self._cpus.setValue(settings.number(key))
        elif key == "sandbox.idle_minutes":
            self._idle.setValue(settings.number(key))
        elif key == "sandbox.accel":
            self._accel.choose(settings.text(key))
        elif key == "sandbox.workspace":
            self._workspace.show_text(settings.text(key) or tr("None"))

    def _number(self, key: str, name: str, words: str, most: int) -> QSpinBox:
        made = QSpinBox()
        made.setObjectName(name)
        made.setAccessibleName(words)
        made.setRange(0, most)
        made.setSpecialValueText(tr("As the set says"))
        made.setValue(self.context.settings.number(key))
        made.setMinimumWidth(self.theme.px(150))
        made.lineEdit().setTextMargins(6, 0, 0, 0)
        made.editingFinished.connect(lambda: self.context.set(key, made.value(), words))
        return made

    def _choose_workspace(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Workspace folder"))
        if folder:
            self.context.set("sandbox.workspace", folder, tr("Choose the workspace folder"))
