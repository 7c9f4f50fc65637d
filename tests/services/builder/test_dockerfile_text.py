"""Dockerfile text of any kind either reads or is refused by name."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.errors import KitStudioError
from kitstudio.services.builder.dockerfile import expand, instructions, pairs, split_words

LINES = st.lists(
    st.one_of(
        st.sampled_from(["FROM scratch", "ARG A=${B:-c}", "ENV A='b", 'COPY ["a", 1]', "# escape=`", "ADD \\", "\\"]),
        st.text("AENVCOPY $\\{}'\"=[]#-:+\t\r", max_size=30),
        st.text(max_size=20),
    ),
    max_size=8,
)


@given(LINES)
def test_any_text_reads_or_is_refused(lines: list[str]) -> None:
    with contextlib.suppress(KitStudioError):
        for step in instructions("\n".join(lines), "Dockerfile", "Use another builder."):
            assert step.where.startswith("Dockerfile:") and step.rest
            for read in (split_words, pairs, expand):
                with contextlib.suppress(KitStudioError):
                    read(step.rest, {"A": "1"}, step.where)


@given(st.text("abc XYZ/._-", max_size=40))
def test_plain_words_are_what_blanks_part(text: str) -> None:
    assert split_words(text, {}, "x") == tuple(text.split())


@given(st.text(st.characters(exclude_characters="'", exclude_categories=("Cs",)), max_size=30))
def test_single_quotes_keep_everything(text: str) -> None:
    assert split_words(f"'{text}'", {"A": "1"}, "x") == (text,)
