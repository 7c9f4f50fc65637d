"""Sources with their state in words and icon; the clock runs only while something counts down."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from kitstudio.registry.source import RateLimited
from kitstudio.services.catalog import SourceInfo, SourceKind, SourceState
from kitstudio.ui.catalog.source_pane import SourceDeed, SourcePane
from kitstudio.ui.catalog.source_words import lapsed, state_line, status_words
from kitstudio.ui.catalog.sources import title_lines
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme

NOW = 1_700_000_000.0


def registry(state: SourceState = SourceState.READY, **more: object) -> SourceInfo:
    stated: dict[str, object] = {"network": True, "opened": True, "registry": "reg.test", **more}
    return SourceInfo("reg.test", "reg.test", SourceKind.REGISTRY, state, **stated)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "words", "icon"),
    [
        (registry(account="mara", count=3), "Signed in as mara", "success"),
        (registry(count=3), "3 Kits", ""),
        (registry(opened=False), "Not opened yet", "ring"),
        (registry(SourceState.OFFLINE, fetched_at=NOW - 3 * 3600), "Offline, from 3 h ago", "offline"),
        (registry(SourceState.OFFLINE), "Offline", "offline"),
        (registry(SourceState.LIMITED, retry_at=NOW + 42), "Limit reached · 0:42", "clock"),
        (registry(SourceState.LIMITED, retry_at=NOW - 1), "Limit reached", "clock"),
        (registry(SourceState.SIGN_IN), "Sign-in needed", "lock"),
        (registry(SourceState.SIGN_IN, account="mara"), "Sign in again", "lock"),
        (registry(SourceState.LOADING), "Reading the list", "spinner"),
    ],
)
def test_every_state_has_its_words_and_its_icon(source: SourceInfo, words: str, icon: str) -> None:
    line = state_line(source, NOW)
    assert (line.text, line.icon) == (words, icon)


def test_hostile_titles_and_accounts_are_shown_as_plain_text(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    assert "\u202e" not in state_line(registry(account="a\u202eb")).text
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    pane.show_sources((registry(note="<b>bold</b>"),))
    assert "<b>" in str(pane.model.index(1).data(Qt.ItemDataRole.ToolTipRole))


def test_a_lapsed_session_is_told_from_a_registry_never_signed_in_to() -> None:
    assert lapsed(registry(SourceState.SIGN_IN, account="mara"))
    assert not lapsed(registry(SourceState.SIGN_IN))


def test_the_clock_runs_only_while_a_limit_counts_down_row_37(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    pane.show_sources((registry(),))
    assert not pane.counting
    error = RateLimited("Too many requests from here.", retry_after=60)
    pane.show_sources((registry(SourceState.LIMITED, retry_at=4e9, error=error),))
    assert pane.counting
    with qtbot.waitSignal(pane.ticked, timeout=5000):
        pass
    pane.show_sources((registry(),))
    assert not pane.counting


@pytest.mark.parametrize(
    ("source", "deeds"),
    [
        (registry(opened=False), ["refresh", "sign-in", "trust", "remove"]),
        (registry(account="mara", trusted=True), ["refresh", "sign-in", "sign-out", "distrust", "remove"]),
        (SourceInfo("demo", "Demo", SourceKind.DEMO, SourceState.READY), ["refresh"]),
        (SourceInfo("hub", "Docker Hub", SourceKind.HUB, SourceState.READY, network=True), ["refresh", "trust"]),
        (SourceInfo("/kits", "kits", SourceKind.FOLDER, SourceState.READY), ["refresh", "edit", "remove"]),
        (None, ["refresh"]),
    ],
)
def test_each_source_offers_what_can_be_done_with_it(  # type: ignore[no-untyped-def]
    theme: Theme, qtbot, source: SourceInfo | None, deeds: list[str]
) -> None:
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    assert [str(deed) for deed, _ in pane.deeds(source)] == deeds


def test_a_source_that_was_not_opened_says_that_opening_asks_it(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    assert pane.deeds(registry(opened=False))[0] == (SourceDeed.REFRESH, "Open reg.test")


@pytest.mark.parametrize(
    ("key", "deed"), [(Qt.Key.Key_F5, "refresh"), (Qt.Key.Key_Return, "refresh"), (Qt.Key.Key_Delete, "remove")]
)
def test_the_keyboard_does_what_the_menu_does(theme: Theme, qtbot, key: Qt.Key, deed: str) -> None:  # type: ignore[no-untyped-def]
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    pane.show_sources((registry(),))
    pane.choose("reg.test")
    with qtbot.waitSignal(pane.deed_wanted) as told:
        QTest.keyClick(pane.list, key)
    assert told.args == ["reg.test", deed]


def test_a_chosen_source_stays_chosen_while_others_come(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    demo = SourceInfo("demo", "Demo", SourceKind.DEMO, SourceState.READY)
    pane.show_sources((registry(),))
    pane.choose("reg.test")
    pane.show_sources((demo, registry()))
    chosen = pane.source()
    assert chosen is not None
    assert chosen.id == "reg.test"


def test_clear_is_active_only_while_something_is_chosen(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    assert not pane.clear.isEnabled()
    pane.facets.choose(frozenset({"kind-mixin"}))
    assert pane.clear.isEnabled()
    pane.clear.click()
    assert pane.facets.chosen() == frozenset()
    assert not pane.clear.isEnabled()


DEMO = SourceInfo("demo", "Demo", SourceKind.DEMO, SourceState.READY, count=16)


@pytest.mark.parametrize(
    ("sources", "icon", "words"),
    [
        ((DEMO,), "success", "16 Kits in 1 source"),
        ((DEMO, registry(opened=False)), "success", "16 Kits in 1 source · 1 not opened yet"),
        ((DEMO, registry(opened=False, count=2)), "success", "18 Kits in 2 sources"),
        ((DEMO, registry(SourceState.OFFLINE)), "info", "16 Kits in 1 source · 1 not readable now"),
        ((DEMO, registry(SourceState.OFFLINE, count=4)), "info", "20 Kits in 2 sources · 1 not readable now"),
        ((DEMO, registry(SourceState.SIGN_IN)), "info", "16 Kits in 1 source · 1 not readable now"),
    ],
)
def test_the_footer_counts_no_source_that_shows_nothing(sources: tuple[SourceInfo, ...], icon: str, words: str) -> None:
    assert status_words(sources) == (icon, words)


def test_a_long_name_goes_on_in_another_line_instead_of_losing_its_middle(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    name = "Docker Hub – Verified Publishers"
    hub = SourceInfo("hub", name, SourceKind.HUB, SourceState.READY, network=True)
    pane = SourcePane(theme)
    qtbot.addWidget(pane)
    pane.resize(220, 500)
    pane.show()
    pane.show_sources((DEMO, hub))
    QApplication.processEvents()
    plain, long = pane.list.visualRect(pane.model.index(1)), pane.list.visualRect(pane.model.index(2))
    assert long.height() > plain.height() and long.bottom() < pane.list.height()
    metrics = theme.metrics(Type.NAME)
    lines = title_lines(name, metrics, long.width() - theme.px(44))
    assert " ".join(lines) == name and len(lines) == 2
    pane.resize(500, 500)
    QApplication.processEvents()
    assert pane.list.visualRect(pane.model.index(2)).height() == plain.height()
    (only,) = title_lines("registry.of.a.company.example:5000", metrics, 80)
    assert "…" in only
