"""Set files: reading, rendering, and edits that touch nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.canonical import encode, readable
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, ListedKit
from kitstudio.models.errors import DescriptorError
from kitstudio.models.set_file import (
    FIELDS,
    add_kit,
    parse,
    remove_kit,
    render,
    replace_kit,
    set_field,
    set_kit_arg,
)
from kitstudio.models.validate import Form, validate
from kitstudio.models.yaml_text import flow, scalar

DIGEST = "sha256:" + "ab" * 32
HAND_WRITTEN = """\
# syntax=docker/sandbox-kit:3
# Our environment. Do not reorder!
schemaVersion: "3"   # the grammar
kind: set

displayName: 'Team environment'
kits:   # what we use

  # the agent
  -   ref: docker.io/a/agent:1.0   # pinned by hand
      args:
        model: "large"   # not small
        prompt: |
          be kind
          be brief
  # the tools

  -   {ref: "docker.io/a/tools:2", digest: "sha256:%s"}   # flow
# the end
version: "1.10"
""" % ("ab" * 32)

words = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=25)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
refs = st.from_regex(r"docker\.io/[a-z]{1,6}/[a-z0-9]{1,6}:[0-9]{1,2}", fullmatch=True)
kits = st.builds(ListedKit, refs, st.sampled_from(["", DIGEST]), st.dictionaries(names, words, max_size=3))
sets = st.builds(
    lambda listed, title, version: Descriptor(
        "3", "set", display_name=title, version=version, kits=tuple(listed), kits_stated=True
    ),
    st.lists(kits, max_size=4, unique_by=lambda kit: kit.ref),
    words,
    st.sampled_from(["", "1.0", "1.10"]),
)


def is_subsequence(few: list[str], many: list[str]) -> bool:
    rest: Iterator[str] = iter(many)
    return all(line in rest for line in few)


def refs_of(text: str) -> list[str]:
    return [kit.ref for kit in parse(text).descriptor.kits]


def test_a_kit_of_another_kind_is_no_set() -> None:
    with pytest.raises(DescriptorError, match="not a set"):
        parse('schemaVersion: "3"\nkind: mixin\n')


def test_a_derived_kind_beside_kits_is_a_set_too() -> None:
    text = 'schemaVersion: "3"\nkind: workload\nkits:\n- ref: a/b\n'

    assert refs_of(add_kit(text, "c/d")) == ["a/b", "c/d"]


def test_a_set_is_rendered_as_a_careful_author_writes_it() -> None:
    descriptor = Descriptor(
        "3",
        "set",
        display_name="Team",
        version="1.10",
        kits=(ListedKit("docker.io/a/b:1.0", DIGEST, {"version": "2.1", "on": "yes"}), ListedKit("docker.io/c/d:2")),
    )

    assert render(descriptor) == (
        "# syntax=docker/sandbox-kit:3\n"
        'schemaVersion: "3"\n'
        "kind: set\n"
        "displayName: Team\n"
        'version: "1.10"\n'
        "kits:\n"
        "  - ref: docker.io/a/b:1.0\n"
        f"    digest: {DIGEST}\n"
        "    args:\n"
        '      "on": "yes"\n'
        '      version: "2.1"\n'
        "  - ref: docker.io/c/d:2\n"
    )


@given(sets)
def test_a_rendered_set_reads_back_as_itself(descriptor: Descriptor) -> None:
    assert parse(render(descriptor)).descriptor == descriptor


def test_adding_a_kit_leaves_every_line() -> None:
    edited = add_kit(HAND_WRITTEN, "docker.io/a/new:1", DIGEST, {"x": "1"})

    assert is_subsequence(HAND_WRITTEN.splitlines(), edited.splitlines())
    assert len(edited.splitlines()) == len(HAND_WRITTEN.splitlines()) + 4
    assert refs_of(edited)[-1] == "docker.io/a/new:1"


def test_removing_a_kit_leaves_every_other_line() -> None:
    edited = remove_kit(HAND_WRITTEN, "docker.io/a/agent:1.0")

    assert is_subsequence(edited.splitlines(), HAND_WRITTEN.splitlines())
    assert "be brief" not in edited and "# the agent" in edited
    assert refs_of(edited) == ["docker.io/a/tools:2"]


def test_replacing_a_kit_changes_its_lines_and_keeps_its_args() -> None:
    edited = replace_kit(HAND_WRITTEN, "docker.io/a/agent:1.0", "docker.io/a/agent:2.0", DIGEST)

    changed = [line for line in edited.splitlines() if line not in HAND_WRITTEN.splitlines()]
    assert changed == ["  -   ref: docker.io/a/agent:2.0   # pinned by hand", f"      digest: {DIGEST}"]
    assert parse(edited).descriptor.kits[0].args["model"] == "large"


def test_the_old_digest_does_not_stay_with_a_new_reference() -> None:
    edited = replace_kit(HAND_WRITTEN, "docker.io/a/tools:2", "docker.io/a/tools:3")

    assert parse(edited).descriptor.kits[1] == ListedKit("docker.io/a/tools:3")


def test_an_arg_is_changed_in_its_line_alone() -> None:
    edited = set_kit_arg(HAND_WRITTEN, "docker.io/a/agent:1.0", "model", "no")

    assert edited == HAND_WRITTEN.replace('"large"', '"no"')


def test_a_block_scalar_is_replaced_by_one_line_and_can_go() -> None:
    changed = set_kit_arg(HAND_WRITTEN, "docker.io/a/agent:1.0", "prompt", "hi")
    gone = set_kit_arg(HAND_WRITTEN, "docker.io/a/agent:1.0", "prompt", None)

    assert "        prompt: hi\n  # the tools\n" in changed
    assert "prompt" not in gone and is_subsequence(gone.splitlines(), HAND_WRITTEN.splitlines())


def test_the_last_arg_takes_its_key_along() -> None:
    text = set_kit_arg(HAND_WRITTEN, "docker.io/a/agent:1.0", "prompt", None)

    assert "args" not in set_kit_arg(text, "docker.io/a/agent:1.0", "model", None)


def test_fields_are_set_in_their_place_and_removed() -> None:
    edited = set_field(HAND_WRITTEN, "description", "For: everyone")

    assert "displayName: 'Team environment'\ndescription: \"For: everyone\"\nkits:" in edited
    assert set_field(edited, "description", "") == HAND_WRITTEN


def test_windows_line_ends_and_a_byte_order_mark_stay() -> None:
    text = "﻿" + HAND_WRITTEN.replace("\n", "\r\n")

    edited = set_kit_arg(add_kit(text, "docker.io/a/new:1"), "docker.io/a/new:1", "k", "v")

    assert edited.startswith("﻿#")
    assert edited.count("\n") == edited.count("\r\n")
    assert refs_of(edited)[-1] == "docker.io/a/new:1"


def test_a_set_in_json_stays_json_in_one_line() -> None:
    text = '{"schemaVersion":"3","kind":"set","kits":[{"ref":"a/b"}]}'

    edited = set_kit_arg(add_kit(text, "c/d", DIGEST), "a/b", "k", "v")

    assert edited == (
        '{"schemaVersion":"3","kind":"set","kits":[{"ref":"a/b", "args": {"k": "v"}}, '
        f'{{"ref": "c/d", "digest": "{DIGEST}"}}]}}'
    )


def test_the_first_and_the_last_kit_come_and_go() -> None:
    text = render(Descriptor("3", "set", display_name="Empty"))

    added = add_kit(text, "a/b:1")

    assert text.endswith("kits: []\n") and added.endswith("kits:\n  - ref: a/b:1\n")
    assert remove_kit(added, "a/b:1") == text
    assert add_kit(text.replace("kits: []\n", ""), "a/b:1") == added


def test_what_cannot_be_edited_safely_is_refused_and_says_so() -> None:
    text = 'schemaVersion: "3"\nkind: set\nkits:\n- &one {ref: a/b}\n- {<<: *one, ref: c/d}\n- *one\n'

    with pytest.raises(DescriptorError, match="cannot be edited"):
        remove_kit(text, "a/b")


@pytest.mark.parametrize(
    "edit", [remove_kit, lambda t, r: replace_kit(t, r, "x"), lambda t, r: set_kit_arg(t, r, "x", "y")]
)
def test_a_kit_that_is_not_listed_cannot_be_edited(edit: object) -> None:
    with pytest.raises(DescriptorError, match="does not list"):
        edit(HAND_WRITTEN, "docker.io/no/such:1")  # type: ignore[operator]


edits = st.one_of(
    st.tuples(st.just("add"), kits, words),
    st.tuples(st.just("remove"), st.integers(0, 9), words),
    st.tuples(st.just("replace"), st.integers(0, 9), kits),
    st.tuples(st.just("arg"), st.integers(0, 9), st.tuples(names, words | st.none())),
    st.tuples(st.just("field"), st.sampled_from(sorted(FIELDS)), words),
)
styles = st.sampled_from(["hand-written", "rendered", "json", "crlf"])


@given(sets, styles, st.lists(edits, max_size=6))
def test_any_run_of_edits_makes_the_set_that_was_meant(start: Descriptor, style: str, run: list[tuple]) -> None:  # type: ignore[type-arg]
    text = {
        "hand-written": HAND_WRITTEN,
        "rendered": render(start),
        "json": readable(encode(start)),
        "crlf": HAND_WRITTEN.replace("\n", "\r\n"),
    }[style]
    model = parse(text).descriptor
    for kind, first, second in run:
        listed = [kit.ref for kit in model.kits]
        if kind == "add" and first.ref not in listed:
            text = add_kit(text, first.ref, first.digest, first.args)
            model = replace(model, kits=(*model.kits, first), kits_stated=True)
        elif kind == "field":
            text = set_field(text, first, second)
            model = replace(model, **{FIELDS[first]: second})
        elif isinstance(first, int) and first < len(listed):
            ref = listed[first]
            rest = list(model.kits)
            if kind == "remove":
                text = remove_kit(text, ref)
                del rest[first]
            elif kind == "replace" and second.ref not in listed:
                text = replace_kit(text, ref, second.ref, second.digest)
                rest[first] = replace(rest[first], ref=second.ref, digest=second.digest)
            elif kind == "arg":
                name, value = second
                text = set_kit_arg(text, ref, name, value)
                args = {key: old for key, old in rest[first].args.items() if key != name}
                rest[first] = replace(rest[first], args=args if value is None else {**args, name: value})
            model = replace(model, kits=tuple(rest), kits_stated=True)
        assert parse(text).descriptor == replace(model, kits_stated=parse(text).descriptor.kits_stated)


@given(words)
def test_a_rendered_scalar_is_read_as_the_same_text_everywhere(text: str) -> None:
    for written in (scalar(text), scalar(text, flow=True), flow(text)):
        document = decode(
            f'schemaVersion: "3"\nkind: set\ncapabilities: [{{type: a/b@1, config: {{v: 1}}}}]\nauthor: {written}\n'
        )
        assert document.descriptor.author == text
        inside = decode(f'schemaVersion: "3"\nkind: set\ncapabilities:\n- type: a/b@1\n  config:\n    v: {written}\n')
        assert inside.descriptor.entries()[0].config == {"v": text}


def test_a_rendered_set_is_valid() -> None:
    text = add_kit(render(Descriptor("3", "set", display_name="x")), "docker.io/a/b:1", DIGEST)

    assert validate(parse(text), Form.AUTHORED).valid
