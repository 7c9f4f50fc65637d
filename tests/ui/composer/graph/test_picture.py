"""What the graph says of a set: names and constraints on lines, conflicts, packages in one box."""

from __future__ import annotations

from kitstudio.models.descriptor import Descriptor, ListedKit
from kitstudio.models.plan import Member, Plan, plan_set
from kitstudio.ui.composer.graph.picture import MISSING, PACKAGES, LineKind, NodeKind, picture_of
from kitstudio.ui.composer.rows import stack_rows
from tests.builders import descriptor


def judged(**kits: Descriptor) -> Plan:
    members = [
        Member(f"r.example/{name}:1.0.0", f"sha256:{n:064x}", about) for n, (name, about) in enumerate(kits.items())
    ]
    listed = tuple(ListedKit(member.reference) for member in members)
    return plan_set(Descriptor("3", kind="set", kits=listed, kits_stated=True), members)


def ref(name: str) -> str:
    return f"r.example/{name}:1.0.0"


BASE = descriptor("workload", provides=("base@1.0.0", *(f"deb/p{n}@1.0" for n in range(412))))


def test_lines_carry_the_name_with_its_constraint() -> None:
    tool = descriptor(requires=("base >= 1",), integrates=("other",), provides=("tool@1.0.0",))
    other = descriptor(provides=("other@1.0.0",))
    lines = {(line.source, line.target): line for line in picture_of(judged(base=BASE, tool=tool, other=other)).lines}
    needs, works = lines[(ref("tool"), ref("base"))], lines[(ref("tool"), ref("other"))]
    assert (needs.kind, needs.label) == (LineKind.NEEDS, "base >= 1")
    assert (works.kind, works.label) == (LineKind.WORKS_WITH, "works with other")


def test_hundreds_of_packages_are_one_box_that_says_how_many_are_needed() -> None:
    picture = picture_of(judged(base=BASE, tool=descriptor(requires=("deb/p7", "deb/p9 >= 1"))))
    assert len(picture.nodes) == 3
    (packages,) = [node for node in picture.nodes if node.kind is NodeKind.PACKAGES]
    assert packages.title == "412 Debian packages" and packages.subtitle == "2 needed by this set"
    line = next(line for line in picture.lines if line.source == ref("tool"))
    assert line.target == PACKAGES + ref("base") and line.label == "deb/p7, deb/p9 >= 1"


def test_what_nothing_offers_is_a_box_of_its_own_in_trouble() -> None:
    picture = picture_of(judged(base=BASE, tool=descriptor(requires=("git >= 2",))))
    (missing,) = [node for node in picture.nodes if node.kind is NodeKind.MISSING]
    assert missing.key == MISSING + "git >= 2" and missing.problem and missing.subtitle == "nothing offers it"
    assert next(line for line in picture.lines if line.target == missing.key).trouble


def test_conflicts_and_two_providers_are_lines_of_their_own_kind() -> None:
    picture = picture_of(
        judged(
            base=BASE,
            one=descriptor(provides=("notes@1.0.0",)),
            two=descriptor(provides=("notes@1.0.0",)),
            three=descriptor(provides=("x@1.0.0",), conflicts=("notes",)),
        )
    )
    found = {(line.source, line.target, line.label) for line in picture.lines if line.kind is LineKind.CONFLICT}
    assert (ref("one"), ref("two"), "both offer notes") in found
    assert (ref("three"), ref("one"), "conflict") in found


def test_a_circle_is_marked() -> None:
    one = descriptor(provides=("one@1.0.0",), requires=("two",))
    two = descriptor(provides=("two@1.0.0",), requires=("one",))
    picture = picture_of(judged(base=BASE, one=one, two=two))
    assert {line.trouble for line in picture.lines if line.kind is LineKind.NEEDS} == {True}


def test_boxes_say_what_is_known_and_no_more() -> None:
    members = (Member("r.example/a:1", loading=True), Member(ref("empty"), descriptor=Descriptor("3", kind="mixin")))
    nodes = picture_of(Plan(members=members, loading=True)).nodes
    assert [node.subtitle for node in nodes] == ["loading · 1", "Mixin · 1.0.0"]


def test_a_connector_never_points_past_the_provider() -> None:
    plan = judged(
        base=BASE,
        above=descriptor(requires=("base",), provides=("above@1.0.0",)),
        far=descriptor(requires=("above",), provides=("far@1.0.0",)),
        between=descriptor(provides=("between@1.0.0",), requires=("base",)),
    )
    rows = stack_rows(plan)
    names = [row.name for row in rows]
    for number, row in enumerate(rows[:-1]):
        assert row.reason is not None
        if row.reason.before == "needs" and not row.reason.far:
            assert row.reason.name == names[number + 1]
        elif row.reason.before == "needs":
            assert "further down" in row.reason.after
