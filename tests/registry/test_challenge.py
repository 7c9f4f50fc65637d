from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.registry.challenge import Challenge, parse_challenges


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", ()),
        ('Basic realm="test"', (Challenge("basic", "test"),)),
        ("basic realm=test", (Challenge("basic", "test"),)),
        (
            'Bearer realm="https://auth.test/token",service="reg.test",scope="repository:a/b:pull,push"',
            (Challenge("bearer", "https://auth.test/token", "reg.test", "repository:a/b:pull,push"),),
        ),
        (
            'Bearer realm="https://auth.test/token", service="s" , Basic realm="x"',
            (Challenge("bearer", "https://auth.test/token", "s"), Challenge("basic", "x")),
        ),
        (r'Basic realm="say \"hi\", Bearer realm=fake"', (Challenge("basic", 'say "hi", Bearer realm=fake'),)),
        ("Negotiate, Basic realm=a", (Challenge("negotiate"), Challenge("basic", "a"))),
    ],
)
def test_challenges_are_read(header: str, expected: tuple[Challenge, ...]) -> None:
    assert parse_challenges(header) == expected


@given(st.text(max_size=200))
def test_no_header_makes_the_parser_fail(header: str) -> None:
    parse_challenges(header)
