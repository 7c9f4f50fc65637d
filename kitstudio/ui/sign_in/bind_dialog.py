"""Binding a secret to a service: typed, read from a token file, or got by signing in to the service in the browser.

What is typed is in its field until it is kept, and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QWidget,
)

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.services.oauth_sign_in import Provider, check_provider, read_token_file, sign_in
from kitstudio.ui.fonts import Type
from kitstudio.ui.sign_in.form import Line, ScrolledForm, Working, lines, reveal_button, secret_field, text_field
from kitstudio.ui.sign_in.problem import ProblemNote
from kitstudio.ui.sign_in.store_picker import StorePicker
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import Segmented, button, column, give_icon, holder, row, text_label
from kitstudio.ui.widgets.text import tr

TYPED, BROWSER, TOKENS = "typed", "browser", "tokens"
WORK = "bind"


class BindDialog(QDialog):
    """``bound(service)`` once the secret is kept. ``service`` empty: the person names it."""

    bound = Signal(str)

    def __init__(self, theme: Theme, studio: Studio, service: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bind-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._title = tr("Secret for {service}").format(service=service) if service else tr("Bind a service")
        self.setWindowTitle(self._title)
        self._theme, self._studio = theme, studio
        self._tasks = Tasks(self, self._tell)
        self._running: asyncio.Task[None] | None = None
        self._looked = False
        self.service = text_field("bind-service", tr("Service"), service, "github")
        self.service.setProperty("mono", True)
        self.service.setReadOnly(bool(service))
        ways = [(TYPED, tr("Key or token"), ""), (BROWSER, tr("Sign in"), ""), (TOKENS, tr("Token file"), "")]
        self.ways = Segmented(theme, ways, tr("How"))
        self.ways.choose(TYPED)
        self.ways.chosen.connect(self._show_way)
        self.secret = secret_field("bind-secret", tr("Key or token"))
        self._reveal = reveal_button(theme, self.secret, "bind-reveal")
        self.authorization = text_field("bind-authorization", tr("Authorization address"), "", "https://…/authorize")
        self.token = text_field("bind-token-address", tr("Token address"), "", "https://…/token")
        self.client = text_field("bind-client", tr("Client ID"))
        self.client_secret = secret_field("bind-client-secret", tr("Client secret, if the service demands one"))
        self.scopes = text_field("bind-scopes", tr("Scopes"), "", "read write")
        self.file = text_field("bind-file", tr("Token file"), "", "/home/you/.acme/credentials.json")
        for field in (self.authorization, self.token, self.client, self.scopes, self.file):
            field.setProperty("mono", True)
        self._choose = button(theme, tr("Choose…"), "folder", name="bind-choose")
        self._choose.clicked.connect(self._choose_file)
        self.fields = (
            *(self.service, self.secret, self.authorization, self.token, self.client, self.client_secret),
            *(self.scopes, self.file),
        )
        for field in self.fields:
            field.textChanged.connect(self._edited)
            field.returnPressed.connect(self._go)
        self.stores = StorePicker(theme)
        self.stores.chosen.connect(self._edited)
        self.problem = ProblemNote(theme)
        self._working = Working(theme, tr("Working"))
        self.ok = button(theme, "", "credentials", "primary", name="bind-ok")
        self.ok.clicked.connect(self._go)
        self.cancel = button(theme, tr("Cancel"), name="bind-cancel")
        self.cancel.clicked.connect(self.reject)
        self._form = self._arranged()
        self.setMinimumWidth(theme.px(560))
        self.resize(theme.px(600), theme.px(520))
        (self.secret if service else self.service).setFocus()
        self._show_way(TYPED)

    @property
    def busy(self) -> bool:
        """Whether a browser is waited for or a secret is being kept."""
        return self._running is not None and not self._running.done()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._looked:
            self._looked = True
            self._tasks.start(self._look(), "look")

    def reject(self) -> None:
        """Cancel: first what runs, then the dialog."""
        if self.busy:
            assert self._running is not None
            self._running.cancel()
            return
        super().reject()

    def done(self, result: int) -> None:
        self.secret.clear()
        self.client_secret.clear()
        super().done(result)

    async def _look(self) -> None:
        try:
            self.stores.show_choice(await self._studio.sign_in.choices())
        finally:
            self._edited()
            QTimer.singleShot(0, self, self._fit)

    def _show_way(self, key: str) -> None:
        for way, page in self._pages.items():
            page.setVisible(way == key)
        words = tr("Sign in in the browser") if key == BROWSER else tr("Keep the secret")
        self.ok.setText(words)
        self.ok.setAccessibleName(words)
        give_icon(self._theme, self.ok, "external" if key == BROWSER else "credentials", 16, Token.ON_ACCENT)
        self.problem.hide()
        self._edited()
        if self._looked:
            QTimer.singleShot(0, self, self._fit)

    def _edited(self) -> None:
        wanted = {
            TYPED: (self.secret,),
            BROWSER: (self.authorization, self.token, self.client),
            TOKENS: (self.file,),
        }[self.ways.value()]
        filled = all(field.text().strip() for field in (self.service, *wanted))
        self.ok.setEnabled(filled and bool(self.stores.value) and not self.busy)

    def _go(self) -> None:
        if self.ok.isEnabled() and not self.busy:
            self.problem.hide()
            self._running = self._tasks.start(self._bind(), WORK)

    async def _bind(self) -> None:
        service, store = self.service.text().strip(), self.stores.value
        try:
            text = await self._secret_text()
            self._show_busy(tr("Keeping the secret…"))
            made = await self._studio.credentials.bind(service, text, store)
        finally:
            self._show_busy("")
        self._running = None
        self.accept()
        self.bound.emit(made.service)

    async def _secret_text(self) -> str:
        way = self.ways.value()
        if way == TYPED:
            return self.secret.text()
        if way == TOKENS:
            self._show_busy(tr("Reading the file…"))
            return await read_token_file(Path(self.file.text().strip()).expanduser())
        provider = Provider(
            self.authorization.text().strip(),
            self.token.text().strip(),
            self.client.text().strip(),
            tuple(self.scopes.text().replace(",", " ").split()),
            self.client_secret.text(),
        )
        check_provider(provider)
        self._show_busy(tr("Waiting for the browser. Sign in there, then come back; this takes at most five minutes."))
        return await sign_in(provider, _open_browser, self._studio.places.network())

    def _tell(self, error: KitStudioError) -> None:
        self.problem.tell(error)
        QTimer.singleShot(0, self, lambda: self._form.show_part(self.problem))

    def _show_busy(self, words: str) -> None:
        for part in (*self.fields, self.ways, self.stores, self._choose):
            part.setEnabled(not words)
        self._working.show_words(words)
        self.cancel.setText(tr("Stop") if words else tr("Cancel"))
        self.ok.setEnabled(False)
        if words:
            self.cancel.setFocus()
        else:
            QTimer.singleShot(0, self, self._edited)

    def _choose_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Token file"), "", tr("JSON files (*.json);;All files (*)"))
        if path:
            self.file.setText(path)

    def _fit(self) -> None:
        self._form.fit(32)

    def _arranged(self) -> ScrolledForm:
        typed = self._way(((tr("Key or token"), self.secret, self._reveal),), tr("As the service gave it to you."))
        about = tr(
            "The service sends the browser back to this computer at 127.0.0.1. Its documentation names the addresses; "
            "the client must be registered for an installed program with a loopback redirect."
        )
        browser = self._way(
            (
                (tr("Authorization address"), self.authorization, None),
                (tr("Token address"), self.token, None),
                (tr("Client ID"), self.client, None),
                (tr("Client secret"), self.client_secret, None),
                (tr("Scopes"), self.scopes, None),
            ),
            about,
        )
        about = tr("JSON with an accessToken and a refreshToken, as the service’s own program keeps it.")
        tokens = self._way(((tr("Token file"), self.file, self._choose),), about)
        self._pages = {TYPED: typed, BROWSER: browser, TOKENS: tokens}
        hint = tr("The name is the one the Kit states. Only Kits that you let sign in to it can use the secret.")
        parts = (
            text_label(self._title, Type.HEADING),
            text_label(hint, Type.SMALL, "secondary", wrap=True),
            4,
            lines(self._theme, ((tr("Service"), self.service, None),), self._theme.px(150)),
            row(self.ways, None),
            typed,
            browser,
            tokens,
            8,
            text_label(tr("Where the secret is kept"), Type.NAME),
            self.stores,
            8,
            self.problem,
            self._working,
        )
        return ScrolledForm(self._theme, self, parts, (self.cancel, self.ok))

    def _way(self, fields: Sequence[Line], about: str) -> QWidget:
        form = lines(self._theme, fields, self._theme.px(150))
        return holder(column(form, text_label(about, Type.SMALL, "secondary", wrap=True), spacing=self._theme.px(8)))


async def _open_browser(address: str) -> bool:
    return QDesktopServices.openUrl(QUrl(address, QUrl.ParsingMode.StrictMode))
