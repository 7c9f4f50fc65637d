"""The editor as the main window opens and closes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListView, QMenu, QPushButton

from kitstudio.services.app import Options, Studio
from kitstudio.ui.composer.page import ComposerPage
from kitstudio.ui.main_window import MainWindow
from kitstudio.ui.navigator import PageName
from kitstudio.ui.page import Page
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.theme import Theme

Run = Callable[[Awaitable[Any]], Any]


def test_command_opens_the_editor_and_the_window_waits_for_unsaved_changes(
    run: Run, theme: Theme, backend: object, tmp_path: Path
) -> None:
    kit = tmp_path / "gh" / "kit.yaml"
    kit.parent.mkdir()
    kit.write_text('schemaVersion: "3"\nkind: mixin\n')

    async def work() -> None:
        studio = await Studio.open(Options(home=tmp_path / "home"), backend)  # type: ignore[arg-type]
        window = MainWindow(studio, theme, dict.fromkeys(PageName, Page))
        window.show()
        closed: list[bool] = []
        window.closed.connect(lambda: closed.append(True))
        field = window.header.search
        field.setFocus()
        QTest.keyClicks(field, str(kit.parent))
        results = window.findChild(QListView, "search-results")
        model = results.model()
        rows = [str(model.index(row, 0).data()) for row in range(model.rowCount())]
        at = next(row for row, words in enumerate(rows) if words.startswith("Edit its descriptor"))
        for _ in range(at - results.currentIndex().row()):
            QTest.keyClick(field, Qt.Key.Key_Down)
        QTest.keyClick(field, Qt.Key.Key_Return)
        while not window.editors.windows:  # noqa: ASYNC110 - brought about by a thread and Qt
            await asyncio.sleep(0.01)
        editor = window.editors.windows[0]
        QTest.keyClicks(editor.page.edit, "# mine")
        window.close()
        assert window.isVisible() and not closed
        dialog = editor.findChild(ConfirmDialog)
        assert dialog is not None
        QTest.mouseClick(dialog.findChild(QPushButton, "confirmGo"), Qt.MouseButton.LeftButton)
        assert closed == [True] and not window.editors.windows
        await studio.composer.close()
        window.deleteLater()

    run(work())


def test_composers_file_menu_and_the_search_ask_for_a_file_to_edit(
    run: Run, theme: Theme, backend: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = tmp_path / "kit.yaml"
    kit.write_text('schemaVersion: "3"\nkind: mixin\n')
    monkeypatch.setattr("kitstudio.ui.editor.editors.ask_for_file", lambda *_: str(kit))

    async def work() -> None:
        studio = await Studio.open(Options(home=tmp_path / "home"), backend)  # type: ignore[arg-type]
        factories = dict.fromkeys(PageName, Page) | {PageName.COMPOSER: ComposerPage}
        window = MainWindow(studio, theme, factories)
        window.show()
        window.go(PageName.COMPOSER)
        menu = window.pages[PageName.COMPOSER].findChild(QMenu, "fileMenu")
        menu.aboutToShow.emit()
        next(action for action in menu.actions() if action.objectName() == "file-edit-kit").trigger()
        while not window.editors.windows:  # noqa: ASYNC110 - brought about by a thread and Qt
            await asyncio.sleep(0.01)
        assert window.editors.windows[0].page.file.path == kit
        window.close()
        await studio.composer.close()
        window.deleteLater()

    run(work())
