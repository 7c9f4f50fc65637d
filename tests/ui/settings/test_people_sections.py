"""The settings of what is the person's own: credentials, SSH agent, Git identity, skills."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keyring
import keyring.backends.fail
import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QUndoStack
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QRadioButton, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import Decision, SandboxStatus, State
from kitstudio.runtime.ssh_relay import fingerprint
from kitstudio.services.app import Options, Studio
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.settings.git_identity import GitIdentitySection
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.settings.services import ServicesSection
from kitstudio.ui.settings.skills import SkillsSection
from kitstudio.ui.settings.ssh_agent import SshAgentSection
from kitstudio.ui.sign_in.bind_dialog import BindDialog
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import Switch
from tests.registry.servers import Answer, run_double
from tests.services.fakes import FakeBackend
from tests.services.test_oauth_sign_in import back, visit

Run = Callable[[Awaitable[Any]], Any]
Build = Callable[[SettingsContext], SettingsSection]
SECRET = "very-secret-value"


class Bench:
    """One section on a studio of its own. ``failures``: what the footer would have told."""

    def __init__(self, studio: Studio, backend: FakeBackend, section: SettingsSection, window: QWidget) -> None:
        self.studio, self.backend, self.section, self.window = studio, backend, section, window
        self.failures: list[KitStudioError] = []

    def words(self) -> str:
        shown = [label for label in self.section.findChildren(QLabel) if not label.isHidden()]
        return "\n".join(f"{label.text()} {label.accessibleName()}" for label in shown)

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not true():  # noqa: ASYNC110 - Qt's events have no awaitable
                await asyncio.sleep(0.005)

    async def button(self, name: str) -> QPushButton:
        await self.until(lambda: self.section.findChild(QPushButton, name))
        return self.section.findChild(QPushButton, name)


Act = Callable[[Bench], Coroutine[Any, Any, None]]


def on_bench(
    run: Run, theme: Theme, home: Path, build: Build, act: Callable[[Bench], Coroutine[Any, Any, None]]
) -> None:
    async def work() -> None:
        backend = FakeBackend()
        studio = await Studio.open(Options(home=home), backend)  # type: ignore[arg-type]
        window = QWidget()
        failures: list[KitStudioError] = []
        context = SettingsContext(
            studio, theme, Navigator(), Tasks(window, failures.append), QUndoStack(window), failures.append
        )
        section = build(context)
        section.setParent(window)
        window.resize(900, 700)
        window.show()
        bench = Bench(studio, backend, section, window)
        bench.failures = failures
        try:
            await act(bench)
        finally:
            window.close()
            window.deleteLater()
            await studio.close()

    run(work())


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", keyring.backends.fail.Keyring)


def click(target: QWidget) -> None:
    QTest.mouseClick(target, Qt.MouseButton.LeftButton)


def say(field: QLineEdit, text: str) -> None:
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


# Git identity


def test_half_an_identity_is_none_and_says_so(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        assert "Not stated" in bench.words()
        say(bench.section.findChild(QLineEdit, "setting-git.name"), "Ada {name}")
        assert "the e-mail address is missing" in bench.words()
        email = bench.section.findChild(QLineEdit, "setting-git.email")
        say(email, "nobody")
        assert "address such as" in email.accessibleDescription()
        assert bench.studio.settings.text("git.email") == ""
        say(email, "ada@example.com")
        assert "commit as Ada {name} <ada@example.com>" in bench.words()

    on_bench(run, theme, tmp_path, GitIdentitySection, act)


@pytest.mark.parametrize("wrong", ["Ada <ada>", "...", "a\u202eb", "a\nb"])
def test_a_name_git_would_change_is_refused(tmp_path: Path, wrong: str) -> None:
    from kitstudio.services.settings import Settings, SettingsError

    with pytest.raises(SettingsError):
        Settings(None).check("git.name", wrong)


# Credentials


def open_dialog(bench: Bench, name: str) -> BindDialog:
    click(bench.section.findChild(QPushButton, name))
    return bench.window.findChild(BindDialog)


def test_a_typed_secret_is_kept_where_the_person_says_and_never_shown(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        bench.section.look()
        await bench.until(lambda: "Nothing is bound" in bench.words())
        dialog = open_dialog(bench, "settings-bind")
        await bench.until(lambda: dialog.findChild(QRadioButton, "store-file"))
        QTest.keyClicks(dialog.service, "Not A Service")
        QTest.keyClicks(dialog.secret, SECRET)
        assert dialog.secret.echoMode() is QLineEdit.EchoMode.Password and not dialog.ok.isEnabled()
        dialog.findChild(QRadioButton, "store-file").click()
        click(dialog.ok)
        await bench.until(lambda: "not the name of a service" in dialog.problem.text)
        await bench.until(dialog.ok.isEnabled)
        dialog.service.selectAll()
        QTest.keyClicks(dialog.service, "acme-x")
        click(dialog.ok)
        await bench.until(lambda: "acme-x" in bench.words())
        assert await bench.studio.credentials.held(["acme-x"]) == {"acme-x": SECRET}
        assert "Private file" in bench.words() and "Not encrypted" in bench.words() and SECRET not in bench.words()
        await bench.until(lambda: bench.backend.rebound == ["acme-x"])

    on_bench(run, theme, tmp_path, ServicesSection, act)


def test_a_secret_is_removed_only_after_a_question_and_sandboxes_are_told(
    run: Run, theme: Theme, tmp_path: Path
) -> None:
    async def act(bench: Bench) -> None:
        await bench.studio.credentials.bind("acme", SECRET, "file")
        bench.section.look()
        for go in (False, True):
            click(await bench.button("remove-acme"))
            dialog = bench.window.findChild(ConfirmDialog)
            click(dialog.go if go else dialog.stay)
            if not go:
                assert await bench.studio.credentials.held(["acme"])
        await bench.until(lambda: "Nothing is bound" in bench.words())
        assert bench.backend.rebound[-1:] == ["acme"]

    on_bench(run, theme, tmp_path, ServicesSection, act)


def test_tokens_come_from_a_file_and_a_file_without_any_is_told(run: Run, theme: Theme, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text("{}")

    async def act(bench: Bench) -> None:
        dialog = open_dialog(bench, "settings-bind")
        await bench.until(lambda: dialog.findChild(QRadioButton, "store-session"))
        dialog.findChild(QRadioButton, "store-session").click()
        click(dialog.ways.button("tokens"))
        QTest.keyClicks(dialog.service, "acme")
        QTest.keyClicks(dialog.file, str(file))
        click(dialog.ok)
        await bench.until(lambda: "No tokens" in dialog.problem.text)
        file.write_text(json.dumps({"accessToken": SECRET}))
        await bench.until(dialog.ok.isEnabled)
        click(dialog.ok)
        await bench.until(lambda: bench.backend.rebound == ["acme"])
        assert SECRET in (await bench.studio.credentials.held(["acme"]))["acme"]

    on_bench(run, theme, tmp_path / "home", ServicesSection, act)


def test_the_browser_is_waited_for_can_be_given_up_and_brings_tokens(
    run: Run, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> bool:
        opened.append(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)

    async def act(bench: Bench) -> None:
        with run_double() as double:
            double.answer = lambda request: Answer(200, json.dumps({"access_token": SECRET}).encode())
            dialog = open_dialog(bench, "settings-bind")
            await bench.until(lambda: dialog.findChild(QRadioButton, "store-session"))
            dialog.findChild(QRadioButton, "store-session").click()
            click(dialog.ways.button("browser"))
            fields = (
                (dialog.service, "acme"),
                (dialog.authorization, f"http://{double.host}/authorize"),
                (dialog.token, f"http://{double.host}/token"),
                (dialog.client, "client"),
                (dialog.scopes, "read, write"),
            )
            for field, text in fields:
                QTest.keyClicks(field, text)
            click(dialog.ok)
            await bench.until(lambda: opened)
            assert dialog.busy and dialog.cancel.text() == "Stop"
            QTest.keyClick(dialog, Qt.Key.Key_Escape)
            await bench.until(lambda: not dialog.busy and dialog.ok.isEnabled())
            assert dialog.isVisible() and await bench.studio.credentials.list() == ()
            click(dialog.ok)
            await bench.until(lambda: len(opened) == 2)
            assert "scope=read+write" in opened[1]
            await visit(back(opened[1], code="the-code"))
            await bench.until(lambda: bench.backend.rebound == ["acme"])
            assert SECRET in (await bench.studio.credentials.held(["acme"]))["acme"]

    on_bench(run, theme, tmp_path, ServicesSection, act)


def test_a_list_that_cannot_be_read_is_told_with_a_way_out(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        file = bench.studio.home.data / "bindings.json"
        file.write_text("{")
        bench.section.look()
        again = await bench.button("services-again")
        assert "cannot be read" in bench.words()
        file.unlink()
        click(again)
        await bench.until(lambda: "Nothing is bound" in bench.words())

    on_bench(run, theme, tmp_path, ServicesSection, act)


# SSH agent


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def key_blob(name: bytes) -> bytes:
    return _string(b"ssh-ed25519") + _string(name.ljust(32, b"."))


@contextmanager
def agent(path: Path, answer: bytes) -> Iterator[None]:
    """An agent that gives one answer to whoever asks."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer:
                peer.recv(5)
                peer.sendall(_string(answer))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(5)


