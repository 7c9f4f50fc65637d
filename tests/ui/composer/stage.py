"""The composer in the real window on the demo catalog, with a backend that launches nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QPushButton, QWidget

from kitstudio.runtime.backend import LaunchOptions, LaunchPhase, Progress, SandboxStatus, State
from kitstudio.services.app import Options, Studio
from kitstudio.ui.app import page_factories
from kitstudio.ui.approvals.desk import open_dialog
from kitstudio.ui.composer.page import ComposerPage
from kitstudio.ui.main_window import MainWindow
from kitstudio.ui.navigator import Navigator, PageName
from kitstudio.ui.theme import Theme

Run = Callable[[Coroutine[Any, Any, Any]], Any]
DEMO = Path(__file__).resolve().parents[3] / "build" / "demo" / "index.json"
needs_demo = pytest.mark.skipif(not DEMO.exists(), reason="the demo catalog is built by ./studio setup")
HELLO, GREETER = "demo.invalid/hello:1.1.0", "demo.invalid/greeter"
CLAIMS = frozenset(
    f"com.docker.sandbox/{name}@1" for name in ("network-policy", "lifecycle", "resources", "sbx", "agent-context")
)


class Machines:
    """Claims what the runtime claims; a launch is a note of what was asked."""

    def __init__(self) -> None:
        self.launched: list[LaunchOptions] = []
        self.locks: list[Any] = []
        self.statuses: dict[str, SandboxStatus] = {}

    def capabilities(self) -> frozenset[str]:
        return CLAIMS

    async def acceleration(self) -> tuple[str, str]:
        return "tcg", "nothing was tried"

    async def create(
        self, approved: Any, options: LaunchOptions, _images: object, progress: Callable[[Progress], None]
    ) -> SandboxStatus:
        progress(Progress(LaunchPhase.PULL))
        self.launched.append(options)
        self.locks.append(approved)
        status = SandboxStatus("1", options.name, State.STOPPED, approved.lock.name, approved.sha256)
        self.statuses[options.name] = status
        return status

    async def list(self) -> tuple[SandboxStatus, ...]:
        return tuple(self.statuses.values())

    async def decisions(self, _name: str) -> tuple[object, ...]:
        return ()

    async def events(self) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""


class Alone:
    """The page by itself, in no window, and its composer."""

    def __init__(self, page: ComposerPage) -> None:
        self.page = page
        self.composer = page.studio.composer

    async def settle(self) -> None:
        await self.composer.settled()
        await asyncio.sleep(0)

    async def add(self, *references: str) -> None:
        for reference in references:
            QTest.keyClicks(self.page.reference, reference)
            QTest.keyClick(self.page.reference, Qt.Key.Key_Return)
        await self.settle()

    def names(self) -> list[str]:
        return [row.name for row in self.page.stack.model.rows()]

    def press(self, name: str) -> None:
        target = self.page.findChild(QPushButton, name)
        assert target is not None, name
        QTest.mouseClick(target, Qt.MouseButton.LeftButton)

    def field(self, name: str) -> Any:
        found = self.page.findChild(QLineEdit, f"input-{name}") or self.page.findChild(QComboBox, f"input-{name}")
        assert found is not None, name
        return found


class Stage(Alone):
    """The page in its window, and the backend."""

    def __init__(self, window: MainWindow, machines: Machines) -> None:
        page = window.pages[PageName.COMPOSER]
        assert isinstance(page, ComposerPage)
        super().__init__(page)
        self.window, self.machines = window, machines


@asynccontextmanager
async def page_on(home: Path, theme: Theme) -> AsyncIterator[Alone]:
    studio = await Studio.open(Options(home=home), Machines())  # type: ignore[arg-type]
    page = ComposerPage(studio, theme, Navigator())
    page.resize(1200, 720)
    page.show()
    await page.opened()
    try:
        yield Alone(page)
    finally:
        page.close()
        await page.ended()
        await studio.close()
        page.deleteLater()


@asynccontextmanager
async def stage_on(home: Path, theme: Theme) -> AsyncIterator[Stage]:
    machines = Machines()
    studio = await Studio.open(Options(home=home), machines)  # type: ignore[arg-type]
    window = MainWindow(studio, theme, page_factories())
    window.show()
    await window.open_pages()
    window.go("composer")
    try:
        yield Stage(window, machines)
    finally:
        dialog = open_dialog()
        if dialog is not None:
            dialog.close()
        window.close()
        await studio.close()
        window.deleteLater()


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - any Qt state may be the condition
            await asyncio.sleep(0.01)


def drop(target: QWidget, data: QMimeData) -> bool:
    """A whole drag from outside: enter, move, drop; False where the target does not take it."""
    place, buttons, keys = QPoint(300, 300), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place, Qt.DropAction.CopyAction, data, buttons, keys)
    enter.ignore()
    QApplication.sendEvent(target, enter)
    if not enter.isAccepted():
        return False
    QApplication.sendEvent(target, QDragMoveEvent(place, Qt.DropAction.CopyAction, data, buttons, keys))
    QApplication.sendEvent(target, QDropEvent(QPointF(place), Qt.DropAction.CopyAction, data, buttons, keys))
    return True
