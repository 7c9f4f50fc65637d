from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.capabilities import known_types
from kitstudio.services.completion import complete, complete_in_file

HEAD = 'schemaVersion: "3"\nkind: mixin\ncapabilities:\n'
VOLUME = HEAD + "  - type: com.docker.sandbox/volume@1\n    config:\n"
RULES = HEAD + "  - type: com.docker.sandbox/network-policy@2\n    config:\n      runtime:\n        allow:\n"


def offered(marked: str) -> list[str]:
    """Labels at the bar in a text."""
    offset = marked.index("¦")
    return [item.label for item in complete(marked.replace("¦", ""), offset).matching()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sch¦", ["schemaVersion"]),
        ('schemaVersion: "3"\nkind: ¦', ["workload", "mixin", "set"]),
        (VOLUME + "      ¦", ["path", "size", "tmpfs", "mode"]),
        (VOLUME + "      path: /a\n      ¦\n      mode: '0755'\n", ["size", "tmpfs"]),
        (VOLUME + "      tmpfs: ¦", ["true", "false"]),
        (VOLUME.replace("config:\n", "config: {path: /a, tm¦}"), ["tmpfs"]),
        (VOLUME.replace("config:\n", "config: {tmpfs: f¦}"), ["false"]),
        (HEAD + "- type: com.docker.sandbox/port@1\n  config:\n    con¦", ["container"]),
        (HEAD + "  - type: com.docker.sandbox/port@1\n    con¦", ["config"]),
        (RULES + "          - hosts: [a.example]\n            methods: [GET, PO¦]", ["POST"]),
        (RULES + "          - hos¦", ["hosts"]),
        (RULES + "          - hosts:\n              - a.example\n            m¦", ["methods"]),
        (HEAD + "  - group:\n      capabilities:\n        - type: com.docker.sandbox/vol¦", None),
        ("args:\n  version:\n    req¦", ["required"]),
        ("kits:\n  - ref: a\n    ¦", ["digest", "args"]),
        ('args:\n  a:\n    default: "1"\n  b:\n    default: "2"\nversion: "${{ kit.args.¦"\n', ["a", "b"]),
        ("version: 1 # kin¦", []),
        ("build: |\n  sch¦", []),
        ("description: >-\n  sch¦\nkind: mixin", []),
        ("nonsense:\n  ¦", []),
    ],
)
def test_what_fits_the_place_is_offered(text: str, expected: list[str] | None) -> None:
    assert offered(text) == (["com.docker.sandbox/volume@1"] if expected is None else expected)


def test_every_known_type_is_offered_with_what_it_is() -> None:
    text = HEAD + "  - type: "
    found = complete(text, len(text)).suggestions
    assert {item.label for item in found} == known_types()
    assert all(item.detail for item in found)


def test_each_types_own_fields_are_offered_below_its_config() -> None:
    text = HEAD + "  - config:\n      \n    type: com.docker.sandbox/port@1\n"
    found = complete(text, text.index("      ") + 6).suggestions
    assert "container" in {item.label for item in found}


def test_value_that_yaml_would_read_as_a_number_is_written_in_quotes() -> None:
    assert [item.insert for item in complete("schemaVersion: ", 15).suggestions] == ['"3"']


def test_field_before_a_colon_gets_no_second_one() -> None:
    found = complete("kin: mixin\n", 3)
    assert [item.insert for item in found.matching()] == ["kind"]


def test_comment_form_completes_inside_its_block_only() -> None:
    text = "# kit:\n#   kind: wo\nFROM scra\n"
    found = complete_in_file(text, text.index("wo") + 2, in_comments=True)
    assert [item.label for item in found.matching()] == ["workload"]
    assert found.start == text.index("wo")
    assert not complete_in_file(text, len(text) - 1, in_comments=True).suggestions


@given(st.text(alphabet="ab:-#[]{}\"'|>\n $", max_size=80), st.integers(0, 80))
def test_any_text_at_any_place_gets_an_answer(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    found = complete(text, offset)
    assert 0 <= found.start <= offset
    assert not found.suggestions or text[found.start : offset].endswith(found.typed) or "${{" in text
