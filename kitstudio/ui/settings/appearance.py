"""Appearance: theme and text size."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox

from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.theme import TEXT_SCALES, Mode
from kitstudio.ui.widgets import Segmented
from kitstudio.ui.widgets.text import tr


class AppearanceSection(SettingsSection):
    """What is chosen is dressed at once; undoing it undresses it."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context, tr("Appearance"))
        modes = [(Mode.SYSTEM, tr("System"), ""), (Mode.LIGHT, tr("Light"), ""), (Mode.DARK, tr("Dark"), "")]
        self._modes = Segmented(self.theme, modes, tr("Theme"))
        self._modes.setObjectName("setting-theme")
        self._modes.choose(context.settings.text("ui.theme"))
        self._modes.chosen.connect(lambda key: context.set("ui.theme", key, tr("Choose a theme")))
        self.add(tr("Theme"), tr("System follows the desktop, also when it changes."), self._modes)
        self._scales = QComboBox()
        self._scales.setObjectName("setting-text-scale")
        self._scales.setAccessibleName(tr("Text size"))
        for scale in TEXT_SCALES:
            self._scales.addItem(f"{round(scale * 100)} %", scale)
        self._scales.setCurrentIndex(max(0, self._scales.findData(self.theme.scale)))
        self._scales.activated.connect(
            lambda index: context.set("ui.text_scale", self._scales.itemData(index), tr("Choose a text size"))
        )
        self.add(tr("Text size"), tr("Everything grows with it."), self._scales)

    def changed(self, key: str) -> None:
        settings = self.context.settings
        if key == "ui.theme":
            self._modes.choose(settings.text(key))
            self.theme.choose(mode=Mode(settings.text(key)))
        elif key == "ui.text_scale":
            scale = float(str(settings.get(key)))
            self._scales.setCurrentIndex(max(0, self._scales.findData(scale)))
            self.theme.choose(scale=scale)
