"""Publishing from the composer: the preview is the thing itself, progress, cancel, and a result to copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from kitstudio.services.jobs import JobState, JobView
from kitstudio.ui.composer.destination import destination_error, known_destinations
from kitstudio.ui.composer.publish_dialog import PublishDialog
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import ExactEntry
from tests.ui.composer.stage import HELLO, Alone, Run, needs_demo, page_on, until


async def _dialog(stage: Alone) -> PublishDialog:
    QTest.mouseClick(stage.page.bar.publish, Qt.MouseButton.LeftButton)
    found = stage.page.findChild(PublishDialog)
    assert found is not None
    return found


@needs_demo
def test_a_set_is_published_to_a_layout_and_the_reference_copied(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        async with page_on(tmp_path / "home", theme) as stage:
            await stage.add(HELLO, "demo.invalid/house-rules:1.0.0")
            dialog = await _dialog(stage)
            assert not dialog.go.isEnabled()
            await until(lambda: dialog._ready)
            QTest.keyClicks(dialog.destination.lineEdit(), f"oci:{tmp_path}/out:1.0.0")
            assert dialog.go.isEnabled()
            QTest.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
            await until(lambda: dialog.findChild(ExactEntry, "publishedReference"))
            copy = dialog.findChild(QPushButton, "publishCopy")
            assert copy is not None
            QTest.mouseClick(copy, Qt.MouseButton.LeftButton)
            assert QApplication.clipboard().text().startswith(f"oci:{tmp_path}/out:1.0.0@sha256:")
            assert (tmp_path / "out" / "index.json").exists()
            assert known_destinations(stage.page.studio.settings) == (f"oci:{tmp_path}/out:1.0.0",)
            QTest.mouseClick(dialog.stay, Qt.MouseButton.LeftButton)

    run(work())


@needs_demo
def test_what_stands_in_the_way_is_listed_and_publishing_stays_off(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        folder = tmp_path / "mine"
        folder.mkdir()
        (folder / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\ndisplayName: Mine\nversion: "1.0.0"\n')
        async with page_on(tmp_path / "home", theme) as stage:
            await stage.add(HELLO, str(folder))
            dialog = await _dialog(stage)
            await until(lambda: dialog._views.currentWidget() is dialog.facts)
            QTest.keyClicks(dialog.destination.lineEdit(), f"oci:{tmp_path}/out:1.0.0")
            assert not dialog.go.isEnabled()
            dialog.reject()

    run(work())


def test_progress_is_shown_and_cancel_asks_for_the_end(theme: Theme) -> None:
    dialog = PublishDialog(theme, "team", ())
    asked: list[bool] = []
    dialog.cancelled.connect(lambda: asked.append(True))
    dialog.show()
    dialog.show_job(JobView(1, "Publish", JobState.RUNNING, "Sending layers", 0.5))
    assert dialog._bar.value() == 500 and dialog._step.text() == "Sending layers"
    QTest.mouseClick(dialog.stay, Qt.MouseButton.LeftButton)
    assert asked == [True] and dialog.isVisible()
    dialog.show_cancelled()
    assert "Nothing was tagged" in dialog._wrong.text()
    dialog.close()
    dialog.deleteLater()


@pytest.mark.parametrize(
    "text", ["demo.invalid/a:1", "local.invalid/a:1", "./folder", f"r.example/a@sha256:{'0' * 64}", "NOT A REF"]
)
def test_places_one_cannot_publish_to_are_named_while_typing(text: str) -> None:
    assert destination_error(text)


@pytest.mark.parametrize("text", ["r.example/team/set:1.0.0", "r.example/set", "oci:/tmp/x:1.0.0"])
def test_places_one_can_publish_to(text: str) -> None:
    assert not destination_error(text)
