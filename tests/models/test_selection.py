"""§7.1.1: a group is taken or left as a whole, and every member is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.descriptor import Capability, CapabilityGroup, CapabilityItem, Descriptor
from kitstudio.models.selection import Decision, select, supported_types
from tests.models.configs import request

TYPES = ["port@1", "git-identity@1", "kit-registry@1", "long-running@1"]


@st.composite
def items(draw: st.DrawFn) -> tuple[CapabilityItem, ...]:
    found: list[CapabilityItem] = []
    names = draw(st.lists(st.sampled_from(TYPES[1:]), unique=True))
    for name in names:
        optional = draw(st.booleans())
        if draw(st.booleans()):
            members = (request(name), request("port@1", {"container": draw(st.integers(1, 9))}))
            found.append(CapabilityGroup(members, optional=optional))
        else:
            found.append(request(name, optional=optional, optional_stated=optional))
    return tuple(found)


@given(items(), st.sets(st.sampled_from(TYPES)))
def test_groups_are_whole_and_nothing_is_forgotten(given_items: tuple[CapabilityItem, ...], names: set[str]) -> None:
    supported = frozenset(f"com.docker.sandbox/{name}" for name in names)
    descriptor = Descriptor("3", "mixin", capabilities=given_items)
    found = select(descriptor, supported_types(supported))
    assert sorted(record.path for record in (*found.selected, *found.skipped)) == sorted(
        f"capabilities[{index}]" for index in range(len(given_items))
    )
    assert {item.path for item in found.entries} == {path for record in found.selected for path in record.members}
    assert all(item.entry.type in supported for item in found.entries)
    assert found.refused == any(not record.optional for record in found.skipped)
    assert all(record.rejected for record in found.skipped)


def test_a_refusal_names_item_and_reason() -> None:
    group = CapabilityGroup((request("git-identity@1"), request("kit-registry@1")), name="Extras")
    asked: list[str] = []

    def decide(path: str, entry: Capability) -> Decision:
        asked.append(entry.type)
        return Decision(False, "not today")

    found = select(Descriptor("3", "mixin", capabilities=(group,)), decide)
    assert len(asked) == 2
    assert [issue.path for issue in found.errors] == [
        "capabilities[0].group.capabilities[0]",
        "capabilities[0].group.capabilities[1]",
    ]
    assert found.errors[0].message == "the group 'Extras' is required and refused: not today"


def test_a_reference_left_over_refuses_everything() -> None:
    entry = request("port@1", {"container": "${{ kit.args.port }}"}, optional=True)
    found = select(Descriptor("3", "mixin", capabilities=(entry,)), supported_types(frozenset()))
    assert found.refused and found.selected == () and found.skipped == ()
