"""Editing the set: several Kits at once, digests, copies, drops from anywhere; each one undoable step."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from kitstudio.models.plan import Member, Plan, Problem, ProblemKind
from kitstudio.registry.source import SignInRequired
from kitstudio.services.members import failure
from kitstudio.ui.composer.edits import effect_words
from kitstudio.ui.composer.problems_view import ProblemsView
from kitstudio.ui.drag import reference_mime, references_of, set_text_of
from kitstudio.ui.sign_in.dialog import SignInDialog
from kitstudio.ui.theme import Theme
from tests.ui.composer.stage import GREETER, HELLO, Alone, Run, drop, needs_demo, page_on, until

ALIASES, WORKBENCH, RULES = (
    "demo.invalid/git-aliases:1.2.0",
    "demo.invalid/workbench:1.1.0",
    "demo.invalid/house-rules:1.0.0",
)


def _text(value: str) -> QMimeData:
    data = QMimeData()
    data.setText(value)
    return data


def _files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def _menu(stage: Alone, name: str) -> QMenu:
    found = stage.page.findChildren(QMenu, name)
    assert found, name
    return found[-1]


def _choose(menu: QMenu, name: str) -> None:
    {action.objectName(): action for action in menu.actions()}[name].trigger()


@needs_demo
def test_several_kits_are_removed_pinned_and_unpinned_in_one_step_each(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.add(WORKBENCH, ALIASES, RULES)
            view, steps = stage.page.stack.view, stage.page.steps
            view.setFocus()
            QTest.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
            assert len(view.chosen()) == 3
            before = steps.index()
            QTest.keyClick(view, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
            assert steps.index() == before + 1 and stage.composer.value.state.text.count("sha256:") == 3
            assert not stage.composer.value.plan.loading
            QTest.keyClick(view, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
            assert steps.index() == before + 2 and "sha256:" not in stage.composer.value.state.text
            await stage.settle()
            QTest.keyClick(view, Qt.Key.Key_Delete)
            assert steps.index() == before + 3 and not stage.names()
            steps.undo()
            await stage.settle()
            assert len(stage.names()) == 3

    run(work())


@needs_demo
def test_the_menu_does_all_that_the_keys_do(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.add(WORKBENCH, ALIASES)
            names = {action.objectName() for action in stage.page.kit_menu(ALIASES, QPoint()).actions()}
            assert {"kit-open", "kit-version", "kit-copy", "kit-entries", "kit-pin", "kit-remove"} <= names
            many = stage.page.kit_menu((WORKBENCH, ALIASES), QPoint())
            assert "kit-version" not in {action.objectName() for action in many.actions()}
            _choose(many, "kit-pin")
            assert stage.composer.value.state.text.count("sha256:") == 2
            _choose(stage.page.kit_menu((WORKBENCH, ALIASES), QPoint()), "kit-unpin")
            assert "sha256:" not in stage.composer.value.state.text

    run(work())


@needs_demo
def test_a_version_is_replaced_from_its_menu_in_one_step(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.add(HELLO, f"{GREETER}:1.0.0")
            stage.page.stack.view.choose([f"{GREETER}:1.0.0"])
            before = stage.page.steps.index()
            QTest.keyClick(stage.page.stack.view, Qt.Key.Key_F2)
            await until(lambda: stage.page.findChildren(QMenu, "versionMenu"))
            _choose(_menu(stage, "versionMenu"), "version-2.0.0")
            await stage.settle()
            assert stage.page.steps.index() == before + 1 and f"{GREETER}:2.0.0" in stage.composer.value.state.text

    run(work())


@needs_demo
def test_kits_are_copied_with_digest_and_values_into_another_set(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.add(HELLO, f"{GREETER}:1.0.0")
            stage.page.set_input(f"{GREETER}:1.0.0", "name", "Ada")
            stage.page.edits.pin(HELLO)
            stage.page.stack.view.choose([HELLO, f"{GREETER}:1.0.0"])
            QTest.keyClick(stage.page.stack.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
            stage.composer.new()
            stage.page.edits.forget()
            stage.page.paste()
            await stage.settle()
            text = stage.composer.value.state.text
            assert "name: Ada" in text and "sha256:" in text and stage.page.steps.count() == 1
            stage.page.steps.undo()
            assert not stage.names()

    run(work())


@needs_demo
def test_a_second_workload_dropped_offers_to_replace_the_first(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.page.studio.catalog.refresh()
            await until(lambda: any(offer.kind == "workload" for offer in stage.page.studio.catalog.offers()))
            await stage.add(HELLO)
            before = stage.page.steps.index()
            assert drop(stage.page, reference_mime(WORKBENCH))
            assert stage.names() == ["hello"]
            _choose(_menu(stage, "workloadMenu"), "workload-replace")
            await stage.settle()
            assert stage.names() == ["workbench"] and stage.page.steps.index() == before + 1
            assert drop(stage.page, reference_mime(HELLO))
            _choose(_menu(stage, "workloadMenu"), "workload-cancel")
            assert stage.names() == ["workbench"]
            assert drop(stage.page, reference_mime(HELLO))
            _choose(_menu(stage, "workloadMenu"), "workload-beside")
            await stage.settle()
            assert ProblemKind.SEVERAL_WORKLOADS in {problem.kind for problem in stage.composer.value.plan.problems}

    run(work())


@needs_demo
def test_text_from_another_application_is_references_or_a_whole_set(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            assert drop(stage.page, _text(f"{HELLO}\n# a comment\n{ALIASES}\n"))
            await stage.settle()
            assert sorted(stage.names()) == ["git-aliases", "hello"] and stage.page.steps.count() == 1
            assert drop(stage.page, _text(f'schemaVersion: "3"\nkind: set\nkits:\n- ref: {RULES}\n- ref: {HELLO}\n'))
            await stage.settle()
            assert len(stage.names()) == 3 and stage.page.steps.count() == 2
            assert not drop(stage.page, _text("   \n"))

    run(work())


@needs_demo
def test_folders_and_layouts_are_dropped_from_a_file_manager(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        folder = tmp_path / "mine"
        folder.mkdir()
        (folder / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\ndisplayName: Mine\nversion: "1.0.0"\n')
        async with page_on(tmp_path / "home", theme) as stage:
            assert drop(stage.page, _files(folder, tmp_path / "nothing-there"))
            await stage.settle()
            assert "mine" in stage.names() and len(stage.composer.value.plan.problems) >= 1
            kinds = {problem.kind for problem in stage.composer.value.plan.problems}
            assert ProblemKind.EMPTY_SET not in kinds

    run(work())


@needs_demo
def test_rows_can_be_dragged_out_and_are_not_taken_back(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.add(WORKBENCH, ALIASES)
            model = stage.page.stack.model
            data = model.mimeData([model.index(0, 0), model.index(1, 0)])
            assert data.text().splitlines() == [row.reference for row in model.rows()]
            assert references_of(data) == tuple(data.text().splitlines())
            assert model.flags(model.index(0, 0)) & Qt.ItemFlag.ItemIsDragEnabled

    run(work())


@needs_demo
def test_row_118_answers_that_arrive_during_a_drag_do_not_end_it(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            place, buttons, keys = QPointF(300, 300), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
            data = reference_mime(ALIASES)
            stage.page.add(WORKBENCH)
            stage.page.add(RULES)
            parents = [stage.page.parent(), stage.page.veil.parent(), stage.page.stack.view.parent()]
            enter = QDragEnterEvent(place.toPoint(), Qt.DropAction.CopyAction, data, buttons, keys)
            QApplication.sendEvent(stage.page, enter)
            assert enter.isAccepted() and stage.composer.value.plan.loading
            await stage.settle()
            await asyncio.sleep(0)
            assert not stage.composer.value.plan.loading and stage.page.veil.isVisible()
            assert parents == [stage.page.parent(), stage.page.veil.parent(), stage.page.stack.view.parent()]
            QApplication.sendEvent(stage.page, QDropEvent(place, Qt.DropAction.CopyAction, data, buttons, keys))
            await stage.settle()
            assert sorted(stage.names()) == ["git-aliases", "house-rules", "workbench"]
            assert not stage.page.veil.isVisible()

    run(work())


@needs_demo
def test_selection_is_shared_between_stack_and_graph(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.add(WORKBENCH, ALIASES)
            stage.page.show_view("graph")
            graph = stage.page.graph
            stage.page.stack.view.choose([WORKBENCH])
            assert graph.view.current == WORKBENCH and graph.inspector.reference == WORKBENCH
            QTest.keyClick(graph.view, Qt.Key.Key_Up)
            assert stage.page.stack.view.chosen() == (ALIASES,)
            QTest.keyClick(graph.view, Qt.Key.Key_Delete)
            await stage.settle()
            assert stage.names() == ["workbench"] and stage.page.save_state()["view"] == "graph"

    run(work())


@needs_demo
def test_an_only_kit_that_fails_is_told_and_not_an_empty_set(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            await stage.add("demo.invalid/nothing-of-the-kind")
            assert not stage.page.empty.isVisible()
            assert [problem.kind for problem in stage.composer.value.plan.problems] == [ProblemKind.UNREACHABLE]
            await stage.add("demo.invalid/nothing:1.0.0")
            assert ProblemKind.EMPTY_SET not in {problem.kind for problem in stage.composer.value.plan.problems}

    run(work())


@needs_demo
def test_inputs_are_offered_to_the_users_of_the_set_one_by_one_or_all(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            kit = f"{GREETER}:1.1.0"
            await stage.add(HELLO, kit)
            before = stage.page.steps.index()
            QTest.mouseClick(stage.page.inputs.offer_all, Qt.MouseButton.LeftButton)
            document = stage.composer.value.descriptor
            assert document is not None and set(document.args) == set(document.kits[1].args)
            assert document.args["name"].required and document.args["region"].enum
            assert stage.page.steps.index() == before + 1
            assert not stage.page.inputs.offer_all.isVisibleTo(stage.page.inputs)
            editor = stage.page.inputs.inputs.editor("", "name")
            assert editor is not None and not stage.composer.value.plan.coherent
            stage.page.set_input("", "name", "Ada")
            assert stage.composer.value.plan.coherent and "Ada" not in stage.composer.value.state.text
            stage.page.steps.undo()
            stage.page.steps.undo()
            assert not (stage.composer.value.descriptor or document).args

    run(work())


@needs_demo
def test_build_inputs_of_a_set_are_answered_before_its_kits_are_known(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        file = tmp_path / "set.yaml"
        file.write_text(
            'schemaVersion: "3"\nkind: set\nargs:\n  registry:\n    required: true\n    buildArg: REGISTRY\n'
            "kits:\n  - ref: ${{ kit.args.registry }}/hello:1.1.0\n"
        )
        async with page_on(tmp_path / "home", theme) as stage:
            stage.page.open_set(file)
            await until(lambda: stage.page.title() == "set.yaml")
            assert not stage.page.banner.isVisible() and not stage.page.launch_button.isEnabled()
            assert not stage.page.empty.isVisible()
            editor = stage.page.inputs.inputs.editor("", "registry")
            assert editor is not None
            QTest.keyClicks(editor.field, "demo.invalid")
            QTest.keyClick(editor.field, Qt.Key.Key_Return)
            await until(lambda: stage.names() == ["hello"])
            await until(lambda: stage.page.launch_button.isEnabled())
            assert not stage.composer.value.dirty

    run(work())


def test_what_the_runtime_cannot_do_stands_apart(theme: Theme) -> None:
    view = ProblemsView(theme)
    own = Problem(ProblemKind.NO_WORKLOAD, (), "", "The set has no workload.")
    lacks = Problem(ProblemKind.UNSUPPORTED_CAPABILITY, ("r.example/a:1",), "x", "a requires x.")
    view.show_problems([own], [lacks], loading=False, launchable=False)
    layout = view.layout()
    assert layout is not None
    order = [layout.itemAt(n).widget().objectName() for n in range(layout.count())]  # type: ignore[union-attr]
    assert order == ["problem-0", "runtimeProblems", "problem-1"]
    view.show_problems([own], [], loading=False, launchable=False)
    assert layout.count() == 1


def test_an_effect_belongs_to_the_kit_that_is_being_edited() -> None:
    assert effect_words(Plan(), Plan(), "r.example/a:1", "x") == ""


def test_what_a_drag_carries_is_bounded() -> None:
    many = QMimeData()
    many.setText("\n".join(f"r.example/k{n}:1" for n in range(500)))
    assert len(references_of(many)) == 64
    assert references_of(_text("a" * 2000)) == () and references_of(_text("bad\x00line")) == ()
    assert references_of(_text("file:///tmp/kit")) == ("/tmp/kit",)
    assert set_text_of(_text("schemaVersion kits:" + "x" * 600_000)) == ""


@needs_demo
def test_row_14_a_kit_that_wants_a_sign_in_offers_it_and_is_tried_again(
    run: Run, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with page_on(tmp_path, theme) as stage:
            ground = stage.page.studio.judgement
            answer = ground.member
            signed: list[str] = []

            async def closed(reference: str, digest: str) -> Member:
                if signed:
                    return await answer(HELLO, digest)
                error = SignInRequired("Who asks?", where=reference)
                return Member(reference, digest, failure=failure(reference, error))

            monkeypatch.setattr(ground, "member", closed)
            await stage.add("r.example/team/hello:1.1.0")
            (problem,) = [p for p in stage.composer.value.plan.problems if p.kind is ProblemKind.UNREACHABLE]
            assert problem.remedies[0].label == "Sign in…" and problem.remedies[0].other == "r.example"
            stage.page.apply_remedy(problem.remedies[0])
            dialog = stage.page.findChild(SignInDialog)
            assert dialog is not None and dialog.place.text() == "r.example"
            signed.append("r.example")
            dialog.signed_in.emit("r.example")
            await stage.settle()
            assert not [p for p in stage.composer.value.plan.problems if p.kind is ProblemKind.UNREACHABLE]
            dialog.close()

    run(work())
