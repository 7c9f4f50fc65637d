"""What the graph of a set shows: Kits, what they need of each other by which name, conflicts, packages summarised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kitstudio.models.plan import Edge, Member, Plan, Problem, ProblemKind
from kitstudio.models.relations import DERIVED_NAMESPACES
from kitstudio.models.words import claim
from kitstudio.ui.composer.rows import name_and_version
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.text import counted, number, tr

PACKAGES = "packages\0"
MISSING = "missing\0"
_OWN = "com.docker.kit/"
_LABELS = 2
_SYSTEMS = {"deb": "Debian", "apk": "Alpine"}
_BETWEEN = {
    ProblemKind.CONFLICT: "conflict",
    ProblemKind.SEVERAL_WORKLOADS: "two workloads",
    ProblemKind.SEVERAL_PROVIDERS: "both offer {name}",
    ProblemKind.SEVERAL_CREDENTIAL_OWNERS: "both sign in to {name}",
    ProblemKind.MERGE: "do not merge",
    ProblemKind.FILE_COLLISION: "same file",
}
_UNMET = {
    ProblemKind.REQUIRES_MISSING: "nothing offers it",
    ProblemKind.REQUIRES_UNSATISFIED: "not as it is needed",
    ProblemKind.INTEGRATES_VIOLATED: "not as it is needed",
}


class NodeKind(StrEnum):
    """What a box stands for."""

    KIT = "kit"
    PACKAGES = "packages"
    MISSING = "missing"


class LineKind(StrEnum):
    """What a line says; each has its own stroke and, where it is trouble, a sign of its own."""

    NEEDS = "needs"
    WORKS_WITH = "works-with"
    CONFLICT = "conflict"
    HOLDS = "holds"


@dataclass(frozen=True, slots=True)
class Node:
    """A box. ``reference``: the Kit it is or belongs to."""

    key: str
    kind: NodeKind
    title: str
    subtitle: str
    reference: str = ""
    workload: bool = False
    problem: bool = False
    loading: bool = False

    @property
    def repository(self) -> str:
        return repository_of(self.reference)

    @property
    def spoken(self) -> str:
        """The box in words."""
        trouble = f", {tr('Problem')}" if self.problem else ""
        return f"{self.title}, {self.subtitle}{trouble}"


@dataclass(frozen=True, slots=True)
class Line:
    """``source`` stands above ``target``. ``label``: capability name and constraint."""

    source: str
    target: str
    kind: LineKind
    label: str = ""
    trouble: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes in composition order, and lines."""

    nodes: tuple[Node, ...] = ()
    lines: tuple[Line, ...] = ()


def picture_of(plan: Plan) -> Picture:
    """What the graph of this set shows."""
    members = {member.reference: member for member in plan.members}
    order = [reference for reference in plan.ordered if reference in members]
    order += [reference for reference in members if reference not in order]
    troubled = {kit for problem in (*plan.problems, *plan.runtime_problems) for kit in problem.kits}
    nodes = [_kit(members[reference], reference in troubled) for reference in order]
    derived = _needed_packages(plan)
    circle = {kit for problem in plan.problems if problem.kind is ProblemKind.CYCLE for kit in problem.kits}
    lines = [*_needs(plan, members, circle), *_conflicts(plan, members)]
    for reference in order:
        member = members[reference]
        count = len(packages_of(member))
        if count and (reference in derived or _is_workload(member)):
            nodes.append(_packages(member, count, len(derived.get(reference, ()))))
            lines.append(Line(reference, PACKAGES + reference, LineKind.HOLDS))
    unmet = [problem for problem in plan.problems if problem.kind in _UNMET]
    for name, words in {problem.name: _UNMET[problem.kind] for problem in unmet}.items():
        nodes.append(Node(MISSING + name, NodeKind.MISSING, shown(name), tr(words), problem=True))
    for problem in unmet:
        works = problem.kind is ProblemKind.INTEGRATES_VIOLATED
        kind, words = (LineKind.WORKS_WITH, tr("works with {name}")) if works else (LineKind.NEEDS, "{name}")
        lines += [
            Line(kit, MISSING + problem.name, kind, words.format(name=shown(problem.name)), trouble=True)
            for kit in problem.kits
            if kit in members
        ]
    return Picture(tuple(nodes), tuple(lines))


