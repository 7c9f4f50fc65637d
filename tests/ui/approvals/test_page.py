"""The Approvals page: what waits with its findings, the history with its filters, exports and replays."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from kitstudio.services.approvals import Kept
from kitstudio.services.settings import Settings
from kitstudio.ui.approvals.desk import open_dialog
from kitstudio.ui.approvals.page import ApprovalsPage
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import ClickRow
from tests.ui.approvals.samples import CRITICAL, OPTIONAL, REFUSAL, Gate, record, request

Run = Callable[[Awaitable[Any]], Any]
OLD = record("kept", "other", time=time.time() - 3600)


@pytest.fixture
def gate() -> Gate:
    return Gate(request(CRITICAL, REFUSAL, OPTIONAL), history=(record("approved"), OLD))


@pytest.fixture
def page(qtbot: QtBot, theme: Theme, gate: Gate, run: Run) -> Iterator[ApprovalsPage]:
    studio = SimpleNamespace(approvals=gate, catalog=SimpleNamespace(cards=tuple), settings=Settings())
    page = ApprovalsPage(studio, theme, Navigator())  # type: ignore[arg-type]
    qtbot.addWidget(page)
    page.resize(1200, 700)
    page.show()
    run(page.opened())
    yield page


async def settled(until: Callable[[], bool]) -> None:
    while not until():  # noqa: ASYNC110 - the window has no event of its own for this
        await asyncio.sleep(0)


def test_keeping_from_the_waiting_list(qtbot: QtBot, page: ApprovalsPage, gate: Gate, run: Run) -> None:
    assert page.tabs.tabText(0) == "Waiting 1"
    keep = page.findChild(QPushButton, "waitingKeep")

    async def go() -> None:
        qtbot.mouseClick(keep, Qt.MouseButton.LeftButton)
        await settled(lambda: bool(gate.kept))

    run(go())
    assert page.tabs.tabText(0) == "Waiting"


def test_each_finding_that_waits_opens_the_dialog_at_itself_row_115(
    qtbot: QtBot, page: ApprovalsPage, gate: Gate, run: Run
) -> None:
    rows = page.waiting.findChildren(ClickRow, "waitingFinding")
    assert len(rows) == 3 and REFUSAL.permission.sentence.rstrip(".") in rows[1].accessibleName()

    async def go() -> None:
        qtbot.keyClick(rows[1], Qt.Key.Key_Return)
        await settled(lambda: open_dialog() is not None)
        dialog = open_dialog()
        assert dialog is not None
        await settled(lambda: dialog.focusWidget() is dialog.findings[1].entry)
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        await settled(lambda: open_dialog() is None)

    run(go())
    assert len(gate.waiting()) == 1 and not gate.approved and not gate.kept


def test_history_filters_by_words_answer_set_and_date(qtbot: QtBot, page: ApprovalsPage) -> None:
    page.tabs.setCurrentIndex(1)
    model = page.history.model
    assert model.rowCount() == 2
    qtbot.mouseClick(page.history.filter.button("kept"), Qt.MouseButton.LeftButton)
    assert model.rowCount() == 1 and model.record(0).name == "other"
    qtbot.mouseClick(page.history.filter.button("all"), Qt.MouseButton.LeftButton)
    qtbot.keyClicks(page.history.search, "team uploads.example")
    assert [model.record(row).name for row in range(model.rowCount())] == ["team-agent"]
    page.history.search.clear()
    qtbot.keyClick(page.history.names, Qt.Key.Key_Down)
    assert [r.name for r in model.records()] == ["other"]
    qtbot.keyClick(page.history.names, Qt.Key.Key_Up)
    qtbot.keyClick(page.history.spans, Qt.Key.Key_Down)
    assert [r.name for r in model.records()] == ["other"], "the other one is older than a day"


def test_the_decisions_that_match_are_exported_together(
    qtbot: QtBot, page: ApprovalsPage, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.tabs.setCurrentIndex(1)
    file = tmp_path / "all.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(file), ""))

    async def go() -> None:
        qtbot.mouseClick(page.history.export, Qt.MouseButton.LeftButton)
        await settled(file.exists)

    run(go())
    written = json.loads(file.read_text())
    assert [r["name"] for r in written["records"]] == ["team-agent", "other"]
    assert all(r["kind"] == "kitstudio approval record" for r in written["records"])


def test_a_decision_is_replayed_as_it_was_shown_with_nothing_to_press(page: ApprovalsPage, gate: Gate) -> None:
    dialog = page.replay(record("approved"))
    read = [label.text() for label in dialog.findChildren(QLabel)]
    assert "Sends files." in read and any("Approved by sam" in text for text in read)
    assert [b.objectName() for b in dialog.foot.shown() if b.isEnabled()] == ["approvalCopy", "approvalLeave"]
    dialog.close()
    assert not gate.approved and not gate.kept


def test_a_damaged_record_is_shown_as_far_as_it_can_be_read(page: ApprovalsPage) -> None:
    broken = record("kept", findings=({"category": "no.such", "detail": 3}, {"weight": 7}), lock={"kits": "?"})
    dialog = page.replay(broken)
    read = " ".join(label.text() for label in dialog.findChildren(QLabel))
    dialog.close()
    assert broken.name in read and broken.title in read


def test_what_waits_and_cannot_be_judged_now_is_named_and_counted(page: ApprovalsPage, gate: Gate) -> None:
    gate.waits_unready = (Kept("9", "night", "night asks for more", 1.0, "{}", why="The registry is silent."),)
    page.refresh()
    assert page.tabs.tabText(0) == "Waiting 2"
    read = [label.text() for label in page.waiting.findChildren(QLabel)]
    assert "night: night asks for more" in read
    assert "It still waits, and cannot be shown now: The registry is silent." in read
