"""Documents made to hurt: each ends in one clear error, in bounded time and memory.

Time is not asserted; a limit that does not hold makes these tests run for minutes or die.
"""

from __future__ import annotations

import tracemalloc

import pytest

from kitstudio.models.args import expand_build, expand_create, resolve_args
from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode, decode_yaml
from kitstudio.models.document import DecodeError
from kitstudio.models.errors import DescriptorError
from kitstudio.models.tree import MAX_DEPTH, MAX_TEXT
from kitstudio.models.validate import Form, validate

HEAD = 'schemaVersion: "3"\nkind: mixin\n'
MIB = 1024 * 1024


def config(value: str, head: str = HEAD) -> str:
    return f"{head}capabilities:\n- type: a/b@1\n  config: {{v: {value}}}\n"


def refusal(text: str | bytes) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        decode(text)
    assert len(str(caught.value)) < 2000
    return caught.value


def peak(text: str | bytes) -> int:
    """Bytes taken at the worst moment of refusing a text, its own apart."""
    tracemalloc.start()
    try:
        refusal(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def lists_of_aliases(levels: int, width: int, open_: str = "[", close: str = "]") -> str:
    lines = ["a0: &a0 [x]"]
    for level in range(1, levels + 1):
        lines.append(f"a{level}: &a{level} {open_}{', '.join([f'*a{level - 1}'] * width)}{close}")
    return config("{" + ", ".join(lines) + "}")


@pytest.mark.parametrize(("levels", "width"), [(9, 9), (30, 2), (4, 60), (60, 10)])
def test_a_bomb_of_aliases_is_named(levels: int, width: int) -> None:
    assert "aliases" in refusal(lists_of_aliases(levels, width)).what


def test_a_bomb_of_merge_keys_is_refused() -> None:
    lines = ["a0: &a0 {k: v}"]
    for level in range(1, 40):
        lines.append(f"a{level}: &a{level} {{<<: [*a{level - 1}, *a{level - 1}], k{level}: v}}")

    assert "aliases" in refusal(config("{" + ", ".join(lines) + "}")).what


def test_an_alias_inside_its_own_anchor_is_refused() -> None:
    assert "contains itself" in refusal(config("&a [*a]")).what


def test_few_aliases_are_fine_and_stay_few() -> None:
    text = config("{" + "a: &a {k: [1, 2, 3]}, " + ", ".join(f"b{i}: *a" for i in range(90)) + "}")

    assert len(encode(decode(text).descriptor)) < 4000


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 100_000])
@pytest.mark.parametrize(
    "nest",
    [
        lambda n: config("[" * n + "]" * n),
        lambda n: config("{a: " * n + "1" + "}" * n),
        lambda n: config("[" * n),
        lambda n: f'{{"schemaVersion":"3","kind":"mixin","x":{"[" * n}{"]" * n}}}',
        lambda n: f'{{"schemaVersion":"3","kind":"mixin","x":{"[" * n}',
        lambda n: HEAD + "x:\n" + "- " * n + "a\n",
        lambda n: HEAD + "? " * n + "a\n",
        lambda n: HEAD + "".join(" " * i + "a:\n" for i in range(min(n, 1200))),
    ],
    ids=["lists", "maps", "open lists", "json", "open json", "dashes", "keys", "indents"],
)
def test_deep_nesting_ends_at_the_limit_which_is_named(nest, levels: int) -> None:  # type: ignore[no-untyped-def]
    error = refusal(nest(levels))

    assert f"{MAX_DEPTH} levels" in error.what or "list or map cannot be a key" in error.what


def test_as_deep_as_allowed_goes_all_the_way() -> None:
    levels = MAX_DEPTH - 6
    document = decode(config("[" * levels + "]" * levels))

    validate(document, Form.AUTHORED)
    assert encode(document.descriptor).count("[") == levels + 1
    assert document.positions


