"""§5.3: whether a set of Kits is coherent, and in which order they compose.

All problems are listed together, in the order of the reference: workloads, offers, owners, needs, conflicts. The set
is closed: names are judged against what its members offer, nothing is fetched to satisfy one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kitstudio.models import words
from kitstudio.models.capabilities import credential
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.descriptor import Capability, Descriptor, Kind
from kitstudio.models.errors import DescriptorError
from kitstudio.models.problems import Problem, ProblemKind
from kitstudio.models.relations import Provide, Require, parse_conflict, parse_provide, parse_require, satisfies
from kitstudio.models.versions import is_version, reference_version


@dataclass(frozen=True, slots=True)
class Unit:
    """One Kit of a set: the reference it is consumed by, its descriptor, the args it was given."""

    reference: str
    descriptor: Descriptor | None
    digest: str = ""
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Need:
    """``requirer`` needs, or works with, ``provider`` by ``name``. Indices of units. ``entry``: as it is stated."""

    requirer: int
    provider: int
    name: str
    integrates: bool
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A set, resolved. Indices are positions in the units given.

    ``topological``: providers before those that need them; ``ordered``: the same with the workload first. Units on or
    behind a cycle are in ``stuck`` and in neither.
    """

    units: tuple[Unit, ...]
    problems: tuple[Problem, ...]
    topological: tuple[int, ...] = ()
    workload: int | None = None
    needs: tuple[Need, ...] = ()
    stuck: tuple[int, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def ordered(self) -> tuple[int, ...]:
        if self.workload is None or self.workload in self.stuck:
            return self.topological
        return (self.workload, *(i for i in self.topological if i != self.workload))


def resolve(units: Sequence[Unit], *, partial: bool = False) -> Resolution:
    """Judge a set. ``partial``: a set of a set, which may have no workload."""
    if not units:
        return Resolution((), (Problem(ProblemKind.EMPTY_SET, (), "", "The set lists no Kits."),))
    bare = tuple(unit.reference for unit in units if unit.descriptor is None)
    if bare:
        problem = Problem(ProblemKind.NOT_A_KIT, bare, "", f"{words.kit_name(bare[0])} has no descriptor.")
        return Resolution(tuple(units), (problem,))
    offers = Offers(units)
    problems = [
        *_workloads(units, offers, partial),
        *offers.problems,
        *_owners(units, offers),
        *credential_owners(units, [ordinary(unit.descriptor) for unit in units]),
        *_requires(units, offers),
        *_integrates(units, offers),
        *_conflicts(units, offers),
    ]
    needs = _needs(units, offers)
    topological, stuck = _order(units, needs)
    if stuck and not problems:
        problems = [cycle_problem(units, stuck)]
    workload = next((i for i, unit in enumerate(units) if _kind(unit) == Kind.WORKLOAD), None)
    return Resolution(tuple(units), tuple(problems), topological, workload, needs, stuck)


def cycle_problem(units: Sequence[Unit], stuck: Sequence[int]) -> Problem:
    """Kits that wait for each other; those merely behind them are named as well."""
    kits = tuple(sorted(units[i].reference for i in stuck))
    message = f"{_names(units, kits)} need each other in a circle, so none of them can come first."
    return Problem(ProblemKind.CYCLE, kits, "", message)


def credential_owners(units: Sequence[Unit], entries: Sequence[Sequence[Capability]]) -> list[Problem]:
    """One owner for each service and phase among the given entries of each unit."""
    owners: dict[tuple[str, str], list[int]] = {}
    for index, requests in enumerate(entries):
        for entry in requests:
            if entry.type != credential.TYPE.name:
                continue
            try:
                typed = credential.TYPE.decode(entry.config)
            except ShapeError:
                continue
            for phase in typed.phases:
                holders = owners.setdefault((typed.service, phase), [])
                if index not in holders:
                    holders.append(index)
    found = []
    for (service, phase), holders in sorted(owners.items()):
        if len(holders) > 1:
            kits = tuple(units[i].reference for i in holders)
            message = (
                f"{_names(units, kits)} {_all(kits)} sign in to {words.exact(service)} at {phase}. One Kit owns it."
            )
            found.append(Problem(ProblemKind.SEVERAL_CREDENTIAL_OWNERS, kits, f"{service}/{phase}", message))
    return found


def ordinary(descriptor: Descriptor | None) -> tuple[Capability, ...]:
    """The requests outside groups."""
    items = descriptor.capabilities if descriptor is not None else ()
    return tuple(item for item in items if isinstance(item, Capability))


def effective_provides(unit: Unit) -> Iterator[tuple[str, Provide | DescriptorError]]:
    """Each ``provides`` entry with the version it counts with: its own, the reference's, the descriptor's (§4)."""
    if unit.descriptor is None:
        return
    fallback = reference_version(unit.reference) or unit.descriptor.version.strip()
    for text in unit.descriptor.provides:
        try:
            provide = parsed_provide(text)
        except DescriptorError as error:
            yield text, error
            continue
        if not provide.version and is_version(fallback):
            provide = Provide(provide.name, fallback)
        yield text, provide


class Offers:
    """What the units of a set offer, by normalised name."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._names = words.kit_names([unit.reference for unit in units])
        self.by_name: dict[str, list[tuple[int, Provide]]] = {}
        self.problems: list[Problem] = []
        for index, unit in enumerate(units):
            for text, provide in effective_provides(unit):
                if isinstance(provide, DescriptorError):
                    self.problems.append(_malformed(unit, text, provide))
                else:
                    self.by_name.setdefault(provide.name, []).append((index, provide))

    def others(self, name: str, index: int) -> list[tuple[int, Provide]]:
        """Offers of a name by units other than ``index``: no Kit answers its own need."""
        return [offer for offer in self.by_name.get(name, ()) if offer[0] != index]

    def say(self, *kits: str) -> str:
        """References in the words of a message."""
        return words.listed([self._names[kit] for kit in kits], limit=6)


def _workloads(units: Sequence[Unit], offers: Offers, partial: bool) -> list[Problem]:
    found = [unit.reference for unit in units if _kind(unit) == Kind.WORKLOAD]
    if not found and not partial:
        message = "The set has no workload: a Kit the others are put on."
        return [Problem(ProblemKind.NO_WORKLOAD, (), "", message)]
    return [
        Problem(
            ProblemKind.SEVERAL_WORKLOADS,
            (found[0], extra),
            "",
            f"{offers.say(found[0], extra)} are both workloads. A set can have one.",
        )
        for extra in found[1:]
    ]


def _owners(units: Sequence[Unit], offers: Offers) -> Iterator[Problem]:
    for name in sorted(offers.by_name):
        holders = tuple(dict.fromkeys(index for index, _ in offers.by_name[name]))
        if len(holders) > 1:
            kits = tuple(units[i].reference for i in holders)
            message = f"{offers.say(*kits)} {_all(kits)} offer {words.quoted(shown(name))}. A set can have one."
            yield Problem(ProblemKind.SEVERAL_PROVIDERS, kits, name, message)


def _requires(units: Sequence[Unit], offers: Offers) -> Iterator[Problem]:
    for index, unit, text, require in _parsed(units, "requires"):
        if isinstance(require, DescriptorError):
            yield _malformed(unit, text, require)
            continue
        others = offers.others(require.name, index)
        who, wanted = offers.say(unit.reference), words.quoted(text)
        if any(satisfies(provide, require) for _, provide in others):
            continue
        kits = (unit.reference,)
        if not others and require.name in offers.by_name:
            message = f"{who} needs {wanted}, and only offers it itself; another Kit has to."
            yield Problem(ProblemKind.REQUIRES_UNSATISFIED, kits, text, message)
        elif not others:
            message = f"{who} needs {wanted}, and nothing in the set offers it."
            yield Problem(ProblemKind.REQUIRES_MISSING, kits, text, message)
        else:
            message = f"{who} needs {wanted}, and the set only offers {_offered(units, offers, others)}."
            yield Problem(ProblemKind.REQUIRES_UNSATISFIED, kits, text, message)


def _integrates(units: Sequence[Unit], offers: Offers) -> Iterator[Problem]:
    for index, unit, text, require in _parsed(units, "integrates"):
        if isinstance(require, DescriptorError):
            yield _malformed(unit, text, require)
            continue
        others = offers.others(require.name, index)
        if others and not any(satisfies(provide, require) for _, provide in others):
            who, wanted = offers.say(unit.reference), words.quoted(text)
            message = f"{who} works with {wanted}, but the set has {_offered(units, offers, others)}."
            yield Problem(ProblemKind.INTEGRATES_VIOLATED, (unit.reference,), text, message)


def _conflicts(units: Sequence[Unit], offers: Offers) -> Iterator[Problem]:
    for index, unit in enumerate(units):
        for text in unit.descriptor.conflicts if unit.descriptor else ():
            try:
                name = parse_conflict(text)
            except DescriptorError as error:
                yield _malformed(unit, text, error)
                continue
            for other in dict.fromkeys(i for i, _ in offers.others(name, index)):
                kits = (unit.reference, units[other].reference)
                who, rival = offers.say(kits[0]), offers.say(kits[1])
                message = f"{who} cannot be in a set with {words.quoted(text)}, which {rival} offers."
                yield Problem(ProblemKind.CONFLICT, kits, text, message)


def _needs(units: Sequence[Unit], offers: Offers) -> tuple[Need, ...]:
    found: dict[tuple[int, int, str], Need] = {}
    for field_name in ("requires", "integrates"):
        for index, _, text, require in _parsed(units, field_name):
            if isinstance(require, DescriptorError):
                continue
            for provider, provide in offers.others(require.name, index):
                if satisfies(provide, require):
                    need = Need(index, provider, require.name, field_name == "integrates", text)
                    found.setdefault((index, provider, require.name), need)
                    break
    return tuple(found.values())


def _order(units: Sequence[Unit], needs: Sequence[Need]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return topological([(unit.reference.encode(), i) for i, unit in enumerate(units)], needs)


def topological(ranks: Sequence[tuple[bytes, int]], needs: Sequence[Need]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Providers before requirers, the smallest rank first among those ready; and what a cycle leaves over."""
    waiting = [0] * len(ranks)
    dependants: list[list[int]] = [[] for _ in ranks]
    for requirer, provider in {(need.requirer, need.provider) for need in needs}:
        waiting[requirer] += 1
        dependants[provider].append(requirer)
    ready = [(rank, i) for i, rank in enumerate(ranks) if not waiting[i]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for other in dependants[index]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, (ranks[other], other))
    done = set(order)
    return tuple(order), tuple(i for i in range(len(ranks)) if i not in done)


def _parsed(units: Sequence[Unit], field_name: str) -> Iterator[tuple[int, Unit, str, Require | DescriptorError]]:
    entries: Callable[[Descriptor], tuple[str, ...]] = (
        (lambda d: d.requires) if field_name == "requires" else (lambda d: d.integrates)
    )
    for index, unit in enumerate(units):
        for text in entries(unit.descriptor) if unit.descriptor else ():
            try:
                yield index, unit, text, parsed_require(text)
            except DescriptorError as error:
                yield index, unit, text, error


def _malformed(unit: Unit, text: str, error: DescriptorError) -> Problem:
    message = f"{words.kit_name(unit.reference)} states {words.quoted(text)}, which is not well formed."
    return Problem(ProblemKind.MALFORMED_ENTRY, (unit.reference,), "", message, detail=words.exact(str(error)))


def _kind(unit: Unit) -> str:
    return unit.descriptor.kind if unit.descriptor is not None else ""


def _offered(units: Sequence[Unit], offers: Offers, others: Sequence[tuple[int, Provide]]) -> str:
    spoken = [f"{shown(p.name)}{f' {p.version}' if p.version else ' without a version'}" for _, p in others]
    kits = offers.say(*dict.fromkeys(units[i].reference for i, _ in others))
    return f"{' and '.join(dict.fromkeys(spoken))} ({kits})"


def _all(kits: Sequence[str]) -> str:
    return "both" if len(kits) == 2 else "all"


def shown(name: str) -> str:
    """A normalised name as people write it."""
    return name.removeprefix("com.docker.kit/")


def _names(units: Sequence[Unit], kits: Sequence[str]) -> str:
    names = words.kit_names([unit.reference for unit in units])
    return words.listed([names.get(kit, kit) for kit in kits], limit=6)


@lru_cache(maxsize=16384)
def parsed_provide(text: str) -> Provide:
    """``parse_provide``, remembered: the same text is read over and over while a set is edited."""
    return parse_provide(text)


@lru_cache(maxsize=4096)
def parsed_require(text: str) -> Require:
    """``parse_require``, remembered."""
    return parse_require(text)
