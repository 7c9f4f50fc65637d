"""Signing in from a window: against a registry double, on the spot, with every way it may fail."""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import keyring.backends.fail
import pytest
from keyring.errors import KeyringLocked
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QLineEdit, QRadioButton, QScrollArea, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Options, Studio
from kitstudio.ui.sign_in import SignInCard, SignInDialog
from kitstudio.ui.theme import Theme
from tests.registry.servers import Answer, Double, Request, run_double

Run = Callable[[Coroutine[Any, Any, Any]], Any]
MADE: list[QWidget] = []
"""Deleted after each test: what the garbage collector finds, it deletes in whatever thread it runs in."""
SECRET = "s3cret words"
GOOD = "Basic YWRhOnMzY3JldCB3b3Jkcw=="


class Memory(keyring.backend.KeyringBackend):
    """A keyring that works."""

    priority = 1.0  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[(service, username)] = password

    def delete_password(self, service: str, username: str) -> None:
        self.kept.pop((service, username), None)


class Dismissed(Memory):
    """A keyring whose prompt is dismissed."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked


@pytest.fixture
def double() -> Iterator[Double]:
    """A registry that takes ada and the secret."""
    with run_double() as made:
        made.answer = door
        yield made


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[keyring.backend.KeyringBackend], None]:
    """Choose the machine's keyring; Docker's configuration is an empty folder's."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))

    def choose(backend: keyring.backend.KeyringBackend) -> None:
        monkeypatch.setattr(keyring, "get_keyring", lambda: backend)

    choose(Memory())
    return choose


def door(request: Request) -> Answer:
    if request.headers.get("Authorization") == GOOD:
        return Answer(200, b"{}")
    return Answer(401, b"", {"WWW-Authenticate": 'Basic realm="here"'})


async def until(true: Callable[[], object]) -> None:
    """Wait for what a task of the window does."""
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - Qt's events have no awaitable
            await asyncio.sleep(0.005)


async def opened(studio: Studio, theme: Theme, place: str) -> SignInDialog:
    dialog = SignInDialog(theme, studio, place)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    MADE.append(dialog)
    dialog.open()
    await until(lambda: dialog.findChildren(QRadioButton))
    return dialog


async def typed(dialog: SignInDialog, secret: str = SECRET) -> None:
    QTest.keyClicks(dialog.user, "ada")
    QTest.keyClicks(dialog.secret, secret)
    QTest.keyClick(dialog.secret, Qt.Key.Key_Return)


def in_studio(run: Run, home: Path, backend: object, act: Callable[[Studio], Coroutine[Any, Any, None]]) -> None:
    async def work() -> None:
        studio = await Studio.open(Options(home=home), backend)  # type: ignore[arg-type]
        try:
            await act(studio)
        finally:
            await studio.close()
            while MADE:
                MADE.pop().deleteLater()

    run(work())


def test_row_14_signing_in_on_the_failing_card_is_told_to_who_shows_it(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: object
) -> None:
    async def act(studio: Studio) -> None:
        host, told = double.host, []
        window = QWidget()
        MADE.append(window)
        card = SignInCard(theme, studio, host, KitStudioError("Not without a sign-in.", where=f"{host}/a"), window)
        card.signed_in.connect(told.append)
        window.show()
        QTest.mouseClick(card.action, Qt.MouseButton.LeftButton)
        dialog = window.findChild(SignInDialog)
        await until(lambda: dialog.stores.value)
        await typed(dialog)
        await until(lambda: told)
        assert told == [host]
        assert [(a.host, a.username, a.store) for a in await studio.sign_in.accounts()] == [(host, "ada", "keyring")]
        window.close()

    in_studio(run, tmp_path, backend, act)


