"""Strict decoding: what is accepted, what is refused, and what the refusal says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Capability, CapabilityGroup
from kitstudio.models.diagnostics import locate
from kitstudio.models.document import Position, positions
from kitstudio.models.errors import DescriptorError
from kitstudio.models.tree import MAX_DEPTH, MAX_TEXT
from kitstudio.models.validate import Form, validate

HEAD = 'schemaVersion: "3"\nkind: mixin\n'


def config_of(yaml: str) -> object:
    document = decode(f"{HEAD}capabilities:\n- type: a/b@1\n  config: {{v: {yaml}}}\n")
    entry = document.descriptor.capabilities[0]
    assert isinstance(entry, Capability) and entry.config is not None
    return entry.config["v"]


def refusal(text: str | bytes, name: str = "kit.yaml") -> DescriptorError:
    with pytest.raises(DescriptorError) as caught:
        decode(text, name=name)
    return caught.value


def test_a_v2_descriptor_is_named_as_one_with_a_remedy() -> None:
    error = refusal('schemaVersion: "2"\nkind: sandbox\n')

    assert "v2 Kit descriptor" in error.what
    assert error.where == "kit.yaml:1:16"
    assert error.remedy


def test_an_unknown_key_is_placed_and_the_right_spelling_suggested() -> None:
    error = refusal(f"{HEAD}displayname: x\n")

    assert "'displayname'" in error.what
    assert error.where == "kit.yaml:3:1"
    assert "`displayName`" in error.remedy


@pytest.mark.parametrize(
    ("line", "where", "says", "advises"),
    [
        ("provides:\n\t- b\n", "4:1", "tab", "blanks"),
        ("description: @x\n", "3:14", "'@'", "quotes"),
        ("description: a: b\n", "3:15", "colon", "quotes"),
        ("args: {v: ${{ kit.args.x }}}\n", "3:12", "comma", "${{"),
        ('description: "abc\n', "4:1", "never closed", "Close"),
        ('description: "a\\qb"\n', "3:16", "escape", "backslash twice"),
        ("[" * 2000, "3:", "1000 levels", ""),
    ],
    ids=["tab", "at sign", "second colon", "placeholder in braces", "open quote", "escape", "depth"],
)
def test_a_text_that_does_not_scan_is_told_in_plain_words(line: str, where: str, says: str, advises: str) -> None:
    error = refusal(HEAD + line)

    assert says in error.what and error.what.endswith(".")
    assert error.where.startswith(f"kit.yaml:{where}")
    assert advises in error.remedy


def test_text_of_others_is_cut_inside_our_sentences() -> None:
    error = refusal(f'{HEAD}"{"k" * 500}\u202e": x\n')

    assert len(error.what) < 200 and "\u202e" not in error.what


def test_several_faults_are_told_at_once() -> None:
    error = refusal(f"{HEAD}foo: 1\nlicenses: MIT\n")

    assert "'foo'" in error.what and "'licenses'" in error.what


def test_positions_point_at_values_and_aliases_are_not_entered() -> None:
    document = decode(f"{HEAD}provides: &p\n  - a\n  - b\nlicenses: *p\n")

    assert document.positions["provides[1]"] == Position(5, 5)
    assert document.positions["licenses"] == Position(6, 11)
    assert "licenses[0]" not in document.positions
    assert document.lines()["kind"] == 2


def test_null_items_are_dropped_from_lists_outside_configs() -> None:
    assert decode(f"{HEAD}provides: [a, ~, b]\n").descriptor.provides == ("a", "b")
    assert config_of("[a, ~]") == ["a", None]


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("yes", "yes"),
        ("1:30", "1:30"),
        ("010", 8),
        ("0o17", 15),
        ("08", 8.0),
        ("1e3", 1000.0),
        ("1_0.5", 10.5),
        ("18446744073709551615", 18446744073709551615),
        ("1e400", "1e400"),
        ("2024-1-2", "2024-01-02T00:00:00Z"),
        ("2024-01-02T03:04:05.120+02:00", "2024-01-02T03:04:05.12+02:00"),
        ("2024-13-45", "2024-13-45"),
        ("!foo x", "x"),
        ("~", None),
        ("TRUE", True),
    ],
)
def test_plain_scalars_in_a_config_follow_the_grammar_and_not_yaml_1_1(spelled: str, value: object) -> None:
    found = config_of(spelled)

    assert found == value and type(found) is type(value)


def test_text_fields_keep_their_spelling() -> None:
    descriptor = decode(f"{HEAD}version: 1.10\ndisplayName: 0x1F\n").descriptor

    assert (descriptor.version, descriptor.display_name) == ("1.10", "0x1F")


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\xfa",
        b'schemaVersion: "3" # \xff\n',
        HEAD + "description: a\x00b\n",
        HEAD + "description: a\x7fb\n",
        HEAD + "kind: workload\n",
        HEAD + "provides: *nothing\n",
        HEAD + "args: &a {x: *a}\n",
        "[" * (MAX_DEPTH + 5),
        HEAD + 'description: "a\\/b"\n',
        "%YAML 1.2\n---\n" + HEAD,
        HEAD + "{a: b}: c\n",
    ],
    ids=[
        "utf-16 rubbish",
        "bad utf-8 in a comment",
        "nul",
        "del",
        "duplicate key",
        "unknown alias",
        "anchor in itself",
        "too deep",
        "json slash",
        "yaml 1.2",
        "map as key",
    ],
)
def test_what_is_no_descriptor_text_is_refused(text: str | bytes) -> None:
    assert refusal(text).what


def test_a_text_beyond_the_limit_is_refused_before_it_is_read() -> None:
    assert "MiB" in refusal("#" * (MAX_TEXT + 1)).what


def test_utf_16_with_a_byte_order_mark_is_read() -> None:
    text = "﻿" + HEAD + "displayName: Größe\n"

    assert decode(text.encode("utf-16-le")).descriptor.display_name == "Größe"
    assert decode(text.encode("utf-16-be")).descriptor.display_name == "Größe"
    assert decode(text.encode("utf-8")).descriptor.display_name == "Größe"


def test_an_alias_bomb_is_refused_without_being_expanded() -> None:
    lines = [HEAD, "capabilities:", "- type: a/b@1", "  config:", "    l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 30):
        lines.append(f"    l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]")

    assert "alias" in refusal("\n".join(lines)).what


def test_nesting_up_to_the_limit_survives_decoding_and_validation() -> None:
    depth = MAX_DEPTH - 5
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        text = (
            '{"schemaVersion":"3","kind":"mixin","capabilities":[{"type":"a/b@1","config":{"v":'
            f"{opening * depth}1{closing * depth}}}}}]}}"
        )
        assert validate(decode(text), Form.EFFECTIVE).valid


def test_a_group_cannot_state_a_type_beside_it() -> None:
    error = refusal(f"{HEAD}capabilities:\n- group: {{capabilities: []}}\n  type: ~\n")

    assert "'type'" in error.what


def test_presence_is_remembered_where_the_grammar_asks() -> None:
    document = decode(f"{HEAD}kits: []\ncapabilities:\n- {{type: a/b@1, config: ~, optional: false}}\n- group: ~\n")
    entry, group = document.descriptor.capabilities

    assert isinstance(entry, Capability) and entry.config_stated and entry.optional_stated and entry.config is None
    assert isinstance(group, CapabilityGroup) and group.members is None
    assert document.descriptor.kits_stated


def test_merge_keys_fill_in_and_own_keys_win() -> None:
    text = f"{HEAD}args:\n  a: &a {{default: x, env: E}}\n  b: {{<<: *a, default: y}}\n"
    args = decode(text).descriptor.args

    assert (args["b"].default, args["b"].env) == ("y", "E")


@given(st.text(max_size=200))
def test_any_text_decodes_or_is_refused_clearly(text: str) -> None:
    try:
        document = decode(text)
    except DescriptorError as error:
        assert error.what
    else:
        assert document.positions == positions(document.root)


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused_clearly(source: bytes) -> None:
    try:
        decode(source)
    except DescriptorError as error:
        assert error.what


@given(st.lists(st.sampled_from(list("{}[]:-&*!|>'\"#%@,? \n\tab<~")), max_size=60).map("".join))
def test_any_yaml_like_text_decodes_or_is_refused_clearly(text: str) -> None:
    try:
        decode(HEAD + text)
    except DescriptorError as error:
        assert error.what


def test_paths_far_longer_than_the_document_are_not_built() -> None:
    key = "k" * 100_000
    text = (
        f'{HEAD}capabilities:\n- type: a/b@1\n  config:\n    ? {key}\n    : [{"x, " * 20_000}"${{{{ kit.args.a }}}}"]\n'
    )

    document = decode(text)
    report = validate(document, Form.AUTHORED)

    assert sum(map(len, document.positions)) < 32 * 1024 * 1024
    assert [issue.path for issue in report.errors] == [f"capabilities[0].config.{key}[20000]"]
    assert locate(document, report.errors[0].path) == document.positions[f"capabilities[0].config.{key}"]


def test_findings_below_a_huge_key_stay_bounded() -> None:
    references = ", ".join(f'"${{{{ kit.args.a{n} }}}}"' for n in range(2_000))
    text = f"{HEAD}capabilities:\n- type: a/b@1\n  config:\n    ? {'k' * 100_000}\n    : [{references}]\n"

    report = validate(decode(text), Form.AUTHORED)

    assert len(report.errors) == 2_000
    assert sum(len(issue.path) for issue in report.errors) < 20 * 1024 * 1024
