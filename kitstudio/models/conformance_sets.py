"""The operations of judged cases that look at surfaces and at several Kits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from kitstudio.models import surface as surfaces
from kitstudio.models.decode import decode
from kitstudio.models.resolve import Resolution, Unit
from kitstudio.models.resolve import resolve as resolve_units

Json: TypeAlias = Any
Given: TypeAlias = Mapping[str, Json]
Answer: TypeAlias = dict[str, Json]


def surface(given: Given) -> Answer:
    """The §7.4 projection of one descriptor."""
    return {"surface": surfaces.to_json(surfaces.project(decode(given.get("text", "")).descriptor))}


def diff(given: Given) -> Answer:
    """The widenings from one descriptor to another."""
    granted, candidate = (surfaces.project(decode(given[side]).descriptor) for side in ("a", "b"))
    widenings = surfaces.diff_widenings(granted, candidate)
    return {"widenings": [{"category": w.category, "detail": w.detail or None} for w in widenings]}


def resolve(given: Given) -> Answer:
    """§5.3 on a closed set."""
    return _resolution(resolve_units(_units(given)), with_lock=True)


def resolve_partial(given: Given) -> Answer:
    """§5.3 on the Kits of a set, which may lack a workload."""
    return _resolution(resolve_units(_units(given), partial=True), with_lock=False)


def _units(given: Given) -> list[Unit]:
    return [
        Unit(
            reference=unit["reference"],
            descriptor=decode(unit["descriptor"]).descriptor,
            digest=unit.get("digest") or "",
            args=unit.get("args") or {},
        )
        for unit in given.get("units") or ()
    ]


def _resolution(found: Resolution, *, with_lock: bool) -> Answer:
    if not found.ok:
        problems = [{"kind": p.kind.value, "kits": list(p.kits), "name": p.name} for p in found.problems]
        return {"ok": False, "problems": problems}
    references = [unit.reference for unit in found.units]
    answer: Answer = {
        "ok": True,
        "topological": [references[index] for index in found.topological],
        "ordered": [references[index] for index in found.ordered],
        "workload": None if found.workload is None else references[found.workload],
    }
    if with_lock:
        answer["lock"] = {"version": 1, "kits": [_locked(found.units[index]) for index in found.ordered]}
    return answer


def _locked(unit: Unit) -> Answer:
    descriptor = unit.descriptor
    if descriptor is None:
        raise AssertionError("a resolved unit has a descriptor")
    return {
        "reference": unit.reference,
        "digest": unit.digest,
        "kind": descriptor.kind,
        "args": dict(unit.args) or None,
        "permissions": surfaces.to_json(surfaces.project(descriptor)),
    }
