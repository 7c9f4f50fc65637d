"""Rules where they acted: in the dialog, and in the list of everything that is in effect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from kitstudio.models import lock as locks
from kitstudio.models.effective_rules import effective_rules
from kitstudio.models.policy import HOST_POLICY, Policy, RuleKind, judged, parse
from kitstudio.models.review import Phase
from kitstudio.services.approvals import Request
from kitstudio.services.settings import Settings
from kitstudio.ui.approvals.dialog import ApprovalDialog
from kitstudio.ui.approvals.page import ApprovalsPage
from kitstudio.ui.approvals.rules_view import RulesModel, RulesView
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.fold import FoldHeader
from tests.models.sets import allow, base, member, plan
from tests.ui.approvals.bumps import BUMPS, request_of
from tests.ui.approvals.samples import Gate

Run = Callable[[Awaitable[Any]], Any]
HOST = Policy((parse(RuleKind.HOST, "host=metadata.internal"), parse(RuleKind.HOST, "host=*.ads.example")))


def under(policy: Policy, asked: Request) -> Request:
    """A request as the gate makes it under these rules."""
    verdict = judged(policy, asked.review, asked.plan)
    return replace(asked, review=verdict.review, rules=verdict.notes, refused=verdict.refused)


def shown(qtbot: QtBot, theme: Theme, asked: Request) -> ApprovalDialog:
    dialog = ApprovalDialog(theme, asked)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.complete)
    return dialog


def texts_of(dialog: ApprovalDialog) -> list[str]:
    return [label.text() for label in dialog.findChildren(QLabel)]


def bump(name: str) -> Request:
    return request_of(next(each for each in BUMPS if each.name == name))


def test_a_never_rule_closes_the_answers_and_is_named(qtbot: QtBot, theme: Theme) -> None:
    never = Policy((parse(RuleKind.NEVER, "category=privileged"),))
    dialog = shown(qtbot, theme, under(never, bump("builder-any-host")))
    for tick in dialog.ticks():
        tick.click()
    assert not dialog.approve.isEnabled() and dialog.keep.isEnabled()
    read = texts_of(dialog)
    assert "Refused by your rule." in read and any("“never category=privileged”" in text for text in read)
    assert any("nothing approves it" in text for text in read)


def test_a_tick_rule_makes_a_finding_critical_and_says_so(qtbot: QtBot, theme: Theme) -> None:
    rule = Policy((parse(RuleKind.TICK, "category=ports"),))
    dialog = shown(qtbot, theme, under(rule, bump("code-server-second-port")))
    assert len(dialog.ticks()) == 1 and not dialog.approve.isEnabled()
    assert any("“tick category=ports”" in text for text in texts_of(dialog))
    dialog.ticks()[0].click()
    assert dialog.approve.isEnabled()


def test_an_expectation_is_named_and_asks_all_the_same(qtbot: QtBot, theme: Theme) -> None:
    rule = Policy((parse(RuleKind.EXPECTED, "hub.example/acme=second.example"),))
    asked = under(rule, bump("opencode-one-more-key"))
    assert len(asked.review.findings) == 2
    assert any("expects hub.example/acme" in text for text in texts_of(shown(qtbot, theme, asked)))


def test_what_the_host_policy_overrides_is_struck_out_with_the_rule_row_50(qtbot: QtBot, theme: Theme) -> None:
    policy = Policy((parse(RuleKind.HOST, "host=telemetry.cursor.example"),))
    dialog = shown(qtbot, theme, under(policy, bump("cursor-real-token")))
    (only,) = dialog.findings
    assert only.entry.look.struck
    assert any("host policy “host=telemetry.cursor.example” overrides this entry" in text for text in texts_of(dialog))
    assert any(label.look.text == "Never granted here" for label in only.findChildren(type(dialog.head._queue)))


def test_an_overridden_entry_that_was_granted_before_is_told_beside_the_findings_row_50(
    qtbot: QtBot, theme: Theme
) -> None:
    policy = Policy((parse(RuleKind.HOST, "host=api.cursor.example"),))
    dialog = shown(qtbot, theme, under(policy, bump("cursor-real-token")))
    fold = dialog.findChild(FoldHeader, "fold-rules")
    assert fold is not None and fold.open
    assert any(text.startswith("api.cursor.example:443: This machine never reaches it") for text in texts_of(dialog))


GH = "requires: [base]\n"
PLAN = plan(
    base(allow("a.example", "x.ads.example", deny=("m.example",))),
    member("gh:2", GH + allow("a.example", "api.example:443")),
    text=allow("own.example"),
)


def test_every_rule_is_listed_with_kit_path_and_phase_row_49() -> None:
    rules = effective_rules(PLAN, HOST)
    stated = {(rule.entry, rule.origin, rule.phase) for rule in rules}
    assert ("a.example", "demo.invalid/base:1.0.0", Phase.RUNTIME) in stated
    assert ("a.example", "demo.invalid/gh:2", Phase.RUNTIME) in stated, "one row for each who states it"
    assert ("deny m.example", "demo.invalid/base:1.0.0", Phase.RUNTIME) in stated
    assert all(rule.path for rule in rules)


def test_rules_of_host_policy_set_and_kit_are_all_listed_with_their_origin_row_110(theme: Theme) -> None:
    rules = effective_rules(PLAN, HOST)
    assert {rule.origin for rule in rules} == {HOST_POLICY, "", "demo.invalid/base:1.0.0", "demo.invalid/gh:2"}
    (ads,) = [rule for rule in rules if rule.entry == "x.ads.example"]
    assert ads.struck and "host policy “host=*.ads.example”" in ads.overridden
    model = RulesModel(theme)
    model.show_rules(rules)
    row = next(n for n in range(model.rowCount()) if model.rule(n) == ads)
    assert model.data(model.index(row, 0), Qt.ItemDataRole.FontRole).strikeOut()
    assert "Struck out." in str(model.data(model.index(row, 0), Qt.ItemDataRole.AccessibleTextRole))
    origins = {str(model.data(model.index(n, 3))) for n in range(model.rowCount())}
    assert {"Host policy", "The set itself", "gh 2", "base 1.0.0"} <= origins


def test_a_host_without_a_port_is_read_as_any_port_row_53(theme: Theme) -> None:
    told = {rule.entry: rule.sentence for rule in effective_rules(PLAN)}
    assert told["a.example"] == "Connects to a.example on any port for any purpose."
    assert told["api.example:443"] == "Connects to api.example on port 443 for any purpose."


def test_deny_and_allow_of_one_host_read_the_same_after_saving_and_removing_the_deny_widens_row_109() -> None:
    both = allow("h.example", deny=("h.example",))
    before = plan(base(both))
    again = plan(base(both), text="")
    assert effective_rules(before) == effective_rules(again)
    assert [rule.entry for rule in effective_rules(before)] == ["h.example", "deny h.example"]
    lock = locks.from_plan("team", before)
    assert locks.decode(locks.encode(lock)) == lock
    found = locks.review("team", locks.decode(locks.encode(lock)), plan(base(allow("h.example"))))
    assert found.widens and found.findings[0].removed_refusal
    assert found.findings[0].permission.sentence.startswith("No longer refuses h.example")


def test_the_page_lists_the_rules_of_the_set_in_the_composer(qtbot: QtBot, theme: Theme, run: Run) -> None:
    settings = Settings()
    gate = Gate()
    studio: Any = SimpleNamespace(
        approvals=gate,
        catalog=SimpleNamespace(cards=tuple),
        settings=settings,
        composer=SimpleNamespace(value=SimpleNamespace(name="team", plan=PLAN)),
    )
    page = ApprovalsPage(studio, theme, Navigator())
    qtbot.addWidget(page)
    page.show()

    async def go() -> None:
        await page.opened()
        page.tabs.setCurrentIndex(2)
        while page.rules.model.rowCount() == 0:  # noqa: ASYNC110 - the window has no event of its own for this
            await asyncio.sleep(0)
        settings.set("policy.host", ["host=*.ads.example"])
        while "struck out" not in page.rules.told.text():  # noqa: ASYNC110
            await asyncio.sleep(0)

    run(go())
    view: RulesView = page.rules
    assert view.told.text() == "7 rules, 1 struck out by the host policy"
    qtbot.keyClicks(view.search, "gh api")
    assert [view.model.rule(n).entry for n in range(view.model.rowCount())] == ["api.example:443"]
