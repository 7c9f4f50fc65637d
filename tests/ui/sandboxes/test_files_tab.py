"""The Files tab over files of plain values: folders, links, hostile names, looks and copies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QPushButton
from pytestqt.qtbot import QtBot

from kitstudio.runtime.backend import SandboxError, State
from kitstudio.runtime.files import Entry, EntryKind, Listing
from kitstudio.ui.sandboxes.detail import FILES
from kitstudio.ui.sandboxes.files_model import mode_text, safe_name
from kitstudio.ui.sandboxes.files_view import FilesView
from tests.ui.sandboxes.test_sandboxes_ui import STATUS, Stage, loop  # noqa: F401

HOSTILE = "a\n\x1b]0;x\x07\u202egpj.\udcff<b>"
HOME = Listing(
    "/home/agent",
    (
        Entry("src", EntryKind.FOLDER, 0o755, 4096, 1_700_000_000.0, 1000, 1000),
        Entry(HOSTILE, EntryKind.FILE, 0o644, 3, 9e30, 1000, 1000),
        Entry("notes.txt", EntryKind.FILE, 0o4750, 2048, 1_700_000_000.0, 0, 0),
        Entry("out", EntryKind.LINK, 0o777, 4, 1_700_000_000.0, 1000, 1000, "/etc"),
    ),
)


class PlainFiles:
    """A folder, a text, and copies that wait until they are let go on."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.go_on = asyncio.Event()
        self.ended: list[str] = []

    async def list(self, path: str, *, named: bool = False) -> Listing:
        self.asked.append(("list", path, named))
        if path == "/root":
            raise SandboxError("Permission denied.", where=path)
        return replace(HOME, path=path or HOME.path)

    async def read(self, path: str, limit: int, *, named: bool = False) -> tuple[bytes, int]:
        self.asked.append(("read", path))
        return (b"\x7fELF\0" if path.endswith("src") else b"one\n<b>two</b>\x1b[31m"), 5000

    async def fetch(self, path: str, target: Path, progress: Any, *, named: bool = False) -> int:
        self.asked.append(("fetch", path, target))
        progress(50, 100)
        return await self._copy()

    async def put(self, source: Path, path: str, progress: Any, *, replace: bool = False) -> int:
        self.asked.append(("put", path, replace))
        progress(1, 0)
        return await self._copy()

    async def _copy(self) -> int:
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return 1


