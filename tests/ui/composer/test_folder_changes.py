"""A member made from a folder that is written to meanwhile."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from kitstudio.ui.theme import Theme
from tests.ui.composer.stage import Run, needs_demo, page_on, until

TEXT = 'schemaVersion: "3"\nkind: mixin\nversion: {version}\nprovides: [mine]\n'


@needs_demo
def test_a_changed_folder_is_told_and_used_in_one_step(run: Run, theme: Theme, tmp_path: Path) -> None:
    async def work() -> None:
        root = tmp_path / "mine"
        root.mkdir()
        kit = root / "kit.yaml"
        kit.write_text(TEXT.format(version="1.0.0"))
        async with page_on(tmp_path / "home", theme) as stage:
            await stage.add(str(root))
            strip = stage.page.notices.folders
            before = stage.composer.value.state.text
            kit.write_text(TEXT.format(version="1.1.0"))
            await until(lambda: not strip.isHidden())
            use = strip.findChild(QPushButton, "banner-action")
            assert use is not None and use.text() == "Use the changed folder"
            QTest.mouseClick(use, Qt.MouseButton.LeftButton)
            await stage.settle()
            members = stage.composer.value.plan.members
            assert [member.reference for member in members] == ["local.invalid/mine:1.1.0"]
            assert strip.isHidden()
            stage.page.undo_stack.undo()
            assert stage.composer.value.state.text == before
            kit.write_text("schemaVersion: 2\n")
            await until(lambda: "cannot be used" in strip.accessibleName())
            assert not use.isVisibleTo(strip)

    run(work())
