"""Names, offers and needs: what parses, what satisfies what, and canonical forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.errors import DescriptorError
from kitstudio.models.relations import (
    Provide,
    is_name,
    normalise,
    parse_conflict,
    parse_provide,
    parse_require,
    satisfies,
)

NAME = "com.docker.kit/a"
numbers = st.lists(st.integers(0, 30).map(str), min_size=1, max_size=3).map(".".join)
constraints = st.lists(st.tuples(st.sampled_from([">=", ">", "<=", "<", "="]), numbers), min_size=1, max_size=4)


def test_a_bare_name_is_in_the_default_namespace() -> None:
    assert parse_provide("gh@2.98.0") == Provide("com.docker.kit/gh", "2.98.0")
    assert parse_conflict("gh") == normalise("gh") == "com.docker.kit/gh"


@pytest.mark.parametrize("text", ["gh@", "gh @1", "gh@1@2", "gh@v1", "Gh", "com..example/gh", "rpm/x", "a-", ".a", ""])
def test_a_malformed_offer_is_refused(text: str) -> None:
    with pytest.raises(DescriptorError):
        parse_provide(text)


@pytest.mark.parametrize("text", ["node >=", "node >= 1,", "node == 1", "node >= 1 < 2", "node@1", ">= 1", "node != 1"])
def test_a_malformed_need_is_refused(text: str) -> None:
    with pytest.raises(DescriptorError):
        parse_require(text)


@pytest.mark.parametrize("text", ["a < 0", "a >= 2, < 2", "a > 2, < 2.-", "a = 1, = 2", "a = 1, > 1"])
def test_a_need_nothing_can_meet_is_refused(text: str) -> None:
    with pytest.raises(DescriptorError, match="never be satisfied"):
        parse_require(text)


def test_an_unversioned_offer_meets_only_an_unconstrained_need() -> None:
    assert satisfies(Provide(NAME), parse_require("a"))
    assert not satisfies(Provide(NAME), parse_require("a >= 0"))
    assert not satisfies(Provide("com.example/a", "1"), parse_require("a"))


@given(constraints, numbers)
def test_the_canonical_form_is_satisfied_by_the_same_versions(parts: list[tuple[str, str]], version: str) -> None:
    text = "a " + ", ".join(f"{operator} {bound}" for operator, bound in parts)
    try:
        require = parse_require(text)
    except DescriptorError:
        # Refused as impossible: then no version may hold every part.
        held = [parse_require(f"a {operator} {bound}") for operator, bound in parts if (operator, bound) != ("<", "0")]
        impossible = len(held) < len(parts) or not all(satisfies(Provide(NAME, version), one) for one in held)
        assert impossible
        return
    reduced = parse_require(require.canonical())

    assert satisfies(Provide(NAME, version), require) == satisfies(Provide(NAME, version), reduced)
    assert reduced.canonical() == require.canonical()


@given(st.text(max_size=20))
def test_any_text_is_a_name_or_refused(text: str) -> None:
    try:
        provide = parse_provide(text)
    except DescriptorError as error:
        assert error.what
    else:
        assert is_name(provide.name)
        assert parse_provide(provide.canonical()) == provide
