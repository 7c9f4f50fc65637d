"""Canonical JSON: order, escapes, numbers, and that it reads back as the same descriptor."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.canonical import encode, encode_value, from_value, number, plain_value, readable, to_value
from kitstudio.models.decode import decode
from kitstudio.models.errors import DescriptorError

HEAD = 'schemaVersion: "3"\nkind: mixin\n'
texts = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=30)
# A negative zero is left out: it is written -0, and read as the whole number 0.
numbers = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value or 0.0)
configs = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def test_fields_come_in_the_fixed_order_and_empty_ones_vanish() -> None:
    text = 'kind: mixin\nversion: "1"\nschemaVersion: "3"\nlicenses: []\nargs: {a: {default: ""}}\n'

    encoded = encode(decode(text).descriptor)

    assert encoded == '{"schemaVersion":"3","version":"1","kind":"mixin","args":{"a":{"default":""}}}'


def test_config_keys_are_sorted_and_html_is_escaped() -> None:
    encoded = encode_value({"b": "<&>\u2028", "a": [1, 1.0, True, None]})

    assert encoded == '{"a":[1,1,true,null],"b":"\\u003c\\u0026\\u003e\\u2028"}'


@pytest.mark.parametrize(
    ("value", "spelled"),
    [(1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-6, "0.000001"), (1e-7, "1e-7"), (-0.0, "-0"), (0.1, "0.1")],
)
def test_floats_are_spelled_as_json_writers_do(value: float, spelled: str) -> None:
    assert number(value) == spelled


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_its_spelling(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, {1: "x"}, {"a": {True: 1}}])
def test_what_json_cannot_spell_is_refused(value: object) -> None:
    with pytest.raises(DescriptorError):
        encode_value(value)  # type: ignore[arg-type]


@given(configs)
def test_canonical_json_is_json_and_stable(value: object) -> None:
    encoded = encode_value(value)  # type: ignore[arg-type]

    # A large float is spelled without an exponent, so it reads back as a whole number near it.
    assert json.loads(encoded, parse_int=float) == json.loads(json.dumps(value), parse_int=float)
    assert encode_value(json.loads(encoded)) == encoded


@given(st.dictionaries(texts, configs, min_size=1, max_size=3), texts)
def test_a_descriptor_reads_back_as_itself(config: dict[str, object], label: str) -> None:
    head: dict[str, object] = {"schemaVersion": "3", "kind": "mixin", "displayName": label}
    capability = {"type": "a/b@1", "config": config}
    descriptor = from_value({**head, "capabilities": [capability]})  # type: ignore[arg-type]

    again = decode(readable(encode(descriptor))).descriptor

    assert encode(again) == encode(descriptor)
    assert again.display_name == label


def test_a_plain_value_keeps_what_is_stated() -> None:
    text = f"{HEAD}kits: []\ncapabilities:\n- {{type: a/b@1, config: {{}}, optional: false}}\n"
    descriptor = decode(text).descriptor

    assert to_value(descriptor)["capabilities"] == [{"type": "a/b@1"}]
    assert plain_value(descriptor)["capabilities"] == [{"type": "a/b@1", "config": {}, "optional": False}]
    assert from_value(plain_value(descriptor)) == descriptor
