"""The words of a review as a whole: nothing unsaid, nothing that acts on a terminal, nothing out of date."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from kitstudio.models.capabilities import lookup
from kitstudio.models.notes import notes
from kitstudio.models.surface import CATEGORIES
from kitstudio.models.weights import Weight
from tests.models.word_samples import ALL_TYPES, HOSTILE, REQUESTS, main, request, rows, widening_rows

DOCS = Path(__file__).parent.parent.parent / "docs" / "words.md"


def test_the_printed_words_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    main()

    assert capsys.readouterr().out == DOCS.read_text(encoding="utf-8"), (
        "run: python -m tests.models.word_samples > docs/words.md"
    )


def test_every_type_says_something() -> None:
    told = {f"com.docker.sandbox/{name}" for name, _ in rows(REQUESTS)}
    told |= {f"com.docker.sandbox/{n}" for n, c in REQUESTS if notes([("capabilities[0]", request(n, c))])}

    assert told >= ALL_TYPES


def test_every_category_of_widening_has_a_row() -> None:
    found = dict(widening_rows())

    assert found.keys() == set(CATEGORIES.values())
    for category, row in found.items():
        assert row.sentence.endswith(".") and row.category == category
        assert row.weight >= Weight.NOTICE or not category.endswith("removed")


def test_sentences_are_sentences_and_critical_ones_are_ticked() -> None:
    for name, row in [*rows(REQUESTS), *widening_rows()]:
        assert row.sentence[0].isupper() and row.sentence.endswith("."), (name, row.sentence)
        assert bool(row.tick) == (row.weight is Weight.CRITICAL), (name, row)
        assert row.entry or row.category == "privileged"


def test_notes_are_sentences_without_the_names_of_our_types() -> None:
    for name, config in REQUESTS:
        for note in notes([("capabilities[0]", request(name, config))]):
            assert note.sentence.endswith(".") and not note.sentence.startswith("States "), note


def test_nothing_a_kit_states_acts_on_a_reader() -> None:
    shown: list[str] = []
    for _, row in rows(HOSTILE):
        shown += (row.sentence, row.entry, row.tick)
    for name, config in HOSTILE:
        type_ = lookup(f"com.docker.sandbox/{name}")
        for note in notes([("capabilities[0]", request(name, config))]) if type_ else ():
            shown += (note.sentence, note.text)

    assert len(shown) > 30
    for text in shown:
        assert not [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}], text


def test_what_is_not_known_of_a_secret_is_not_called_safe() -> None:
    for category, row in widening_rows():
        if category.startswith("credentials"):
            assert "stays outside" not in row.sentence and row.weight >= Weight.SERIOUS
