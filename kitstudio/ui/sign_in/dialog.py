"""The sign-in dialog: who, the secret, where it is kept and what protects it there; failures where they happen.

It opens by a person's act only. The secret is in its field until the registry has taken it, and nowhere else.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.source import SignInRequired
from kitstudio.services.app import Studio
from kitstudio.ui.fonts import Type
from kitstudio.ui.sign_in.form import ScrolledForm, Working, lines, reveal_button, secret_field, text_field
from kitstudio.ui.sign_in.problem import ProblemNote
from kitstudio.ui.sign_in.store_picker import StorePicker
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import button, holder, row, text_label
from kitstudio.ui.widgets.text import tr, visible

if TYPE_CHECKING:
    from kitstudio.registry.credentials import Account

ASK = "ask"


class SignInDialog(QDialog):
    """``signed_in(host)`` once the registry took it and it is kept. ``place``: ``host`` or ``host/prefix``, empty where
    the person is to name it."""

    signed_in = Signal(str)

    def __init__(self, theme: Theme, studio: Studio, place: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sign-in-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Sign in to a registry"))
        self.setMinimumWidth(theme.px(520))
        self._theme = theme
        self._sign_in = studio.sign_in
        self._tasks = Tasks(self, self._tell)
        self._asking: asyncio.Task[None] | None = None
        self._own: Account | None = None
        self._looked = False
        self.place = text_field("sign-in-place", tr("Registry"), place, "registry.example")
        self.place.setProperty("mono", True)
        self.user = text_field("sign-in-user", tr("User name"))
        self.secret = secret_field("sign-in-secret", tr("Password or access token"))
        for field in (self.place, self.user, self.secret):
            field.textChanged.connect(self._edited)
            field.returnPressed.connect(self._ask)
        self._reveal = reveal_button(theme, self.secret, "sign-in-reveal")
        self.stores = StorePicker(theme)
        self.stores.chosen.connect(self._edited)
        self.problem = ProblemNote(theme)
        self.docker = text_label("", Type.SMALL, "secondary", wrap=True)
        self.use_docker = button(theme, tr("Use Docker’s sign-in"), kind="link", name="sign-in-use-docker")
        self.use_docker.clicked.connect(lambda: self._tasks.start(self._leave_to_docker(), ASK))
        self._docker_row = holder(row(self.docker, self.use_docker, spacing=theme.px(8)))
        self._docker_row.hide()
        self._working = Working(theme, tr("Asking the registry"))
        self.ok = button(theme, tr("Sign in"), "user", "primary", name="sign-in-ok")
        self.ok.clicked.connect(self._ask)
        self.cancel = button(theme, tr("Cancel"), name="sign-in-cancel")
        self.cancel.clicked.connect(self.reject)
        self._form = self._arranged()
        self.resize(theme.px(560), theme.px(420))
        self.place.textChanged.connect(self._place_edited)
        (self.user if place else self.place).setFocus()
        self._edited()

    @property
    def busy(self) -> bool:
        """Whether the registry is being asked."""
        return self._asking is not None and not self._asking.done()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._looked:
            self._looked = True
            self._tasks.start(self._look(), "look")

    def reject(self) -> None:
        """Cancel: first the request that runs, then the dialog."""
        if self.busy:
            assert self._asking is not None
            self._asking.cancel()
            return
        self.secret.clear()
        super().reject()

    def done(self, result: int) -> None:
        self.secret.clear()
        super().done(result)

    async def _look(self) -> None:
        await self._look_for_docker()
        try:
            self.stores.show_choice(await self._sign_in.choices())
        finally:
            self._edited()
            # Once the labels that came have their fonts and heights.
            QTimer.singleShot(0, self, lambda: self._form.fit(16))

    async def _look_for_docker(self) -> None:
        """Offer Docker's own sign-in by name, where there is one for this place."""
        place = self._place()
        try:
            found = await self._sign_in.docker_account(place) if place else None
            self._own = await self._sign_in.account(place) if place else None
        except KitStudioError:
            # Not a place yet: it is still being typed, and signing in will say so.
            found = self._own = None
        if place != self._place():
            return
        self._docker_row.setVisible(found is not None)
        if found is None:
            return
        if self._own is None:
            words = tr("Docker is signed in to {place} as {user}; that is used while nobody is signed in here.")
        else:
            words = tr("Docker is signed in to {place} as {user}.")
        self.docker.setText(visible(words.format(place=found.place, user=found.username or tr("somebody"))))
        self.use_docker.setText(tr("Use Docker’s sign-in") if self._own is not None else tr("Try it again"))
        self.use_docker.setAccessibleName(self.use_docker.text())

    async def _leave_to_docker(self) -> None:
        place = self._place()
        if self._own is not None:
            await self._sign_in.logout(place)
        self._finish(place)

    def _ask(self) -> None:
        if not self.ok.isEnabled() or self.busy:
            return
        self.problem.hide()
        self._asking = self._tasks.start(self._log_in(), ASK)

    async def _log_in(self) -> None:
        place = self._place()
        self._show_busy(tr("Asking {host}…").format(host=visible(place)))
        try:
            account = await self._sign_in.login(place, self.user.text(), self.secret.text(), self.stores.value)
        finally:
            self._show_busy("")
        self._finish(account.host)

    def _finish(self, place: str) -> None:
        host = place.partition("/")[0]
        self._asking = None
        self.accept()
        self.signed_in.emit(host)

    def _tell(self, error: KitStudioError) -> None:
        from kitstudio.registry.secret_store import SecretStoreError

        self.problem.tell(error, where=error.where != self._place())
        QTimer.singleShot(0, self, lambda: self._form.show_part(self.problem))
        if isinstance(error, SecretStoreError):
            self.stores.focus()
        elif isinstance(error, SignInRequired):
            self.secret.setFocus()
            self.secret.selectAll()
        else:
            self.place.setFocus()

    def _show_busy(self, words: str) -> None:
        for part in (self.place, self.user, self.secret, self.stores, self._docker_row):
            part.setEnabled(not words)
        self._working.show_words(words)
        self.cancel.setText(tr("Stop") if words else tr("Cancel"))
        self._edited()
        if words:
            self.cancel.setFocus()

    def _place(self) -> str:
        return self.place.text().strip().removeprefix("https://").removesuffix("/")

    def _place_edited(self) -> None:
        self.problem.hide()
        self._tasks.start(self._look_for_docker(), "docker")

    def _edited(self) -> None:
        complete = all((self._place(), self.user.text(), self.secret.text(), self.stores.value))
        self.ok.setEnabled(complete and not self.busy)

    def _arranged(self) -> ScrolledForm:
        fields = (
            (tr("Registry"), self.place, None),
            (tr("User name"), self.user, None),
            (tr("Password or token"), self.secret, self._reveal),
        )
        hint = tr("A host (registry.example) or part of one (registry.example/team), for an account of its own there.")
        parts = (
            text_label(tr("Sign in to a registry"), Type.HEADING),
            text_label(hint, Type.SMALL, "secondary", wrap=True),
            4,
            lines(self._theme, fields),
            self._docker_row,
            8,
            text_label(tr("Where the secret is kept"), Type.NAME),
            self.stores,
            8,
            self.problem,
            self._working,
        )
        made = ScrolledForm(self._theme, self, parts, (self.cancel, self.ok))
        self.setTabOrder(self.secret, self._reveal)
        return made