def test_wrong_password_is_told_on_the_spot_and_nothing_is_kept(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: object,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    async def act(studio: Studio) -> None:
        dialog = await opened(studio, theme, double.host)
        with caplog.at_level(logging.DEBUG):
            await typed(dialog, "wrong words")
            await until(lambda: dialog.problem.text)
        assert "does not accept this user name and password" in dialog.problem.text
        assert dialog.isVisible() and dialog.secret.hasSelectedText()
        assert "wrong words" not in caplog.text + dialog.problem.text
        assert await studio.sign_in.accounts() == ()
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible() and dialog.secret.text() == ""

    in_studio(run, tmp_path, backend, act)


def test_what_went_wrong_is_seen_without_scrolling(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: Callable[[object], None]
) -> None:
    ring(keyring.backends.fail.Keyring())

    async def act(studio: Studio) -> None:
        dialog = await opened(studio, theme, double.host)
        QTest.keyClick(dialog.findChild(QRadioButton, "store-session"), Qt.Key.Key_Space)
        await typed(dialog, "wrong words")
        await until(lambda: dialog.problem.text)
        area = dialog.findChild(QScrollArea)

        def seen() -> bool:
            at = dialog.problem.mapTo(area.viewport(), dialog.problem.rect().topLeft())
            return area.viewport().rect().contains(dialog.problem.rect().translated(at))

        await until(seen)

    in_studio(run, tmp_path, backend, act)


def test_row_10_a_clock_that_is_wrong_is_named(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: object
) -> None:
    async def act(studio: Studio) -> None:
        double.date = email.utils.formatdate(time.time() + 5 * 3600, usegmt=True)
        dialog = await opened(studio, theme, double.host)
        await typed(dialog, "wrong")
        await until(lambda: dialog.problem.text)
        assert "clock is 5 hours ahead" in dialog.problem.text
        dialog.reject()

    in_studio(run, tmp_path, backend, act)


def test_a_registry_that_is_not_there_is_told_and_its_field_has_the_keyboard(
    run: Run, theme: Theme, tmp_path: Path, backend: object, ring: object
) -> None:
    async def act(studio: Studio) -> None:
        dialog = await opened(studio, theme, "127.0.0.1:9")
        await typed(dialog)
        await until(lambda: dialog.problem.text)
        assert "refuses connections" in dialog.problem.text
        assert dialog.focusWidget() is dialog.place
        dialog.reject()

    in_studio(run, tmp_path, backend, act)


def test_escape_stops_the_request_first_and_keeps_what_was_typed(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: object
) -> None:
    async def act(studio: Studio) -> None:
        import threading

        gate = threading.Event()
        double.answer = lambda request: (gate.wait(30), door(request))[1]
        dialog = await opened(studio, theme, double.host)
        await typed(dialog)
        await until(lambda: dialog.busy)
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        await until(lambda: not dialog.busy)
        gate.set()
        assert dialog.isVisible() and dialog.secret.text() == SECRET and dialog.ok.isEnabled()
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible()
        assert await studio.sign_in.accounts() == ()

    in_studio(run, tmp_path, backend, act)


@pytest.mark.parametrize("store", ["file", "session"])
def test_without_a_keyring_a_person_chooses_and_reads_what_protects_row_68_row_70(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: Callable[[object], None], store: str
) -> None:
    ring(keyring.backends.fail.Keyring())

    async def act(studio: Studio) -> None:
        dialog = await opened(studio, theme, double.host)
        assert "no keyring" in dialog.findChild(QLabel, "no-keyring").text()
        assert dialog.stores.value == ""
        await typed(dialog)
        assert not dialog.ok.isEnabled() and not dialog.busy and double.requests == []
        file = dialog.findChild(QRadioButton, "store-file")
        assert "Not encrypted" in file.accessibleDescription() and "0600" in file.accessibleDescription()
        QTest.keyClick(dialog.findChild(QRadioButton, f"store-{store}"), Qt.Key.Key_Space)
        QTest.mouseClick(dialog.ok, Qt.MouseButton.LeftButton)
        await until(lambda: dialog.result() == QDialog.DialogCode.Accepted)
        assert [a.store for a in await studio.sign_in.accounts()] == [store]
        kept = studio.home.data / "secrets" / "secrets.json"
        assert kept.exists() == (store == "file")
        if store == "file":
            assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700

    in_studio(run, tmp_path, backend, act)


def test_row_68_a_dismissed_prompt_is_told_and_nothing_falls_back(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: Callable[[object], None]
) -> None:
    class Later(Memory):
        """Works when tried, is locked when it counts."""

        def set_password(self, service: str, username: str, password: str) -> None:
            if not service.endswith("probe"):
                raise KeyringLocked
            super().set_password(service, username, password)

    ring(Later())

    async def act(studio: Studio) -> None:
        dialog = await opened(studio, theme, double.host)
        await typed(dialog)
        await until(lambda: dialog.problem.text)
        assert "keyring is locked" in dialog.problem.text
        assert isinstance(dialog.focusWidget(), QRadioButton)
        assert await studio.sign_in.accounts() == ()
        assert not (studio.home.data / "secrets" / "secrets.json").exists()
        dialog.reject()

    in_studio(run, tmp_path, backend, act)


def test_row_2_dockers_own_sign_in_is_offered_by_name(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: object
) -> None:
    (tmp_path / "docker").mkdir()
    document = {"auths": {double.host: {"auth": GOOD.removeprefix("Basic ")}}}
    (tmp_path / "docker" / "config.json").write_text(json.dumps(document))

    async def act(studio: Studio) -> None:
        await studio.sign_in.login(double.host, "ada", SECRET, "session")
        dialog = await opened(studio, theme, double.host)
        await until(lambda: dialog.use_docker.isVisible())
        assert "as ada" in dialog.docker.text()
        told: list[str] = []
        dialog.signed_in.connect(told.append)
        QTest.mouseClick(dialog.use_docker, Qt.MouseButton.LeftButton)
        await until(lambda: told)
        assert [a.store for a in await studio.sign_in.accounts()] == ["docker"]

    in_studio(run, tmp_path, backend, act)


def test_row_16_nothing_opens_before_a_click(
    run: Run, theme: Theme, tmp_path: Path, backend: object, double: Double, ring: object
) -> None:
    async def act(studio: Studio) -> None:
        card = SignInCard(theme, studio, double.host, KitStudioError("Not without a sign-in."))
        MADE.append(card)
        card.show()
        await asyncio.sleep(0)
        assert not [w for w in QApplication.topLevelWidgets() if isinstance(w, SignInDialog) and w.isVisible()]
        assert double.requests == []
        card.close()

    in_studio(run, tmp_path, backend, act)


def test_everything_in_the_dialog_has_a_name_and_the_secret_is_masked(
    run: Run, theme: Theme, tmp_path: Path, backend: object, ring: object
) -> None:
    async def act(studio: Studio) -> None:
        dialog = await opened(studio, theme, "")
        fields = dialog.findChildren(QLineEdit)
        assert all(field.accessibleName() for field in fields)
        assert dialog.secret.echoMode() is QLineEdit.EchoMode.Password
        assert not dialog.ok.isEnabled()
        dialog.reject()

    in_studio(run, tmp_path, backend, act)
