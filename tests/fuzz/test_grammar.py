"""The fixed budget of the fuzz target: the same mutations every time, and hypothesis beside them."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.grammar import PIECES, exercise, mutate, seeds

ENDS = {"refused", "decoded", "valid"}
SEEDS = seeds()
HEAD = b'schemaVersion: "3"\nkind: mixin\n'
BUDGET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("seed", range(8))
def test_mutated_descriptors_end_well_or_in_a_clear_error(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        text = mutate(chance.choice(SEEDS), chance.choice(SEEDS), chance)
        assert exercise(text) in ENDS, text


@BUDGET
@given(st.binary(max_size=200))
def test_any_bytes_end_well_or_in_a_clear_error(data: bytes) -> None:
    assert exercise(data) in ENDS


@BUDGET
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_pieces_of_the_grammar_end_well_or_in_a_clear_error(pieces: list[bytes]) -> None:
    assert exercise(HEAD + b"".join(pieces)) in ENDS
