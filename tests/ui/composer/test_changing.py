"""Changing the set of a sandbox that exists, from its page to its recreation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLabel, QPushButton

from kitstudio.runtime.backend import Decision, SandboxStatus, State
from kitstudio.services.set_changes import propose, set_of
from kitstudio.ui.approvals.desk import open_dialog
from kitstudio.ui.theme import Theme
from tests.ui.composer.stage import GREETER, HELLO, Run, Stage, needs_demo, stage_on, until
from tests.ui.composer.test_composer_ui import _answer, _launch

pytestmark = needs_demo


async def launched(stage: Stage, folder: Path) -> SandboxStatus:
    """A sandbox of the greeting, approved by a person; it stands still."""
    recreated: list[Any] = []

    async def recreate(name: str, approved: Any, _images: object, _progress: object, *, anew: bool = False) -> Any:
        recreated.append((name, approved.lock, anew))
        return stage.machines.statuses[name]

    async def status(name: str) -> SandboxStatus:
        return stage.machines.statuses[name]

    stage.machines.recreate, stage.machines.status = recreate, status  # type: ignore[attr-defined]
    stage.machines.recreated = recreated  # type: ignore[attr-defined]
    await stage.add(HELLO)
    await until(lambda: stage.page.launch_button.isEnabled())
    stage.page.save(folder / "greeting.yaml")
    await until(lambda: stage.page.title() == "greeting.yaml")
    await _launch(stage)
    await _answer("approveAll")
    await until(lambda: stage.machines.statuses)
    return next(iter(stage.machines.statuses.values()))


def _question(stage: Stage) -> QDialog:
    dialog = stage.page.findChild(QDialog, "confirmDialog")
    assert dialog is not None
    return dialog


def test_a_kit_added_to_a_stopped_sandbox_is_resolved_anew_and_what_goes_is_listed_before_a_yes_row_76(
    run: Run, theme: Theme, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            status = await launched(stage, tmp_path)
            assert status.state is State.STOPPED
            approvals = stage.window.studio.approvals
            stage.page.files.new()
            stage.page.navigator.change_set.emit(await set_of(approvals, status.name, status.lock_sha256))
            await stage.settle()
            assert stage.names() and stage.page.changing.sandbox == status.name == "greeting"
            await stage.add(f"{GREETER}:1.0.0")
            QTest.keyClicks(stage.field("name"), "Ada")
            QTest.keyClick(stage.field("name"), Qt.Key.Key_Return)
            await until(lambda: stage.page.launch_button.isEnabled())
            stage.page.launch_button.click()
            words = " ".join(label.text() for label in _question(stage).findChildren(QLabel))
            assert "it lists" in words and "Dropped: its disk" in words and "Kept: workspace" in words
            QTest.keyClick(_question(stage), Qt.Key.Key_Return)  # the way out that loses nothing is the default
            assert stage.machines.recreated == []  # type: ignore[attr-defined]
            await until(lambda: stage.page.findChild(QDialog, "confirmDialog") is None)
            stage.page.launch_button.click()
            _question(stage).findChild(QPushButton, "confirmGo").click()
            await until(open_dialog)
            await _answer("approveAll")
            await until(lambda: stage.machines.recreated)  # type: ignore[attr-defined]
            name, lock, anew = stage.machines.recreated[0]  # type: ignore[attr-defined]
            assert name == status.name and anew and len(lock.kits) == 2

    run(scene())


def test_an_entry_that_a_refusal_suggests_is_one_undoable_step_and_grants_nothing(
    run: Run, theme: Theme, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            status = await launched(stage, tmp_path)
            refusal = Decision(1.0, "runtime", "up.example", 443, "refused", reason="no entry names up.example:443")
            proposal, _ = propose(refusal)
            approvals = stage.window.studio.approvals
            stage.page.files.new()
            change = await set_of(approvals, status.name, status.lock_sha256, proposal)
            stage.page.navigator.change_set.emit(change)
            await stage.settle()
            assert "up.example:443" in stage.composer.value.state.text
            assert any("up.example" in row.entry for row in stage.composer.value.plan.permissions)
            stage.page.steps.undo()
            assert stage.composer.value.state.text == change.state.text
            stage.page.steps.redo()
            stage.page.files.new()
            assert stage.page.changing.sandbox == "greeting"  # still asked whether it may be lost
            _question(stage).findChild(QPushButton, "confirmGo").click()
            assert stage.page.changing.sandbox == ""
            assert not stage.machines.recreated  # type: ignore[attr-defined]

    run(scene())
