"""Types newer than this app, and types newer than the specification's text: carried, counted, named, never granted."""

from __future__ import annotations

import pytest

from kitstudio.models.canonical import encode
from kitstudio.models.capabilities import is_newer, lookup
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Capability
from kitstudio.models.review import entry_permissions
from kitstudio.models.selection import select, supported_types
from kitstudio.models.surface import diff_widenings, project
from kitstudio.models.validate import Form, validate
from kitstudio.runtime.capabilities import CLAIMED
from tests.models.sets import CLAIMED as SOME
from tests.models.sets import base, member, plan

UNKNOWN = ("com.docker.sandbox/teleport@1", "com.docker.sandbox/port@2", "com.docker.sandbox/credential@12", "a.b/c@1")
RECOGNISED = {
    "com.docker.sandbox/acp@1": "{agent: claude, command: [adapter]}",
    "com.docker.sandbox/agent-interactive-sessions@1": "{newSession: [--new]}",
}


def kit_with(type_: str, config: str = "{a: [1, {b: null}], c: 1.50}", more: str = "") -> str:
    head = 'schemaVersion: "3"\nkind: workload\nversion: "1.0.0"\n'
    return f"{head}capabilities:\n- type: {type_}\n  config: {config}\n{more}"


@pytest.mark.parametrize("type_", UNKNOWN)
def test_an_unknown_type_is_valid_and_carried_as_it_is(type_: str) -> None:
    document = decode(kit_with(type_))

    assert validate(document, Form.PUBLISHED).valid
    assert '"config":{"a":[1,{"b":null}],"c":1.5}' in encode(document.descriptor)


@pytest.mark.parametrize("type_", UNKNOWN)
def test_an_unknown_type_counts_on_the_surface_by_type_and_config(type_: str) -> None:
    one, other = (project(decode(kit_with(type_, config)).descriptor) for config in ("{a: 1}", "{a: 2}"))

    assert len(one.services) == 1 and one.services[0].startswith(type_)
    assert [w.category for w in diff_widenings(one, other)] == ["services"]


@pytest.mark.parametrize("type_", UNKNOWN)
def test_an_unknown_type_is_a_row_that_says_what_is_not_known(type_: str) -> None:
    (row,) = entry_permissions(Capability(type_, {"a": 1}, True), "capabilities[0]", "k", None)

    assert "does not know" in row.sentence or "newer" in row.sentence or "not known" in row.sentence, row.sentence
    assert row.weight >= 2


@pytest.mark.parametrize("type_", UNKNOWN)
def test_a_required_unknown_type_stops_the_set_and_an_optional_one_is_left_out(type_: str) -> None:
    asks = f"capabilities:\n- {{type: {type_}"
    stopped = plan(base(), member("k", f"{asks}}}\n"), claimed=SOME)
    skipped = plan(base(), member("k", f"{asks}, optional: true}}\n"), claimed=SOME)

    assert type_ in stopped.runtime_problems[0].message
    assert ("newer than this app" in stopped.runtime_problems[0].message) == is_newer(type_)
    assert not skipped.runtime_problems and skipped.effective is not None
    assert type_ not in encode(skipped.effective)


@pytest.mark.parametrize("type_", RECOGNISED)
def test_a_type_newer_than_the_text_is_named_explained_and_silent(type_: str) -> None:
    known = lookup(type_)
    document = decode(kit_with(type_, RECOGNISED[type_]))

    assert known is not None and known.title and not is_newer(type_)
    assert validate(document, Form.PUBLISHED).valid
    assert project(document.descriptor).empty


@pytest.mark.parametrize("type_", RECOGNISED)
def test_a_type_newer_than_the_text_is_not_claimed_by_the_runtime(type_: str) -> None:
    assert type_ not in CLAIMED

    descriptor = decode(kit_with(type_, RECOGNISED[type_], "")).descriptor
    assert select(descriptor, supported_types(CLAIMED)).refused


def test_several_instructions_in_one_block_are_refused_with_a_sentence_that_says_so() -> None:
    entry = "- {type: com.docker.sandbox/agent-context@1, config: {directory: /%s, filename: A.md, content: x}}\n"
    text = kit_with("a.b/c@1", "{}", (entry % "a") + (entry % "b"))

    (error,) = validate(decode(text), Form.AUTHORED).errors
    assert error.path == "capabilities[2].type" and "already stated" in error.message
