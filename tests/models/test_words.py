"""Plain words: claims are neutralised, hosts are spoken honestly."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models import words
from kitstudio.models.weights import Weight


@given(st.text(max_size=400))
def test_a_claim_is_one_short_visible_line(text: str) -> None:
    shown = words.claim(text)
    assert len(shown) <= words.CLAIM_LENGTH
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp", "Cs"} for c in shown)
    assert shown == shown.strip() and "  " not in shown
    assert words.claim(shown) == shown


@given(st.text(max_size=200))
def test_an_exact_entry_hides_nothing(text: str) -> None:
    shown = words.exact(text)
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} for c in shown)
    assert len(shown) >= len(text)


def test_direction_marks_and_line_breaks_leave_a_claim() -> None:
    assert words.claim("safe\u202etxt.exe\u2066\nand\tmore\u200b") == "safetxt.exe and more"


def test_piled_up_marks_are_thinned() -> None:
    assert len(words.claim("a" + "\u0301" * 200)) <= 4


def test_a_long_claim_ends() -> None:
    shown = words.claim("word " * 200)
    assert shown.endswith("…") and len(shown) <= words.CLAIM_LENGTH


@pytest.mark.parametrize(
    ("pattern", "weight", "part"),
    [
        ("*", Weight.CRITICAL, "any host"),
        ("**:443", Weight.CRITICAL, "any host on port 443"),
        ("*.a.example", Weight.SERIOUS, "every host directly below a.example"),
        ("**.a.example", Weight.SERIOUS, "every host below a.example"),
        ("bedrock.*.example", Weight.SERIOUS, "every host that matches bedrock.*.example"),
        ("localhost:80", Weight.SERIOUS, "this computer"),
        ("LOCALHOST.", Weight.SERIOUS, "this computer"),
        ("host.docker.internal", Weight.SERIOUS, "this computer"),
        ("10.0.0.1", Weight.SERIOUS, "the private address 10.0.0.1"),
        ("169.254.169.254:80", Weight.SERIOUS, "the private address 169.254.169.254 on port 80"),
        ("[fd00::1]:443", Weight.SERIOUS, "the private address [fd00::1] on port 443"),
        ("9.9.9.9", Weight.NOTICE, "9.9.9.9"),
        ("a.example", Weight.INFO, "a.example"),
        ("xn--80ak6aa92e.com", Weight.SERIOUS, "xn--80ak6aa92e.com"),
        ("аpple.com", Weight.SERIOUS, "аpple.com"),
        ("", Weight.SERIOUS, "without a name"),
    ],
)
def test_hosts_in_words_and_weight(pattern: str, weight: Weight, part: str) -> None:
    assert words.host_weight(pattern) is weight
    assert part in words.host(pattern)


def test_look_alike_names_are_told() -> None:
    assert "аррӏе.com" in words.host_warning("xn--80ak6aa92e.com")
    assert "plain alphabet" in words.host_warning("аpple.com")
    assert words.host_warning("apple.com") == ""


def test_kits_are_named_shortly_unless_that_confuses_them() -> None:
    assert words.kit_names(["a.example/x/gh:1.0", "b.example/git:2"]) == {
        "a.example/x/gh:1.0": "gh 1.0",
        "b.example/git:2": "git 2",
    }
    twins = ["a.example/x/gh:1.0", "b.example/gh:1.0"]
    assert words.kit_names(twins) == {name: name for name in twins}


@pytest.mark.parametrize(
    ("reference", "repository"),
    [
        ("localhost:5000/a/b:1.0", "localhost:5000/a/b"),
        ("localhost:5000/a/b", "localhost:5000/a/b"),
        ("a.example/b:1@sha256:00", "a.example/b"),
    ],
)
def test_a_repository_is_a_reference_without_tag_and_digest(reference: str, repository: str) -> None:
    assert words.repository(reference) == repository


def test_lists_count_what_they_leave_out() -> None:
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.listed(list("abcdef")) == "a, b, c and 3 more"
