"""The desk where requests are answered: one dialog an operation, one after the other, never two for one request."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import ApprovedLock
from kitstudio.services.app import Studio
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.compare import CompareDialog, DescriptorDialog, Side
from kitstudio.ui.approvals.config_change import ConfigChange, compared, is_opaque
from kitstudio.ui.approvals.dialog import Answer, ApprovalDialog, Decision
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr


class ApprovalDesk(QObject):
    """``ask`` shows a request and returns what the person granted: an approved lock, or None.

    ``asking`` says how many operations are at the desk, the one on screen included.
    """

    asking = Signal(int)

    def __init__(self, studio: Studio, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("approvalDesk")
        self._studio = studio
        self._theme = theme
        self._parent = parent
        self._tasks = Tasks(self, self._told)
        self._turn = asyncio.Lock()
        self._answers: dict[str, asyncio.Future[ApprovedLock | None]] = {}
        self._wanted: dict[str, str] = {}
        self.seen: set[str] = set()
        self.dialog: ApprovalDialog | None = None
        end_with_window(parent, self._tasks)

    async def ask(self, request: Request, finding: str = "") -> ApprovedLock | None:
        """What a person answers; a request that widens nothing is approved silently and recorded as such.

        Asked again while it is open: the same dialog comes to the front, and both askers get its answer. If the
        asker goes away, the request waits undecided. ``finding``: the key of the one to begin with.
        """
        if not request.review.needs_answer:
            return await self._studio.approvals.approve(request, frozenset())
        known = self._answers.get(request.id)
        if known is not None:
            self._raise(request, finding)
            return await asyncio.shield(known)
        answer: asyncio.Future[ApprovedLock | None] = asyncio.get_running_loop().create_future()
        self._answers[request.id] = answer
        self._wanted[request.id] = finding
        self._count()
        try:
            async with self._turn:
                return await self._show(request, answer)
        except asyncio.CancelledError:
            # Undecided, whether it was on screen or still in the queue. The database is a thread away.
            await asyncio.shield(self._studio.approvals.hold(request))
            raise
        finally:
            del self._answers[request.id], self._wanted[request.id]
            self._count()
            if not answer.done():
                answer.set_result(None)

    async def _show(self, request: Request, answer: asyncio.Future[ApprovedLock | None]) -> ApprovedLock | None:
        dialog = ApprovalDialog(self._theme, request, seal=self._seal(request), parent=self._parent.window())
        dialog.decided.connect(lambda decision: self._tasks.start(self._act(dialog, request, decision, answer)))
        dialog.compare_wanted.connect(lambda change: self._tasks.start(self._compare(change, dialog), "compare"))
        dialog.line_wanted.connect(
            lambda kit, line: self._tasks.start(self._show_line(request, kit, line, dialog), "line")
        )
        self.dialog = dialog
        self.seen.add(request.id)
        self._count()
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        if self._wanted[request.id]:
            dialog.reveal(self._wanted[request.id])
        if any(is_opaque(found) for found in request.review.findings):
            self._tasks.start(self._compare_configs(request, dialog), "configs")
        try:
            return await answer
        except asyncio.CancelledError:
            self._let_go(dialog)
            raise
        finally:
            self.dialog = None
            if not dialog.gone:
                dialog.finish()
                dialog.deleteLater()

    def _let_go(self, dialog: ApprovalDialog) -> None:
        """The asker went away: the dialog stays to say so until it is closed, unless the window itself goes."""
        if self._parent.window().isVisible() and dialog.isVisible():
            dialog.asker_gone()
            dialog.finished.connect(dialog.deleteLater)

    async def _act(
        self,
        dialog: ApprovalDialog,
        request: Request,
        decision: Decision,
        answer: asyncio.Future[ApprovedLock | None],
    ) -> None:
        """Do what was answered; a refusal of the gate is told in the dialog, which stays."""
        if answer.done():
            return
        approvals = self._studio.approvals
        granted: ApprovedLock | None = None
        try:
            match decision.answer:
                case Answer.APPROVE | Answer.WITHOUT_OPTIONAL:
                    without = decision.answer is Answer.WITHOUT_OPTIONAL
                    granted = await approvals.approve(request, decision.ticked, without_optional=without)
                case Answer.KEEP:
                    await approvals.keep(request)
                case Answer.UNDECIDED:
                    await approvals.hold(request)
        except KitStudioError as error:
            if dialog.isVisible():
                dialog.refused(error)
                return
            if not answer.done():
                answer.set_exception(error)
            return
        if not answer.done():
            answer.set_result(granted)

    async def _compare(self, change: texts.Change, dialog: ApprovalDialog) -> None:
        """A Kit that changed, before and after."""
        before = change.before
        assert before is not None
        old = await self._studio.catalog.details(_pinned(before.reference, before.digest))
        compare = CompareDialog(
            self._theme,
            Side(tr("Approved: {kit}").format(kit=before.reference), old.descriptor_text),
            Side(tr("Asks: {kit}").format(kit=change.member.reference), change.member.text),
            dialog,
        )
        _show(compare)

    async def _compare_configs(self, request: Request, dialog: ApprovalDialog) -> None:
        """Beside each request that cannot be read: what changed in its config since it was approved."""
        changed = {change.member.reference: change for change in texts.changes(request)}
        for found in request.review.findings:
            kits = [asker.kit for asker in found.permission.askers]
            change = next((changed[kit] for kit in kits if kit in changed), None)
            if not is_opaque(found) or change is None or change.before is None or change.member.descriptor is None:
                continue
            pinned = _pinned(change.before.reference, change.before.digest)
            try:
                old = (await self._studio.catalog.details(pinned)).descriptor
            except KitStudioError as error:
                why = tr("The config approved before cannot be shown: {why}").format(why=error.what)
                dialog.show_config(found.key, ConfigChange(why=why))
                continue
            if old is None:
                why = tr("The config approved before cannot be shown: its descriptor cannot be read.")
                dialog.show_config(found.key, ConfigChange(why=why))
            else:
                dialog.show_config(found.key, compared(found, old, change.member.descriptor))

    async def _show_line(self, request: Request, kit: str, line: int, dialog: ApprovalDialog) -> None:
        """The descriptor behind a finding; a removed refusal comes from the version approved before."""
        text = next((member.text for member in request.plan.members if member.reference == kit), "")
        if not text:
            granted = request.granted.kits if request.granted else ()
            digest = next((locked.digest for locked in granted if locked.reference == kit), "")
            text = (await self._studio.catalog.details(_pinned(kit, digest))).descriptor_text
        _show(DescriptorDialog(self._theme, Side(kit, text), line, dialog))

    def _count(self) -> None:
        self.asking.emit(len(self._answers))
        if self.dialog is not None:
            self.dialog.show_behind(max(0, len(self._answers) - 1))

    def _seal(self, request: Request) -> ChipLook | None:
        """``acme, verified`` where the catalog vouches for the publisher of the Kit that changed."""
        changed = texts.changes(request)
        subject = repository_of(changed[0].member.reference) if len(changed) == 1 else ""
        for card in self._studio.catalog.cards():
            if subject and card.verified and repository_of(card.reference) == subject:
                words = tr("{publisher}, verified").format(publisher=card.publisher)
                return ChipLook(words, Tone.SUCCESS, "seal")
        return None

    def _raise(self, request: Request, finding: str) -> None:
        self._wanted[request.id] = finding
        if self.dialog is not None:
            self.dialog.raise_()
            self.dialog.activateWindow()
            if finding and self.dialog.request.id == request.id:
                self.dialog.reveal(finding)

    def _told(self, error: KitStudioError) -> None:
        if self.dialog is not None:
            self.dialog.refused(error)


def desk_of(studio: Studio, theme: Theme, widget: QWidget) -> ApprovalDesk:
    """The one desk of the window a page stands in, so one request never has two dialogs."""
    window = widget.window()
    found = window.findChild(ApprovalDesk)
    return found if isinstance(found, ApprovalDesk) else ApprovalDesk(studio, theme, window)


def open_dialog() -> ApprovalDialog | None:
    """The approval dialog on screen, if there is one."""
    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, ApprovalDialog) and widget.isVisible() and not widget.gone:
            return widget
    return None


def _pinned(reference: str, digest: str) -> str:
    return f"{reference.partition('@')[0]}@{digest}" if digest else reference


def _show(dialog: CompareDialog | DescriptorDialog) -> None:
    dialog.finished.connect(dialog.deleteLater)
    dialog.show()
