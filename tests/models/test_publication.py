"""§9.5 as a publisher does it: order, strictness, and the same merge that the judged cases are run through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitstudio.models import compose, merge, plan, publication
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, Kind, ListedKit
from kitstudio.models.errors import DescriptorError
from kitstudio.models.inputs import OWN
from kitstudio.models.planned import Member
from kitstudio.models.publication import Ingredient, Publication, staged_bodies
from kitstudio.models.reconcile import Contribution
from tests.builders import descriptor_from

HEAD = 'schemaVersion: "3"\n'
DIGEST = f"sha256:{'0' * 64}"
CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "conformance" / "merge.jsonl").read_text(encoding="utf-8").splitlines()
]
CONTEXT = "com.docker.sandbox/agent-context@1"


def kit(reference: str, text: str, kind: str = "mixin") -> Ingredient:
    return Ingredient(reference, DIGEST, descriptor_from(f"{HEAD}kind: {kind}\n{text}"))


def of(*kits: Ingredient, text: str = "", kind: str = "set", stem: str = "team") -> Publication:
    listed = "".join(f"- ref: {each.reference}\n" for each in kits)
    document = descriptor_from(f"{HEAD}kind: {kind}\nkits:\n{listed}{text}")
    return publication.publication(document, kits, stem)


def kinds(made: Publication) -> list[str]:
    return [problem.kind.value for problem in made.problems]


def test_declarations_come_in_the_order_of_needs_with_the_set_last() -> None:
    made = of(
        kit("r.example/b:1", "provides: [b@1]\nrequires: [a]\n"),
        kit("r.example/a:1", "provides: [a@1]\n"),
        text='version: "1"\nprovides: [team]\n',
    )
    assert made.declared == ("r.example/a:1", "r.example/b:1", OWN)
    assert made.descriptor is not None and made.descriptor.provides == ("a@1", "b@1", "team@1")
    assert not made.descriptor.requires


def test_a_kit_that_works_with_what_the_set_provides_comes_behind_it() -> None:
    made = of(kit("r.example/a:1", "integrates: [team]\n"), text='version: "1"\nprovides: [team]\n')
    assert made.declared == (OWN, "r.example/a:1") and made.layered == ("r.example/a:1",)


def test_needs_in_a_circle_with_the_set_are_told() -> None:
    made = of(
        kit("r.example/a:1", "provides: [a@1]\nintegrates: [team]\n"),
        text='version: "1"\nprovides: [team]\nintegrates: [a]\n',
    )
    assert kinds(made) == ["cycle"]


def test_layers_begin_with_the_workload() -> None:
    made = of(kit("r.example/a:1", ""), kit("r.example/z:1", "", "workload"))
    assert made.layered == ("r.example/z:1", "r.example/a:1")
    assert made.descriptor is not None and made.descriptor.kind == "workload"


def test_a_stated_kind_is_the_derived_one() -> None:
    assert of(kit("r.example/a:1", ""), kind="mixin").descriptor is not None
    assert kinds(of(kit("r.example/a:1", ""), kind="workload")) == ["merge"]


def test_the_reference_says_which_version_is_offered() -> None:
    made = of(kit("r.example/a:2.5", 'version: "1.0"\nprovides: [a, b@7]\n'))
    assert made.descriptor is not None and made.descriptor.provides == ("a@2.5", "b@7")


def test_the_sets_own_needs_are_left_for_what_it_is_composed_with() -> None:
    made = of(kit("r.example/a:1", "provides: [a@1]\n"), text="requires: [claude >= 2]\n")
    assert made.descriptor is not None and made.descriptor.requires == ("claude >= 2",)


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ("provides: [a@1]\n", 'version: "1"\nprovides: [a]\n', ["several-providers"]),
        ("provides: [a@1]\n", "requires: [a >= 2]\n", ["requires-unsatisfied"]),
        ("provides: [a@1]\n", "conflicts: [a]\n", ["conflict"]),
        ("conflicts: [ours]\n", 'version: "1"\nprovides: [ours]\n', ["conflict"]),
        ("integrates: [ours >= 2]\n", 'version: "1"\nprovides: [ours]\n', ["integrates-violated"]),
        ("", 'version: "1"\nprovides: [ours]\nrequires: [ours]\n', ["requires-unsatisfied"]),
        ("requires: [elsewhere]\n", "", ["requires-missing"]),
        ("provides: [a@1]\n", "provides: [deb/jq@1]\n", ["malformed-entry"]),
        ("", "provides: [unversioned]\n", ["merge"]),
    ],
)
def test_what_a_set_says_is_held_against_its_kits(theirs: str, ours: str, expected: list[str]) -> None:
    made = of(kit("r.example/a:x", theirs), text=ours)
    assert kinds(made) == expected and made.descriptor is None


def test_every_listed_kit_is_recorded_as_stated_with_its_digest() -> None:
    made = of(kit("r.example/b:1", ""), kit("r.example/a:1", ""))
    assert made.descriptor is not None
    assert made.descriptor.kits == (ListedKit("r.example/b:1", DIGEST), ListedKit("r.example/a:1", DIGEST))


def test_instructions_that_need_an_input_are_refused() -> None:
    body = "content: '${{ kit.args.x }}'"
    text = f"capabilities:\n- type: {CONTEXT}\n  config: {{directory: /a, filename: A.md, {body}}}\n"
    made = of(kit("r.example/a:1", ""), text=f"args: {{x: {{default: a}}}}\n{text}")
    with pytest.raises(DescriptorError, match="refer to an input"):
        staged_bodies(made, {}, {OWN: "Team"})


def test_blank_instructions_leave_no_heading() -> None:
    text = f"capabilities:\n- type: {CONTEXT}\n  config: {{directory: /a, filename: A.md, content: '%s'}}\n"
    made = of(kit("r.example/a:1", text % "  "), text=text % "ours --> all")
    bodies = staged_bodies(made, {}, {OWN: "Team --> x"})
    assert bodies == {"/usr/share/sandbox/kit/team/context.md": "<!-- Team - -> x -->\n\nours --> all\n"}


def _units(case: dict[str, Any]) -> list[Contribution]:
    return [Contribution(u["reference"], decode(u["descriptor"]).descriptor) for u in case["in"].get("units") or ()]


def test_the_app_publishes_and_composes_through_the_judged_functions() -> None:
    """The judged cases (``test_conformance``) run ``merge`` and ``compose``; these are what the app itself calls."""
    assert publication.merge is merge.merge
    assert plan.try_compose is compose.try_compose


@pytest.mark.parametrize("case", [c for c in CASES if c["op"] == "merge"], ids=lambda c: str(c["id"]))
def test_publishing_agrees_with_the_judged_merges(case: dict[str, Any]) -> None:
    """Where a judged merge fails, so does publishing; where publishing keeps its order, the result is the same."""
    try:
        units = _units(case)
    except DescriptorError:
        return
    if any(u.descriptor.args for u in units) or len({u.reference for u in units}) < len(units) or not units:
        return
    document = Descriptor("3", kind=Kind.SET, kits=tuple(ListedKit(u.reference) for u in units), kits_stated=True)
    kits = [Ingredient(u.reference, DIGEST, u.descriptor) for u in units]
    made = publication.publication(document, kits, "team")
    if case["expect"].get("fails"):
        assert made.descriptor is None and made.problems
    elif made.descriptor is not None and made.declared == tuple(u.reference for u in units):
        expected = decode(json.dumps(case["expect"]["descriptor"])).descriptor
        assert made.descriptor.capabilities == expected.capabilities
        assert (made.descriptor.kind, made.descriptor.licenses) == (expected.kind, expected.licenses)


def test_enough_judged_merges_are_published_for_the_comparison_to_count() -> None:
    compared = 0
    for case in CASES:
        if case["op"] != "merge" or case["expect"].get("fails"):
            continue
        units = _units(case)
        document = Descriptor("3", kind=Kind.SET, kits=tuple(ListedKit(u.reference) for u in units), kits_stated=True)
        kits = [Ingredient(u.reference, DIGEST, u.descriptor) for u in units]
        compared += publication.publication(document, kits, "team").descriptor is not None
    assert compared >= 40


@pytest.mark.parametrize("case", [c for c in CASES if c["op"] == "compose"], ids=lambda c: str(c["id"]))
def test_planning_agrees_with_the_judged_compositions(case: dict[str, Any]) -> None:
    """Where a judged composition fails, a plan of the same Kits is not coherent."""
    try:
        units = _units(case)
    except DescriptorError:
        return
    members = [Member(u.reference, DIGEST, u.descriptor) for u in units]
    document = Descriptor("3", kind=Kind.SET, kits=tuple(ListedKit(u.reference) for u in units), kits_stated=True)
    judged = plan.plan_set(document, members)
    if case["expect"].get("fails"):
        assert not judged.coherent
    elif judged.coherent and judged.ordered == tuple(u.reference for u in units):
        expected = decode(json.dumps(case["expect"]["descriptor"])).descriptor
        assert judged.effective is not None and judged.effective.capabilities == expected.capabilities
