"""Shared painters and small widgets, from plain values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from kitstudio.models.review import Chip, Group, Weight
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets import ExactEntry, Segmented, StateView, Switch, chip_looks, monogram_letters, monogram_tint
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import entry_size
from kitstudio.ui.widgets.text import breakable, duration_text, moment_text, size_text


@pytest.mark.parametrize(
    ("repository", "letters"),
    [
        ("hub.example/acme/gh", "GH"),
        ("hub.example/globex/agent", "AG"),
        ("hub.example/initech/image-builder", "IB"),
        ("docker.io/x/sbx-kit-git-signing", "GS"),
        ("docker.io/x/agent-mixin", "AG"),
        ("docker.io/x/kit-set", "SE"),
        ("docker.io/x/a.b_c", "AB"),
        ("docker.io/x/z", "Z"),
    ],
)
def test_monogram_letters(repository: str, letters: str) -> None:
    assert monogram_letters(repository) == letters


def test_monogram_tint_is_fnv1a_modulo_twelve() -> None:
    assert monogram_tint("hub.example/acme/gh") == 7
    assert monogram_tint("hub.example/globex/agent") == 0


@given(st.text(max_size=60))
def test_any_name_has_a_monogram(name: str) -> None:
    monogram_letters(name)
    assert 0 <= monogram_tint(name) < 12


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("demo.invalid/hello:1.0", "demo.invalid/hello"),
        ("localhost:5000/a/b", "localhost:5000/a/b"),
        ("localhost:5000/a/b:2@sha256:00", "localhost:5000/a/b"),
        ("hello:1", "hello"),
    ],
)
def test_repository_of(reference: str, repository: str) -> None:
    assert repository_of(reference) == repository


def test_chips_show_heaviest_first_and_count_the_rest() -> None:
    chips = tuple(Chip(Group.NETWORK, f"{n} hosts", Weight.INFO) for n in range(5))
    looks = chip_looks((*chips, Chip(Group.PRIVILEGED, "Privileged", Weight.CRITICAL)))
    assert looks[0].text == "Privileged"
    assert looks[0].icon == "critical"
    assert looks[1].icon == "network"
    assert looks[-1].text == "+2"


def test_asking_for_nothing_is_said() -> None:
    (look,) = chip_looks(())
    assert (look.text, look.tone) == ("Asks for nothing", Tone.SUCCESS)


def test_an_entry_wraps_and_is_never_cut(theme: Theme) -> None:
    text = "POST PUT uploads.forge.example/repos/*/releases/*/assets/**"
    wide, narrow = entry_size(theme, text, 600), entry_size(theme, text, 160)
    assert narrow.height() > wide.height()
    assert narrow.width() <= 160


def test_an_entry_shows_hidden_characters_and_copies_the_bytes(theme: Theme, qapp: QApplication) -> None:
    text = "evil.example\u202e/gpj"
    assert "\u202e" not in breakable(text)
    entry = ExactEntry(theme, text)
    entry.copy()
    assert QGuiApplication.clipboard().text() == text


def test_switch_says_its_state_and_turns_by_key(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    switch = Switch(theme, "Release files")
    qtbot.addWidget(switch)
    switch.show()
    switch.setFocus()
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert switch.isChecked()
    assert switch.accessibleName() == "Release files"


def test_segmented_tells_the_key(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    control = Segmented(theme, [("cards", "Cards", "cards"), ("table", "Table", "table")], "View")
    qtbot.addWidget(control)
    with qtbot.waitSignal(control.chosen) as told:
        qtbot.mouseClick(control.button("table"), Qt.MouseButton.LeftButton)
    assert told.args == ["table"]
    assert control.value() == "table"


def test_state_view_offers_its_actions(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    view = StateView(theme, "catalog", "No sources yet", "Add one.", [("demo", "Show the demo Kits", "sandboxes")])
    qtbot.addWidget(view)
    view.show()
    from PySide6.QtWidgets import QPushButton

    made = view.findChild(QPushButton, "state-demo")
    with qtbot.waitSignal(view.acted) as told:
        qtbot.mouseClick(made, Qt.MouseButton.LeftButton)
    assert told.args == ["demo"]


def test_numbers_and_moments_read_as_the_tokens_say() -> None:
    assert size_text(38_400_000) == "38.4 MB"
    assert size_text(12) == "12 B"
    assert duration_text(9) == "0:09"
    assert duration_text(4320) == "1 h 12 min"
    assert moment_text(0, now=3 * 3600) == "3 h ago"
    assert moment_text(0, now=2 * 86400) == "2 days ago"
    assert "1970" in moment_text(0, now=30 * 86400)
