"""The short way for compact JSON gives what the YAML path gives, or leaves the answer to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode, decode_yaml
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.document import DecodeError
from kitstudio.models.errors import DescriptorError
from kitstudio.models.json_text import read_json
from kitstudio.models.tree import MAX_DEPTH, read_text
from kitstudio.models.validate import Form, validate

CASES = Path(__file__).parent.parent / "conformance"
HEAD = '{"schemaVersion":"3","kind":"mixin"'

SPELLINGS = st.sampled_from(
    [
        "1",
        "-0",
        "1.10",
        "1e400",
        "-1E-7",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "9" * 500,
        "NaN",
        "Infinity",
        "true",
        "null",
        r'"\/"',
        r'"\ud83d\ude00"',
        r'"\ud800"',
        r'"\u0000"',
        r'"\u0085"',
        r'"\u2028\ufeff\uffff"',
        '"\u0085"',
        '"\u2028"',
        '"\x00"',
        '"\x7f"',
        '"a: b #c"',
        '"2024-01-01"',
        '"yes"',
        '"<<"',
        '"😀"',
        '"${{ kit.args.x }}"',
        '""',
        "[]",
        "{}",
        "[null]",
        '{"a":1,"a":2}',
        '{"<<":{"a":1}}',
        '{"a" :1}',
        '{"a"' + " " * 1100 + ":1}",
        '{"' + "k" * 1022 + '":1}',
        '{"' + r"\u003c" * 200 + '":1}',
        "[1,]",
        "[1] ",
        "[\n1]",
        "[\t1]",
        "'a'",
        "01",
        "+1",
        ".5",
    ]
)
VALUES = st.recursive(
    st.one_of(
        SPELLINGS,
        st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False)),
        st.text(max_size=8).map(json.dumps),
        st.floats().map(json.dumps),
        st.integers().map(str),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(st.tuples(st.text(max_size=4).map(json.dumps), inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=6,
)


def member(name: str, *values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(VALUES, *values).map(lambda value: f'"{name}":{value}')


def record(*members: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(*members), max_size=4).map(lambda found: "{" + ",".join(found) + "}")


def listed(item: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(item, st.just("null")), max_size=3).map(lambda items: f"[{','.join(items)}]")


TYPE = st.sampled_from(['"a/b@1"', '"com.docker.sandbox/port@1"', '"com.docker.sandbox/volume@1"'])
SOURCE = member("source", record(member("kit", st.just('"k"')), member("path", st.just('"p"')), st.just('"x":1')))
CONFIG = member("config", record(member("container", st.just("80")), member("path", st.just('"/a"'))))
CAPABILITY = record(
    member("type", TYPE), CONFIG, SOURCE, member("name"), member("optional"), member("description"), st.just('"x":1')
)
GROUP = record(
    member("capabilities", listed(CAPABILITY)), member("name"), member("optional", st.just("true")), st.just('"x":1')
)
ITEM = st.one_of(CAPABILITY, record(member("group", GROUP), SOURCE), record(member("group", GROUP), member("name")))
ARG = record(*map(member, ("default", "required", "description", "enum", "pattern", "env", "buildArg", "x")))
ARGS = record(member("x", ARG), member("y", ARG))
KIT = record(member("ref", st.just('"r/k:1"')), member("digest"), member("args", record(member("x"))))
FIELDS = st.one_of(
    *map(member, ("displayName", "version", "licenses", "provides", "requires", "build", "iconUrl", "unknown")),
    member("capabilities", listed(ITEM)),
    member("args", ARGS),
    member("kits", listed(KIT)),
)
TEXTS = st.builds(
    lambda fields, tail: HEAD + "".join(f",{field}" for field in fields) + "}" + tail,
    st.lists(FIELDS, max_size=4),
    st.sampled_from(["", "", "", "\n", " ", " # c", "\n---\n", "}"]),
)


def answer(text: str, short: bool) -> tuple[object, object]:
    """What a text decodes to, spelled so that 1, 1.0 and true differ, and what holds against it."""
    try:
        document = decode(text) if short else decode_yaml(text)
    except DecodeError as error:
        return str(error), None
    report = validate(document, Form.PUBLISHED)
    return repr(document.descriptor), (report, dict(document.positions))


@given(TEXTS)
def test_both_ways_give_the_same_verdict_descriptor_and_positions(text: str) -> None:
    assert answer(text, short=True) == answer(text, short=False)


@given(VALUES)
def test_both_ways_read_a_config_alike(value: str) -> None:
    text = HEAD + f',"capabilities":[{{"type":"a/b@1","config":{{"v":{value}}}}}]}}'

    assert answer(text, short=True) == answer(text, short=False)


def texts() -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(CASES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            given = json.loads(line).get("in") or {}
            stated = [given.get("text"), *(unit.get("descriptor") for unit in given.get("units") or ())]
            found.update(dict.fromkeys(text for text in stated if text))
    return list(found)


def test_every_judged_text_reads_alike_as_published_and_most_take_the_short_way() -> None:
    published: list[str] = []
    for text in texts():
        try:
            published.append(encode(decode(text).descriptor))
        except DescriptorError:
            # What does not decode, and what JSON cannot spell, is never published.
            continue
    short = 0
    for text in published:
        assert answer(text, short=True) == answer(text, short=False)
        short += read_json(text) is not None

    assert len(published) > 1000 and short > 0.95 * len(published)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + r',"author":"a\/b"}',
        HEAD + r',"author":"\ud83d\ude00"}',
        HEAD + ',"author":"a","author":"b"}',
        HEAD + ',"version":1.10}',
        HEAD + ',"unknown":"a"}',
        HEAD + ',"author":"a"} # comment',
        HEAD + ',\n"author":"a"}',
        '{"schemaVersion":3}',
        HEAD + ',"' + "k" * 2000 + '":1}',
    ],
)
def test_what_the_two_could_read_differently_is_left_to_yaml(text: str) -> None:
    assert read_json(read_text(text)) is None


@pytest.mark.parametrize("levels", [MAX_DEPTH - 10, MAX_DEPTH + 10, 20_000])
def test_the_limit_of_nesting_is_the_same(levels: int) -> None:
    text = HEAD + f',"capabilities":[{{"type":"a/b@1","config":{{"v":{"[" * levels}{"]" * levels}}}}}]}}'

    if levels > MAX_DEPTH:
        assert read_json(text) is None
        with pytest.raises(DecodeError, match="1000 levels"):
            decode(text)
    else:
        assert isinstance(read_json(text), Descriptor)
        assert encode(decode(text).descriptor) == encode(decode_yaml(text).descriptor)
