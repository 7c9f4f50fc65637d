"""SSH agent: which one, which of its keys Kits may use, and what was asked of it lately. The agent is asked off this
thread."""

from __future__ import annotations

import datetime

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QVBoxLayout

from kitstudio.runtime.backend import Decision, SandboxError
from kitstudio.services.agent_keys import AgentKey, AgentKeysError, agent_keys
from kitstudio.ui.fonts import Type
from kitstudio.ui.settings.fields import TextSetting
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets import Icon, Segmented, Switch, button, column, holder, line, row, text_label
from kitstudio.ui.widgets.text import tr, visible

SYSTEM, SOCKET, NONE = "system", "socket", "none"
ALL = ("all",)
MOST_REQUESTS = 6


class SshAgentSection(SettingsSection):
    """The choice of an agent, a switch for each key, the latest requests."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("SSH agent"),
            tr(
                "A Kit may be let use your SSH agent. Private keys stay in it: a sandbox sees the public halves and "
                "gets signatures for what its review says. Logins are compared with your own list of known hosts."
            ),
        )
        choices = [(SYSTEM, tr("The system’s"), ""), (SOCKET, tr("A socket"), ""), (NONE, tr("None"), "")]
        self.which = Segmented(self.theme, choices, tr("SSH agent"))
        self.which.setObjectName("setting-ssh-agent")
        self.which.chosen.connect(self._choose)
        self.add(tr("Agent"), tr("The system’s is the one that runs where Kit Studio was started."), self.which)
        self.socket = TextSetting(
            context,
            "ssh.agent",
            tr("Socket of the agent"),
            "/run/user/1000/agent.sock",
            self._socket_text,
            lambda text: text,
        )
        choose = button(self.theme, tr("Choose…"), "folder", name="choose-ssh-agent")
        choose.setAccessibleName(tr("Choose the socket of an agent"))
        choose.clicked.connect(self._choose_socket)
        self._socket_row = self.add(tr("Socket"), tr("A socket that ssh-add can use."), self.socket, choose)
        above = self._rows.itemAt(self._rows.count() - 2)
        separator = above.widget() if above is not None else None
        self._socket_parts = tuple(part for part in (separator, self._socket_row) if part is not None)
        self._keys = QVBoxLayout()
        self._keys.setContentsMargins(0, 0, 0, 0)
        self._keys.setSpacing(0)
        self._requests = QVBoxLayout()
        self._requests.setContentsMargins(0, 0, 0, 0)
        self._requests.setSpacing(0)
        self._found: tuple[AgentKey, ...] | None = None
        self._drawn: object = None
        self._switches: dict[str, Switch] = {}
        self._part(tr("Keys that Kits may use"), self._keys)
        self._part(tr("Latest requests"), self._requests)
        self._say(self._keys, "info", tr("Looking…"), "")
        self._say(self._requests, "info", tr("Looking…"), "")
        self._show_choice(self._kept())

    def look(self) -> None:
        self.context.tasks.start(self._list(), "ssh-keys")
        self.context.tasks.start(self._list_requests(), "ssh-requests")

    def changed(self, key: str) -> None:
        if key == "ssh.agent":
            self._show_choice(self._kept())
            self.look()
        elif key == "ssh.keys" and self._found is not None:
            self._draw_keys(self._found)

    def _part(self, title: str, body: QVBoxLayout) -> None:
        head = text_label(title, Type.NAME)
        made = column(line(), self.theme.px(10), head, spacing=0)
        made.addLayout(body)
        made.addSpacing(self.theme.px(6))
        self.fill(made)

    def _kept(self) -> str:
        return {"system": SYSTEM, "": NONE}.get(self.context.settings.text("ssh.agent"), SOCKET)

    def _socket_text(self) -> str:
        kept = self.context.settings.text("ssh.agent")
        return "" if kept == "system" else kept

    def _choose(self, key: str) -> None:
        if key == SOCKET:
            # Nothing changes before a socket is named.
            self._show_choice(SOCKET)
            self.socket.field.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        self.context.set("ssh.agent", "system" if key == SYSTEM else "", tr("Choose the SSH agent"))
        self._show_choice(self._kept())

    def _show_choice(self, key: str) -> None:
        self.which.choose(key)
        for part in self._socket_parts:
            part.setVisible(key == SOCKET)

    def _choose_socket(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Socket of the agent"))
        if path:
            self.context.set("ssh.agent", path, tr("Choose the SSH agent"))

    async def _list(self) -> None:
        if self._kept() == NONE:
            self._found = self._drawn = None
            self._empty(self._keys)
            self._say(self._keys, "info", tr("No agent"), tr("Kits that require one do not start."))
            return
        try:
            self._found = await agent_keys(self.studio.ssh_agent())
        except AgentKeysError as error:
            self._found = self._drawn = None
            self._empty(self._keys)
            self._say(self._keys, "notice", visible(error.what), visible(error.remedy), Token.NOTICE)
            return
        self._draw_keys(self._found)

    def _draw_keys(self, found: tuple[AgentKey, ...]) -> None:
        """All rows anew where they are others; else only how the switches stand, so that the keyboard stays on one."""
        kept = self.context.settings.texts("ssh.keys")
        there = tuple(key.fingerprint for key in found)
        gone = tuple(each for each in kept if each != "all" and each not in there)
        if self._drawn != (found, gone):
            self._drawn = (found, gone)
            self._build_keys(found, gone)
        for fingerprint, switch in self._switches.items():
            switch.setChecked(kept == ALL or fingerprint in kept)
            switch.setEnabled(fingerprint == ALL[0] or kept != ALL)

    def _build_keys(self, found: tuple[AgentKey, ...], gone: tuple[str, ...]) -> None:
        self._empty(self._keys)
        everything = Switch(self.theme, tr("Every key of the agent"))
        everything.setObjectName("ssh-all-keys")
        everything.clicked.connect(lambda on: self._let(ALL if on else tuple(key.fingerprint for key in found)))
        self._switches = {ALL[0]: everything}
        about = tr("Also keys added later. Off: only those you choose below.")
        self._line(self._keys, "ssh-agent", tr("Every key"), about, everything)
        for key in found:
            name = visible(key.comment) or visible(key.kind)
            switch = Switch(self.theme, tr("Let Kits use {key}").format(key=name))
            switch.setObjectName(f"ssh-key-{key.fingerprint}")
            switch.clicked.connect(lambda on, key=key: self._let_one(key.fingerprint, on))
            self._switches[key.fingerprint] = switch
            self._line(self._keys, "credentials", name, f"{visible(key.kind)} · {key.fingerprint}", switch)
        if not found:
            self._say(self._keys, "info", tr("The agent holds no key now"), tr("Add one with ssh-add."))
        for each in gone:
            drop = button(self.theme, tr("Forget"), kind="link", name=f"ssh-forget-{each}")
            drop.setAccessibleName(tr("Forget the key {fingerprint}").format(fingerprint=each))
            drop.clicked.connect(lambda _=False, each=each: self._let_one(each, False))
            self._line(self._keys, "credentials", tr("Not in the agent now"), each, drop)
        self._say(self._keys, "info", "", tr("A change counts for each sandbox from its next start on."))

    def _let(self, keys: tuple[str, ...]) -> None:
        self.context.set("ssh.keys", keys, tr("Choose SSH keys"))

    def _let_one(self, fingerprint: str, on: bool) -> None:
        kept = [each for each in self.context.settings.texts("ssh.keys") if each not in (fingerprint, "all")]
        self._let((*kept, fingerprint) if on else tuple(kept))

    async def _list_requests(self) -> None:
        found: list[tuple[str, Decision]] = []
        for status in await self.studio.sandboxes.refresh():
            try:
                decisions = await self.studio.sandboxes.decisions(status.name)
            except SandboxError:
                continue  # it has gone meanwhile
            found += [(status.name, each) for each in decisions if each.host == "ssh-agent" and each.port == 0]
        self._empty(self._requests)
        latest = sorted(found, key=lambda each: each[1].time, reverse=True)[:MOST_REQUESTS]
        for name, each in latest:
            allowed = each.verdict == "allowed"
            when = datetime.datetime.fromtimestamp(each.time).strftime("%Y-%m-%d %H:%M:%S")
            icon, ink = ("success", Token.SUCCESS) if allowed else ("deny", Token.SERIOUS)
            told = tr("Signed") if allowed else tr("Refused")
            about = " · ".join((told, visible(name), visible(each.phase), when))
            self._line(self._requests, icon, visible(each.reason[:300]), about, ink=ink)
        if not latest:
            self._say(self._requests, "info", tr("None"), tr("No sandbox has asked for a signature."))

    def _line(
        self, into: QVBoxLayout, icon: str, title: str, about: str, control: object = None, ink: Token = Token.SECONDARY
    ) -> None:
        words = (
            column(text_label(title, Type.BODY, wrap=True), spacing=self.theme.px(2)) if title else column(spacing=0)
        )
        if about:
            words.addWidget(text_label(about, Type.SMALL, "secondary", wrap=True))
        made = row(spacing=self.theme.px(10), margins=(0, self.theme.px(6), 0, self.theme.px(6)))
        made.addWidget(Icon(self.theme, icon, 20, ink), 0, Qt.AlignmentFlag.AlignTop)
        made.addLayout(words, 1)
        if control is not None:
            made.addWidget(control)  # type: ignore[arg-type]
        into.addWidget(holder(made))

    def _say(self, into: QVBoxLayout, icon: str, title: str, about: str, ink: Token = Token.SECONDARY) -> None:
        self._line(into, icon, title, about, ink=ink)

    @staticmethod
    def _empty(layout: QVBoxLayout) -> None:
        while (item := layout.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
