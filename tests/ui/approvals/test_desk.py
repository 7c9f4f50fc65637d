"""The desk: one dialog an operation, a queue behind it, and nothing granted when an asker or a person goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from kitstudio.models.errors import KitStudioError
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals.desk import ApprovalDesk, open_dialog
from kitstudio.ui.approvals.dialog import ApprovalDialog
from kitstudio.ui.theme import Theme
from tests.ui.approvals.bumps import BUMPS, request_of
from tests.ui.approvals.samples import CRITICAL, OPTIONAL, REFUSAL, Gate, request

Run = Callable[[Awaitable[Any]], Any]


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def desk(qtbot: QtBot, theme: Theme, gate: Gate, run: Run) -> Iterator[ApprovalDesk]:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    studio = SimpleNamespace(approvals=gate, catalog=SimpleNamespace(cards=tuple, details=_no_details))
    yield ApprovalDesk(studio, theme, window)  # type: ignore[arg-type]
    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, ApprovalDialog):
            widget.hide()
            widget.deleteLater()


async def _no_details(reference: str) -> Any:
    raise KitStudioError(f"{reference} is not in the cache.")


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 - the window has no event of its own for this
        await asyncio.sleep(0)


async def shown(which: Request | None = None) -> ApprovalDialog:
    await until(lambda: (d := open_dialog()) is not None and d.complete and (which is None or d.request is which))
    dialog = open_dialog()
    assert dialog is not None
    return dialog


def test_no_answer_is_no_grant_however_long_it_takes_row_112(desk: ApprovalDesk, gate: Gate, run: Run) -> None:
    async def go() -> None:
        asking = asyncio.ensure_future(desk.ask(request(OPTIONAL)))
        dialog = await shown()
        assert not any(timer.isActive() for timer in dialog.findChildren(QTimer)), "nothing runs out while one reads"
        for _ in range(50):
            QApplication.processEvents()
            await asyncio.sleep(0)
        assert not asking.done() and not gate.approved and not gate.kept
        dialog.reject()
        assert await asking is None
        assert len(gate.waiting()) == 1 and not gate.approved and not gate.kept

    run(go())


def test_an_asker_that_goes_away_is_told_and_makes_no_rule_row_113(
    qtbot: QtBot, desk: ApprovalDesk, gate: Gate, run: Run
) -> None:
    async def go() -> None:
        asking = asyncio.ensure_future(desk.ask(request(CRITICAL)))
        dialog = await shown()
        asking.cancel()
        await until(asking.done)
        assert dialog.isVisible() and dialog.gone
        read = [label.text() for label in dialog.findChildren(QLabel) if label.isVisible()]
        assert "No answer is needed any more." in read and "Nothing was granted and no rule was made." in read
        assert not dialog.approve.isVisible() and not dialog.keep.isVisible() and not dialog.ticks()[0].isEnabled()
        qtbot.keyClick(dialog, Qt.Key.Key_Return)
        assert not dialog.isVisible()
        assert len(gate.waiting()) == 1 and not gate.approved and not gate.kept

    run(go())


def test_several_operations_are_asked_about_one_after_the_other(desk: ApprovalDesk, gate: Gate, run: Run) -> None:
    first, second = request(OPTIONAL), replace(request(REFUSAL), id="2", name="other")

    async def go() -> None:
        asking = [asyncio.ensure_future(desk.ask(each)) for each in (first, second)]
        dialog = await shown(first)
        await until(lambda: dialog.head.findChild(QWidget, "approvalQueue").isVisible())
        dialogs = [w for w in QApplication.topLevelWidgets() if isinstance(w, ApprovalDialog) and w.isVisible()]
        assert dialogs == [dialog] and dialog.head._queue.look.text == "1 more waits behind this"
        dialog.approve.click()
        other = await shown(second)
        assert not other.head._queue.isVisible()
        other.keep.click()
        assert await asyncio.gather(*asking) == ["granted team-agent", None]
        assert [asked.name for asked in gate.kept] == ["other"]

    run(go())


def test_one_that_is_cancelled_in_the_queue_waits_undecided(desk: ApprovalDesk, gate: Gate, run: Run) -> None:
    first, second = request(OPTIONAL), replace(request(REFUSAL), id="2", name="other")

    async def go() -> None:
        asking = [asyncio.ensure_future(desk.ask(each)) for each in (first, second)]
        dialog = await shown(first)
        asking[1].cancel()
        await until(asking[1].done)
        assert gate.waiting() == (second,) and dialog.isVisible()
        dialog.keep.click()
        assert await asking[0] is None

    run(go())


def test_asking_again_brings_the_same_dialog_to_the_front_at_the_finding(
    desk: ApprovalDesk, gate: Gate, run: Run
) -> None:
    asked = request(CRITICAL, REFUSAL, OPTIONAL)

    async def go() -> None:
        asking = asyncio.ensure_future(desk.ask(asked))
        dialog = await shown()
        again = asyncio.ensure_future(desk.ask(asked, OPTIONAL.key))
        await until(lambda: dialog.focusWidget() is dialog.findings[2].entry)
        dialog.ticks()[0].click()
        dialog.approve.click()
        assert await asyncio.gather(asking, again) == ["granted team-agent"] * 2
        assert len(gate.approved) == 1

    run(go())


def test_a_refusal_of_the_gate_is_told_where_the_person_looks(desk: ApprovalDesk, gate: Gate, run: Run) -> None:
    gate.error = KitStudioError("Another decision was made for this set meanwhile.")

    async def go() -> None:
        asking = asyncio.ensure_future(desk.ask(request(OPTIONAL)))
        dialog = await shown()
        dialog.approve.click()
        assert not dialog.approve.isEnabled(), "one answer at a time"
        await until(lambda: dialog._banner.isVisible())
        assert dialog.isVisible() and dialog.approve.isEnabled() and not asking.done()
        dialog.keep.click()
        assert await asking is None

    run(go())


def test_leaving_while_an_answer_is_recorded_changes_nothing(desk: ApprovalDesk, gate: Gate, run: Run) -> None:
    async def go() -> None:
        asking = asyncio.ensure_future(desk.ask(request(OPTIONAL)))
        dialog = await shown()
        dialog.approve.click()
        dialog.reject()
        assert await asking == "granted team-agent" and gate.waiting() == ()

    run(go())


def test_a_config_that_cannot_be_compared_says_why(desk: ApprovalDesk, gate: Gate, run: Run) -> None:
    asked = request_of(next(bump for bump in BUMPS if bump.name == "docker-auth-config"))

    async def go() -> None:
        asking = asyncio.ensure_future(desk.ask(asked))
        dialog = await shown()
        why = "The config approved before cannot be shown: hub.example/acme/hub-login"
        await until(lambda: any(label.text().startswith(why) for label in dialog.findChildren(QLabel)))
        dialog.reject()
        await asking

    run(go())
