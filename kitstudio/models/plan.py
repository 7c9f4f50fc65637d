"""From a set and its members to one judged whole: args, environment, §5.3, selection, §9.5 compose, surface.

Pure: the services hand in what they fetched, the window and the command line render the ``Plan``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kitstudio.models import review as reviews
from kitstudio.models import surface as surfaces
from kitstudio.models import words
from kitstudio.models.choices import Choice as Choice
from kitstudio.models.compose import try_compose
from kitstudio.models.descriptor import Arg, Capability, Descriptor, Kind
from kitstudio.models.inputs import OWN, Declared, Settled, settle
from kitstudio.models.inputs import Input as Input
from kitstudio.models.issue import Issue
from kitstudio.models.parts import Part, part_of
from kitstudio.models.planned import Edge as Edge
from kitstudio.models.planned import Member as Member
from kitstudio.models.planned import Plan as Plan
from kitstudio.models.prepare import Remembered, prepare, published_faults
from kitstudio.models.problems import Problem as Problem
from kitstudio.models.problems import ProblemKind as ProblemKind
from kitstudio.models.problems import Remedy as Remedy
from kitstudio.models.problems import RemedyKind as RemedyKind
from kitstudio.models.reconcile import Contribution
from kitstudio.models.remedies import Ground, with_remedies
from kitstudio.models.remedies import Offer as Offer
from kitstudio.models.resolve import Offers, Resolution, Unit, credential_owners, cycle_problem, resolve
from kitstudio.models.review import Permission
from kitstudio.models.surface import Surface
from kitstudio.models.validate import Form, validate_descriptor


def plan_set(
    document: Descriptor,
    members: Sequence[Member],
    *,
    secrets: Mapping[tuple[str, str], str] | None = None,
    set_args: Mapping[str, str] | None = None,
    choices: Mapping[str, bool] | None = None,
    claimed: frozenset[str] | None = None,
    environment: Mapping[str, str] | None = None,
    catalog_offers: Sequence[Offer] = (),
) -> Plan:
    """Judge a set. Never raises for bad input: what is wrong is a problem of the plan.

    ``secrets``: (kit, arg) → value, kept out of the set. ``set_args``: values of the set's own args. ``choices``:
    ``KIT#PATH`` of optional items → in or out. ``claimed``: types the runtime enforces, None when no runtime is asked.
    ``environment``: runtime overrides, which win over what images and args set (§6.1). ``catalog_offers``: Kits that
    could be added.
    """
    return _Planning(
        document,
        tuple({member.reference: member for member in members if member.reference}.values()),
        secrets or {},
        set_args or {},
        choices or {},
        claimed,
        environment or {},
        tuple(catalog_offers),
    ).plan()


@dataclass(slots=True)
class _Planning:
    """The order at create: published form, args, environment, expanded form, §5.3, selection, compose, effective."""

    document: Descriptor
    members: tuple[Member, ...]
    secrets: Mapping[tuple[str, str], str]
    set_args: Mapping[str, str]
    choices: Mapping[str, bool]
    claimed: frozenset[str] | None
    overrides: Mapping[str, str]
    offers: tuple[Offer, ...]
    problems: list[Problem] = field(default_factory=list)

    def plan(self) -> Plan:
        known = self._known()
        units = [Unit(m.reference, m.descriptor, m.digest, m.args) for m in known]
        own = self._own()
        if own is not None:
            units.append(Unit(OWN, own))
        settled = self._settle(known)
        self.problems += settled.problems
        resolution = self._resolve(units)
        order = [units[i].reference for i in resolution.ordered]
        order += [unit.reference for unit in units if unit.reference not in order]
        if OWN in order:
            # The set's own statement is made with the whole composition in view (§9.5).
            order.remove(OWN)
            order.append(OWN)
        environment = self._environment(known, order, settled)
        prepared = self._prepare(known, own, settled, environment)
        parts = self._parts(known, prepared, order)
        entries = [parts[unit.reference].entries() if unit.reference in parts else () for unit in units]
        self.problems += credential_owners(units, entries)
        return self._composed(units, resolution, order, settled, environment, parts)

    def _known(self) -> list[Member]:
        """Members whose published form is there and valid."""
        known = []
        for member in self.members:
            if member.failure is not None:
                self.problems.append(member.failure)
            elif member.descriptor is not None:
                faults = published_faults(member.descriptor)
                if faults:
                    name = words.kit_name(member.reference)
                    message = f"The descriptor of {name} is not valid."
                    detail = _told(faults)
                    self.problems.append(Problem(ProblemKind.NOT_A_KIT, (member.reference,), name, message, detail))
                else:
                    known.append(member)
        return known

    def _own(self) -> Descriptor | None:
        """The set's own declarations as one more contribution, None if it makes none."""
        document = self.document
        faults = [
            issue
            for issue in validate_descriptor(document, Form.DECLARATIONS).errors
            if (document.kits or issue.path != "kits") and not _is_input(issue.path)
        ]
        if faults:
            detail = _told(faults)
            message = "The set's own declarations are not valid."
            self.problems.append(Problem(ProblemKind.MALFORMED_ENTRY, (), "", message, detail))
            return None
        asks = (document.capabilities, document.provides, document.requires, document.integrates, document.conflicts)
        return _owns.get(document, None, lambda: _contribution(document)) if any(asks) else None

    def _settle(self, known: Sequence[Member]) -> Settled:
        create = {name: arg for name, arg in self.document.args.items() if not arg.is_build}
        hidden = self._secrets_of(OWN)
        stated = {name: value for name, value in {**self.set_args, **hidden}.items() if name in create}
        own = Declared(OWN, create, stated, frozenset(hidden))
        kits = []
        for member in known:
            hidden = self._secrets_of(member.reference)
            args = member.descriptor.args if member.descriptor is not None else {}
            kits.append(Declared(member.reference, args, {**member.args, **hidden}, frozenset(hidden)))
        return settle(own, kits)

    def _secrets_of(self, kit: str) -> dict[str, str]:
        return {name: value for (owner, name), value in self.secrets.items() if owner == kit}

    def _resolve(self, units: Sequence[Unit]) -> Resolution:
        resolution = resolve(units)
        incomplete = len(self.members) > sum(1 for unit in units if unit.reference != OWN)
        waiting = {ProblemKind.NO_WORKLOAD, ProblemKind.REQUIRES_MISSING, ProblemKind.EMPTY_SET}
        found = [p for p in resolution.problems if not (incomplete and p.kind in waiting)]
        # Ownership of credentials is judged on what is selected (§7.1.1).
        found = [p for p in found if p.kind is not ProblemKind.SEVERAL_CREDENTIAL_OWNERS]
        if resolution.stuck and not any(p.kind is ProblemKind.CYCLE for p in found):
            found.append(cycle_problem(units, resolution.stuck))
        self.problems += _collapsed(found)
        return resolution

    def _environment(self, known: Sequence[Member], order: Sequence[str], settled: Settled) -> dict[str, str]:
        """Image variables in composition order, then args that are exported, then overrides (§6.1, §10)."""
        by_reference = {member.reference: member for member in known}
        env: dict[str, str] = {}
        for position, member in enumerate(by_reference[ref] for ref in order if ref in by_reference):
            for name, value in member.image_env.items():
                if name == "PATH" and position and "PATH" in env:
                    have = env["PATH"].split(":")
                    value = ":".join([*have, *(part for part in value.split(":") if part and part not in have)])
                env[name] = value
        for reference in order:
            owner = by_reference.get(reference)
            args = owner.descriptor.args if owner is not None and owner.descriptor is not None else {}
            env.update(_exports(args, settled.values.get(reference, {})))
        env.update(_exports(self.document.args, settled.values.get(OWN, {})))
        env.update(self.overrides)
        return env

    def _prepare(
        self, known: Sequence[Member], own: Descriptor | None, settled: Settled, environment: Mapping[str, str]
    ) -> dict[str, Descriptor]:
        """Each Kit's effective declarations, all of them, before selection."""
        found: dict[str, Descriptor] = {}
        secrets: dict[str, list[str]] = {}
        for input_ in settled.inputs:
            if input_.secret:
                secrets.setdefault(input_.kit, []).append(input_.name)
        parts = [(member.reference, member.descriptor) for member in known]
        # A set may ask for what only a workload may: its kind is derived from its Kits (§3.4).
        whole = None if own is None else _wholes.get(own, None, lambda: replace(own, kind=Kind.WORKLOAD.value))
        for reference, descriptor in (*parts, (OWN, whole)):
            if descriptor is None or reference not in settled.values:
                continue
            made, faults = prepare(
                descriptor, settled.values[reference], environment, frozenset(secrets.get(reference, ()))
            )
            if faults:
                kits = (reference,) if reference else ()
                who = words.kit_name(reference) if reference else "The set"
                message = f"{who} is not valid with these inputs."
                detail = _told(faults)
                self.problems.append(Problem(ProblemKind.ARG, kits, "", message, detail))
            elif made is not None:
                found[reference] = made if reference else _as_mixin(made)
        return found

    def _parts(
        self, known: Sequence[Member], prepared: Mapping[str, Descriptor], order: Sequence[str]
    ) -> dict[str, Part]:
        lines = {member.reference: member.lines for member in known}
        return {
            reference: part_of(reference, prepared[reference], self.choices, self.claimed, lines.get(reference))
            for reference in order
            if reference in prepared
        }

    def _composed(
        self,
        units: Sequence[Unit],
        resolution: Resolution,
        order: Sequence[str],
        settled: Settled,
        environment: Mapping[str, str],
        parts: Mapping[str, Part],
    ) -> Plan:
        effective = self._effective(parts, complete=len(parts) == len(units))
        kit_surfaces = {reference: part.surface for reference, part in parts.items()}
        surface = surfaces.project(effective) if effective is not None else surfaces.union(kit_surfaces.values())
        rows = reviews.union(row for part in parts.values() for row in part.permissions)
        workload = "" if resolution.workload is None else units[resolution.workload].reference
        ground = Ground(tuple(member.reference for member in self.members), workload, _provider(units), self.offers)
        return Plan(
            members=self.members,
            problems=with_remedies(map(_of_members, self.problems), ground),
            runtime_problems=tuple(p for part in parts.values() for p in part.runtime_problems),
            ordered=self._shown_order(order),
            topological=tuple(units[i].reference for i in resolution.topological if units[i].reference),
            workload=workload,
            edges=tuple(
                Edge(units[n.requirer].reference, units[n.provider].reference, n.name, n.integrates, n.entry)
                for n in resolution.needs
            ),
            inputs=settled.inputs,
            choices=tuple(choice for part in parts.values() for choice in part.choices),
            effective=effective,
            selected={reference: part.selected for reference, part in parts.items()},
            surface=surface,
            kit_surfaces=kit_surfaces,
            permissions=_within(rows, surface),
            environment=environment,
            loading=any(member.loading for member in self.members),
            records={reference: part.selection for reference, part in parts.items()},
            values=settled.values,
        )

    def _effective(self, parts: Mapping[str, Part], *, complete: bool) -> Descriptor | None:
        """The composed descriptor if it holds; what is in the way becomes problems. ``parts`` are in order."""
        if not parts:
            return None
        composed = try_compose([Contribution(reference, part.selected) for reference, part in parts.items()])
        told = {p.kind for p in self.problems}
        for conflict in composed.conflicts:
            owned_twice = conflict.name == CREDENTIAL and ProblemKind.SEVERAL_CREDENTIAL_OWNERS in told
            if conflict.name == "kind" or owned_twice:
                continue
            kits = tuple(kit for kit in conflict.kits if kit)
            self.problems.append(Problem(ProblemKind.MERGE, kits, conflict.name, conflict.message))
        if composed.conflicts or not complete or any(member.descriptor is None for member in self.members):
            return None
        effective = replace(composed.descriptor, display_name=self.document.display_name, version=self.document.version)
        faults = validate_descriptor(effective, Form.EFFECTIVE).errors
        for issue in faults:
            kits = _concerned(issue.path, effective, parts)
            message = f"The composed set does not hold: {words.exact(issue.message)}."
            self.problems.append(Problem(ProblemKind.MERGE, kits, issue.path, message, issue.remedy))
        return None if faults or self.problems else effective

    def _shown_order(self, order: Sequence[str]) -> tuple[str, ...]:
        placed = [reference for reference in order if reference]
        return (*placed, *(m.reference for m in self.members if m.reference not in placed))