def test_a_document_of_fifty_megabytes_is_refused_before_it_is_parsed() -> None:
    text = config("[" + "a, " * (50 * MIB // 3) + "a]")

    error = refusal(text)
    assert f"{MAX_TEXT // MIB} MiB" in error.what and "512 KiB" in error.remedy
    # Bytes are refused by their count: nothing is decoded first.
    assert peak(text.encode()) < MIB


def test_the_largest_document_that_is_parsed_stays_within_memory() -> None:
    text = config("[" + "a, " * ((MAX_TEXT - 200) // 3) + "a")

    assert peak(text) < 512 * MIB


def test_a_large_document_decodes_and_is_told_its_size() -> None:
    document = decode(f"{HEAD}description: {'a' * (MAX_TEXT - 100)}\n")

    assert "the descriptor has" in str(validate(document, Form.AUTHORED).errors[0])


@pytest.mark.parametrize(
    "data",
    [b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82"],
    ids=["never", "cut", "overlong", "surrogate", "beyond", "cut in three"],
)
def test_bytes_that_are_no_utf8_are_placed(data: bytes) -> None:
    error = refusal(HEAD.encode() + b"author: a" + data)

    assert "UTF-8" in error.what
    assert (error.position and error.position.line) == 3


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_half_a_character_in_utf16_is_refused(encoding: str) -> None:
    marked = "\ufeff".encode(encoding) + HEAD.encode(encoding) + b"\xd8"

    assert "UTF-16" in refusal(marked).what


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x7f", "\x9f", "\ufffe", "\ud800"])
def test_a_character_that_must_not_stand_there_is_named_and_placed(character: str) -> None:
    error = refusal(f"{HEAD}author: a{character}b\n")

    assert f"U+{ord(character):04X}" in error.what
    assert error.position == (3, 10)


def test_a_nul_written_as_an_escape_is_text() -> None:
    assert decode(f'{HEAD}author: "a\\0b"\n').descriptor.author == "a\0b"


@pytest.mark.parametrize(
    "text",
    [f"{HEAD}kind: workload\n", config("{a: 1, a: 2}"), config('{a: 1, "a": 2}'), config('{"\\x61": 1, a: 2}')],
    ids=["field", "config", "other quotes", "escape"],
)
def test_a_key_stated_twice_is_refused(text: str) -> None:
    assert "stated twice" in refusal(text).what


def test_many_keys_stated_twice_end_at_the_first() -> None:
    assert refusal(config("{" + "a: 1, " * 100_000 + "}")).position == (5, 22)


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("18446744073709551615", 18446744073709551615),
        ("-9223372036854775808", -9223372036854775808),
        ("18446744073709551616", 18446744073709551616.0),
        ("-9223372036854775809", -9223372036854775809.0),
        ("9" * 308, float("9" * 308)),
        ("9" * 309, "9" * 309),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
        ("1e999", "1e999"),
    ],
)
def test_numbers_beyond_64_bits_are_floats_or_text(spelled: str, value: object) -> None:
    entry = decode_yaml(config(spelled)).descriptor.entries()[0]

    assert entry.config == {"v": value}


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_ruins_a_backtracking_engine_is_harmless(pattern: str) -> None:
    document = decode(f"{HEAD}args: {{x: {{pattern: '{pattern}', default: aaaa}}}}\n")
    args = document.descriptor.args

    with pytest.raises(DescriptorError):
        resolve_args(args, {"x": "a" * 50_000 + "!\n"})


@pytest.mark.parametrize("pattern", ["(?=a)", "(a)\\\\1", "a{1001}", "((a{100}){100}){100}", "(", "[", "(?P<n>"])
def test_a_pattern_re2_does_not_take_is_a_finding(pattern: str) -> None:
    quoted = pattern.replace("\\\\", "\\")
    document = decode(f"{HEAD}args: {{x: {{pattern: '{quoted}'}}}}\n")

    assert [issue.path for issue in validate(document, Form.AUTHORED).errors] == ["args.x.pattern"]


@pytest.mark.parametrize("phase", ["", ", buildArg: X"])
def test_filling_in_args_cannot_multiply_a_document_without_end(phase: str) -> None:
    references = ", ".join(["'${{ kit.args.x }}'"] * 10_000)
    document = decode(config(f"[{references}]", f"{HEAD}args: {{x: {{required: true{phase}}}}}\n"))
    values = resolve_args(document.descriptor.args, {"x": "y" * 100_000})

    expand = expand_build if phase else expand_create
    with pytest.raises(DescriptorError, match="args are filled in"):
        expand(document, values)


def test_an_arg_in_a_build_phase_cannot_make_nodes() -> None:
    text = config("'${{ kit.args.x }}'", f"{HEAD}args: {{x: {{default: a, buildArg: X}}}}\n")
    document = decode(text)

    expanded = expand_build(document, {"x": "[*a, {b: c}]"})
    assert expanded.entries()[0].config == {"v": "[*a, {b: c}]"}
