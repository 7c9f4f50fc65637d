"""Looking for updates from the page: by hand, what it came to, and what commands brought meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from kitstudio.models.errors import KitStudioError
from kitstudio.services.settings import Settings
from kitstudio.services.updates import Outcome, Update
from kitstudio.ui.approvals.page import ApprovalsPage
from kitstudio.ui.approvals.update_words import found_words
from kitstudio.ui.approvals.waiting import in_set
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme
from tests.ui.approvals.samples import REFUSAL, Gate, request

Run = Callable[[Awaitable[Any]], Any]
MOVED = Update("team", "a.example/kit", "a.example/kit:1.0", "a.example/kit:2.0", "", Outcome.WAITS)


class Source:
    """Answers a look when it is let to."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.error: KitStudioError | None = None
        self.cancelled = False

    async def check(self) -> tuple[Update, ...]:
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.error is not None:
            raise self.error
        return (MOVED,)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def page(qtbot: QtBot, theme: Theme, gate: Gate, source: Source, run: Run) -> Iterator[ApprovalsPage]:
    studio = SimpleNamespace(approvals=gate, updates=source, settings=Settings())
    made = ApprovalsPage(studio, theme, Navigator())  # type: ignore[arg-type]
    qtbot.addWidget(made)
    made.resize(1200, 700)
    made.show()
    run(made.opened())
    yield made


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - the window has no event of its own for this
        await asyncio.sleep(0)


def test_a_look_tells_what_it_came_to(qtbot: QtBot, page: ApprovalsPage, source: Source, run: Run) -> None:
    async def go() -> None:
        qtbot.mouseClick(page.look, Qt.MouseButton.LeftButton)
        assert page.look.text() == "Stop looking"
        source.free.set()
        await until(page.note.isVisible)

    run(go())
    told = " ".join(label.text() for label in page.note.findChildren(QLabel))
    assert "1 update found." in told and "waits for your answer" in told
    assert page.look.text() == "Look for updates"


def test_a_look_can_be_ended(qtbot: QtBot, page: ApprovalsPage, source: Source, run: Run) -> None:
    async def go() -> None:
        qtbot.mouseClick(page.look, Qt.MouseButton.LeftButton)
        await asyncio.sleep(0)
        qtbot.mouseClick(page.look, Qt.MouseButton.LeftButton)
        await until(lambda: source.cancelled and page.look.text() == "Look for updates")

    run(go())
    assert not page.note.isVisible() and not page.banner.isVisible()


def test_a_look_that_fails_says_why(qtbot: QtBot, page: ApprovalsPage, source: Source, run: Run) -> None:
    source.error = KitStudioError("The records cannot be read.")

    async def go() -> None:
        source.free.set()
        qtbot.mouseClick(page.look, Qt.MouseButton.LeftButton)
        await until(page.banner.isVisible)

    run(go())
    assert "The records cannot be read." in page.banner.findChildren(QLabel)[0].text() + str(
        [label.text() for label in page.banner.findChildren(QLabel)]
    )


def test_what_a_command_brought_is_there_when_the_page_is_shown_again(
    page: ApprovalsPage, gate: Gate, run: Run
) -> None:
    assert page.tabs.tabText(0) == "Waiting"
    gate.stored = (request(REFUSAL),)

    async def go() -> AsyncIterator[None] | None:
        page.hide()
        page.show()
        await until(lambda: page.tabs.tabText(0) == "Waiting 1")
        return None

    run(go())
    assert in_set(gate.waiting()[0]) == f"in {gate.waiting()[0].name}"
    texts = [label.text() for label in page.waiting.findChildren(QLabel)]
    assert any(text.startswith(f"Set {gate.waiting()[0].name}. ") for text in texts)


@pytest.mark.parametrize(
    ("found", "icon", "lead", "part"),
    [
        ((), "success", "Nothing is newer.", "newest version"),
        ((MOVED, replace(MOVED, outcome=Outcome.APPLIED)), "success", "2 updates found.", "1 put in force"),
        ((replace(MOVED, outcome=Outcome.REFUSED),), "success", "1 update found.", "refused by a rule of yours"),
        (
            (MOVED, replace(MOVED, outcome=Outcome.FAILED, why="No answer.")),
            "critical",
            "1 Kit could not be looked up.",
            "team: No answer. Of the others: 1 waits for your answer.",
        ),
    ],
)
def test_the_words_name_every_outcome(found: tuple[Update, ...], icon: str, lead: str, part: str) -> None:
    told = found_words(found)
    assert told[:2] == (icon, lead) and part in told[2]
