"""The settings page: what is chosen applies at once and is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import keyring.backends.fail
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QMessageBox, QPushButton, QSpinBox

from kitstudio.registry import secret_store
from kitstudio.registry.credentials import Account
from kitstudio.services.app import Options, Studio
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.settings import section
from kitstudio.ui.settings.page import SettingsPage
from kitstudio.ui.settings.section import SettingsContext, SettingsSection, register
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.widgets import Segmented
from tests.registry.servers import Authority

Run = Callable[[Coroutine[Any, Any, Any]], Any]
Act = Callable[[Studio, SettingsPage], Coroutine[Any, Any, None]]


def with_page(run: Run, theme: Theme, home: Path, backend: object, act: Act) -> None:
    async def work() -> None:
        studio = await Studio.open(Options(home=home), backend)  # type: ignore[arg-type]
        page = SettingsPage(studio, theme, Navigator())
        page.resize(1000, 700)
        page.show()
        await page.opened()
        try:
            await act(studio, page)
        finally:
            page.close()
            await studio.close()
            page.deleteLater()

    run(work())


def test_the_theme_applies_at_once_and_is_kept(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        modes = page.findChild(Segmented, "setting-theme")
        QTest.mouseClick(modes.button("dark"), Qt.MouseButton.LeftButton)
        assert theme.mode is Mode.DARK
        assert studio.settings.text("ui.theme") == "dark"

    with_page(run, theme, tmp_path, backend, act)
    theme.choose(mode=Mode.LIGHT)


def test_the_text_size_applies_at_once_and_is_kept(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        sizes = page.findChild(QComboBox, "setting-text-scale")
        sizes.setFocus()
        QTest.keyClick(sizes, Qt.Key.Key_Down)
        assert theme.scale == 1.25
        assert studio.settings.get("ui.text_scale") == 1.25

    with_page(run, theme, tmp_path, backend, act)
    theme.choose(scale=1.0)


def test_sandbox_defaults_are_kept(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        memory = page.findChild(QSpinBox, "setting-memory")
        memory.setValue(2048)
        memory.editingFinished.emit()
        assert studio.settings.number("sandbox.memory") == 2048

    with_page(run, theme, tmp_path, backend, act)
    again = Studio.open(Options(home=tmp_path), backend)  # type: ignore[arg-type]
    assert run(again).settings.number("sandbox.memory") == 2048


def test_the_computer_is_examined_when_the_page_is_looked_at(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        section = page.sections["machine"]
        async with asyncio.timeout(30):
            while section._rows.count() < 5:  # noqa: ASYNC110 - drawn by a task of the page
                await asyncio.sleep(0.01)

    with_page(run, theme, tmp_path, backend, act)


def test_every_button_has_a_name(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        assert all(made.accessibleName() or made.text() for made in page.findChildren(QPushButton))

    with_page(run, theme, tmp_path, backend, act)


async def until(true: Callable[[], object]) -> None:
    """Wait for what a task of the page draws."""
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - Qt's events have no awaitable
            await asyncio.sleep(0.005)


def test_a_change_is_one_step_that_can_be_undone(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        memory = page.findChild(QSpinBox, "setting-memory")
        memory.setValue(2048)
        memory.editingFinished.emit()
        assert page.undo_stack is not None
        page.undo_stack.undo()
        assert studio.settings.number("sandbox.memory") == 0 and memory.value() == 0
        page.undo_stack.redo()
        assert studio.settings.number("sandbox.memory") == 2048 and memory.value() == 2048

    with_page(run, theme, tmp_path, backend, act)


def test_the_subject_is_remembered_and_the_list_jumps(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        page.list.setFocus()
        QTest.keyClick(page.list, Qt.Key.Key_End)
        kept = page.save_state()
        assert kept == {"subject": "machine"}
        QTest.keyClick(page.list, Qt.Key.Key_Home)
        assert page.area.verticalScrollBar().value() == 0
        page.restore_state(kept)
        assert page.save_state() == kept
        page.restore_state({"subject": "nonsense"})
        assert page.save_state() == kept

    with_page(run, theme, tmp_path, backend, act)


@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("registry.plain_http", "no host!", "registry.lan:5000"),
        ("registry.no_proxy", "10.0.0.0/99 x", "10.0.0.0/8"),
        ("registry.mirrors", "docker.io", "docker.io=mirror.example"),
    ],
)
def test_an_entry_is_judged_while_it_is_typed_and_only_a_right_one_is_kept(
    run: Run, theme: Theme, tmp_path: Path, backend: object, key: str, wrong: str, right: str
) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        field = page.findChild(QLineEdit, f"add-{key}")
        QTest.keyClicks(field, wrong)
        assert field.accessibleDescription()
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert studio.settings.texts(key) == ()
        field.selectAll()
        QTest.keyClicks(field, right)
        assert field.accessibleDescription() == ""
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert studio.settings.texts(key) == (right,)
        QTest.mouseClick(page.findChild(QPushButton, f"remove-{key}-{right}"), Qt.MouseButton.LeftButton)
        assert studio.settings.texts(key) == ()

    with_page(run, theme, tmp_path, backend, act)


def test_a_proxy_with_a_password_is_refused_without_repeating_it(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        field = page.findChild(QLineEdit, "setting-proxy-https")
        QTest.keyClicks(field, "http://ada:secret@proxy.example:1")
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert "no place for secrets" in field.accessibleDescription()
        assert "secret@" not in field.accessibleDescription()
        assert studio.settings.texts("registry.proxies") == ()
        field.selectAll()
        QTest.keyClicks(field, "http://proxy.example:3128")
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert studio.settings.texts("registry.proxies") == ("https=http://proxy.example:3128",)

    with_page(run, theme, tmp_path, backend, act)


def test_a_certificate_file_is_looked_into_before_it_is_trusted(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    good, bad = Authority(tmp_path).path, tmp_path / "bad.pem"
    bad.write_text("hello")

    async def act(studio: Studio, page: SettingsPage) -> None:
        field = page.findChild(QLineEdit, "add-registry.ca_files")
        for path, says in ((bad, "no certificate"), (tmp_path / "none.pem", "cannot be read")):
            field.selectAll()
            QTest.keyClicks(field, str(path))
            QTest.keyClick(field, Qt.Key.Key_Return)
            await until(lambda says=says: says in field.accessibleDescription())
        assert studio.settings.texts("registry.ca_files") == ()
        field.selectAll()
        QTest.keyClicks(field, str(good))
        QTest.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: studio.settings.texts("registry.ca_files") == (str(good),))

    with_page(run, theme, tmp_path, backend, act)


def test_clearing_a_cache_asks_says_what_it_means_and_may_be_declined(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        icon = studio.home.icons / "icons" / "x"
        icon.parent.mkdir(parents=True)
        icon.write_bytes(bytes(100_000))
        page.sections["caches"].look()

        def clear() -> QPushButton | None:
            return page.findChild(QPushButton, "clear-icons")

        await until(lambda: (made := clear()) is not None and made.isEnabled())
        for answer, left in (("Keep", True), ("Clear", False)):
            await until(lambda: (made := clear()) is not None and made.isVisible() and made.isEnabled())
            clear().click()  # type: ignore[union-attr]
            question = page.findChild(QMessageBox, "clear-question")
            assert "fetched again" in question.informativeText()
            next(made for made in question.buttons() if made.text() == answer).click()
            question.setObjectName("answered")
            if not left:
                await until(lambda: not icon.exists())
            assert icon.exists() == left

    with_page(run, theme, tmp_path, backend, act)


def test_accounts_say_who_where_and_what_protects_them_and_are_signed_out(
    run: Run, theme: Theme, tmp_path: Path, backend: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setattr(keyring, "get_keyring", keyring.backends.fail.Keyring)

    async def act(studio: Studio, page: SettingsPage) -> None:
        accounts = studio.places.sign_ins().accounts
        accounts.add(Account("registry.example", "ada", "file", "team"), "secret")
        page.sections["sign-in"].look()

        def words() -> str:
            return "\n".join(label.text() for label in page.sections["sign-in"].findChildren(QLabel))

        await until(lambda: "no keyring" in words())
        assert "Private file" in words() and "Not encrypted" in words() and "secret\n" not in words()
        name = "sign-out-registry.example/team"
        QTest.mouseClick(page.findChild(QPushButton, name), Qt.MouseButton.LeftButton)
        await until(lambda: accounts.entries() == ())

    with_page(run, theme, tmp_path, backend, act)


def test_row_68_a_locked_keyring_is_unlocked_by_a_click_only(
    run: Run, theme: Theme, tmp_path: Path, backend: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    asked: list[str] = []

    class Locked(keyring.backend.KeyringBackend):
        priority = 1.0  # type: ignore[assignment]

        def get_password(self, service: str, username: str) -> str | None:
            asked.append(service)
            return "secret"

        def set_password(self, service: str, username: str, password: str) -> None:
            asked.append(service)

        def delete_password(self, service: str, username: str) -> None:
            asked.append(service)

    monkeypatch.setattr(keyring, "get_keyring", Locked)
    monkeypatch.setattr(secret_store, "_is_locked", lambda inner: not asked)

    async def act(studio: Studio, page: SettingsPage) -> None:
        index = studio.home.data / "accounts.json"
        row = {"host": "registry.example", "username": "ada", "store": "keyring", "prefix": ""}
        index.write_text(json.dumps({"version": 1, "accounts": [row]}))
        page.sections["sign-in"].look()
        await until(lambda: page.findChild(QPushButton, "unlock-registry.example"))
        assert asked == []
        QTest.mouseClick(page.findChild(QPushButton, "unlock-registry.example"), Qt.MouseButton.LeftButton)
        await until(lambda: page.findChild(QPushButton, "sign-out-registry.example"))
        assert asked[0] == "kitstudio:registry:registry.example"

    with_page(run, theme, tmp_path, backend, act)


def test_another_subject_can_be_added(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    class Extra(SettingsSection):
        def __init__(self, context: SettingsContext) -> None:
            super().__init__(context, "Extra")

    register("extra", "info", 350, Extra)
    try:

        async def act(studio: Studio, page: SettingsPage) -> None:
            keys = list(page.sections)
            assert keys.index("approvals") < keys.index("extra") < keys.index("sandboxes")

        with_page(run, theme, tmp_path, backend, act)
    finally:
        section._SUBJECTS.pop("extra")