CREDENTIAL = "com.docker.sandbox/credential@1"


def _told(faults: Iterable[Issue]) -> str:
    """One line a fault, nothing hidden in it."""
    return "\n".join(words.exact(str(issue)) for issue in faults)


def _is_input(path: str) -> bool:
    """True for a value given to a listed Kit: what is wrong with it is told as an input."""
    return path.startswith("kits[") and ".args" in path


def _contribution(document: Descriptor) -> Descriptor:
    """What a set states beside its Kits counts as a mixin (§9.5)."""
    return replace(document, kind=Kind.MIXIN.value, kits=(), kits_stated=False, build="", dockerfile="")


def _as_mixin(descriptor: Descriptor) -> Descriptor:
    return _mixins.get(descriptor, None, lambda: replace(descriptor, kind=Kind.MIXIN.value))


_owns: Remembered[Descriptor] = Remembered(64)
_wholes: Remembered[Descriptor] = Remembered(64)
_mixins: Remembered[Descriptor] = Remembered(64)


def _of_members(problem: Problem) -> Problem:
    """A problem names members only; the set itself is none."""
    return replace(problem, kits=tuple(kit for kit in problem.kits if kit)) if OWN in problem.kits else problem


def _exports(args: Mapping[str, Arg], values: Mapping[str, str]) -> dict[str, str]:
    return {arg.env: values[name] for name, arg in args.items() if arg.env and name in values}


