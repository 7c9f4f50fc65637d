"""From the set to a sandbox: name and folder, the gate, the launch; and the gate again after a replacement."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import LaunchOptions
from kitstudio.services.app import Studio
from kitstudio.services.composition import Composition, JudgedPlan
from kitstudio.ui.approvals.desk import desk_of
from kitstudio.ui.composer.launch_dialog import LaunchDialog
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr


class Launching(QObject):
    """``told(icon, lead, words)`` is what the page says below its tool bar."""

    told = Signal(str, str, str)

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, tasks: Tasks, owner: QWidget) -> None:
        super().__init__(owner)
        self._studio, self._theme, self._navigator = studio, theme, navigator
        self._tasks, self._owner = tasks, owner

    def ask(self) -> None:
        """Ask name and folder, then go through the gate."""
        value = self._studio.composer.value
        if not value.plan.launchable:
            return
        taken = {status.name for status in self._studio.sandboxes.list()}
        skipped = [choice for choice in value.plan.choices if not choice.supported]
        note = ""
        if skipped:
            note = tr("Left out, because this version does not enforce it: {types}").format(
                types=", ".join(sorted({kind for choice in skipped for kind in choice.types}))
            )
        dialog = LaunchDialog(self._theme, value.name, taken, note, self._owner)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.chosen.connect(lambda options: self._tasks.start(self.launch(options), "launch"))
        dialog.open()

    async def launch(self, options: LaunchOptions) -> None:
        """Through the gate, then to the Sandboxes page."""
        if options.workspace is not None and not await asyncio.to_thread(options.workspace.is_dir):
            raise KitStudioError(
                "The workspace folder is not there.",
                where=str(options.workspace),
                remedy="Choose a folder that exists.",
            )
        value = self._studio.composer.value
        plan, off = value.plan, await self._studio.ungrantable(value.plan)
        if off and isinstance(plan, JudgedPlan):
            plan = self._studio.judgement.again(plan, off)
        request = await self._studio.approvals.request(lock_name(value), plan)
        approved = await desk_of(self._studio, self._theme, self._owner).ask(request)
        if approved is None:
            words = tr("Nothing was granted. What you left undecided waits under Approvals.")
            self.told.emit("info", tr("Not launched."), words)
            return
        if off:
            left = tr("Optional, and nothing on this computer could grant it: {places}").format(places=", ".join(off))
            self.told.emit("info", tr("Left out of the sandbox."), left)
        self._studio.sandboxes.launch(approved, options)
        self._navigator.show_sandbox.emit(options.name)

    async def propose(self, steps: QUndoStack) -> None:
        """After a replacement in a set that was approved: the gate says at once whether it asks for more."""
        before = steps.index()
        value = await self._studio.composer.settled()
        approvals = self._studio.approvals
        name = lock_name(value)
        if not value.plan.launchable or await approvals.lock(name) is None:
            return
        request = await approvals.request(name, value.plan)
        if not request.review.widens:
            self.told.emit("success", tr("Nothing more is asked for."), tr("It stays within what you approved."))
            return
        approved = await desk_of(self._studio, self._theme, self._owner).ask(request)
        if approved is not None:
            self.told.emit("success", tr("Approved."), tr("The next launch uses it."))
        elif request not in approvals.waiting() and steps.index() == before:
            steps.undo()
            self.told.emit("info", tr("Kept as it was."), tr("The replacement was taken back."))
        else:
            self.told.emit("info", tr("Not decided."), tr("It waits under Approvals; nothing was granted."))


def lock_name(composition: Composition) -> str:
    """The name locks of this set go by: the file's, with nothing in it a lock may not have."""
    allowed = "".join(
        char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in composition.name
    )
    return allowed.strip("-._")[:63] or "untitled"
