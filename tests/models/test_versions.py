"""The order of versions, and the version a tag or reference states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.versions import compare, is_version, latest, reference_version, tag_version

numbers = st.text("0123456789", min_size=1, max_size=6)
segments = st.text("0123456789abAB-", min_size=1, max_size=4)
versions = st.tuples(numbers, st.lists(segments, max_size=3)).map(lambda parts: ".".join([parts[0], *parts[1]]))


@given(versions, versions)
def test_the_order_is_antisymmetric(a: str, b: str) -> None:
    assert compare(a, b) == -compare(b, a)


@given(versions)
def test_a_version_equals_itself_and_is_below_anything_longer(version: str) -> None:
    assert is_version(version)
    assert compare(version, version) == 0
    assert compare(version, version + ".0") == -1
    assert compare(version, version + ".-") == -1


@given(st.lists(numbers, min_size=1, max_size=4), st.lists(numbers, min_size=1, max_size=4))
def test_numeric_versions_compare_as_lists_of_numbers(a: list[str], b: list[str]) -> None:
    left, right = [int(n) for n in a], [int(n) for n in b]

    assert compare(".".join(a), ".".join(b)) == (left > right) - (left < right)


def test_the_order_of_mixed_segments_is_not_transitive() -> None:
    assert compare("1.2", "1.10") == -1
    assert compare("1.10", "1.1a") == -1
    assert compare("1.1a", "1.2") == -1


def test_numbers_beyond_any_machine_word_compare_by_value() -> None:
    assert compare("1." + "9" * 5000, "1.1" + "0" * 5000) == -1


@given(st.lists(versions, min_size=1, max_size=6))
def test_the_latest_of_numeric_tags_is_not_below_any_other(tags: list[str]) -> None:
    found = latest([tag for tag in tags if tag.replace(".", "").isdigit()])

    assert all(compare(found, tag) >= 0 for tag in tags if found and tag.replace(".", "").isdigit())


@pytest.mark.parametrize(
    ("reference", "version"),
    [
        ("localhost:5000/a", ""),
        ("a:1.0@sha256:" + "0" * 64, "1.0"),
        ("a:v1.0-alpine", "1.0-alpine"),
        ("a:V1", ""),
        ("git+https://h/r.git#ref=v1.2&subdir=x", "1.2"),
        ("git+https://h/r.git#subdir=x", ""),
    ],
)
def test_a_reference_states_its_version(reference: str, version: str) -> None:
    assert reference_version(reference) == version


@given(st.text(max_size=20))
def test_a_tag_states_a_version_or_nothing(tag: str) -> None:
    found = tag_version(tag)

    assert found == "" or (is_version(found) and found in (tag, tag[1:]))
