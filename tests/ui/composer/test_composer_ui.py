"""The Composer page in the real window on the demo catalog: drops, problems, inputs, undo, launch, update."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.plan import Edge, Member, Plan, Problem, ProblemKind
from kitstudio.runtime.backend import LaunchOptions
from kitstudio.ui.approvals.desk import open_dialog
from kitstudio.ui.composer.launch_dialog import LaunchDialog, free_name
from kitstudio.ui.composer.launching import lock_name
from kitstudio.ui.composer.rows import order_explained, stack_rows
from kitstudio.ui.drag import reference_mime
from kitstudio.ui.navigator import PageName
from kitstudio.ui.sandboxes.page import SandboxesPage
from kitstudio.ui.theme import Theme
from tests.ui.composer.stage import GREETER, HELLO, Run, Stage, needs_demo, stage_on, until


@needs_demo
def test_typed_references_build_a_stack_with_the_workload_below(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            assert stage.page.empty.isVisible() and stage.page.launch_button.text() == "Launch: no Kits yet"
            await stage.add(f"{GREETER}:1.0.0", HELLO)
            assert stage.names() == ["greeter", "hello"]
            assert stage.page.stack.model.row(1).workload
            assert stage.page.stack.model.row(0).reason.text.startswith("needs hello")  # type: ignore[union-attr]

    run(work())


@needs_demo
def test_a_kit_dragged_from_the_catalog_is_added_and_highlighted(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            mime = reference_mime(HELLO)
            place, buttons, keys = QPoint(300, 300), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
            enter = QDragEnterEvent(place, Qt.DropAction.CopyAction, mime, buttons, keys)
            QApplication.sendEvent(stage.page, enter)
            assert enter.isAccepted() and stage.page.veil.isVisible() and "hello:1.1.0" in stage.page.veil.words
            drop = QDropEvent(QPointF(place), Qt.DropAction.CopyAction, mime, buttons, keys)
            QApplication.sendEvent(stage.page, drop)
            await stage.settle()
            assert stage.names() == ["hello"] and not stage.page.veil.isVisible()

    run(work())


@needs_demo
def test_a_set_file_dropped_on_an_empty_page_opens(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        text = f"schemaVersion: '3'\nkind: set\ndisplayName: Team\n# mine\nkits:\n  - ref: {HELLO}\n"
        file = tmp_path / "team.yaml"
        file.write_text(text)
        async with stage_on(tmp_path / "home", theme) as stage:
            mime = QMimeData()
            mime.setUrls([QUrl.fromLocalFile(str(file))])
            place, buttons, keys = QPoint(300, 300), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
            enter = QDragEnterEvent(place, Qt.DropAction.CopyAction, mime, buttons, keys)
            QApplication.sendEvent(stage.page, enter)
            drop = QDropEvent(QPointF(place), Qt.DropAction.CopyAction, mime, buttons, keys)
            QApplication.sendEvent(stage.page, drop)
            await until(lambda: stage.names() == ["hello"])
            assert stage.page.title() == "team.yaml" and not stage.page.steps.canUndo()

    run(work())


@needs_demo
def test_a_drag_that_holds_no_kit_is_refused(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            mime = QMimeData()
            mime.setData("image/png", b"x")
            buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
            enter = QDragEnterEvent(QPoint(9, 9), Qt.DropAction.CopyAction, mime, buttons, keys)
            enter.ignore()
            QApplication.sendEvent(stage.page, enter)
            assert not enter.isAccepted() and not stage.page.veil.isVisible()

    run(work())


@needs_demo
def test_a_conflict_is_told_selected_and_solved_in_one_step(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            await stage.add("demo.invalid/workbench:1.1.0", "demo.invalid/notes:1.1.0", "demo.invalid/notes-lite:1.0.0")
            assert stage.page.launch_button.text().startswith("Launch: 1 problem")
            assert not stage.page.launch_button.isEnabled()
            (problem,) = stage.page.inputs.problems.widgets
            QTest.mouseClick(problem, Qt.MouseButton.LeftButton)
            marked = [stage.page.stack.model.index(n, 0).data(258) for n in range(3)]
            assert sum(map(bool, marked)) == 2
            before = stage.page.steps.index()
            stage.press("remedy-0-0")
            await stage.settle()
            assert stage.page.steps.index() == before + 1 and stage.page.launch_button.text() == "Launch"
            assert stage.page.launch_button.isEnabled() and len(stage.names()) == 2
            stage.page.steps.undo()
            await stage.settle()
            assert len(stage.names()) == 3
            stage.page.steps.redo()
            await stage.settle()
            assert len(stage.names()) == 2

    run(work())


@needs_demo
def test_an_input_is_judged_while_typed_and_one_step(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            await stage.add(HELLO, f"{GREETER}:1.0.0")
            assert not stage.page.launch_button.isEnabled()
            field = stage.field("name")
            steps = stage.page.steps.count()
            QTest.keyClicks(field, "9")
            editor = stage.page.inputs.inputs.editor(f"{GREETER}:1.0.0", "name")
            assert field.property("state") == "error" and editor is not None
            QTest.keyClick(field, Qt.Key.Key_Backspace)
            QTest.keyClicks(field, "Ada")
            assert field.property("state") != "error"
            await until(lambda: stage.page.launch_button.isEnabled())
            QTest.keyClicks(field, " L")
            QTest.keyClick(field, Qt.Key.Key_Return)
            await until(lambda: "Ada L" in stage.composer.value.state.text)
            assert stage.page.steps.count() == steps + 1
            assert field.hasFocus() or field.text() == "Ada L"

    run(work())


@needs_demo
def test_a_remedy_leads_to_the_field(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            await stage.add(HELLO, f"{GREETER}:1.0.0")
            stage.press("remedy-0-0")
            assert stage.page.focusWidget() is stage.field("name")

    run(work())


@needs_demo
def test_removing_by_keyboard_and_from_the_menu(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            await stage.add(HELLO, "demo.invalid/git-aliases:1.2.0")
            view, model = stage.page.stack.view, stage.page.stack.model
            view.setCurrentIndex(model.index(0, 0))
            QTest.keyClick(view, Qt.Key.Key_Delete)
            await stage.settle()
            assert stage.names() == ["hello"]
            menu = stage.page.kit_menu(HELLO, QPoint())
            {action.objectName(): action for action in menu.actions()}["kit-copy"].trigger()
            assert QApplication.clipboard().text().startswith("demo.invalid/hello:1.1.0@sha256:")
            {action.objectName(): action for action in menu.actions()}["kit-remove"].trigger()
            await stage.settle()
            assert stage.page.empty.isVisible()

    run(work())


@needs_demo
def test_save_open_and_export(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            await stage.add(HELLO)
            assert stage.page.title().endswith("*")
            stage.page.save(tmp_path / "mine.yaml")
            await until(lambda: stage.page.title() == "mine.yaml")
            stage.page.export(tmp_path / "out.yaml", pin=True)
            await until(lambda: stage.page.note.isVisible())
            assert "sha256:" in (tmp_path / "out.yaml").read_text()
            stage.page.open_set(tmp_path / "missing.yaml")
            await until(lambda: stage.page.banner.isVisible())
            assert stage.names() == ["hello"]

    run(work())


async def _greeting_set(stage: Stage, folder: Path) -> None:
    await stage.add(HELLO, f"{GREETER}:1.0.0")
    QTest.keyClicks(stage.field("name"), "Ada")
    QTest.keyClick(stage.field("name"), Qt.Key.Key_Return)
    await until(lambda: stage.page.launch_button.isEnabled())
    stage.page.save(folder / "greeting.yaml")
    await until(lambda: stage.page.title() == "greeting.yaml")


async def _launch(stage: Stage) -> None:
    stage.press("composerLaunch")
    dialog = stage.page.findChild(LaunchDialog)
    assert dialog is not None and dialog.name.text() == "greeting"
    QTest.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    await until(open_dialog)


async def _answer(*names: str) -> None:
    dialog = open_dialog()
    assert dialog is not None
    await until(lambda: dialog.complete)
    for tick in dialog.ticks():
        QTest.keyClick(tick, Qt.Key.Key_Space)
    for name in names:
        target = dialog.findChild(QPushButton, name)
        assert target is not None and target.isEnabled()
        QTest.mouseClick(target, Qt.MouseButton.LeftButton)


@needs_demo
def test_a_first_launch_is_approved_then_launched(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            await _greeting_set(stage, tmp_path)
            await _launch(stage)
            dialog = open_dialog()
            assert dialog is not None and dialog.keep.text() == "Do not approve" and not stage.machines.launched
            await _answer("approveAll")
            await until(lambda: stage.machines.launched)
            assert stage.machines.launched[0].name == "greeting"
            assert stage.window.page is PageName.SANDBOXES
            sandboxes = stage.window.pages[PageName.SANDBOXES]
            assert isinstance(sandboxes, SandboxesPage)
            await until(lambda: sandboxes.model.rowCount() == 1)

    run(work())


@needs_demo
def test_escape_launches_nothing_and_waits(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            await _greeting_set(stage, tmp_path)
            await _launch(stage)
            dialog = open_dialog()
            assert dialog is not None
            QTest.keyClick(dialog, Qt.Key.Key_Escape)
            await until(lambda: stage.page.note.isVisible())
            assert not stage.machines.launched and len(stage.window.studio.approvals.waiting()) == 1
            assert await stage.window.studio.approvals.lock("greeting") is None

    run(work())


@needs_demo
def test_an_update_that_asks_for_more_is_reviewed_and_refusing_takes_it_back(
    run: Run, theme: Theme, tmp_path: Path
) -> None:
    async def work() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            await _greeting_set(stage, tmp_path)
            await _launch(stage)
            await _answer("approveAll")
            await until(lambda: stage.machines.launched)
            stage.window.go("composer")
            stage.page.replace(f"{GREETER}:1.0.0", f"{GREETER}:2.0.0")
            await until(open_dialog)
            dialog = open_dialog()
            assert dialog is not None
            assert dialog.request.review.title == "greeter 2.0.0 asks for more than you approved for 1.0.0"
            assert dialog.keep.text() == "Keep 1.0.0"
            QTest.mouseClick(dialog.keep, Qt.MouseButton.LeftButton)
            await until(lambda: f"{GREETER}:1.0.0" in stage.composer.value.state.text)
            assert (await stage.window.studio.approvals.history())[0].answer == "kept"

    run(work())


@needs_demo
def test_a_second_launch_within_the_surface_asks_nothing(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            await _greeting_set(stage, tmp_path)
            await _launch(stage)
            await _answer("approveAll")
            await until(lambda: stage.machines.launched)
            await stage.page.launch(LaunchOptions("again"))
            await until(lambda: len(stage.machines.launched) == 2)
            assert open_dialog() is None

    run(work())


@needs_demo
def test_a_launch_takes_from_the_settings_what_the_dialog_leaves_open(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            settings = stage.window.studio.settings
            for key, value in (("sandbox.memory", 3072), ("sandbox.cpus", 3), ("sandbox.accel", "tcg")):
                settings.set(key, value)
            await _greeting_set(stage, tmp_path)
            await _launch(stage)
            await _answer("approveAll")
            await until(lambda: stage.machines.launched)
            await stage.page.launch(LaunchOptions("again", memory=1024, cpus=1))
            await until(lambda: len(stage.machines.launched) == 2)
            asked = [(o.memory, o.cpus, o.accel) for o in stage.machines.launched]
            assert asked == [(3072, 3, "tcg"), (1024, 1, "tcg")]

    run(work())


@needs_demo
def test_a_missing_workspace_folder_is_refused_before_anything(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path / "home", theme) as stage:
            await _greeting_set(stage, tmp_path)
            stage.press("composerLaunch")
            dialog = stage.page.findChild(LaunchDialog)
            assert dialog is not None
            dialog.workspace.setText("relative/path")
            assert not dialog.go.isEnabled()
            dialog.workspace.setText(str(tmp_path / "gone"))
            QTest.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
            await until(lambda: stage.page.banner.isVisible())
            assert open_dialog() is None and not stage.machines.launched

    run(work())


@needs_demo
def test_why_this_order_names_every_kit(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            await stage.add(HELLO, f"{GREETER}:1.0.0")
            stage.press("whyOrder")
            reasons = order_explained(stage.composer.value.plan)
            assert reasons.splitlines()[0] == "hello 1.1.0: is the base everything stands on"
            assert reasons.splitlines()[1].startswith("greeter 1.0.0: needs hello")

    run(work())


def test_rows_say_what_is_known_and_no_more() -> None:
    member = Member("r.example/a:1", descriptor=Descriptor("3", kind="mixin"))
    broken = Member("r.example/b:1", failure=Problem(ProblemKind.NOT_A_KIT, ("r.example/b:1",), "", "no"))
    base = Member("r.example/w:1", descriptor=Descriptor("3", kind="workload"))
    plan = Plan(
        members=(base, member, broken),
        ordered=("r.example/w:1", "r.example/a:1"),
        workload="r.example/w:1",
        edges=(Edge("r.example/a:1", "r.example/w:1", "com.docker.kit/w >= 1"),),
    )
    rows = stack_rows(plan)
    assert [row.name for row in rows] == ["b", "a", "w"]
    assert rows[0].problem and not rows[0].known and rows[0].reason.text == "its place is not known"  # type: ignore[union-attr]
    assert rows[1].reason.text == "needs w >= 1" and rows[2].reason is None  # type: ignore[union-attr]


def test_names_for_sandboxes_and_locks() -> None:
    assert free_name("team agent!", {"team-agent"}) == "team-agent-2"
    assert free_name("日本", set()) == "sandbox"


@pytest.mark.parametrize(("name", "lock"), [("team", "team"), ("team agent", "team-agent"), ("..", "untitled")])
def test_lock_names_are_names(name: str, lock: str) -> None:
    from kitstudio.services.composition import EMPTY_SET, Composition, SetState

    assert lock_name(Composition(SetState(EMPTY_SET), name)) == lock


@needs_demo
def test_a_kit_that_is_not_counted_is_named_instead_of_nothing_asked(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with stage_on(tmp_path, theme) as stage:
            await stage.add(HELLO, f"{GREETER}:1.1.0")
            column = stage.page.permissions
            assert column.missing.isVisibleTo(column) and "greeter 1.1.0" in column.missing.text()
            assert "Asks for nothing" not in [look.text for look in column.counts.looks]
            QTest.keyClicks(stage.field("name"), "Ada")
            await until(lambda: not column.missing.isVisibleTo(column))

    run(work())