def shown(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> tuple[Stage, FilesView, PlainFiles]:  # noqa: F811
    stage = Stage(qtbot, loop, STATUS)
    files = PlainFiles()
    stage.machines.shown_files = files
    stage.page.detail.tabs.setCurrentIndex(FILES)
    stage.open()
    view = stage.page.detail.files
    stage.until(lambda: view.model.rowCount() == 4)
    return stage, view, files


def test_a_folder_is_shown_where_the_programs_begin(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    _, view, files = shown(qtbot, loop)
    assert view.path.text() == "/home/agent" and files.asked[0] == ("list", "", False)
    row = [str(view.model.index(2, column).data()) for column in range(5)]
    assert row[:4] == ["notes.txt", "2.0 kB", "rwsr-x---", "0:0"] and row[4].startswith("2023-11-1")


def test_hostile_names_and_times_are_spelled_out(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    _, view, _ = shown(qtbot, loop)
    name = str(view.model.index(1, 0).data())
    assert not set("\n\x1b\x07\u202e\udcff") & set(name) and "<b>" in name
    assert view.model.index(1, 4).data() == ""
    assert (
        safe_name(HOSTILE).isprintable() and safe_name("../../.bashrc") == "_.._.bashrc" and safe_name("..") == "file"
    )


def test_folders_open_and_links_say_where_they_lead(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    stage, view, files = shown(qtbot, loop)
    view.table.selectRow(0)
    stage.run(lambda: view.table.activated.emit(view.model.index(0, 0)))
    stage.until(lambda: view.folder == "/home/agent/src")
    assert files.asked[-1] == ("list", "/home/agent/src", False)
    stage.run(lambda: qtbot.keyClick(view, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier))
    stage.until(lambda: view.folder == "/home/agent")
    assert view.chosen() is not None and view.chosen().name == "src"  # type: ignore[union-attr]
    before = len(files.asked)
    stage.run(lambda: view.table.activated.emit(view.model.index(3, 0)))
    assert view.hint.isVisible() and "/etc" in view.hint.accessibleName() and len(files.asked) == before
    stage.run(view.hint.findChild(QPushButton, "banner-action").click)
    stage.until(lambda: files.asked[-1] == ("list", "/etc", True))


def test_a_typed_path_is_followed_and_a_refusal_is_said(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    stage, view, files = shown(qtbot, loop)
    view.path.setText("/root")
    stage.run(lambda: qtbot.keyClick(view.path, Qt.Key.Key_Return))
    stage.until(lambda: view.banner.isVisible())
    assert files.asked[-1] == ("list", "/root", True) and "Permission denied" in view.banner.accessibleName()
    assert view.model.rowCount() == 4


def test_a_text_is_shown_as_text_and_bounded(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    stage, view, _ = shown(qtbot, loop)
    stage.run(lambda: view.table.activated.emit(view.model.index(2, 0)))
    stage.until(lambda: view.look.isVisible())
    text = view.pane.toPlainText()
    assert "<b>two</b>" in text and "\x1b" not in text
    assert "of 5.0 kB" in view._look_note.text()


def test_a_copy_shows_progress_and_is_cancelled(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
    tmp_path: Path,
) -> None:
    stage, view, files = shown(qtbot, loop)
    stage.run(lambda: stage.page.files.fetch("/home/agent/notes.txt", tmp_path / "notes.txt"))
    stage.until(lambda: view.copy_bar.isVisible() and view._bar.value() == 500)
    assert not view.put.isEnabled()
    stage.click("filesCancel")
    stage.until(lambda: files.ended == ["cancelled"])
    stage.until(lambda: not view.copy_bar.isVisible() and view.put.isEnabled())


def test_putting_over_a_listed_name_asks_first(
    qtbot: QtBot,
    loop: asyncio.AbstractEventLoop,  # noqa: F811
    tmp_path: Path,
) -> None:
    stage, view, files = shown(qtbot, loop)
    files.go_on.set()
    stage.run(lambda: stage.page.files.offer(tmp_path / "notes.txt", view.folder))
    dialog = stage.page.window().findChild(QDialog, "confirmDialog")
    assert not any(asked[0] == "put" for asked in files.asked)
    stage.run(dialog.findChild(QPushButton, "confirmGo").click)
    stage.until(lambda: ("put", "/home/agent/notes.txt", True) in files.asked)
    stage.run(lambda: stage.page.files.offer(tmp_path / "new.txt", view.folder))
    stage.until(lambda: ("put", "/home/agent/new.txt", False) in files.asked)
    stage.until(lambda: files.asked[-1] == ("list", "/home/agent", False))


def test_a_stopped_sandbox_offers_its_start(qtbot: QtBot, loop: asyncio.AbstractEventLoop) -> None:  # noqa: F811
    stage = Stage(qtbot, loop, replace(STATUS, state=State.STOPPED))
    stage.page.detail.tabs.setCurrentIndex(FILES)
    stage.open()
    view = stage.page.detail.files
    stage.until(lambda: view._stopped.isVisible())
    stage.run(view._stopped.findChild(QPushButton, "state-start").click)
    stage.until(lambda: stage.machines.did == ["start review"])


def test_modes_are_written_as_everybody_knows_them() -> None:
    assert mode_text(Entry("x", EntryKind.FILE, 0o1644)) == "rw-r--r-T"
    assert mode_text(Entry("x", EntryKind.FILE, 0o6755)) == "rwsr-sr-x"
