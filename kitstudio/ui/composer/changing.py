"""Changing the set of a sandbox that exists: its set comes into the composer, and launching it changes that sandbox.

What recreation drops is listed before the gate is asked, and the gate before anything is touched.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import DescriptorError
from kitstudio.models.lock import Lock
from kitstudio.services.app import Studio
from kitstudio.services.set_changes import SandboxSet, losses
from kitstudio.ui.approvals.desk import desk_of
from kitstudio.ui.composer.edits import Edits
from kitstudio.ui.composer.files import SetFiles
from kitstudio.ui.navigator import Navigator, PageName
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr, visible


class Changing(QObject):
    """``told(icon, lead, words)`` as of the other parts of the page."""

    told = Signal(str, str, str)

    def __init__(
        self,
        studio: Studio,
        theme: Theme,
        navigator: Navigator,
        files: SetFiles,
        edits: Edits,
        tasks: Tasks,
        owner: QWidget,
    ) -> None:
        super().__init__(owner)
        self._studio, self._theme, self._navigator = studio, theme, navigator
        self._files, self._edits, self._tasks, self._owner = files, edits, tasks, owner
        self._sandbox = ""
        self._lock: Lock | None = None
        files.another.connect(self.end)

    @property
    def sandbox(self) -> str:
        """The sandbox that launching changes; empty: launching makes a new one."""
        return self._sandbox

    def begin(self, change: SandboxSet) -> None:
        """Show the set of a sandbox in place of what is there, after a question where something would be lost."""
        self._navigator.go.emit(PageName.COMPOSER)
        if self._sandbox == change.sandbox and self._lock == change.lock:
            self._go_on(change)
            return
        self._files.take(change.state, change.lock.name, lambda: self._go_on(change))

    def end(self) -> None:
        """Another document: launching it makes a new sandbox."""
        self._sandbox, self._lock = "", None

    def ask(self) -> None:
        """List what recreation drops; the gate and the change only after a yes."""
        value = self._studio.composer.value
        if self._lock is None or not value.plan.launchable:
            return
        try:
            found = losses(self._lock, value.plan)
        except DescriptorError as error:
            self.told.emit("critical", tr("The set is not coherent."), visible(error.what))
            return
        changes = "\n".join(f"•  {visible(each)}" for each in found) or "•  " + tr("nothing: it is the set it had")
        words = tr(
            "The sandbox is made anew from this set. What is different then:\n{changes}\n\n"
            "Dropped: its disk, with everything written outside the workspace folder and its own storage; programs and "
            "terminals that run now. Install hooks run again.\n"
            "Kept: workspace folder, shared folders, storage at paths that are asked for as before.\n\n"
            "What is asked for beyond what you approved is shown to you next."
        ).format(changes=changes)
        sandbox = self._sandbox
        title = tr("Recreate {name} with the changed set?").format(name=sandbox)
        dialog = ConfirmDialog(self._theme, title, words, tr("Go on"), self._owner)
        dialog.confirmed.connect(lambda: self._tasks.start(self._change(sandbox), "change"))
        dialog.open()

    async def _change(self, sandbox: str) -> None:
        assert self._lock is not None
        value = self._studio.composer.value
        request = await self._studio.approvals.request(self._lock.name, value.plan)
        approved = await desk_of(self._studio, self._theme, self._owner).ask(request)
        if approved is None:
            words = tr("{name} is as it was. What you left undecided waits under Approvals.").format(name=sandbox)
            self.told.emit("info", tr("Not changed."), words)
            return
        self._lock = approved.lock
        self._studio.sandboxes.recreate(sandbox, approved)
        self._navigator.show_sandbox.emit(sandbox)

    def _go_on(self, change: SandboxSet) -> None:
        self._sandbox, self._lock = change.sandbox, change.lock
        if change.proposal is not None and not self._edits.ask(change.proposal):
            return
        words = tr("Launching it recreates {name}, after a list of what that drops.").format(name=change.sandbox)
        if change.proposal is not None:
            words = (
                tr("{entry} was added; undo takes it back. Nothing is granted yet. ").format(
                    entry=visible(change.proposal.text)
                )
                + words
            )
        self.told.emit("info", tr("The set of {name}.").format(name=change.sandbox), words)
