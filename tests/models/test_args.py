"""Args: values, expansion in both phases, re-exports, and the environment."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kitstudio.models.args import (
    check_re_export,
    expand_build,
    expand_create,
    kit_arg_values,
    looks_secret,
    references,
    resolve_args,
)
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Arg, Capability, Descriptor
from kitstudio.models.environment import MAX_BYTES, expand_environment
from kitstudio.models.errors import DescriptorError
from kitstudio.models.expansion import adopt_type

values = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=40)


def descriptor_with(config: str, args: str = "{a: {}}") -> Descriptor:
    text = f'schemaVersion: "3"\nkind: mixin\nargs: {args}\ncapabilities:\n- type: x/y@1\n  config: {config}\n'
    return decode(text).descriptor


def config_of(descriptor: Descriptor) -> dict[str, object]:
    entry = descriptor.capabilities[0]
    assert isinstance(entry, Capability) and entry.config is not None
    return dict(entry.config)


@given(values)
def test_a_value_is_carried_verbatim_whatever_it_contains(value: str) -> None:
    assume("${{" not in value)
    descriptor = descriptor_with('{t: "<${{ kit.args.a }}>", l: ["${{ kit.args.a }}-"]}')

    expanded = config_of(expand_create(descriptor, {"a": value}))

    assert expanded == {"t": f"<{value}>", "l": [f"{value}-"]}


@given(values)
def test_both_phases_agree_about_a_value(value: str) -> None:
    assume("${{" not in value)
    text = (
        'schemaVersion: "3"\nkind: mixin\nargs: {a: {%s}}\n'
        'capabilities:\n- type: x/y@1\n  config:\n    w: "${{ kit.args.a }}"\n'
    )
    create = expand_create(decode(text % "").descriptor, {"a": value})
    build = expand_build(decode(text % "buildArg: A"), {"a": value})

    assert config_of(create) == config_of(build)


@pytest.mark.parametrize("text", ["1.0", "007", "+1", "1e5", "True", "null", ".5", "NaN", "-0.0", "", "0x1", "1_0"])
def test_a_spelling_that_does_not_survive_stays_text(text: str) -> None:
    assert adopt_type(text) == text and isinstance(adopt_type(text), str)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_whole_number_adopts_its_type(number: int) -> None:
    adopted = adopt_type(str(number))

    assert adopted == number and isinstance(adopted, int)


def test_inserted_text_is_not_expanded_again() -> None:
    descriptor = descriptor_with('{t: "<${{ kit.args.a }}>"}', "{a: {}, b: {}}")

    expanded = expand_create(descriptor, {"a": "${{ kit.args.b }}", "b": "no"})

    assert config_of(expanded) == {"t": "<${{ kit.args.b }}>"}


@pytest.mark.parametrize("value", ["${{ kit.env.HOME }}", "${{kit.env", "x ${{ kit.env-"])
def test_a_value_cannot_make_an_environment_reference(value: str) -> None:
    with pytest.raises(DescriptorError):
        expand_create(descriptor_with('{t: "<${{ kit.args.a }}>"}'), {"a": value})


def test_a_value_cannot_complete_an_environment_reference() -> None:
    descriptor = descriptor_with('{t: "${{ kit.env.${{ kit.args.a }} }}"}')

    with pytest.raises(DescriptorError):
        expand_create(descriptor, {"a": "SECRET"})


def test_two_keys_that_become_one_are_refused() -> None:
    with pytest.raises(DescriptorError, match="Two keys"):
        expand_create(descriptor_with('{x: 1, "${{ kit.args.a }}": 2}'), {"a": "x"})


def test_a_missing_value_is_told_with_its_phase() -> None:
    with pytest.raises(DescriptorError, match="create-phase arg 'a'"):
        expand_create(descriptor_with('{t: "${{ kit.args.a }}"}'), {})


def test_a_published_descriptor_keeps_its_text_fields_as_text() -> None:
    text = '{"schemaVersion":"3","kind":"mixin","version":"1.10","args":{"a":{}},"description":"${{ kit.args.a }}"}'

    expanded = expand_create(decode(text).descriptor, {"a": "5"})

    assert (expanded.version, expanded.description) == ("1.10", "5")


def test_values_are_held_to_enum_and_pattern_defaults_too() -> None:
    assert resolve_args({"a": Arg(default="x")}, {}) == {"a": "x"}
    assert resolve_args({"a": Arg()}, {}) == {}
    for arg, given_values in [
        (Arg(required=True), {}),
        (Arg(default="x", enum=("y",)), {}),
        (Arg(pattern="[0-9]+"), {"a": "1x"}),
        (Arg(), {"b": "1"}),
    ]:
        with pytest.raises(DescriptorError):
            resolve_args({"a": arg}, given_values)


def test_a_refused_value_is_not_repeated_in_the_message() -> None:
    with pytest.raises(DescriptorError) as caught:
        resolve_args({"token": Arg(pattern="[0-9]+")}, {"token": "hunter2"})

    assert "hunter2" not in str(caught.value)


def test_a_pattern_cannot_take_exponential_time() -> None:
    with pytest.raises(DescriptorError):
        resolve_args({"a": Arg(pattern="(a+)+b")}, {"a": "a" * 5000})


def test_a_listed_kit_takes_literals_and_whole_references() -> None:
    args = {"a": Arg(required=True), "b": Arg(default="x"), "v": Arg(build_arg="V")}

    assert kit_arg_values(args, {"a": "${{ kit.args.mine }}"}) == (
        {"a": "${{ kit.args.mine }}", "b": "x"},
        {"a": "mine"},
    )
    for bad in ({"a": "x${{ kit.args.mine }}"}, {"a": "1", "v": "2"}, {"a": "1", "z": "2"}, {}):
        with pytest.raises(DescriptorError):
            kit_arg_values(args, bad)


@pytest.mark.parametrize(
    ("kit", "own", "good"),
    [
        (Arg(required=True), Arg(), False),
        (Arg(required=True), Arg(required=True), True),
        (Arg(required=True), Arg(default=""), True),
        (Arg(default="x"), Arg(), False),
        (Arg(enum=("a", "b")), Arg(enum=("a",)), True),
        (Arg(enum=("a", "b")), Arg(enum=("a", "c")), False),
        (Arg(pattern="x"), Arg(pattern="x"), True),
        (Arg(pattern="x"), Arg(enum=("x",)), False),
    ],
)
def test_a_re_export_says_at_least_what_the_kit_says(kit: Arg, own: Arg, good: bool) -> None:
    if good:
        check_re_export("a", kit, {"mine": own}, "mine")
    else:
        with pytest.raises(DescriptorError):
            check_re_export("a", kit, {"mine": own}, "mine")


@pytest.mark.parametrize("name", ["GH_TOKEN", "api_key", "apikey", "password", "clientSecret", "credentials"])
def test_names_that_speak_of_secrets_are_noticed(name: str) -> None:
    assert looks_secret(name, "")
    assert looks_secret("x", f"the {name}")
    assert not looks_secret("model", "which model to use")


def test_references_are_found_once_in_order() -> None:
    assert references("${{ kit.args.b }} ${{kit.args.a}} ${{ kit.args.b }} ${{ kit.args.my-arg }}") == ("b", "a")


@given(values)
def test_an_environment_value_stays_text(value: str) -> None:
    assume("${{" not in value and "\0" not in value)

    expanded = expand_environment(descriptor_with('{t: "${{ kit.env.V }}"}'), {"V": value})

    assert config_of(expanded) == {"t": value}


def test_an_environment_fault_names_the_field_and_never_the_value() -> None:
    with pytest.raises(DescriptorError) as caught:
        expand_environment(descriptor_with('{a: {b: ["${{ kit.env.V }}"]}}'), {"V": "hunter2 ${{ kit.args.x"})

    assert caught.value.where == "capabilities[0].config.a.b[0]"
    assert "hunter2" not in str(caught.value)


def test_an_environment_that_grows_out_of_bounds_is_refused() -> None:
    descriptor = descriptor_with(f"{{l: [{', '.join(['${{ kit.env.V }}'.join(chr(34) * 2)] * 20)}]}}")

    with pytest.raises(DescriptorError, match="512 KiB"):
        expand_environment(descriptor, {"V": "x" * (MAX_BYTES // 10)})