def keys(*names: bytes) -> bytes:
    body = b"".join(_string(key_blob(name)) + _string(name + b"\x1b[2J") for name in names)
    return bytes([12]) + struct.pack(">I", len(names)) + body


def test_keys_are_listed_and_chosen_and_none_chosen_means_none(run: Run, theme: Theme, tmp_path: Path) -> None:
    one, two = (fingerprint(key_blob(name)) for name in (b"one", b"two"))

    async def act(bench: Bench) -> None:
        def switch(name: str) -> Switch:
            return bench.section.findChild(Switch, name)

        bench.studio.settings.set("ssh.agent", str(tmp_path / "agent"))
        await bench.until(lambda: one in bench.words())
        assert "\x1b" not in bench.words() and one in bench.words()
        assert bench.studio._ssh_keys() is None and not switch(f"ssh-key-{one}").isEnabled()
        everything = switch("ssh-all-keys")
        everything.setFocus()
        QTest.keyClick(everything, Qt.Key.Key_Space)
        assert everything is switch("ssh-all-keys") and everything.hasFocus()
        assert bench.studio._ssh_keys() == {one, two}
        switch(f"ssh-key-{one}").click()
        assert bench.studio._ssh_keys() == {two}
        switch(f"ssh-key-{two}").click()
        assert bench.studio._ssh_keys() == frozenset()
        bench.section.context.undo.undo()
        assert bench.studio._ssh_keys() == {two}
        bench.studio.settings.set("ssh.agent", "")
        await bench.until(lambda: "No agent" in bench.words())

    with agent(tmp_path / "agent", keys(b"one", b"two")):
        on_bench(run, theme, tmp_path / "home", SshAgentSection, act)


