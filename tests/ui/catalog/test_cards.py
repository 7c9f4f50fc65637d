"""Cards, facets, comparison and the descriptor view, from plain values."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt

from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Chip, Group, Weight
from kitstudio.services.catalog import CardKind
from kitstudio.ui.catalog.card_words import card_chips, kind_and_version, spoken
from kitstudio.ui.catalog.cards import CardColumn, CardModel
from kitstudio.ui.catalog.descriptor_view import DescriptorView, shaped
from kitstudio.ui.drag import REFERENCE_TYPE, references_of
from kitstudio.ui.theme import Theme, Tone
from tests.ui.catalog.stock import card

NETWORK = Chip(Group.NETWORK, "1 host", Weight.INFO)


def test_v2_artifacts_and_images_are_shown_as_what_they_are() -> None:
    assert card_chips(card("old", CardKind.V2))[0].text == "v2 artifact"
    assert card_chips(card("img", CardKind.IMAGE))[0].text == "Plain image"


def test_a_newer_type_is_said_with_the_critical_shape() -> None:
    (look,) = card_chips(card("new", newer_types=("acp@1",)))
    assert (look.text, look.tone) == ("1 type newer than this app", Tone.CRITICAL)


def test_a_card_speaks_everything_it_paints() -> None:
    words = spoken(card("gh", CardKind.MIXIN, NETWORK, publisher="acme", verified=True, version="2.73.0"))
    for part in ("gh", "acme", "verified", "Mixin · 2.73.0", "1 host"):
        assert part in words


def test_hostile_names_are_neutralised(theme: Theme) -> None:
    model = CardModel(theme)
    model.show_cards([card("evil\u202egpj\n<b>x</b>")])
    text = str(model.index(0, CardColumn.NAME).data())
    assert "\u202e" not in text
    assert "\n" not in text


def test_only_usable_kits_can_be_dragged_and_a_drag_carries_the_reference(theme: Theme) -> None:
    model = CardModel(theme)
    model.show_cards([card("a"), card("b", CardKind.V2)])
    assert model.flags(model.index(0, 0)) & Qt.ItemFlag.ItemIsDragEnabled
    assert not model.flags(model.index(1, 0)) & Qt.ItemFlag.ItemIsDragEnabled
    data = model.mimeData([model.index(0, 0)])
    assert data.hasFormat(REFERENCE_TYPE)
    assert references_of(data) == ("hub.example/acme/a:1.0",)


def test_a_card_that_arrives_changes_its_row_in_place(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    model = CardModel(theme)
    model.show_cards([card("a", CardKind.LOADING), card("b")])
    kept = model.index(1, 0)
    with qtbot.waitSignal(model.dataChanged) as told, qtbot.assertNotEmitted(model.modelReset):
        model.show_cards([card("a"), card("b")])
    assert told.args[0].row() == 0
    assert kept.isValid()


def test_a_failed_card_says_so_and_has_no_kind() -> None:
    failed = card("x", CardKind.ERROR, error=KitStudioError("The registry answered 401."))
    assert kind_and_version(failed) == "1.0"
    assert card_chips(failed)[0].tone is Tone.CRITICAL


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_descriptor_that_does_not_parse_is_shown_as_it_is(form: str) -> None:
    assert shaped("{ not: [json", form) == "{ not: [json"


DESCRIPTOR = """schemaVersion: "3"
kind: mixin
version: 1.10
capabilities:
  - {type: com.docker.sandbox/port@1, config: {container: 8080}}
"""


def test_the_descriptor_is_shown_in_both_forms() -> None:
    made = json.loads(shaped(DESCRIPTOR, "json"))
    assert made["version"] == "1.10", "what the descriptor says, not how YAML spells it"
    assert made["capabilities"][0]["config"] == {"container": 8080}
    assert shaped('{"kind":"mixin"}', "yaml") == "kind: mixin\n"
    assert shaped('schemaVersion: "3"\n', "yaml") == 'schemaVersion: "3"\n'


def test_aliases_without_end_are_not_written_out() -> None:
    letters = "abcdefghijkl"
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{now}: &{now} [{', '.join([f'*{before}'] * 9)}]\n" for before, now in itertools.pairwise(letters)
    )
    assert shaped(bomb, "json") == bomb


def test_a_line_is_found_in_the_form_the_text_came_in(
    theme: Theme, qtbot: Any, run: Callable[[Awaitable[Any]], Any]
) -> None:
    view = DescriptorView(theme)
    qtbot.addWidget(view)

    async def act() -> None:
        view.show_text('{\n  "schemaVersion": "3",\n  "kind": "mixin"\n}')
        view.go_to_line(3)
        assert "mixin" in view._view.textCursor().block().text()
        await view.tasks._running["colours"]
        assert view._colours._lines[2], "a thread found the colours"

    run(act())


def test_the_descriptor_view_finds_and_goes_to_a_line(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    view = DescriptorView(theme)
    qtbot.addWidget(view)
    view.show_text("\n".join(f"line{n}: value" for n in range(300)))
    view._find.setText("line299")
    assert view._hits.text() == "1 found"
    view.go_to_line(250)
    assert view._view.textCursor().blockNumber() == 249


def test_model_is_a_leaf(theme: Theme) -> None:
    model = CardModel(theme)
    model.show_cards([card("a")])
    assert model.rowCount(model.index(0, 0)) == 0
    assert model.rowCount(QModelIndex()) == 1
