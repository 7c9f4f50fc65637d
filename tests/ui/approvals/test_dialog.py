"""The approval dialog and page, driven with real events over plain values."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from kitstudio.models.review import Uncounted, Weight
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals.compare import CompareDialog, DescriptorDialog, Side, aligned
from kitstudio.ui.approvals.dialog import Answer, ApprovalDialog, Decision
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.fold import FoldHeader
from kitstudio.ui.widgets.permission_list import PermissionList
from tests.ui.approvals.samples import CRITICAL, GH, NARROWED, OPTIONAL, REFUSAL, finding, request


def shown(qtbot: QtBot, theme: Theme, asked: Request) -> tuple[ApprovalDialog, list[Decision]]:
    dialog = ApprovalDialog(theme, asked)
    qtbot.addWidget(dialog)
    decisions: list[Decision] = []
    dialog.decided.connect(decisions.append)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.complete)
    return dialog, decisions


def test_the_default_keeps_things_as_they_are(qtbot: QtBot, theme: Theme) -> None:
    dialog, decisions = shown(qtbot, theme, request(CRITICAL, REFUSAL, OPTIONAL))
    assert dialog.keep.text() == "Keep 2.72.0" and dialog.keep.isDefault()
    assert not dialog.approve.autoDefault() and not dialog.approve.isEnabled()
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert [d.answer for d in decisions] == [Answer.KEEP]


def test_approving_needs_the_tick_and_says_what_it_does(qtbot: QtBot, theme: Theme) -> None:
    dialog, decisions = shown(qtbot, theme, request(CRITICAL, REFUSAL, OPTIONAL))
    assert dialog.approve.text() == "Approve all 3 changes"
    assert dialog.focusWidget() is dialog.ticks()[0]
    qtbot.mouseClick(dialog.approve, Qt.MouseButton.LeftButton)
    assert not decisions
    qtbot.keyClick(dialog.ticks()[0], Qt.Key.Key_Space)
    qtbot.mouseClick(dialog.approve, Qt.MouseButton.LeftButton)
    assert decisions == [Decision(Answer.APPROVE, frozenset({CRITICAL.key}))]


def test_unticking_takes_the_permission_to_approve_back(qtbot: QtBot, theme: Theme) -> None:
    dialog, _ = shown(qtbot, theme, request(CRITICAL))
    dialog.ticks()[0].click()
    assert dialog.approve.isEnabled()
    dialog.ticks()[0].click()
    assert not dialog.approve.isEnabled()


def test_escape_and_closing_decide_nothing(qtbot: QtBot, theme: Theme) -> None:
    for leave in (lambda d: qtbot.keyClick(d, Qt.Key.Key_Escape), lambda d: d.close()):
        dialog, decisions = shown(qtbot, theme, request(OPTIONAL))
        leave(dialog)
        assert [d.answer for d in decisions] == [Answer.UNDECIDED]
        assert not dialog.isVisible()


def test_there_is_no_timer_and_the_app_stays_usable(qtbot: QtBot, theme: Theme) -> None:
    dialog, decisions = shown(qtbot, theme, request(CRITICAL))
    assert not dialog.isModal()
    assert not dialog.body.building and not decisions


def test_a_first_grant_keeps_nothing_but_says_so(qtbot: QtBot, theme: Theme) -> None:
    dialog, _ = shown(qtbot, theme, request(OPTIONAL, first=True))
    assert dialog.keep.text() == "Do not approve" and dialog.approve.text() == "Approve this permission"


def test_without_the_optional_one_is_offered_where_it_is_possible(qtbot: QtBot, theme: Theme) -> None:
    dialog, decisions = shown(qtbot, theme, request(REFUSAL, OPTIONAL))
    assert dialog.without.text() == "Approve without the optional one"
    qtbot.mouseClick(dialog.without, Qt.MouseButton.LeftButton)
    assert decisions[0].answer is Answer.WITHOUT_OPTIONAL
    dialog, _ = shown(qtbot, theme, request(REFUSAL))
    assert dialog.without.isHidden()


def test_narrowed_parts_are_collapsed_and_uncounted_ones_are_not(qtbot: QtBot, theme: Theme) -> None:
    asked = request(OPTIONAL, narrowed=(NARROWED,), uncounted=(Uncounted("Runs as root.", Weight.SERIOUS, GH, "x"),))
    dialog, _ = shown(qtbot, theme, asked)
    narrowed, uncounted = dialog.findChildren(FoldHeader)
    assert not narrowed.open and uncounted.open
    qtbot.mouseClick(narrowed, Qt.MouseButton.LeftButton)
    assert narrowed.open


def test_a_first_grant_of_hooks_alone_is_a_question_with_its_own_words(qtbot: QtBot, theme: Theme) -> None:
    hook = Uncounted("Runs “make” as root while it is being set up.", Weight.NOTICE, GH, "x", "root: make")
    dialog, decisions = shown(qtbot, theme, request(first=True, uncounted=(hook,)))
    assert dialog.approve.text() == "Approve this set" and dialog.approve.isEnabled() and dialog.keep.isDefault()
    qtbot.mouseClick(dialog.approve, Qt.MouseButton.LeftButton)
    assert decisions[0].answer is Answer.APPROVE


def test_text_of_a_kit_is_never_markup(qtbot: QtBot, theme: Theme) -> None:
    dialog, _ = shown(qtbot, theme, request(CRITICAL))
    labels = [label.text() for label in dialog.findings[0].findChildren(QLabel)]
    assert any("&lt;b&gt;files&lt;/b&gt;" in text for text in labels) and not any("<b>files" in text for text in labels)


def test_a_descriptor_line_can_be_asked_for(qtbot: QtBot, theme: Theme) -> None:
    dialog, _ = shown(qtbot, theme, request(CRITICAL))
    with qtbot.waitSignal(dialog.line_wanted) as told:
        dialog.findings[0].line_wanted.emit(GH, 34)
    assert told.args == [GH, 34]


def test_copies_hold_what_is_shown(qtbot: QtBot, theme: Theme) -> None:
    dialog, _ = shown(qtbot, theme, request(CRITICAL, REFUSAL))
    actions = {
        action.objectName(): action for action in dialog.findChild(type(dialog.keep), "approvalCopy").menu().actions()
    }
    actions["copyText"].trigger()
    assert "host-mount /home/agent/.cache/gh" in QGuiApplication.clipboard().text()
    actions["copyJson"].trigger()
    copied = json.loads(QGuiApplication.clipboard().text())
    assert [f["key"] for f in copied["findings"]] == [CRITICAL.key, REFUSAL.key]


@pytest.mark.parametrize(("count", "scale"), [(1, 1.0), (300, 1.0), (12, 2.0)])
def test_any_number_of_findings_at_any_text_size(qtbot: QtBot, theme: Theme, count: int, scale: float) -> None:
    theme.choose(scale=scale)
    findings = (CRITICAL, *(finding(Weight.INFO, f"Connects to h{n}.", f"h{n}.example:443") for n in range(count - 1)))
    dialog, _ = shown(qtbot, theme, request(*findings))
    listed = dialog.findChild(PermissionList)
    rows = [listed.row_at(listed.model().index(n, 0)) for n in range(listed.model().rowCount())] if listed else []
    assert len(dialog.findings) + sum(row.permission is not None for row in rows) == count
    for choice in (dialog.approve, dialog.keep):
        assert choice.width() >= choice.sizeHint().width() and dialog.rect().contains(
            choice.mapTo(dialog, choice.rect().center())
        )
    theme.choose(scale=1.0)


def test_nothing_can_be_approved_before_everything_is_shown(qtbot: QtBot, theme: Theme) -> None:
    findings = tuple(finding(Weight.INFO, f"Connects to h{n}.", f"h{n}.example:443") for n in range(30))
    dialog = ApprovalDialog(theme, request(*findings))
    qtbot.addWidget(dialog)
    assert not dialog.complete and not dialog.approve.isEnabled() and dialog.keep.isEnabled()
    qtbot.waitUntil(lambda: dialog.complete)
    assert dialog.approve.isEnabled()


def test_comparison_sets_equal_lines_side_by_side(qtbot: QtBot, theme: Theme) -> None:
    left, right, gone, new = aligned(["a", "b", "d"], ["a", "c", "c2", "d"])
    assert left == ["a", "b", "", "d"] and right == ["a", "c", "c2", "d"]
    assert gone == {1} and new == {1, 2}
    dialog = CompareDialog(theme, Side("old", "a\nb"), Side("new", "a\nc"))
    qtbot.addWidget(dialog)
    one = DescriptorDialog(theme, Side("kit", "a\nb\nc"), 2)
    qtbot.addWidget(one)
    assert one.pane.textCursor().block().text() == "b"
