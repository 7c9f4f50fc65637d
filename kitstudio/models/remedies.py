"""What one click can do about a problem of a set: each remedy is one undoable step, and says what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from kitstudio.models import words
from kitstudio.models.errors import DescriptorError
from kitstudio.models.problems import Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.models.relations import Provide, Require, satisfies
from kitstudio.models.resolve import parsed_provide, parsed_require, shown
from kitstudio.models.versions import compare, is_version

MOST = 3


@dataclass(frozen=True, slots=True)
class Offer:
    """A Kit the catalog knows: what could be added. ``kind``: workload, mixin, or empty when not known."""

    reference: str
    version: str = ""
    provides: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """What remedies are chosen from: the members, the workload, who offers a name, and the catalog."""

    members: tuple[str, ...]
    workload: str
    provider: Callable[[str], str]
    offers: tuple[Offer, ...]


def with_remedies(problems: Iterable[Problem], ground: Ground) -> tuple[Problem, ...]:
    """The problems, each with what can be done about it."""
    return tuple(problem if problem.remedies else _remedied(problem, ground) for problem in problems)


def _remedied(problem: Problem, ground: Ground) -> Problem:
    match problem.kind:
        case ProblemKind.NO_WORKLOAD:
            bases = _newest(offer for offer in ground.offers if offer.kind == "workload")
            return replace(problem, remedies=tuple(_add(offer) for offer in bases))
        case ProblemKind.SEVERAL_WORKLOADS | ProblemKind.SEVERAL_PROVIDERS | ProblemKind.SEVERAL_CREDENTIAL_OWNERS:
            return replace(problem, remedies=_keep_one(problem.kits))
        case ProblemKind.REQUIRES_MISSING:
            return _missing(problem, ground)
        case ProblemKind.REQUIRES_UNSATISFIED | ProblemKind.INTEGRATES_VIOLATED:
            return replace(problem, remedies=(*_replacements(problem, ground), *_remove(problem.kits)))
        case ProblemKind.CYCLE:
            return replace(problem, remedies=_remove(problem.kits[:MOST]))
        case _:
            return replace(problem, remedies=_remove(problem.kits))


def _missing(problem: Problem, ground: Ground) -> Problem:
    require = _require(problem.name)
    found = _newest(offer for offer in ground.offers if _offers(offer, require))
    detail = problem.detail
    remedies = [_add(offer) for offer in found if offer.kind != "workload"]
    if require is not None and require.name.partition("/")[0] in ("deb", "apk"):
        family = "a Debian-family" if require.name.startswith("deb/") else "an Alpine-family"
        base = words.kit_name(ground.workload) if ground.workload else ""
        detail = f"It needs {family} workload" + (f"; {base} has no package {shown(require.name)}." if base else ".")
    bases = [offer for offer in found if offer.kind == "workload"]
    if ground.workload:
        remedies += [_replace(ground.workload, offer) for offer in bases]
    else:
        remedies += [_add(offer) for offer in bases]
    return replace(problem, detail=detail, remedies=(*remedies[:MOST], *_remove(problem.kits)))


def _replacements(problem: Problem, ground: Ground) -> tuple[Remedy, ...]:
    require = _require(problem.name)
    if require is None:
        return ()
    loser = ground.provider(require.name)
    if not loser or loser in problem.kits:
        return ()
    fitting = [offer for offer in ground.offers if _offers(offer, require) and offer.reference != loser]
    same = [offer for offer in fitting if words.repository(offer.reference) == words.repository(loser)]
    return tuple(_replace(loser, offer) for offer in _newest(same or fitting)[:MOST])


def _keep_one(kits: Sequence[str]) -> tuple[Remedy, ...]:
    names = words.kit_names(kits)
    if len(set(kits)) == 2:
        first, second = dict.fromkeys(kits)
        return (
            Remedy(RemedyKind.REMOVE, f"Keep {names[first]}", kit=second),
            Remedy(RemedyKind.REMOVE, f"Keep {names[second]} instead", kit=first),
        )
    return _remove(kits)


def _remove(kits: Sequence[str]) -> tuple[Remedy, ...]:
    names = words.kit_names(kits)
    return tuple(Remedy(RemedyKind.REMOVE, f"Remove {names[kit]}", kit=kit) for kit in dict.fromkeys(kits) if kit)


def _add(offer: Offer) -> Remedy:
    return Remedy(RemedyKind.ADD, f"Add {words.kit_name(offer.reference)}", other=offer.reference)


def _replace(loser: str, offer: Offer) -> Remedy:
    label = f"Use {words.kit_name(offer.reference)}"
    return Remedy(RemedyKind.REPLACE, label, kit=loser, other=offer.reference)


def _newest(offers: Iterable[Offer]) -> list[Offer]:
    """The newest version of each repository, at most ``MOST`` of them, names in order."""
    best: dict[str, Offer] = {}
    for offer in offers:
        name = words.repository(offer.reference)
        if name not in best or _by_version(best[name], offer) < 0:
            best[name] = offer
    return sorted(best.values(), key=lambda offer: offer.reference)[:MOST]


def _by_version(one: Offer, other: Offer) -> int:
    if not (is_version(one.version) and is_version(other.version)):
        return is_version(one.version) - is_version(other.version)
    return compare(one.version, other.version)


def _offers(offer: Offer, require: Require | None) -> bool:
    if require is None:
        return False
    for text in offer.provides:
        try:
            provide = parsed_provide(text)
        except DescriptorError:
            # A catalog entry that does not parse offers nothing.
            continue
        if not provide.version and is_version(offer.version):
            provide = Provide(provide.name, offer.version)
        if satisfies(provide, require):
            return True
    return False


def _require(text: str) -> Require | None:
    try:
        return parsed_require(text)
    except DescriptorError:
        return None
