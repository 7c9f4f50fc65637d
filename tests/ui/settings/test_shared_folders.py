from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QUndoStack
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import HostMountFolder
from kitstudio.services.app import Options, Studio
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.settings.section import SettingsContext
from kitstudio.ui.settings.shared_folders import SharedFoldersSection
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from tests.services.fakes import FakeBackend

Run = Callable[[Awaitable[Any]], Any]


def test_shared_folders_are_listed_and_one_in_use_says_who_has_it(run: Run, theme: Theme, tmp_path: Path) -> None:
    backend = FakeBackend()
    used, free = "a" * 24, "b" * 24
    backend.shared = (
        HostMountFolder(used, "hub.example/gh", "/work\u202e", "/x", 10, 1, ("box",), ("box",)),
        HostMountFolder(free, "hub.example/gh", "/models", str(tmp_path), 10, 2),
    )
    failures: list[KitStudioError] = []

    async def work() -> None:
        studio = await Studio.open(Options(home=tmp_path / "home"), backend)  # type: ignore[arg-type]
        window = QWidget()
        context = SettingsContext(
            studio, theme, Navigator(), Tasks(window, failures.append), QUndoStack(), failures.append
        )
        section = SharedFoldersSection(context)
        section.setParent(window)
        section.look()

        async def button(name: str) -> QPushButton:
            while (found := section.findChild(QPushButton, name)) is None:  # noqa: ASYNC110 - as below
                await asyncio.sleep(0.005)
            return found

        assert not (await button(f"delete-{used}")).isEnabled()
        words = " ".join(label.text() for label in section.findChildren(QLabel))
        assert "stop box to delete it" in words and "\u202e" not in words
        QTest.mouseClick(await button(f"open-{used}"), Qt.MouseButton.LeftButton)
        assert failures[0].what == "The folder is not there."
        QTest.mouseClick(await button(f"delete-{free}"), Qt.MouseButton.LeftButton)
        dialog = window.findChild(ConfirmDialog)
        assert dialog is not None and len(backend.shared) == 2
        QTest.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
        while len(backend.shared) == 2:  # noqa: ASYNC110 - a task of the section does it
            await asyncio.sleep(0.005)
        await studio.composer.close()

    run(work())


def test_no_shared_folder_is_said(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        studio = await Studio.open(Options(home=tmp_path / "home"), FakeBackend())  # type: ignore[arg-type]
        window = QWidget()
        context = SettingsContext(studio, theme, Navigator(), Tasks(window, print), QUndoStack(), print)
        section = SharedFoldersSection(context)
        section.setParent(window)
        section.look()
        while "None" not in {label.text() for label in section.findChildren(QLabel)}:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await studio.composer.close()

    run(work())
