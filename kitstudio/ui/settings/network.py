"""Network: hosts without TLS, proxies, certificate authorities, mirrors. What is typed is judged as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog

from kitstudio.models.errors import KitStudioError
from kitstudio.services.certificate_files import authorities_in
from kitstudio.ui.settings.fields import ListSetting, TextSetting
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.widgets import button
from kitstudio.ui.widgets.text import counted, tr

PROXIES = "registry.proxies"


class NetworkSection(SettingsSection):
    """How requests leave this computer. A change counts for requests from then on."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Proxies and certificates"),
            tr("How requests to registries leave this computer. A change counts for requests made from then on."),
        )
        for scheme, title in (("https", tr("Proxy for https")), ("http", tr("Proxy for http"))):
            example = "http://proxy.example:3128"
            field = TextSetting(context, PROXIES, title, example, self._reader(scheme), self._writer(scheme))
            field.field.setObjectName(f"setting-proxy-{scheme}")
            about = tr("Without a user name or password. Empty: what the environment says.")
            self.add(title, about, field)
        self._list(
            "registry.no_proxy",
            tr("No proxy for"),
            tr("Hosts, domains (.example.org) or networks (10.0.0.0/8). Loopback never goes through a proxy."),
            "registry.internal.example",
        )
        choose = button(self.theme, tr("Choose…"), "folder", name="choose-ca-file")
        choose.setAccessibleName(tr("Choose a certificate file"))
        choose.clicked.connect(self._choose_file)
        self.authorities = ListSetting(
            context, "registry.ca_files", tr("Certificate authorities"), "/etc/ssl/company.pem", choose
        )
        # A file is looked into before it is trusted, and that is not done on this thread.
        for signal in (self.authorities.ok.clicked, self.authorities.field.returnPressed):
            signal.disconnect()
            signal.connect(lambda *_: self._look_into(self.authorities.field.text().strip()))
        self.add(
            tr("Certificate authorities"),
            tr("PEM files, trusted beside the system’s. One that goes missing stops every encrypted request."),
            self.authorities,
            below=True,
        )
        self._list(
            "registry.mirrors",
            tr("Mirrors"),
            tr("Hosts asked before a registry. A tag is what the first mirror says it is."),
            "docker.io=mirror.example",
        )
        self._list(
            "registry.plain_http",
            tr("Hosts without TLS"),
            tr("Everything sent to them, sign-ins too, can be read and changed on the way. Loopback needs no entry."),
            "registry.lan:5000",
        )

    def look(self) -> None:
        self.context.tasks.start(self._look_again(), "authorities")

    def _list(self, key: str, title: str, about: str, example: str) -> None:
        self.add(title, about, ListSetting(self.context, key, title, example), below=True)

    def _reader(self, scheme: str) -> Callable[[], str]:
        return lambda: self._proxies().get(scheme, "")

    def _writer(self, scheme: str) -> Callable[[str], object]:
        return lambda text: self._with_proxy(scheme, text)

    def _proxies(self) -> dict[str, str]:
        return {scheme: url for scheme, _, url in (p.partition("=") for p in self.context.settings.texts(PROXIES))}

    def _with_proxy(self, scheme: str, url: str) -> tuple[str, ...]:
        held = {**self._proxies(), scheme: url}
        return tuple(f"{name}={address}" for name, address in sorted(held.items()) if address)

    def _choose_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self, tr("Certificate authorities"), "", tr("PEM files (*.pem *.crt *.cer);;All files (*)")
        )
        if path:
            self.authorities.field.setText(path)
            self._look_into(path)

    def _look_into(self, text: str) -> None:
        self.context.tasks.start(self._add_file(text), "authority")

    async def _add_file(self, text: str) -> None:
        if not text:
            return
        try:
            self.context.settings.check("registry.ca_files", (*self.authorities.values(), text))
            found = await authorities_in(Path(text).expanduser())
        except KitStudioError as error:
            self.authorities.tell(error)
            return
        if self.authorities.add(text):
            self.authorities.field.clear()
            self.authorities.ok.setEnabled(False)
            self._told(text, found)

    async def _look_again(self) -> None:
        """Whether each file is still there and still holds an authority."""
        for text in self.authorities.values():
            try:
                self._told(text, await authorities_in(Path(text).expanduser()))
            except KitStudioError as error:
                self.authorities.note(text, error.what)

    def _told(self, text: str, found: int) -> None:
        self.authorities.note(text, counted(found, "authority", "authorities"))
