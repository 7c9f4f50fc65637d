"""The window against a real registry that wants a password: refused, signed in on the spot, and on with the work."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from kitstudio.services.app import Options, Studio
from kitstudio.services.catalog import CardKind, SourceState
from kitstudio.ui.catalog.page import CatalogPage
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.sign_in import SignInDialog
from kitstudio.ui.theme import Theme
from tests.builders import kit_image, layout
from tests.registry.servers import PASSWORD, USER, run_registry

Run = Callable[[Awaitable[Any]], Any]


class Ring(keyring.backend.KeyringBackend):
    """A keyring that works, for this test alone."""

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


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(40):
        while not condition():  # noqa: ASYNC110 - any Qt state may be the condition
            await asyncio.sleep(0.01)


@pytest.mark.registry
def test_a_real_registry_refuses_and_the_kit_opens_after_the_sign_in_row_2_row_14(
    run: Run, theme: Theme, qtbot: Any, tmp_path: Path, backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    ring = Ring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    (tmp_path / "registry").mkdir()
    root = layout(tmp_path / "kit", {"x.y/a:1": kit_image()})

    async def work(host: str) -> None:
        studio = await Studio.open(Options(home=tmp_path / "home"), backend)
        page = CatalogPage(studio, theme, Navigator())
        qtbot.addWidget(page)
        page.resize(1280, 800)
        page.show()
        await page.opened()
        await studio.catalog.add_source(f"{host}/private/kit")
        page.sources.choose(f"{host}/private/kit")
        page.open_kit(f"{host}/private/kit:1")
        await until(lambda: page.kit.page._sign_in.card is not None)
        assert not [w for w in QApplication.topLevelWidgets() if isinstance(w, SignInDialog)]
        card = page.kit.page._sign_in.card
        assert card is not None
        button = card.findChild(QPushButton, "sign-in")
        assert button is not None
        button.click()
        dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, SignInDialog))
        QTest.keyClicks(dialog.user, USER)
        QTest.keyClicks(dialog.secret, PASSWORD)
        await until(dialog.ok.isEnabled)
        dialog.ok.click()
        await until(lambda: page.kit.details is not None)
        await until(lambda: any(one.kind is CardKind.MIXIN for one in page.model.cards))
        source = next(info for info in studio.catalog.sources() if info.id == f"{host}/private/kit")
        assert (source.state, source.account) == (SourceState.READY, USER)
        page.close()
        page._tasks.cancel()
        await studio.close()

    with run_registry(tmp_path / "registry", password=True) as server:
        target = f"docker://{server.host}/private/kit:1"
        command = ["skopeo", "copy", "-q", "--all", "--dest-tls-verify=false", f"--dest-creds={USER}:{PASSWORD}"]
        subprocess.run([*command, f"oci:{root}:x.y/a:1", target], check=True)
        run(work(server.host))
