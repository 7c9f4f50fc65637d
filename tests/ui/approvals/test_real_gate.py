"""The window over the real gate: nothing is pulled before the question, records are replayed, earlier locks return."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from kitstudio.models.plan import Plan
from kitstudio.registry.layout import LayoutSource
from kitstudio.services.app import Options, Studio
from kitstudio.ui.approvals import copies
from kitstudio.ui.approvals.desk import desk_of, open_dialog
from kitstudio.ui.approvals.dialog import ApprovalDialog
from kitstudio.ui.approvals.page import ApprovalsPage
from kitstudio.ui.approvals.replay import request_of
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme
from tests.services.fakes import FakeBackend, demo_layout

Run = Callable[[Awaitable[Any]], Any]
BASE, TOOL, WIDER = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0", "demo.invalid/tool:2.0.0"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_layout(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def studio(tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Any:
    monkeypatch.setenv("KITSTUDIO_DEMO", str(demo))
    opened = run(Studio.open(Options(home=tmp_path / "home", offline=True), FakeBackend()))
    yield opened
    run(opened.close())


@pytest.fixture
def page(qtbot: QtBot, theme: Theme, studio: Studio, run: Run) -> ApprovalsPage:
    page = ApprovalsPage(studio, theme, Navigator())
    qtbot.addWidget(page)
    page.resize(1200, 700)
    page.show()
    run(page.opened())
    return page


async def plan_of(studio: Studio, *references: str) -> Plan:
    composer = studio.new_composer()
    for reference in references:
        composer.add(reference)
    await composer.settled()
    return composer.value.plan


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - the window has no event of its own for this
            await asyncio.sleep(0.001)


async def asked(page: ApprovalsPage, studio: Studio, *references: str) -> tuple[asyncio.Task[Any], ApprovalDialog]:
    request = await studio.approvals.request("team", await plan_of(studio, *references))
    asking = asyncio.ensure_future(desk_of(studio, page.theme, page).ask(request))
    await until(lambda: (d := open_dialog()) is not None and d.complete)
    dialog = open_dialog()
    assert dialog is not None
    return asking, dialog


def test_card_and_dialog_carry_the_surface_before_any_layer_is_pulled_row_107(
    page: ApprovalsPage, studio: Studio, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled: list[str] = []

    async def blob(_self: LayoutSource, _reference: object, digest: str, _size: int) -> Path:
        pulled.append(digest)
        raise AssertionError("a layer was pulled before anything was approved")

    monkeypatch.setattr(LayoutSource, "blob", blob)

    async def go() -> None:
        details = await studio.catalog.details(TOOL)
        assert [chip.text for chip in details.card.chips] == ["1 host"]
        asking, dialog = await asked(page, studio, BASE, TOOL)
        read = [label.text() for label in dialog.findChildren(QLabel)]
        assert "Connects to a.example on any port for any purpose." in read
        dialog.reject()
        assert await asking is None

    run(go())
    assert pulled == []


def test_a_decision_is_shown_again_in_the_words_it_was_made_in(page: ApprovalsPage, studio: Studio, run: Run) -> None:
    async def go() -> None:
        asking, dialog = await asked(page, studio, BASE, TOOL)
        dialog.approve.click()
        assert (await asking) is not None
        asking, dialog = await asked(page, studio, BASE, WIDER)
        first = copies.as_text(dialog.request).partition("Narrowed:")[0]
        dialog.keep.click()
        assert await asking is None
        kept, granted = (await studio.approvals.history())[:2]
        again = request_of(kept, granted)
        assert copies.as_text(again).partition("Narrowed:")[0] == first
        assert [f.key for f in again.review.findings] == [f.key for f in dialog.request.review.findings]
        assert again.granted == (await studio.approvals.lock("team"))

    run(go())


def test_an_earlier_lock_comes_back_through_the_gate(page: ApprovalsPage, studio: Studio, run: Run) -> None:
    async def go() -> None:
        for references in ((BASE, TOOL), (BASE, WIDER)):
            asking, dialog = await asked(page, studio, *references)
            for tick in dialog.ticks():
                tick.click()
            dialog.approve.click()
            assert (await asking) is not None
        first = (await studio.approvals.history())[1]
        before = await studio.approvals.lock("team")
        await page.go_back(first)
        now = await studio.approvals.lock("team")
        assert now is not None and now != before and TOOL in [kit.reference for kit in now.kits]
        assert page.note.isVisible() and (await studio.approvals.history())[0].answer == "silent"
        # Forth again asks for more than is in force now: a question, and Escape leaves things as they are.
        wider = (await studio.approvals.history())[1]
        going = asyncio.ensure_future(page.go_back(wider))
        await until(lambda: open_dialog() is not None)
        dialog = open_dialog()
        assert dialog is not None
        dialog.reject()
        await going
        assert await studio.approvals.lock("team") == now

    run(go())


def test_the_rules_of_an_approved_set_are_listed_with_path_and_line_row_49(
    page: ApprovalsPage, studio: Studio, run: Run
) -> None:
    async def go() -> None:
        asking, dialog = await asked(page, studio, BASE, TOOL)
        dialog.approve.click()
        await asking
        page.tabs.setCurrentIndex(2)
        await until(lambda: page.rules.sets.count() == 2)
        page.rules.sets.setCurrentIndex(1)
        page.rules.chosen.emit(page.rules.name())
        await until(lambda: page.rules.model.rowCount() == 1)
        rule = page.rules.model.rule(0)
        assert (rule.entry, rule.origin) == ("a.example", TOOL) and rule.path.startswith("capabilities[0]")

    run(go())