def _provider(units: Sequence[Unit]) -> Callable[[str], str]:
    offers = Offers(units)

    def provider(name: str) -> str:
        found = offers.by_name.get(name)
        return units[found[0][0]].reference if found else ""

    return provider


def _collapsed(problems: Iterable[Problem]) -> list[Problem]:
    """Two bases share hundreds of packages: that is one problem, not hundreds."""
    found: list[Problem] = []
    told: set[tuple[str, ...]] = set()
    for problem in problems:
        if problem.kind is ProblemKind.SEVERAL_WORKLOADS:
            told.add(tuple(sorted(problem.kits)))
        if problem.kind is ProblemKind.SEVERAL_PROVIDERS and problem.name.partition("/")[0] in ("deb", "apk"):
            key = tuple(sorted(problem.kits))
            if key in told:
                continue
            told.add(key)
        found.append(problem)
    return found


def _within(rows: Iterable[Permission], surface: Surface) -> tuple[Permission, ...]:
    """Only what the surface holds: a bounded grant that another Kit has outright is not shown as a limit."""
    held = frozenset(surfaces.facts(surface))
    return tuple(row for row in rows if any(fact in held for fact in row.facts))


def _concerned(path: str, effective: Descriptor, parts: Mapping[str, Part]) -> tuple[str, ...]:
    """The Kits that ask for the type an error of the composed descriptor is about."""
    index = path.removeprefix("capabilities[").partition("]")[0]
    if not path.startswith("capabilities[") or not index.isdigit() or int(index) >= len(effective.capabilities):
        return ()
    entry = effective.capabilities[int(index)]
    type_ = entry.type if isinstance(entry, Capability) else ""
    return tuple(ref for ref, part in parts.items() if ref and any(e.type == type_ for e in part.entries()))
