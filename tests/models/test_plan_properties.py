"""A plan never raises, whatever stands in a set, and what it says is consistent."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kitstudio.models import lock as locks
from kitstudio.models.descriptor import Arg, Capability, CapabilityGroup, Descriptor, ListedKit
from kitstudio.models.plan import Member, Offer, plan_set
from kitstudio.models.surface import facts
from tests.models.configs import REQUESTS

NAMES = ["a", "b", "deb/x", "com.acme/y", "Bad Name", "${{ kit.args.n }}", ""]
NEEDS = st.sampled_from([*NAMES, "a >= 1", "b = 2", "a >", "deb/x < 3", "a >= 2, < 2"])
ARGS = st.dictionaries(
    st.sampled_from(["n", "token", "bad-name"]),
    st.builds(
        Arg,
        default=st.sampled_from([None, "", "x"]),
        required=st.booleans(),
        enum=st.sampled_from([(), ("x", "y")]),
        pattern=st.sampled_from(["", "[a-z]+", "("]),
        env=st.sampled_from(["", "VALUE"]),
    ),
    max_size=2,
)
TEXTS = st.sampled_from(["", "x", "1.0", "${{ kit.args.n }}", "${{ kit.args.n }}${{ kit.env.HOME }}", "\u202e\n"])


@st.composite
def descriptors(draw: st.DrawFn) -> Descriptor:
    requests = draw(REQUESTS)
    cut = draw(st.integers(0, len(requests)))
    group = CapabilityGroup(tuple(requests[cut:]), draw(TEXTS), optional=draw(st.booleans()))
    return Descriptor(
        "3",
        draw(st.sampled_from(["workload", "mixin", "set", "other"])),
        version=draw(TEXTS),
        provides=tuple(draw(st.lists(st.sampled_from([*NAMES, "a@1", "b@2", "c@v1"]), max_size=3))),
        requires=tuple(draw(st.lists(NEEDS, max_size=2))),
        integrates=tuple(draw(st.lists(NEEDS, max_size=2))),
        conflicts=tuple(draw(st.lists(st.sampled_from(NAMES), max_size=1))),
        capabilities=(*requests[:cut], *([group] if requests[cut:] else [])),
        args=draw(ARGS),
    )


@st.composite
def members(draw: st.DrawFn, index: int) -> Member:
    return Member(
        draw(st.sampled_from([f"x.example/k{index}:1.0", f"x.example/k{index}", f"k{index}@sha256:00", ""])),
        descriptor=draw(st.none() | descriptors()),
        args=draw(st.dictionaries(st.sampled_from(["n", "token", "other"]), TEXTS, max_size=2)),
        image_env=draw(st.dictionaries(st.sampled_from(["PATH", "HOME"]), st.sampled_from(["/bin", ""]), max_size=2)),
        loading=draw(st.booleans()),
    )


@st.composite
def sets(draw: st.DrawFn) -> tuple[Descriptor, tuple[Member, ...]]:
    found = tuple(draw(members(index)) for index in range(draw(st.integers(0, 4))))
    own = draw(st.none() | descriptors())
    listed = tuple(ListedKit(member.reference, member.digest, member.args) for member in found)
    document = Descriptor(
        "3",
        "set",
        capabilities=own.capabilities if own else (),
        provides=own.provides if own else (),
        args=own.args if own else {},
        kits=listed,
        kits_stated=True,
    )
    return document, found


@settings(max_examples=150)
@given(sets(), st.dictionaries(st.just("n"), TEXTS), st.none() | st.just(frozenset({"com.docker.sandbox/port@1"})))
def test_nothing_in_a_set_makes_planning_raise(
    given_set: tuple[Descriptor, tuple[Member, ...]], set_args: dict[str, str], claimed: frozenset[str] | None
) -> None:
    document, found = given_set
    offers = [Offer("x.example/base:2", "2", ("a@2", "deb/x@1", "Bad"), "workload"), Offer("x.example/n", "v", ("b",))]
    plan = plan_set(document, found, set_args=set_args, claimed=claimed, catalog_offers=offers)
    assert set(plan.ordered) == {member.reference for member in found if member.reference}
    assert plan.coherent == (plan.effective is not None and not plan.loading)
    assert all(problem.message and problem.message.isprintable() for problem in plan.problems)
    held = set(facts(plan.surface))
    assert all(any(fact in held for fact in row.facts) for row in plan.permissions)
    if plan.coherent:
        lock = locks.from_plan("team", plan)
        assert locks.decode(locks.encode(lock)) == lock
        assert locks.gate(lock, plan) == ()


@settings(max_examples=60)
@given(REQUESTS, REQUESTS)
def test_whatever_the_surface_holds_some_row_tells(one: list[Capability], other: list[Capability]) -> None:
    found = (
        Member("x.example/a:1", descriptor=Descriptor("3", "workload", capabilities=tuple(one))),
        Member("x.example/b:1", descriptor=Descriptor("3", "mixin", capabilities=tuple(other))),
    )
    plan = plan_set(Descriptor("3", "set", kits=tuple(ListedKit(m.reference) for m in found), kits_stated=True), found)
    if plan.coherent:
        told = {fact for row in plan.permissions for fact in row.facts}
        assert set(facts(plan.surface)) <= told
