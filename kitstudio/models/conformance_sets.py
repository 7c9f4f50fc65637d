"""The operations of judged cases that look at surfaces and at several Kits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from kitstudio.models import surface as surfaces
from kitstudio.models.canonical import encode
from kitstudio.models.compose import compose as compose_contributions
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.merge import merge as merge_contributions
from kitstudio.models.reconcile import Contribution
from kitstudio.models.resolve import Resolution, Unit
from kitstudio.models.resolve import resolve as resolve_units
from kitstudio.models.selection import Record, supported_types
from kitstudio.models.selection import select as select_requests

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


def select(given: Given) -> Answer:
    """§7.1.1 for a host that grants by type alone."""
    descriptor = decode(given.get("text", "")).descriptor
    selection = select_requests(descriptor, supported_types(frozenset(given.get("supported") or ())))
    return {
        "refused": selection.refused,
        "selected": [_record(record) for record in selection.selected],
        "skipped": [_record(record) for record in selection.skipped],
        "capabilityTypes": None if selection.refused else [item.entry.type for item in selection.entries],
        "errors": [{"path": issue.path} for issue in selection.errors],
    }


def merge(given: Given) -> Answer:
    """§9.5 at publish."""
    merged = merge_contributions(_contributions(given), given.get("contextPath") or "")
    sources = [
        {"Reference": s.reference, "Path": s.path, "Content": s.content, "Target": s.target}
        for s in merged.context_sources
    ]
    return {"descriptor": value_of(merged.descriptor), "contextSources": sources}


def compose(given: Given) -> Answer:
    """§9.5 at create."""
    composed = compose_contributions(_contributions(given))
    return {"descriptor": value_of(composed), "surface": surfaces.to_json(surfaces.project(composed))}


def value_of(descriptor: Descriptor) -> Json:
    """The descriptor as the cases spell it."""
    return json.loads(encode(descriptor))


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


def _contributions(given: Given) -> list[Contribution]:
    return [Contribution(unit["reference"], decode(unit["descriptor"]).descriptor) for unit in given.get("units") or ()]


def _record(record: Record) -> Answer:
    return {
        "path": record.path,
        "name": record.name,
        "source": {"kit": record.source.kit, "path": record.source.path} if record.source else None,
        "members": list(record.members),
        "memberSources": [{"kit": source.kit, "path": source.path} for source in record.member_sources],
        "rejected": list(record.rejected),
        "decisions": [decision.accepted for decision in record.decisions],
    }


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
