"""From the set to a registry or a layout: the preview, the job, the result. A closed dialog leaves the job running."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import Reference, parse_location
from kitstudio.registry.source import SignInRequired
from kitstudio.services.app import Studio
from kitstudio.services.composition import Composition, JudgedPlan
from kitstudio.services.jobs import Job, JobState, JobView
from kitstudio.ui.composer.destination import known_destinations, remember_destination
from kitstudio.ui.composer.publish_dialog import PublishDialog
from kitstudio.ui.sign_in.card import SignInCard
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme


class PublishFlow(QObject):
    """Opens the dialog and does what it asks for."""

    def __init__(self, studio: Studio, theme: Theme, tasks: Tasks, owner: QWidget) -> None:
        super().__init__(owner)
        self._studio, self._theme, self._tasks, self._owner = studio, theme, tasks, owner
        self._job: Job | None = None

    def ask(self) -> None:
        """Show what would be published, and ask where to."""
        value = self._studio.composer.value
        dialog = PublishDialog(self._theme, value.name, known_destinations(self._studio.settings), self._owner)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.wanted.connect(lambda where: self._tasks.start(self._publish(dialog, value, where), "publish"))
        dialog.cancelled.connect(self._cancel)
        preview = self._tasks.start(self._preview(dialog, value), "publish-preview")
        if preview is not None:
            dialog.finished.connect(lambda _result: preview.cancel())
        dialog.open()

    async def _preview(self, dialog: PublishDialog, value: Composition) -> None:
        try:
            await self._studio.composer.settled()
            plan = _judged(self._studio.composer.value)
            folder = value.path.parent if value.path is not None else None
            dialog.show_preview(await self._studio.publishing.preview(plan, name=value.name, folder=folder))
        except KitStudioError as error:
            dialog.show_failure(error)

    async def _publish(self, dialog: PublishDialog, value: Composition, where: str) -> None:
        remember_destination(self._studio.settings, where)
        plan = _judged(self._studio.composer.value)
        folder = value.path.parent if value.path is not None else None
        job = self._studio.publishing.publish(plan, where, name=value.name, folder=folder)
        self._job = job
        open_still = True

        def gone() -> None:
            nonlocal open_still
            open_still = False

        dialog.destroyed.connect(gone)

        def follow(view: JobView) -> None:
            if open_still and view.id == job.view.id:
                dialog.show_job(view)

        stop = self._studio.jobs.changed.subscribe(follow)
        try:
            dialog.show_job(job.view)
            published = await asyncio.shield(job.wait())
            if open_still:
                dialog.show_published(published)
        except asyncio.CancelledError:
            if job.view.state is not JobState.CANCELLED:
                raise
            if open_still:
                dialog.show_cancelled()
        except SignInRequired as error:
            if not open_still:
                raise
            card = SignInCard(self._theme, self._studio, _registry(where), error)
            card.signed_in.connect(
                lambda _host: self._tasks.start(self._publish(dialog, value, where), "publish") if open_still else None
            )
            dialog.show_card(card)
        except KitStudioError as error:
            if not open_still:
                raise
            dialog.show_failure(error)
        finally:
            stop()

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()


def _registry(where: str) -> str:
    location = parse_location(where, Path.cwd())
    return location.registry if isinstance(location, Reference) else ""


def _judged(value: Composition) -> JudgedPlan:
    plan = value.plan
    if not isinstance(plan, JudgedPlan):
        raise KitStudioError(value.text_error or "The set is empty.", where=value.name, remedy="Correct the set first.")
    return plan