def packages_of(member: Member) -> tuple[str, ...]:
    """The derived provides of a Kit (§9.6), as it states them."""
    provides = member.descriptor.provides if member.descriptor is not None else ()
    return tuple(name for name in provides if is_package(name))


def is_package(name: str) -> bool:
    """True for a name read out of a package database."""
    return name.partition("/")[0] in DERIVED_NAMESPACES


def shown(name: str) -> str:
    """A capability name with its constraint, without the specification's own space."""
    return claim(name.removeprefix(_OWN), 60)


def _kit(member: Member, troubled: bool) -> Node:
    name, version = name_and_version(member)
    kind = ""
    if member.loading:
        kind = tr("loading")
    elif member.descriptor is not None:
        kind = tr("Workload") if _is_workload(member) else tr("Mixin")
    elif member.failure is not None:
        kind = tr("not known")
    subtitle = " · ".join(part for part in (kind, version) if part)
    problem = troubled or member.failure is not None
    workload = _is_workload(member)
    return Node(
        member.reference, NodeKind.KIT, name, subtitle, member.reference, workload, problem, loading=member.loading
    )


def _packages(member: Member, count: int, needed: int) -> Node:
    system = _SYSTEMS.get(packages_of(member)[0].partition("/")[0], "")
    title = tr("{n} {system} packages").format(n=number(count), system=system)
    words = tr("{n} needed by this set").format(n=number(needed)) if needed else tr("none needed by this set")
    return Node(PACKAGES + member.reference, NodeKind.PACKAGES, title, words, member.reference)


def _needed_packages(plan: Plan) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for edge in plan.edges:
        if is_package(edge.name):
            found[edge.provider].add(edge.name.split()[0])
    return found


def _needs(plan: Plan, members: Mapping[str, Member], circle: set[str]) -> list[Line]:
    """One line for each pair of Kits and manner; several names share it."""
    grouped: dict[tuple[str, str, bool], list[Edge]] = defaultdict(list)
    for edge in plan.edges:
        if edge.requirer in members and edge.provider in members:
            target = PACKAGES + edge.provider if is_package(edge.name) else edge.provider
            grouped[(edge.requirer, target, edge.integrates)].append(edge)
    lines = []
    for (source, target, integrates), edges in grouped.items():
        label = _label([edge.entry or edge.name for edge in edges])
        kind = LineKind.WORKS_WITH if integrates else LineKind.NEEDS
        words = tr("works with {name}").format(name=label) if integrates else label
        lines.append(Line(source, target, kind, words, trouble=source in circle and target in circle))
    return lines


def _conflicts(plan: Plan, members: Mapping[str, Member]) -> list[Line]:
    lines: dict[tuple[str, str], Line] = {}
    for problem in plan.problems:
        kits = [kit for kit in problem.kits if kit in members]
        if problem.kind in _BETWEEN and len(kits) > 1:
            for other in kits[1:]:
                if kits[0] != other:
                    label = tr(_BETWEEN[problem.kind]).format(name=_what(problem))
                    lines.setdefault((kits[0], other), Line(kits[0], other, LineKind.CONFLICT, label, trouble=True))
    return list(lines.values())


def _what(problem: Problem) -> str:
    return shown(
        problem.name.partition("/")[0] if problem.kind is ProblemKind.SEVERAL_CREDENTIAL_OWNERS else problem.name
    )


def _label(names: list[str]) -> str:
    unique = list(dict.fromkeys(shown(name) for name in names))
    more = len(unique) - _LABELS
    return ", ".join(unique[:_LABELS]) + (f" {tr('and')} {counted(more, 'more', 'more')}" if more > 0 else "")


def _is_workload(member: Member) -> bool:
    return member.descriptor is not None and member.descriptor.kind == "workload"
