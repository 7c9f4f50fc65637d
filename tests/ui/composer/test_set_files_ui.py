"""The set's file: drafts that survive a kill, recent sets, and what another program writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton

from kitstudio.ui.composer.file_handle import FileHandle
from kitstudio.ui.composer.files import DRAFT_REST_MS
from kitstudio.ui.theme import Theme
from tests.ui.composer.stage import HELLO, Alone, Run, needs_demo, page_on, until

TEXT = f"""\
# syntax=docker/sandbox-kit:3
schemaVersion: "3"
kind: set   # ours
displayName: 'Team'

kits:
    # the base
  -   ref: {HELLO}      # keep this one
"""


def _set(folder: Path, text: str = TEXT) -> Path:
    file = folder / "team.yaml"
    file.write_text(text)
    return file


def _press(stage: Alone, name: str) -> None:
    button = stage.page.outside.findChild(QPushButton, name)
    assert button is not None and button.isVisibleTo(stage.page.outside)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


async def _open(stage: Alone, file: Path) -> None:
    stage.page.open_set(file)
    await until(lambda: stage.page.title() == "team.yaml")
    await stage.settle()


@needs_demo
def test_saving_leaves_every_untouched_line_byte_for_byte(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = _set(tmp_path, TEXT.replace("\n", "\r\n"))
        async with page_on(tmp_path / "home", theme) as stage:
            await _open(stage, file)
            await stage.add("demo.invalid/git-aliases:1.2.0")
            stage.page.save()
            await until(lambda: not stage.composer.value.dirty)
            written = file.read_bytes()
            assert written.startswith(TEXT.replace("\n", "\r\n").encode()) and b"git-aliases" in written

    run(work())


@needs_demo
def test_unsaved_work_comes_back_after_the_page_ended(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = _set(tmp_path)
        home = tmp_path / "home"
        async with page_on(home, theme) as stage:
            await _open(stage, file)
            await stage.add("demo.invalid/git-aliases:1.2.0")
            await until(lambda: list((home / "data" / "drafts").glob("*.json")))
        assert "git-aliases" not in file.read_text()
        async with page_on(home, theme) as stage:
            await stage.settle()
            assert sorted(stage.names()) == ["git-aliases", "hello"] and stage.page.title() == "team.yaml *"
            assert stage.page.outside.isVisible()
            _press(stage, "banner-second")
            await stage.settle()
            assert stage.names() == ["hello"] and not stage.composer.value.dirty
            stage.page.steps.undo()
            await stage.settle()
            assert len(stage.names()) == 2

    run(work())


@needs_demo
def test_unsaved_work_survives_a_kill(run: Run, theme: Theme, tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import asyncio, os, signal
        from pathlib import Path
        from kitstudio.services.app import Options, Studio
        from kitstudio.services.set_documents import SetDocuments

        async def main():
            studio = await Studio.open(Options(home=Path({str(tmp_path)!r})))
            studio.composer.add({HELLO!r})
            value = await studio.composer.settled()
            await SetDocuments(studio.home).keep_draft(value, studio.composer.saved)
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
        """
    )
    ended = subprocess.run([sys.executable, "-c", program], env={**os.environ}, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL

    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.settle()
            assert stage.names() == ["hello"] and stage.page.outside.isVisible()

    run(work())


@needs_demo
def test_work_of_the_last_moment_is_kept_when_the_window_closes(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            stage.page.add(HELLO)
            stage.page.files.flush()
            (draft,) = (tmp_path / "data" / "drafts").glob("*.json")
            assert HELLO in draft.read_text()

    run(work())


@needs_demo
def test_saved_work_leaves_no_draft(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        drafts = tmp_path / "home" / "data" / "drafts"
        async with page_on(tmp_path / "home", theme) as stage:
            await stage.add(HELLO)
            await until(lambda: list(drafts.glob("*.json")))
            stage.page.save(tmp_path / "mine.yaml")
            await until(lambda: not list(drafts.glob("*.json")))
        assert DRAFT_REST_MS < 1000

    run(work())


@needs_demo
def test_row_47_a_saved_set_reopens_with_kits_digests_args_and_decisions(
    run: Run, theme: Theme, tmp_path: Path
) -> None:
    async def work() -> None:
        home, file = tmp_path / "home", tmp_path / "mine.yaml"
        async with page_on(home, theme) as stage:
            await stage.add("demo.invalid/workbench:1.1.0", "demo.invalid/greeter:1.0.0", HELLO)
            stage.page.edits.remove(HELLO)
            stage.page.edits.pin("demo.invalid/workbench:1.1.0")
            stage.page.set_input("demo.invalid/greeter:1.0.0", "name", "Ada")
            choice = stage.composer.value.plan.choices[0]
            stage.page.edits.choose(choice.kit, choice.path, False)
            stage.page.save(file)
            await until(lambda: stage.page.title() == "mine.yaml" and not stage.composer.value.dirty)
            before = stage.composer.value.state
            state = stage.page.save_state()
        async with page_on(home, theme) as stage:
            stage.page.restore_state(state)
            await stage.page.files.begin(state["path"])
            await stage.settle()
            assert stage.composer.value.state == before
            assert not next(c for c in stage.composer.value.plan.choices if c.path == choice.path).selected

    run(work())


@needs_demo
def test_another_programs_change_is_noticed_and_reloaded_as_one_step(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = _set(tmp_path)
        async with page_on(tmp_path / "home", theme) as stage:
            await _open(stage, file)
            file.write_text(TEXT + "  - ref: demo.invalid/git-aliases:1.2.0\n")
            await until(lambda: stage.page.outside.isVisible())
            assert stage.names() == ["hello"]
            _press(stage, "banner-action")
            await stage.settle()
            assert sorted(stage.names()) == ["git-aliases", "hello"] and not stage.composer.value.dirty
            stage.page.steps.undo()
            await stage.settle()
            assert stage.names() == ["hello"] and stage.composer.value.dirty

    run(work())


@needs_demo
def test_keeping_mine_replaces_the_other_only_when_saved(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = _set(tmp_path)
        async with page_on(tmp_path / "home", theme) as stage:
            await _open(stage, file)
            await stage.add("demo.invalid/git-aliases:1.2.0")
            theirs = TEXT.replace("Team", "Theirs")
            file.write_text(theirs)
            stage.page.save()
            await until(lambda: stage.page.outside.isVisible())
            assert file.read_text() == theirs and stage.composer.value.dirty
            _press(stage, "banner-second")
            assert file.read_text() == theirs
            stage.page.save()
            await until(lambda: not stage.composer.value.dirty)
            assert "git-aliases" in file.read_text() and "Theirs" not in file.read_text()

    run(work())


@needs_demo
def test_a_file_that_is_no_set_any_more_is_told_and_nothing_is_lost(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = _set(tmp_path)
        async with page_on(tmp_path / "home", theme) as stage:
            await _open(stage, file)
            file.write_text("kind: [")
            await until(lambda: stage.page.banner.isVisible())
            assert stage.names() == ["hello"]

    run(work())


@needs_demo
def test_recent_sets_are_in_the_menu_and_open(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = _set(tmp_path)
        async with page_on(tmp_path / "home", theme) as stage:
            await _open(stage, file)
            await until(lambda: stage.page.files._recent)
            stage.page.files.new()
            await until(lambda: not stage.composer.value.plan.members)
            menu = QMenu()
            stage.page.files.fill_menu(menu)
            actions = {action.objectName(): action for action in menu.actions()}
            assert "team.yaml" in actions["recent-0"].text()
            actions["recent-0"].trigger()
            await until(lambda: stage.names() == ["hello"])
            actions["file-forget"].trigger()
            await until(lambda: not stage.page.files._recent)

    run(work())


@needs_demo
def test_the_set_is_dragged_out_as_its_file_or_as_text(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = _set(tmp_path)
        async with page_on(tmp_path / "home", theme) as stage:
            await _open(stage, file)
            handle = stage.page.findChild(FileHandle)
            assert handle is not None
            assert [url.toLocalFile() for url in handle.data().urls()] == [str(file)]
            assert handle.data().text() == TEXT
            await stage.add("demo.invalid/git-aliases:1.2.0")
            assert not handle.data().hasUrls() and "git-aliases" in handle.data().text()
            QTest.keyClick(handle, Qt.Key.Key_Space)
            (menu,) = handle.findChildren(QMenu, "fileHandleMenu")
            {action.objectName(): action for action in menu.actions()}["copy-path"].trigger()
            assert QApplication.clipboard().text() == str(file)

    run(work())
