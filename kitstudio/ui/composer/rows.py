"""The stack as rows: composition order with the workload at the bottom, and why each Kit stands above the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.plan import Edge, Member, Plan, Problem, ProblemKind
from kitstudio.models.review import Chip, Permission, Weight, chips
from kitstudio.models.words import claim
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.text import tr

_MISSING = (ProblemKind.REQUIRES_MISSING, ProblemKind.REQUIRES_UNSATISFIED)
_NAMES = 3
_OWN = "com.docker.kit/"
"""Names in the specification's own space are shown without it, as Kits write them (§5.1)."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Words of a connector: plain, then the name that is set in bold, then the rest.

    ``far``: what is needed does not stand right below, so no arrow may point there.
    """

    before: str
    name: str = ""
    after: str = ""
    missing: bool = False
    far: bool = False

    @property
    def text(self) -> str:
        return f"{self.before} {self.name}{self.after}".strip()


@dataclass(frozen=True, slots=True)
class KitRow:
    """One Kit of the stack. ``reason``: why it stands above the row below; None for the lowest."""

    reference: str
    name: str
    version: str
    workload: bool = False
    pinned: bool = False
    loading: bool = False
    problem: bool = False
    chips: tuple[Chip, ...] = ()
    known: bool = True
    reason: Reason | None = None

    @property
    def repository(self) -> str:
        return repository_of(self.reference)


def stack_rows(plan: Plan, pinned: frozenset[str] = frozenset()) -> tuple[KitRow, ...]:
    """Rows from the top of the stack down. ``pinned``: references the document states with a digest."""
    members = {member.reference: member for member in plan.members}
    order = [reference for reference in plan.ordered if reference in members]
    order += [reference for reference in members if reference not in order]
    workloads = {plan.workload} if plan.workload else set()
    troubled = {kit for problem in (*plan.problems, *plan.runtime_problems) for kit in problem.kits}
    asked: dict[str, list[Permission]] = defaultdict(list)
    for permission in plan.permissions:
        for kit in {asker.kit for asker in permission.askers}:
            asked[kit].append(permission)
    rows = []
    for index, reference in enumerate(order):
        member = members[reference]
        name, version = name_and_version(member)
        rows.append(
            KitRow(
                reference,
                name,
                version,
                workload=reference in workloads or _is_workload(member.descriptor),
                pinned=reference in pinned or "@sha256:" in reference,
                loading=member.loading,
                problem=reference in troubled or member.failure is not None,
                chips=_chips(member, asked[reference]),
                known=member.descriptor is not None,
                reason=_reason(plan, member, order[index - 1]) if index else None,
            )
        )
    return tuple(reversed(rows))


def name_and_version(member: Member) -> tuple[str, str]:
    """What a row calls a Kit: the last segment of its repository and its version or tag."""
    repository = repository_of(member.reference)
    name = repository.rpartition("/")[2] or member.reference
    tag = member.reference.partition("@")[0].rpartition("/")[2].partition(":")[2]
    version = tag or (claim(member.descriptor.version, 40) if member.descriptor is not None else "")
    return claim(name, 80) or member.reference, version


def problem_kits(problem: Problem) -> str:
    """``agent 4.1.0 and agent-mixin 4.1.0``: the Kits a problem names, short."""
    named = [" ".join(part for part in name_and_version(Member(kit)) if part) for kit in problem.kits]
    if len(named) > 4:
        named = [*named[:3], tr("{n} more").format(n=len(named) - 3)]
    return tr(" and ").join([", ".join(named[:-1]), named[-1]]) if len(named) > 1 else "".join(named)


def blocking(plan: Plan) -> int:
    """How many things stand between the set and a launch."""
    return len(plan.problems) + len(plan.runtime_problems)


def order_explained(plan: Plan) -> str:
    """Why the stack stands as it does, one Kit a line, from the bottom up."""
    lines = []
    for row in reversed(stack_rows(plan)):
        why = row.reason.text if row.reason is not None else tr("is the base everything stands on")
        lines.append(f"{row.name} {row.version}: {why}".strip())
    return "\n".join(lines)


def _chips(member: Member, own: Sequence[Permission]) -> tuple[Chip, ...]:
    if own:
        return chips(own)
    return chips(member.descriptor) if member.descriptor is not None else ()


def heaviest(found: tuple[Chip, ...]) -> Weight:
    """The weight of the heaviest chip."""
    return max((chip.weight for chip in found), default=Weight.INFO)


def _is_workload(descriptor: Descriptor | None) -> bool:
    return descriptor is not None and descriptor.kind == "workload"


def _reason(plan: Plan, member: Member, below: str) -> Reason:
    reference = member.reference
    if member.descriptor is None:
        return Reason(tr("its place is not known"), far=True)
    missing: Mapping[str, None] = dict.fromkeys(
        problem.name for problem in plan.problems if problem.kind in _MISSING and reference in problem.kits
    )
    if missing:
        return Reason(tr("needs"), _listed(tuple(missing)), tr(", missing"), missing=True, far=True)
    doubled = [p.name for p in plan.problems if p.kind is ProblemKind.SEVERAL_PROVIDERS and reference in p.kits]
    if doubled:
        return Reason(tr("also offers"), _listed(tuple(doubled)), far=True)
    edges = [edge for edge in plan.edges if edge.requirer == reference]
    for words, wanted in ((tr("needs"), False), (tr("works with"), True)):
        found = [edge for edge in edges if edge.integrates is wanted]
        if found:
            names = _listed(tuple(dict.fromkeys(edge.name for edge in found)))
            near = any(edge.provider == below for edge in found)
            return Reason(words, names, "" if near else _from(found), far=not near)
    return Reason(tr("runs on any base"), far=True)


def _from(edges: Sequence[Edge]) -> str:
    """Who offers it, where that is not the row below."""
    names = [name_and_version(Member(provider))[0] for provider in dict.fromkeys(edge.provider for edge in edges)]
    return tr(" from {names}").format(names=tr(" and ").join(names[:2])) + tr(", further down")


def _listed(names: tuple[str, ...]) -> str:
    shown = [claim(name.removeprefix(_OWN), 60) for name in names[:_NAMES]]
    more = len(names) - _NAMES
    return ", ".join(shown) + (tr(" and {n} more").format(n=more) if more > 0 else "")
