"""This computer: what is here for running sandboxes, found out when the page is first looked at."""

from __future__ import annotations

from kitstudio.services.doctor import Verdict, examine
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets import button
from kitstudio.ui.widgets.text import tr

VERDICTS = {
    Verdict.OK: ("success", Token.SUCCESS),
    Verdict.WARN: ("notice", Token.NOTICE),
    Verdict.FAIL: ("critical", Token.CRITICAL),
}


class MachineSection(SettingsSection):
    """One row a check, with the remedy where one is needed."""

    def __init__(self, context: SettingsContext) -> None:
        about = tr("What is here for running sandboxes, and how to get what is missing.")
        super().__init__(context, tr("This computer"), about)
        self._looked = False
        again = button(self.theme, tr("Check again"), "refresh", name="settings-check")
        again.clicked.connect(self._start)
        self.action(again)
        self.add(tr("Looking…"), tr("Acceleration is found out by really booting a machine."))

    def look(self) -> None:
        if not self._looked:
            self._looked = True
            self._start()

    def _start(self) -> None:
        self.context.tasks.start(self._examine(), "machine")

    async def _examine(self) -> None:
        checks = await examine(self.studio)
        self.clear()
        for check in checks:
            icon, ink = VERDICTS[check.verdict]
            self.add(_title(check.name), f"{check.detail} {check.remedy}".strip(), icon=icon, ink=ink)


def _title(name: str) -> str:
    """A capital for words, none for the names of programs."""
    if name == "qemu":
        return "QEMU"
    return name if any(letter.isdigit() for letter in name) else name[:1].upper() + name[1:]
