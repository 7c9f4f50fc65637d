"""The approval dialog and page, driven with real events over plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from kitstudio.models.lock import Lock, LockedKit
from kitstudio.models.plan import Member, Plan
from kitstudio.models.review import Asker, Finding, Group, Permission, Phase, Review, Uncounted, Weight
from kitstudio.models.surface import Surface, Widening
from kitstudio.services.approvals import Record, Request
from kitstudio.services.topic import Topic
from kitstudio.ui.approvals.compare import CompareDialog, DescriptorDialog, Side, aligned
from kitstudio.ui.approvals.dialog import Answer, ApprovalDialog, Decision
from kitstudio.ui.approvals.page import ApprovalsPage
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.widgets.fold import FoldHeader
from kitstudio.ui.widgets.permission_list import PermissionList

GH = "hub.example/acme/gh:2.73.0"
AGENT = "hub.example/globex/agent:4.1.0"


def finding(weight: Weight, sentence: str, entry: str, *, removed: bool = False, tick: str = "", **rest) -> Finding:  # type: ignore[no-untyped-def]
    permission = Permission(Group.NETWORK, "network.runtime.allow", entry, entry, sentence, weight, **rest)
    return Finding(permission, (Widening("network.runtime.allow", entry),), removed, tick)


CRITICAL = finding(
    Weight.CRITICAL,
    "Reads and writes a folder on this computer.",
    "host-mount /home/agent/.cache/gh",
    askers=(Asker(GH, "capabilities[0]", 34, "Keeps <b>files</b>."),),
    tick="I accept that",
)
REFUSAL = finding(
    Weight.SERIOUS,
    "No longer refuses metadata.internal.example.",
    "deny metadata.internal.example:80",
    removed=True,
    denies=True,
    phase=Phase.RUNTIME,
)
OPTIONAL = finding(Weight.NOTICE, "Sends files.", "POST uploads.example/**", optional=True)
NARROWED = Permission(Group.PORTS, "ports", "8022", "8022/tcp", "no longer opens port 8022", Weight.INFO)


def request(*findings: Finding, first: bool = False, **rest) -> Request:  # type: ignore[no-untyped-def]
    members = (Member(GH, "sha256:41b80d52"), Member(AGENT, "sha256:aaaa"))
    granted = Lock(
        "team-agent",
        (
            LockedKit("hub.example/acme/gh:2.72.0", "sha256:9f3c1e7a", "mixin"),
            LockedKit(AGENT, "sha256:aaaa", "workload"),
        ),
        Surface(),
        "",
    )
    plan = Plan(members=members, workload=AGENT)
    review = Review("gh 2.73.0 asks for more than you approved for 2.72.0", first, findings, **rest)
    return Request("1", "team-agent", plan, review, None if first else granted, plan)


@pytest.fixture
def theme(qapp: object) -> Theme:
    theme = Theme(Mode.LIGHT)
    theme.install()
    return theme


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


class _Approvals:
    """What the page asks of the gate."""

    def __init__(self, waiting: tuple[Request, ...], history: tuple[Record, ...]) -> None:
        self.changed: Topic[None] = Topic()
        self._waiting, self._history = list(waiting), history
        self.kept: list[Request] = []

    def waiting(self) -> tuple[Request, ...]:
        return tuple(self._waiting)

    def history(self) -> tuple[Record, ...]:
        return self._history

    def keep(self, asked: Request) -> None:
        self.kept.append(asked)
        self._waiting.remove(asked)
        self.changed.publish(None)


def record(answer: str, name: str = "team-agent") -> Record:
    found = ({"sentence": "Sends files.", "weight": "notice", "entry": "POST uploads.example/**"},)
    return Record(1_700_000_000.0, "sam", name, answer, f"{name} asked", "a" * 64, "", found)


@pytest.fixture
def page(qtbot: QtBot, theme: Theme) -> Iterator[ApprovalsPage]:
    gate = _Approvals((request(CRITICAL),), (record("approved"), record("kept", "other")))
    page = ApprovalsPage(SimpleNamespace(approvals=gate), theme, Navigator())  # type: ignore[arg-type]
    qtbot.addWidget(page)
    page.resize(1200, 700)
    page.show()
    yield page


def test_keeping_from_the_waiting_list(qtbot: QtBot, page: ApprovalsPage) -> None:
    assert page.tabs.tabText(0) == "Waiting 1"
    keep = page.findChild(QPushButton, "waitingKeep")
    qtbot.mouseClick(keep, Qt.MouseButton.LeftButton)
    assert len(page.studio.approvals.kept) == 1 and page.tabs.tabText(0) == "Waiting"  # type: ignore[attr-defined]


def test_history_filters_by_words_and_answer(qtbot: QtBot, page: ApprovalsPage) -> None:
    page.tabs.setCurrentIndex(1)
    model = page.history.model
    assert model.rowCount() == 2
    qtbot.mouseClick(page.history.filter.button("kept"), Qt.MouseButton.LeftButton)
    assert model.rowCount() == 1 and model.record(0).name == "other"
    qtbot.mouseClick(page.history.filter.button("all"), Qt.MouseButton.LeftButton)
    qtbot.keyClicks(page.history.search, "team asked")
    assert [model.record(row).name for row in range(model.rowCount())] == ["team-agent"]
