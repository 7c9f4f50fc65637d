from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from kitstudio.models.errors import KitStudioError
from kitstudio.services.linting import LONGEST_LINE
from kitstudio.ui.editor.editors import Editors
from kitstudio.ui.editor.highlight import spans
from kitstudio.ui.editor.window import EditorWindow
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.theme import Theme, Token

Run = Callable[[Awaitable[Any]], Any]

TEXT = """schemaVersion: "3"
kind: mixin
requires: [debian, "gh@@@"]
capabilities:
  - type: com.docker.sandbox/host-mount@1
    config:
      path: /work
"""


@pytest.fixture
def editors(theme: Theme) -> Iterator[Editors]:
    made = Editors(theme)
    made.errors = []  # type: ignore[attr-defined]
    made.failed.connect(made.errors.append)  # type: ignore[attr-defined]
    yield made
    for window in tuple(made.windows):
        window.page.edit.document().setModified(False)
        window.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gh" / "kit.yaml"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


async def until(condition: Callable[[], object]) -> None:
    """Wait for what events bring about."""
    while not condition():  # noqa: ASYNC110 - events of Qt, of a file watcher and of threads come together here
        await asyncio.sleep(0.01)


async def opened(editors: Editors, path: Path) -> EditorWindow:
    count = len(editors.windows)
    editors.open(path)
    await until(lambda: len(editors.windows) > count)
    window = editors.windows[-1]
    await until(lambda: window.page.lint is not None)
    return window


def go_after(window: EditorWindow, words: str) -> None:
    edit = window.page.edit
    cursor = edit.textCursor()
    cursor.setPosition(edit.text().index(words) + len(words))
    edit.setTextCursor(cursor)


def test_folder_opens_with_findings_and_what_it_would_ask_for(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file.parent))
    page = window.page
    assert [(mark.line, mark.column) for mark in page.problems.marks()] == [(3, 20)]
    assert page.verdict.text() == "Not valid (authored form): 1 error"
    assert page.surface.is_known()
    assert page.surface.about.text().startswith("No recipe")
    assert window.windowTitle() == "gh/kit.yaml[*]"


def test_typing_is_judged_again_and_the_underline_follows(run: Run, editors: Editors, file: Path) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        page = window.page
        go_after(window, '"gh@@@')
        for _ in range(3):
            QTest.keyClick(page.edit, Qt.Key.Key_Backspace)
        await until(lambda: page.lint is not None and page.lint.valid)
        assert page.problems.marks() == ()
        assert page.edit.mark_at(TEXT.index("gh@@@")) is None
        assert window.isWindowModified() and page.dirty
        QTest.keyClicks(page.edit, "@")
        await until(lambda: page.problems.marks())
        assert page.edit.mark_at(page.edit.text().index("gh@")) is not None

    run(work())


