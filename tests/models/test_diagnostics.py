"""Places and excerpts of findings."""

from __future__ import annotations

import pytest
from wcwidth import wcswidth

from kitstudio.models.decode import DecodeError, decode
from kitstudio.models.diagnostics import MAX_EXCERPT, excerpt, locate, render, render_error
from kitstudio.models.document import Position
from kitstudio.models.issue import Issue
from kitstudio.models.validate import Form, validate

HEAD = 'schemaVersion: "3"\nkind: mixin\n'


def caret_column(shown: str) -> tuple[int, str]:
    """Width of the text before the caret, and the source line."""
    _, source, carets = shown.split("\n")
    return wcswidth(carets[: carets.index("^")].replace("\t", "    ")), source


def test_a_finding_shows_file_line_column_excerpt_and_caret() -> None:
    document = decode(f"{HEAD}iconUrl: http://x/i.png\n", name="kit.yaml")

    shown = render(document, validate(document, Form.AUTHORED).errors)

    head, *lines = shown.split("\n")
    assert head.startswith("kit.yaml:3:10: iconUrl: ")
    assert lines == ["  |", "3 | iconUrl: http://x/i.png", "  |          ^"]


def test_the_caret_stands_under_its_character_behind_tabs_and_wide_characters() -> None:
    for before in ('a: "漢字"', 'a:\t"x"', 'a: "é😀"'):
        text = f"{HEAD}description: {{x}}\n".replace("{x}", "y") + ""
        line = f"{before}, b: z"
        shown = excerpt(f"{text}{line}", Position(4, line.index("z") + 1))
        column, source = caret_column(shown)
        assert column == wcswidth(source[: source.index("z")].replace("\t", "    "))


def test_a_missing_field_points_at_its_nearest_containing_element() -> None:
    document = decode(f"{HEAD}capabilities:\n- type: a/b@1\n  config: {{x: 1}}\n")

    assert locate(document, "capabilities[0].config.y.z") == Position(5, 11)
    assert locate(document, "capabilities[7].type") == Position(4, 1)
    assert locate(document, "nothing") == Position(1, 1)


def test_findings_are_separated_by_blank_lines_and_a_pathless_one_has_no_excerpt() -> None:
    document = decode(HEAD, name="k")

    assert render(document, [Issue("", "too large"), Issue("kind", "wrong", "Change it.")]) == (
        "k: too large\n\nk:2:7: kind: wrong. Change it.\n  |\n2 | kind: mixin\n  |       ^"
    )


def test_one_huge_line_is_cut_around_the_caret() -> None:
    text = '{"schemaVersion":"3","kind":"x","description":"' + "d" * 100_000 + '","version":"v1"}'
    document = decode(text)

    shown = excerpt(text, locate(document, "version"))
    column, source = caret_column(shown)

    assert len(source) < MAX_EXCERPT + 20
    assert source[column:].startswith('"v1"')


def test_a_text_that_does_not_decode_is_shown_with_its_place() -> None:
    text = f"{HEAD}description: @x\n"
    with pytest.raises(DecodeError) as caught:
        decode(text, name="k")

    assert caught.value.position == Position(3, 14)
    assert render_error(caught.value, text) == (
        "k:3:14: A value cannot begin with '@'. Put the text in quotes.\n  |\n3 | description: @x\n  |              ^"
    )


def test_bytes_that_are_no_text_are_placed() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(b'schemaVersion: "3"\n# \xc3\xa4\xff\n')

    assert caught.value.position == Position(2, 4)
