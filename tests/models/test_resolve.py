"""§5.3: every problem at once, and an order that follows from needs alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.problems import ProblemKind
from kitstudio.models.resolve import Unit, resolve

NAMES = ["a", "b", "c", "d"]


def unit(name: str, kind: str = "mixin", **relations: tuple[str, ...]) -> Unit:
    return Unit(f"x.example/{name}:1.0", Descriptor("3", kind, provides=(name,), **relations))


@st.composite
def chains(draw: st.DrawFn) -> list[Unit]:
    """Units whose needs point to earlier names only, so that no cycle is possible; shuffled."""
    units = [unit("base", "workload")]
    for index, name in enumerate(NAMES):
        needs = draw(st.lists(st.sampled_from(["base", *NAMES[:index]]), unique=True))
        units.append(unit(name, requires=tuple(needs)))
    return draw(st.permutations(units))


@given(chains())
def test_providers_come_before_those_that_need_them(units: list[Unit]) -> None:
    found = resolve(units)
    assert found.ok and found.stuck == ()
    place = {index: position for position, index in enumerate(found.topological)}
    assert all(place[need.provider] < place[need.requirer] for need in found.needs)
    assert units[found.ordered[0]].reference == "x.example/base:1.0"


@given(chains())
def test_the_order_of_flags_is_no_order(units: list[Unit]) -> None:
    def named(given_units: list[Unit]) -> list[str]:
        return [given_units[index].reference for index in resolve(given_units).ordered]

    assert named(units) == named(sorted(units, key=lambda u: u.reference))


def test_messages_name_kits_as_people_do() -> None:
    problems = resolve([unit("base", "workload"), unit("gh", requires=("git",))]).problems
    assert problems[0].message == "gh 1.0 needs “git”, and nothing in the set offers it."


def test_a_kit_never_answers_its_own_need() -> None:
    (problem,) = resolve([unit("base", "workload"), unit("gh", requires=("gh",))]).problems
    assert problem.kind is ProblemKind.REQUIRES_UNSATISFIED
    assert "only offers it itself" in problem.message


def test_kits_on_a_cycle_are_left_over() -> None:
    found = resolve([unit("base", "workload"), unit("a", requires=("b",)), unit("b", requires=("a",))])
    assert [p.kind for p in found.problems] == [ProblemKind.CYCLE]
    assert found.stuck == (1, 2) and found.ordered == (0,)
