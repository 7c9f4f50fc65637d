"""The real window on the demo catalog and a fresh home: start, search, Kit page, commands, badges, shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLabel, QPushButton

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Options, Studio
from kitstudio.ui.app import page_factories
from kitstudio.ui.catalog.inside import InsidePanel
from kitstudio.ui.catalog.page import CatalogPage
from kitstudio.ui.drag import references_of
from kitstudio.ui.main_window import MainWindow
from kitstudio.ui.navigator import PageName
from kitstudio.ui.page import Page
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.widgets.fold import FoldHeader

Run = Callable[[Coroutine[Any, Any, Any]], Any]
DEMO = Path(__file__).resolve().parents[2] / "build" / "demo" / "index.json"
needs_demo = pytest.mark.skipif(not DEMO.exists(), reason="the demo catalog is built by ./studio setup")


@asynccontextmanager
async def window_on(home: Path, theme: Theme, backend: object) -> AsyncIterator[MainWindow]:
    """A window with the catalog and settings real, the other pages plain, so that each page tests itself."""
    studio = await Studio.open(Options(home=home), backend)  # type: ignore[arg-type]
    factories = page_factories()
    for name in (PageName.COMPOSER, PageName.APPROVALS, PageName.SANDBOXES):
        factories[name] = Page
    window = MainWindow(studio, theme, factories)
    window.show()
    await window.open_pages()
    try:
        yield window
    finally:
        window.close()
        await studio.close()
        window.deleteLater()


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Let the loop run until ``condition``; fails after ``seconds``."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - any Qt state may be the condition
            await asyncio.sleep(0.01)


def catalog_of(window: MainWindow) -> CatalogPage:
    page = window.pages[PageName.CATALOG]
    assert isinstance(page, CatalogPage)
    return page


@needs_demo
def test_the_demo_catalog_appears_without_a_network(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            page = catalog_of(window)
            await until(lambda: page.model.rowCount() >= 10)
            assert window.header.title.text() == "Catalog"

    run(work())


@needs_demo
def test_typing_in_the_search_field_filters_and_enter_opens(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            page = catalog_of(window)
            await until(lambda: page.model.rowCount() >= 10)
            QTest.keyClicks(window.header.search, "hello")
            await until(lambda: 0 < page.model.rowCount() < 10)
            await until(lambda: page.model.cards[0].display_name == "Hello")
            QTest.keyClick(window.header.search, Qt.Key.Key_Return)
            await until(lambda: page.kit.details is not None)
            assert page.kit.details is not None
            assert page.kit.details.card.display_name == "Hello"

    run(work())


@needs_demo
@pytest.mark.parametrize("tab", ["overview", "permissions", "needs", "inputs", "versions", "descriptor", "manifest"])
def test_every_tab_of_the_kit_page_shows_a_real_kit(
    run: Run, theme: Theme, tmp_path: Path, backend: object, tab: str
) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            page = catalog_of(window)
            window.navigator.open_kit.emit("demo/greeter")
            await until(lambda: page.kit.details is not None)
            page.kit.page.choose_tab(tab)
            assert window.tells == []

    run(work())


@needs_demo
def test_what_is_no_kit_never_reads_as_asking_for_nothing(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            page = catalog_of(window)
            page.kit.page.choose_tab("permissions")
            for reference, words in (
                ("demo/hello", "Asks for nothing"),
                ("demo/plain-tools", "Not a Kit"),
                ("demo/hello", "Asks for nothing"),
            ):
                window.navigator.open_kit.emit(reference)
                name = reference.rpartition("/")[2]
                await until(lambda name=name: page.kit.details is not None and name in page.kit.details.card.repository)
                await until(lambda words=words: page.kit.page._nothing.accessibleName().startswith(words))

    run(work())


@needs_demo
def test_a_widening_version_is_told_before_any_table(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            page = catalog_of(window)
            window.navigator.open_kit.emit("demo/greeter:2.0.0")
            await until(lambda: page.kit.details is not None)
            page.kit.page.choose_tab("versions")

            def verdict() -> str:
                label = page.kit.findChild(type(window.footer._words), "version-verdict")
                return label.text() if label is not None else ""  # type: ignore[attr-defined]

            await until(lambda: verdict() == "B asks for more than A.")

    run(work())


@needs_demo
def test_a_kit_that_is_not_there_is_told_with_a_way_out(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            page = catalog_of(window)
            window.navigator.open_kit.emit("demo/absent:9")
            await until(lambda: page.kit.findChild(QPushButton, "state-retry") is not None)

    run(work())


@needs_demo
def test_a_reference_in_the_search_field_can_be_added(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            added: list[str] = []
            window.navigator.add_to_set.connect(added.append)
            QTest.keyClicks(window.header.search, "demo/hello:1.0.0")
            QTest.keyClick(window.header.search, Qt.Key.Key_Down)
            QTest.keyClick(window.header.search, Qt.Key.Key_Return)
            assert added == ["demo/hello:1.0.0"]

    run(work())


def test_a_command_runs_from_the_search_field(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            QTest.keyClicks(window.header.search, "dark theme")
            QTest.keyClick(window.header.search, Qt.Key.Key_Down)
            QTest.keyClick(window.header.search, Qt.Key.Key_Return)
            assert theme.mode is Mode.DARK
            assert window.studio.settings.text("ui.theme") == "dark"

    run(work())
    theme.choose(mode=Mode.LIGHT)


def test_the_window_comes_back_where_it_was(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            window.resize(1100, 700)
            window.go("settings")
        async with window_on(tmp_path, theme, backend) as window:
            assert window.page is PageName.SETTINGS
            assert window.height() == 700

    run(work())


def test_a_failed_job_is_told_in_the_footer_with_details(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:

            async def fail(job: object) -> None:
                raise KitStudioError("The registry did not answer.", where="registry.example", remedy="Try again.")

            window.studio.jobs.run("Reading", fail)
            await until(lambda: window.footer._details.isVisible())
            QTest.mouseClick(window.footer._details, Qt.MouseButton.LeftButton)
            await until(lambda: window.findChild(QDialog, "error-dialog") is not None)

    run(work())


def test_closing_with_a_job_running_ends_it(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    ended: list[BaseException] = []

    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:

            async def forever(job: object) -> None:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError as error:
                    ended.append(error)
                    raise

            window.studio.jobs.run("Waiting", forever)
            await asyncio.sleep(0)

    run(work())
    assert ended


def test_a_damaged_state_does_not_keep_the_window_shut(run: Run, theme: Theme, tmp_path: Path, backend: object) -> None:
    async def work() -> None:
        studio = await Studio.open(Options(home=tmp_path), backend)  # type: ignore[arg-type]
        studio.settings.set("ui.state.window", "not base64 !")
        studio.settings.set("ui.state.page", "nowhere")
        studio.settings.set("ui.state.page_catalog", "{broken")
        await studio.close()
        async with window_on(tmp_path, theme, backend) as window:
            assert window.page is PageName.CATALOG

    run(work())


def test_a_drag_from_elsewhere_is_bounded() -> None:
    from PySide6.QtCore import QMimeData

    data = QMimeData()
    data.setText("x" * 5000)
    assert references_of(data) == ()
    data.setText("demo/hello\n\n\x00bad\nhub.example/acme/gh:1")
    assert references_of(data) == ("demo/hello", "hub.example/acme/gh:1")


def test_a_window_closed_while_it_opens_begins_no_more_work(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def work() -> None:
        studio = await Studio.open(Options(home=tmp_path), backend)  # type: ignore[arg-type]
        window = MainWindow(studio, theme, page_factories())
        window.show()
        opening = asyncio.create_task(window.open_pages())
        window.close()
        await opening
        assert list(window.pages) == [window.page]
        await studio.close()
        window.deleteLater()

    run(work())


@needs_demo
def test_the_kit_page_shows_what_runs_inside_beside_the_permissions(
    run: Run, theme: Theme, tmp_path: Path, backend: object
) -> None:
    async def work() -> None:
        async with window_on(tmp_path, theme, backend) as window:
            window.navigator.open_kit.emit("demo.invalid/greeter:1.1.0")
            catalog_of(window).kit.page.choose_tab("permissions")
            panel = window.findChild(InsidePanel)
            assert isinstance(panel, InsidePanel)
            await until(lambda: panel.findChild(FoldHeader) is not None)
            words = " ".join(label.text() for label in panel.findChildren(QLabel))
            assert "as root while it is being set up" in words and "at every start" in words
            window.navigator.open_kit.emit("demo.invalid/plain-tools:1.1.0")
            await until(lambda: panel.isHidden())

    run(work())
