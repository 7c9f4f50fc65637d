"""Shared skills: whether sandboxes see the person's own skills, and whether they may change them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.settings.fields import TextSetting
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets import Icon, Segmented, button, holder, row, text_label
from kitstudio.ui.widgets.text import counted, tr, visible

OFF, READONLY, READWRITE = "off", "readonly", "readwrite"
MOST_COUNTED = 10_000


class SkillsSection(SettingsSection):
    """Off, read-only or read-write; the folder; what is in it."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Shared skills"),
            tr(
                "Show your own skills to agents whose Kits look for some. A sandbox gets what this setting and its Kit "
                "both allow. Skills that Kits ship are shown in any case. A change counts for new sandboxes."
            ),
        )
        choices = [(OFF, tr("Off"), ""), (READONLY, tr("Read-only"), ""), (READWRITE, tr("Read and write"), "")]
        self.mode = Segmented(self.theme, choices, tr("Shared skills"))
        self.mode.setObjectName("setting-skills-mode")
        self.mode.choose(context.settings.text("skills.mode"))
        self.mode.chosen.connect(self._choose_mode)
        self.add(tr("Sandboxes may"), tr("Writing needs a Kit that asks for it, and your approval of it."), self.mode)
        self.folder = TextSetting(context, "skills.folder", tr("Folder of your skills"), "/home/you/skills")
        choose = button(self.theme, tr("Choose…"), "folder", name="choose-skills")
        choose.setAccessibleName(tr("Choose the folder of your skills"))
        choose.clicked.connect(self._choose_folder)
        self.open = button(self.theme, tr("Open"), name="open-skills")
        self.open.setAccessibleName(tr("Open the folder of your skills"))
        self.open.clicked.connect(lambda: self.context.tasks.start(self._open_folder(), "open-skills"))
        about = tr("One folder for each skill, with its SKILL.md.")
        self.add(tr("Folder"), about, self.folder, choose, self.open)
        self._icon = Icon(self.theme, "info", 16, Token.SECONDARY)
        self.state = text_label(tr("Looking…"), Type.SMALL, "secondary", wrap=True)
        self.state.setObjectName("skills-state")
        note = row(spacing=self.theme.px(8))
        note.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        note.addWidget(self.state, 1)
        self.below(holder(note))
        self.open.setEnabled(bool(context.settings.text("skills.folder")))

    def look(self) -> None:
        self.context.tasks.start(self._count(), "skills")

    def changed(self, key: str) -> None:
        if key in ("skills.mode", "skills.folder"):
            self.mode.choose(self.context.settings.text("skills.mode"))
            self.open.setEnabled(bool(self.context.settings.text("skills.folder")))
            self.look()

    def _choose_mode(self, key: str) -> None:
        kept = self.context.settings.text("skills.mode")
        if key != READWRITE or kept == READWRITE:
            self._set_mode(key)
            return
        self.mode.choose(kept)
        dialog = ConfirmDialog(
            self.theme,
            tr("Let sandboxes change your skills?"),
            tr(
                "A sandbox whose Kit asks for it and was approved may then add, change and delete files in the folder. "
                "Agents in other sandboxes follow what they read there."
            ),
            tr("Let them write"),
            self.window(),
        )
        dialog.confirmed.connect(lambda: self._set_mode(READWRITE))
        dialog.open()

    def _set_mode(self, key: str) -> None:
        self.context.set("skills.mode", key, tr("Choose how skills are shared"))
        self.mode.choose(self.context.settings.text("skills.mode"))

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Folder of your skills"))
        if folder:
            self.context.set("skills.folder", folder, tr("Choose the folder of skills"))

    async def _open_folder(self) -> None:
        folder = Path(self.context.settings.text("skills.folder")).expanduser()
        if await asyncio.to_thread(folder.is_dir):
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
        else:
            raise KitStudioError("The folder is not there.", where=str(folder))

    async def _count(self) -> None:
        mode, text = (self.context.settings.text(key) for key in ("skills.mode", "skills.folder"))
        if not text:
            words = tr("No folder is chosen, so there is nothing to show.")
            self._tell("info" if mode == OFF else "notice", words, mode != OFF)
            return
        found = await asyncio.to_thread(_skills_in, Path(text).expanduser())
        if isinstance(found, str):
            self._tell("notice", tr("The folder cannot be read: {why}.").format(why=found), True)
        elif not found:
            self._tell("info", tr("No skill is in the folder: no folder below it has a SKILL.md."), False)
        else:
            words = counted(found, "skill", "skills")
            shown = {
                OFF: tr("{count} here; sandboxes do not see them."),
                READONLY: tr("{count} here; new sandboxes may read them."),
                READWRITE: tr("{count} here; new sandboxes may read them, and change them if their Kit asks for it."),
            }[mode]
            self._tell("info" if mode == OFF else "success", shown.format(count=words), False)

    def _tell(self, icon: str, words: str, warn: bool) -> None:
        self.state.setText(visible(words))
        ink = Token.SUCCESS if icon == "success" else Token.NOTICE if warn else Token.SECONDARY
        self._icon.show_icon(icon, ink)


def _skills_in(folder: Path) -> int | str:
    """How many folders hold a SKILL.md, or why that cannot be known."""
    found = seen = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_COUNTED:
                    break
                found += entry.is_dir() and Path(entry.path, "SKILL.md").is_file()
    except OSError as error:
        return error.strerror or "it cannot be listed"
    return found