@pytest.mark.parametrize("answer", [b"", b"\x05", keys(b"one")[:-3], bytes([12]) + struct.pack(">I", 2**31)])
def test_an_agent_that_answers_nonsense_is_told(run: Run, theme: Theme, tmp_path: Path, answer: bytes) -> None:
    async def act(bench: Bench) -> None:
        bench.studio.settings.set("ssh.agent", str(tmp_path / "agent"))
        await bench.until(lambda: "cannot be asked" in bench.words())

    with agent(tmp_path / "agent", answer):
        on_bench(run, theme, tmp_path / "home", SshAgentSection, act)


def test_a_damaged_choice_of_keys_lets_none_be_used(run: Run, tmp_path: Path) -> None:
    async def work() -> None:
        (tmp_path / "config").mkdir(parents=True)
        studio = await Studio.open(Options(home=tmp_path), FakeBackend())  # type: ignore[arg-type]
        path = studio.home.settings
        path.write_text('[ssh]\nagent = "/run/agent"\nkeys = ["nonsense"]\n')
        again = await Studio.open(Options(home=tmp_path), FakeBackend())  # type: ignore[arg-type]
        assert again.ssh_agent() == ""
        for each in (studio, again):
            await each.close()

    run(work())


def test_the_latest_requests_say_what_came_of_them(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        bench.section.look()
        await bench.until(lambda: "No sandbox has asked" in bench.words())
        bench.backend.decided = (
            Decision(1.0, "runtime", "a.example", 443, "allowed"),
            Decision(2.0, "runtime", "ssh-agent", 0, "refused", reason="login as 'git': the server is not granted"),
        )
        bench.backend.boxes["box"] = SandboxStatus("box", "box", State.RUNNING, "set", "")
        bench.section.look()
        await bench.until(lambda: "the server is not granted" in bench.words())
        assert "Refused · box · runtime" in bench.words() and "a.example" not in bench.words()

    on_bench(run, theme, tmp_path, SshAgentSection, act)


# Skills


def test_writing_is_let_only_after_a_question_and_the_folder_is_looked_into(
    run: Run, theme: Theme, tmp_path: Path
) -> None:
    store = tmp_path / "skills"
    (store / "review").mkdir(parents=True)
    (store / "review/SKILL.md").write_text("x")

    async def act(bench: Bench) -> None:
        settings = bench.studio.settings
        bench.section.look()
        await bench.until(lambda: "No folder is chosen" in bench.words())
        field = bench.section.findChild(QLineEdit, "setting-skills.folder")
        for wrong in ("skills", "/", "/a/../b"):
            say(field, wrong)
            assert field.accessibleDescription() and settings.text("skills.folder") == ""
        say(field, str(store))
        await bench.until(lambda: "1 skill here; sandboxes do not see them" in bench.words())
        for go, kept in ((False, "off"), (True, "readwrite")):
            click(bench.section.mode.button("readwrite"))
            dialog = bench.window.findChild(ConfirmDialog)
            click(dialog.go if go else dialog.stay)
            dialog.setParent(None)
            assert settings.text("skills.mode") == kept == bench.section.mode.value()
        bench.section.context.undo.undo()
        assert settings.text("skills.mode") == "off" == bench.section.mode.value()
        settings.set("skills.folder", str(tmp_path / "none"))
        await bench.until(lambda: "cannot be read" in bench.words())

    on_bench(run, theme, tmp_path / "home", SkillsSection, act)