def test_problem_that_is_chosen_puts_the_cursor_at_its_place(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    page = window.page
    page.edit.moveCursor(QTextCursor.MoveOperation.End)
    QTest.keyClick(page.edit, Qt.Key.Key_F8)
    assert page.edit.place() == (3, 20)
    page.edit.moveCursor(QTextCursor.MoveOperation.End)
    QTest.keyClick(page.problems, Qt.Key.Key_Return)
    assert page.edit.place() == (3, 20)


def test_permission_that_is_chosen_puts_the_cursor_at_its_line(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    page = window.page
    page.surface.list.setFocus()
    QTest.keyClick(page.surface.list, Qt.Key.Key_Down)
    QTest.keyClick(page.surface.list, Qt.Key.Key_Down)
    assert page.edit.place()[0] == 7


def test_text_that_cannot_be_read_shows_no_stale_permissions(run: Run, editors: Editors, file: Path) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        go_after(window, "kind: ")
        QTest.keyClicks(window.page.edit, "[")
        await until(lambda: window.page.lint is not None and not window.page.lint.decoded)
        assert not window.page.surface.is_known()

    run(work())


def test_suggestions_come_while_typing_and_are_taken_with_the_keyboard(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    edit = window.page.edit
    edit.moveCursor(QTextCursor.MoveOperation.End)
    QTest.keyClicks(edit, "  - type: vol")
    assert edit.popup.isVisible()
    assert edit.popup.labels() == ("com.docker.sandbox/volume@1",)
    QTest.keyClick(edit, Qt.Key.Key_Tab)
    assert edit.text().endswith("  - type: com.docker.sandbox/volume@1")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    QTest.keyClicks(edit, "con")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    QTest.keyClick(edit, Qt.Key.Key_Return)
    QTest.keyClick(edit, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert edit.popup.labels() == ("path", "size", "tmpfs", "mode")
    QTest.keyClick(edit, Qt.Key.Key_Down)
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert edit.text().endswith("    config:\n      size: ")
    QTest.keyClick(edit, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(edit, Qt.Key.Key_Escape)
    assert not edit.popup.isVisible()


def test_indentation_is_taken_over_and_given_to_a_selection(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    edit = window.page.edit
    edit.selectAll()
    QTest.keyClick(edit, Qt.Key.Key_Tab)
    assert edit.text().startswith('  schemaVersion: "3"\n  kind')
    edit.selectAll()
    QTest.keyClick(edit, Qt.Key.Key_Backtab)
    assert edit.text() == TEXT
    edit.undo()
    edit.undo()
    assert edit.text() == TEXT and not window.page.dirty


def test_saving_writes_the_file_and_clears_the_mark(run: Run, editors: Editors, file: Path) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        go_after(window, "kind: mixin")
        QTest.keyClicks(window.page.edit, "\u00a0".replace("\u00a0", " "))
        QTest.keyClick(window.page.edit, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: not window.page.dirty)
        assert file.read_text() == TEXT.replace("kind: mixin", "kind: mixin ")
        assert not window.isWindowModified()

    run(work())


def test_hard_blanks_and_far_signs_are_written_as_they_were_read(run: Run, editors: Editors, file: Path) -> None:
    text = 'schemaVersion: "3"\nkind: mixin\ndescription: "a\u00a0b \U0001f600 x"\nrequires: ["@"]\n'
    file.write_text(text)

    async def work() -> None:
        window = await opened(editors, file)
        assert window.page.edit.text() == text
        mark = window.page.problems.marks()[0]
        assert text[mark.start : mark.end] == '"@"'
        place = window.page.edit.document().toRawText().index('"@"')
        assert window.page.edit.mark_at(place + 1) == mark

    run(work())


def test_file_changed_by_another_program_is_read_again_or_asked_about(run: Run, editors: Editors, file: Path) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        page = window.page
        file.write_text(TEXT + "# theirs\n")
        await until(lambda: page.edit.text().endswith("# theirs\n"))
        assert not page.dirty
        QTest.keyClicks(page.edit, "# mine")
        replaced = file.with_suffix(".new")
        replaced.write_text(TEXT + "# again\n")
        replaced.rename(file)
        await until(lambda: "changed by another program" in page.note.accessibleName())
        assert "# mine" in page.edit.text()
        page.save()
        await until(lambda: "Saving would replace it" in page.note.accessibleName())
        assert file.read_text().endswith("# again\n")
        page.note.acted.emit("overwrite")
        await until(lambda: not page.dirty)
        assert "# mine" in file.read_text()

    run(work())


def test_reading_again_can_be_undone(run: Run, editors: Editors, file: Path) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        page = window.page
        page.edit.moveCursor(QTextCursor.MoveOperation.End)
        QTest.keyClicks(page.edit, "# mine")
        file.write_text("# theirs\n")
        await until(lambda: page.note.isVisibleTo(page))
        page.note.acted.emit("reload")
        await until(lambda: page.edit.text() == "# theirs\n")
        page.edit.undo()
        assert page.edit.text() == TEXT + "# mine"

    run(work())


def test_unsaved_changes_are_asked_about_before_the_window_closes(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    QTest.keyClicks(window.page.edit, "# x")
    window.close()
    dialog = window.findChild(ConfirmDialog)
    assert editors.windows and dialog is not None
    dialog.reject()
    gone: list[bool] = []
    assert not editors.close(lambda: gone.append(True))
    asked = [each for each in window.findChildren(ConfirmDialog) if each.isVisible()]
    QTest.mouseClick(asked[-1].findChild(QPushButton, "confirmGo"), Qt.MouseButton.LeftButton)
    assert not editors.windows and gone == [True]


def test_file_that_is_open_already_comes_to_the_front(run: Run, editors: Editors, file: Path) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        raised = asyncio.Event()
        original = window.activateWindow
        window.activateWindow = lambda: (raised.set(), original())  # type: ignore[method-assign]
        editors.open(file.parent)
        await raised.wait()
        assert editors.windows == [window]

    run(work())


def test_file_that_is_dropped_is_opened_and_one_that_cannot_be_is_told(run: Run, editors: Editors, file: Path) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        other = file.parent.parent / "Dockerfile"
        other.write_text('# kit:\n#   schemaVersion: "3"\n#   kind: mixin\nFROM scratch\n')
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(other)), QUrl.fromLocalFile("/nowhere/kit.yaml")])
        drop = QDropEvent(
            QPointF(5, 5),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        window.dropEvent(drop)
        errors: list[KitStudioError] = editors.errors  # type: ignore[attr-defined]
        await until(lambda: len(editors.windows) == 2 and errors)
        assert errors[0].what == "There is no such file or folder."
        page = editors.windows[1].page
        await until(lambda: page.lint is not None)
        assert page.lint is not None and page.lint.valid
        assert page.surface.about.text() == "Its files are built from this Dockerfile."
        page.edit.go_to(3, 20)
        QTest.keyClick(page.edit, Qt.Key.Key_Return)
        assert page.edit.text().split("\n")[3] == "#   "

    run(work())


def test_file_that_is_dropped_on_the_text_is_opened_and_text_is_inserted(
    run: Run, editors: Editors, file: Path
) -> None:
    async def work() -> None:
        window = await opened(editors, file)
        other = file.with_name("other.yaml")
        other.write_text(TEXT)
        view = window.page.edit.viewport()
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(other))])
        keys, buttons = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
        enter = QDragEnterEvent(QPoint(20, 8), Qt.DropAction.CopyAction, data, buttons, keys)
        QApplication.sendEvent(view, enter)
        assert enter.isAccepted()
        QApplication.sendEvent(view, QDropEvent(QPointF(20, 8), Qt.DropAction.CopyAction, data, buttons, keys))
        await until(lambda: len(editors.windows) == 2)
        assert window.page.edit.text() == TEXT
        words = QMimeData()
        words.setText("# dropped ")
        QApplication.sendEvent(view, QDragEnterEvent(QPoint(1, 8), Qt.DropAction.CopyAction, words, buttons, keys))
        QApplication.sendEvent(view, QDropEvent(QPointF(1, 8), Qt.DropAction.CopyAction, words, buttons, keys))
        assert "# dropped " in window.page.edit.text()

    run(work())


def test_paste_that_is_too_much_is_refused_and_said(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    page = window.page
    data = QMimeData()
    data.setText("x" * (LONGEST_LINE + 1))
    page.edit.insertFromMimeData(data)
    assert page.edit.text() == TEXT
    assert "too long" in page.banner.accessibleName()
    data.setText("a\r\nb\u2028c")
    page.edit.insertFromMimeData(data)
    assert page.edit.text() == "a\nb\nc" + TEXT


def test_published_form_is_judged_when_it_is_chosen(run: Run, editors: Editors, file: Path) -> None:
    file.write_text('schemaVersion: "3"\nkind: mixin\nprovides: [gh]\n')

    async def work() -> None:
        window = await opened(editors, file)
        assert window.page.verdict.text() == "Valid (mixin, authored form)"
        QTest.mouseClick(window.page.findChild(QPushButton, "segment-published"), Qt.MouseButton.LeftButton)
        await until(lambda: window.page.verdict.text() == "Not valid (published form): 1 error")

    run(work())


def test_every_part_is_reached_by_keyboard(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    page = window.page
    page.edit.setFocus()
    seen = []
    for _ in range(4):
        focus = window.focusWidget()
        seen.append(focus)
        QTest.keyClick(focus, Qt.Key.Key_F6)
    assert seen == [page.edit, page.problems, page.surface.list, page.save_button]
    assert window.focusWidget() is page.edit


def test_words_are_found_round_and_round(run: Run, editors: Editors, file: Path) -> None:
    window = run(opened(editors, file))
    page = window.page
    QTest.keyClick(page.edit, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(page.find_field, "type")
    QTest.keyClick(page.find_field, Qt.Key.Key_Return)
    first = page.edit.place()
    QTest.keyClick(page.find_field, Qt.Key.Key_Return)
    assert page.edit.place() == first == (5, 9)
    QTest.keyClick(page.find_field, Qt.Key.Key_Escape)
    assert not page.find_bar.isVisible()


def test_colours_are_of_the_line_they_stand_on() -> None:
    lines = spans('a: "x"\n# note\n\nb: 1\n', in_comments=False)
    assert next(ink for _, _, ink in lines[0]) is Token.ACCENT
    assert lines[1] == ((0, 6, Token.SECONDARY),)
    assert lines[2] == ()
    assert lines[3][0] == (0, 1, Token.ACCENT)
    inside = spans("# kit:\n#   kind: mixin\nFROM scratch\n", in_comments=True)
    assert (4, 4, Token.ACCENT) in inside[1]
    assert spans("a" * 300_000, in_comments=False) == ()
