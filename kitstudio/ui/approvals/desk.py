"""The desk where requests are answered: one dialog an operation, one after the other, never two for one request."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import ApprovedLock
from kitstudio.services.app import Studio
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.compare import CompareDialog, DescriptorDialog, Side
from kitstudio.ui.approvals.dialog import Answer, ApprovalDialog, Decision
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import tr


class ApprovalDesk(QObject):
    """``ask`` shows a request and returns what the person granted: an approved lock, or None."""

    def __init__(self, studio: Studio, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._studio = studio
        self._theme = theme
        self._parent = parent
        self._tasks = Tasks(self, self._told)
        self._turn = asyncio.Lock()
        self._answers: dict[str, asyncio.Future[ApprovedLock | None]] = {}
        self.dialog: ApprovalDialog | None = None
        end_with_window(parent, self._tasks)

    async def ask(self, request: Request) -> ApprovedLock | None:
        """What a person answers; a request that widens nothing is approved silently and recorded as such.

        Asked again while it is open: the same dialog comes to the front, and both askers get its answer. If the
        asker goes away, the request waits undecided.
        """
        if not request.review.needs_answer:
            return self._studio.approvals.approve(request, frozenset())
        known = self._answers.get(request.id)
        if known is not None:
            self._raise()
            return await asyncio.shield(known)
        answer: asyncio.Future[ApprovedLock | None] = asyncio.get_running_loop().create_future()
        self._answers[request.id] = answer
        try:
            async with self._turn:
                return await self._show(request, answer)
        finally:
            del self._answers[request.id]
            if not answer.done():
                answer.set_result(None)

    async def _show(self, request: Request, answer: asyncio.Future[ApprovedLock | None]) -> ApprovedLock | None:
        dialog = ApprovalDialog(self._theme, request, seal=self._seal(request), parent=self._parent.window())
        dialog.decided.connect(lambda decision: self._act(dialog, request, decision, answer))
        dialog.compare_wanted.connect(lambda: self._tasks.start(self._compare(request, dialog), "compare"))
        dialog.line_wanted.connect(
            lambda kit, line: self._tasks.start(self._show_line(request, kit, line, dialog), "line")
        )
        self.dialog = dialog
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        try:
            return await answer
        except asyncio.CancelledError:
            self._studio.approvals.hold(request)
            raise
        finally:
            self.dialog = None
            dialog.finish()
            dialog.deleteLater()

    def _act(
        self,
        dialog: ApprovalDialog,
        request: Request,
        decision: Decision,
        answer: asyncio.Future[ApprovedLock | None],
    ) -> None:
        if answer.done():
            return
        approvals = self._studio.approvals
        try:
            match decision.answer:
                case Answer.APPROVE | Answer.WITHOUT_OPTIONAL:
                    without = decision.answer is Answer.WITHOUT_OPTIONAL
                    answer.set_result(approvals.approve(request, decision.ticked, without_optional=without))
                case Answer.KEEP:
                    approvals.keep(request)
                    answer.set_result(None)
                case Answer.UNDECIDED:
                    approvals.hold(request)
                    answer.set_result(None)
        except KitStudioError as error:
            dialog.refused(error)

    async def _compare(self, request: Request, dialog: ApprovalDialog) -> None:
        """The first Kit that changed, before and after."""
        changed = next((change for change in texts.changes(request) if change.before is not None), None)
        if changed is None or changed.before is None:
            return
        before = changed.before
        old = await self._studio.catalog.details(_pinned(before.reference, before.digest))
        compare = CompareDialog(
            self._theme,
            Side(tr("Approved: {kit}").format(kit=before.reference), old.descriptor_text),
            Side(tr("Asks: {kit}").format(kit=changed.member.reference), changed.member.text),
            dialog,
        )
        _show(compare)

    async def _show_line(self, request: Request, kit: str, line: int, dialog: ApprovalDialog) -> None:
        """The descriptor behind a finding; a removed refusal comes from the version approved before."""
        text = next((member.text for member in request.plan.members if member.reference == kit), "")
        if not text:
            granted = request.granted.kits if request.granted else ()
            digest = next((locked.digest for locked in granted if locked.reference == kit), "")
            text = (await self._studio.catalog.details(_pinned(kit, digest))).descriptor_text
        _show(DescriptorDialog(self._theme, Side(kit, text), line, dialog))

    def _seal(self, request: Request) -> ChipLook | None:
        """``acme, verified`` where the catalog vouches for the publisher of the Kit that changed."""
        changed = texts.changes(request)
        subject = repository_of(changed[0].member.reference) if len(changed) == 1 else ""
        for card in self._studio.catalog.cards():
            if subject and card.verified and repository_of(card.reference) == subject:
                words = tr("{publisher}, verified").format(publisher=card.publisher)
                return ChipLook(words, Tone.SUCCESS, "seal")
        return None

    def _raise(self) -> None:
        if self.dialog is not None:
            self.dialog.raise_()
            self.dialog.activateWindow()

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
        if isinstance(widget, ApprovalDialog) and widget.isVisible():
            return widget
    return None


def _pinned(reference: str, digest: str) -> str:
    return f"{reference.partition('@')[0]}@{digest}" if digest else reference


def _show(dialog: CompareDialog | DescriptorDialog) -> None:
    dialog.finished.connect(dialog.deleteLater)
    dialog.show()
