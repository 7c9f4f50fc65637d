"""The settings page: what is chosen applies at once and is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QPushButton, QSpinBox

from kitstudio.services.app import Options, Studio
from kitstudio.services.caches import clear_layers, measure
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.settings.page import SettingsPage
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.widgets import Segmented

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
        section = page._sections["machine"]
        async with asyncio.timeout(30):
            while section._rows.count() < 5:  # noqa: ASYNC110 - drawn by a task of the page
                await asyncio.sleep(0.01)

    with_page(run, theme, tmp_path, backend, act)


def test_clearing_layers_leaves_imported_kits(run: Run, tmp_path: Path, backend: object) -> None:
    async def work() -> None:
        studio = await Studio.open(Options(home=tmp_path), backend)  # type: ignore[arg-type]
        (studio.home.layers / "x.squashfs").write_bytes(b"0" * 100_000)
        (studio.home.blobs / "kept").write_bytes(b"1" * 100_000)
        sizes = {cache.name: cache.size for cache in await measure(studio.home)}
        assert sizes["layers"] >= 100_000
        await clear_layers(studio.home)
        sizes = {cache.name: cache.size for cache in await measure(studio.home)}
        assert sizes["layers"] == 0
        assert (studio.home.blobs / "kept").exists()
        await studio.close()

    run(work())


def test_every_button_has_a_name(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def act(studio: Studio, page: SettingsPage) -> None:
        assert all(made.accessibleName() or made.text() for made in page.findChildren(QPushButton))

    with_page(run, theme, tmp_path, backend, act)
