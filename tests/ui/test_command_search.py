"""The global search: Kits of open sources at once, kept ones a little later, references and commands, by keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from kitstudio.services.catalog import KitCard
from kitstudio.ui.command_search import Command, CommandSearch
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import SearchField
from tests.ui.catalog.stock import Stock, card

Run = Callable[[Awaitable[Any]], Any]


class Kept(Stock):
    """A stock that keeps a Kit of a source that is not open."""

    async def search_all(self, query: str) -> tuple[KitCard, ...]:
        self.asked.append(("search_all", query))
        return (*self.search(query), card("greet-kept", fetched_at=1.0))


@pytest.fixture
def search(theme: Theme, qtbot: Any) -> Iterator[tuple[CommandSearch, SearchField, Kept, list[tuple[str, str]]]]:
    window = QWidget()
    window.resize(900, 600)
    qtbot.addWidget(window)
    field = SearchField(theme, "Search", "Search")
    field.setParent(window)
    field.resize(500, 32)
    did: list[tuple[str, str]] = []
    stock = Kept((card("greeter"), card("forge")))
    commands = (Command("Go to settings", "Ctrl+5", "settings", lambda: did.append(("command", "settings"))),)
    made = CommandSearch(
        theme,
        field,
        stock,  # type: ignore[arg-type]
        commands,
        lambda reference: did.append(("open", reference)),
        lambda reference: did.append(("add", reference)),
        window,
    )
    window.show()
    qtbot.waitExposed(window)
    yield made, field, stock, did
    made._tasks.cancel()


def titles(made: CommandSearch) -> list[str]:
    model = made._model
    return [model.offer(model.index(n)).title for n in range(model.rowCount())]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - any Qt state may be the condition
            await asyncio.sleep(0.005)


def test_kept_kits_follow_those_of_open_sources_with_their_age(search: Any, run: Run) -> None:
    made, field, stock, did = search

    async def work() -> None:
        QTest.keyClicks(field, "greet")
        assert titles(made) == ["greeter"]
        await until(lambda: titles(made) == ["greeter", "greet-kept"])
        assert "from 1 Jan 1970" in made._model.offer(made._model.index(1)).detail
        assert [query for what, query in stock.asked if what == "search_all"] == ["greet"]
        QTest.keyClick(field, Qt.Key.Key_Down)
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert did == [("open", "hub.example/acme/greet-kept:1.0")]

    run(work())


@pytest.mark.parametrize("text", ["reg.test/team/kit:1.0", "oci:/srv/layout:1", "demo/greeter", "./kit.yaml"])
def test_a_reference_that_is_pasted_can_be_added_or_opened(search: Any, text: str) -> None:
    made, field, _, did = search
    field.setText(text)
    field.textEdited.emit(text)
    assert titles(made)[:2] == ["Add to set", "Open its page"]
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert did == [("add", text)]


def test_a_command_is_found_by_its_words(search: Any) -> None:
    made, field, _, did = search
    QTest.keyClicks(field, "settings")
    assert titles(made) == ["Go to settings"]
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert did == [("command", "settings")]


def test_escape_closes_first_and_clears_then(search: Any) -> None:
    made, field, _, _ = search
    QTest.keyClicks(field, "gre")
    assert made._frame.isVisible()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not made._frame.isVisible()
    assert field.text() == "gre"
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == ""
