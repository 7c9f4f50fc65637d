"""Whether one more Kit would fit: a hint that never contradicts what resolving the set says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.capabilities import credential
from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.models.fits import Fits, relations_of
from kitstudio.models.resolve import Unit, resolve
from tests.builders import descriptor

BASE = Unit("acme.example/base:1.0", descriptor("workload", provides=("base@2.0",)))
TOOL = Unit("acme.example/tool:1.0", descriptor(provides=("tool@1.0",), requires=("base",), conflicts=("rival",)))
GUEST = "acme.example/guest:1.0"


def why(about: Descriptor, *units: Unit) -> str:
    return Fits(units or (BASE, TOOL)).why_not(GUEST, relations_of(about))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),
        ({"provides": ("other",)}, ""),
        ({"requires": ("base >= 1.0",)}, ""),
        ({"integrates": ("nothing",)}, ""),
        ({"requires": ("missing",)}, "nothing in the set offers it"),
        ({"requires": ("base >= 3.0",)}, "another version"),
        ({"integrates": ("base >= 3.0",)}, "another version"),
        ({"provides": ("tool",)}, "offers “tool” already"),
        ({"provides": ("rival",)}, "cannot be in a set with “rival”"),
        ({"conflicts": ("tool",)}, "It cannot be in a set with “tool”"),
        ({"requires": ("not a name",)}, "not well formed"),
    ],
)
def test_a_newcomer_is_judged_by_what_it_states(fields: dict[str, object], said: str) -> None:
    found = why(descriptor(**fields))
    assert (said in found) if said else found == ""


def test_a_second_workload_does_not_fit_and_a_first_one_does() -> None:
    assert "has a workload already" in why(descriptor("workload"))
    assert why(descriptor("workload"), TOOL) == ""


def test_a_member_that_works_with_one_version_only_is_named() -> None:
    member = Unit("acme.example/picky:1.0", descriptor(integrates=("shell >= 2.0",)))
    assert "works with" in why(descriptor(provides=("shell@1.0",)), member)
    assert why(descriptor(provides=("shell@2.0",)), member) == ""


def test_a_credential_has_one_owner() -> None:
    config = {"service": "github", "phase": ["runtime"]}
    entry = Capability(credential.TYPE.name, config, True)  # type: ignore[arg-type]
    owner = Unit("acme.example/owner:1.0", descriptor(capabilities=(entry,)))
    pairs = relations_of(descriptor(capabilities=(entry,))).credentials
    found = why(descriptor(capabilities=(entry,)), owner)
    assert bool(found) is bool(pairs)


NAMES = st.lists(st.sampled_from(["a", "b", "c@1.0", "c@2.0"]), max_size=2).map(tuple)
NEEDS = st.lists(st.sampled_from(["a", "b", "c >= 2.0", "c"]), max_size=2).map(tuple)
BARE = st.lists(st.sampled_from(["a", "b", "c"]), max_size=1).map(tuple)
KITS = st.builds(
    lambda kind, provides, requires, integrates, conflicts: descriptor(
        kind, provides=provides, requires=requires, integrates=integrates, conflicts=conflicts
    ),
    st.sampled_from(["mixin", "workload"]), NAMES, NEEDS, NEEDS, BARE,
)  # fmt: skip


@given(st.lists(KITS, max_size=3), KITS)
def test_the_hint_agrees_with_resolving_the_set_with_and_without_the_newcomer(
    members: list[Descriptor], guest: Descriptor
) -> None:
    units = [Unit(f"acme.example/kit-{n}:1.0", about) for n, about in enumerate(members)]
    newcomer = Unit(GUEST, guest)
    told = {(p.kind, p.name) for p in resolve(units, partial=True).problems} if units else set()
    added = [p for p in resolve([*units, newcomer], partial=True).problems if (p.kind, p.name) not in told]
    concerned = [problem for problem in added if GUEST in problem.kits]
    if Fits(units).why_not(GUEST, relations_of(guest)) == "":
        # Twice the same offer within one Kit, or a circle, is told by the set and not by the hint.
        assert all(problem.kind.value in ("cycle", "several-providers") for problem in concerned)
