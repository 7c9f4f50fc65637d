"""The rules editor: every rule in words, checked while typed, kept in the settings, taken back by one button."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from kitstudio.models.policy import RuleKind, parse
from kitstudio.services.settings import Settings
from kitstudio.ui.approvals.policy_view import PolicyView, rule_words
from kitstudio.ui.theme import Theme


@pytest.fixture
def kept() -> Settings:
    return Settings()


@pytest.fixture
def view(qtbot: QtBot, theme: Theme, kept: Settings) -> PolicyView:
    view = PolicyView(theme, kept)
    qtbot.addWidget(view)
    view.resize(900, 900)
    view.show()
    return view


def rules(view: PolicyView, kind: RuleKind) -> list[str]:
    QApplication.processEvents()
    rows = view.lists[kind].findChildren(QWidget, "policyRule")
    return [row.findChildren(QLabel)[0].text() for row in rows if row.isVisibleTo(view)]


def test_a_rule_is_told_in_words_before_it_is_added_and_kept(qtbot: QtBot, view: PolicyView, kept: Settings) -> None:
    never = view.lists[RuleKind.NEVER]
    assert not never.add.isEnabled() and "For example" in never.told.text()
    qtbot.keyClicks(never.value, "privileged")
    assert never.told.text() == "Refuses everything of the category privileged, without exception."
    qtbot.keyClick(never.value, Qt.Key.Key_Return)
    assert kept.texts("policy.never") == ("category=privileged",)
    assert rules(view, RuleKind.NEVER) == ["Refuses everything of the category privileged, without exception."]
    assert never.value.text() == ""


def test_what_is_no_rule_is_said_and_cannot_be_added(qtbot: QtBot, view: PolicyView, kept: Settings) -> None:
    tick = view.lists[RuleKind.TICK]
    qtbot.keyClicks(tick.value, "no such thing")
    assert "must" in tick.told.text() and not tick.add.isEnabled()
    qtbot.keyClick(tick.value, Qt.Key.Key_Return)
    assert kept.texts("policy.tick") == ()


def test_a_rule_is_taken_back(qtbot: QtBot, view: PolicyView, kept: Settings) -> None:
    kept.set("policy.host", ["host=metadata.internal", "host=ads.example"])
    assert len(rules(view, RuleKind.HOST)) == 2
    (take, _) = [b for b in view.lists[RuleKind.HOST].findChildren(QToolButton, "policyRemove") if b.isVisible()]
    assert take.accessibleName() == "Take back: host=metadata.internal"
    qtbot.mouseClick(take, Qt.MouseButton.LeftButton)
    assert kept.texts("policy.host") == ("host=ads.example",)


def test_silent_updates_can_be_turned_off_and_asking_cannot(qtbot: QtBot, view: PolicyView, kept: Settings) -> None:
    auto = view.switches["policy.auto_apply"]
    assert auto.isChecked()
    qtbot.keyClick(auto, Qt.Key.Key_Space)
    assert kept.get("policy.auto_apply") is False
    assert any(label.text() == "Always on; this one can’t be turned off." for label in view.findChildren(QLabel))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (RuleKind.NEVER, "type=com.docker.sandbox/privileged@1"),
        (RuleKind.TICK, "category=credentials"),
        (RuleKind.EXPECTED, "hub.example/acme=acme.example"),
        (RuleKind.HOST, "host=*.ads.example"),
    ],
)
def test_no_sentence_of_a_rule_promises_a_yes(kind: RuleKind, text: str) -> None:
    told = rule_words(parse(kind, text))
    assert parse(kind, text).pattern in told and "approve " not in told and "allow" not in told


@pytest.mark.parametrize("key", ["updates.on_start", "updates.daily"])
def test_when_updates_are_looked_for_is_switched_here_too(
    qtbot: QtBot, view: PolicyView, kept: Settings, key: str
) -> None:
    switch = view.switches[key]
    assert switch.isVisible() and not switch.isChecked()
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert kept.get(key) is True
    kept.set(key, False)
    assert not switch.isChecked()
