"""A decision as it was shown: the review made again out of its record, every value bounded and checked.

A record is this home's own, yet the file can be damaged: what does not fit is left out, never guessed at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from kitstudio.models import lock as locks
from kitstudio.models.changes import FIELD_OF
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import Lock
from kitstudio.models.plan import Member, Plan
from kitstudio.models.recall import permission_of
from kitstudio.models.review import Asker, Finding, Phase, Review, Weight
from kitstudio.models.surface import Widening
from kitstudio.services.approvals import Record, Request

_WEIGHTS = {weight.name.lower(): weight for weight in Weight}
_PHASES = {str(phase): phase for phase in Phase}


def request_of(record: Record, previous: Record | None) -> Request:
    """The question as it was asked. ``previous``: the record that made the lock that was in force then."""
    asked = _lock(record)
    granted = _lock(previous) if previous is not None else None
    findings = tuple(found for f in record.findings if (found := _finding(f)) is not None)
    review = Review(record.title, not record.previous_sha256, findings)
    members = tuple(Member(kit.reference, kit.digest) for kit in asked.kits) if asked is not None else ()
    workload = next((kit.reference for kit in asked.kits if kit.kind == "workload"), "") if asked is not None else ""
    plan = Plan(members=members, workload=workload)
    return Request(f"record-{record.lock_sha256}-{record.time}", record.name, plan, review, granted)


def _lock(record: Record) -> Lock | None:
    try:
        return locks.decode(json.dumps(dict(record.lock), ensure_ascii=False))
    except KitStudioError:
        return None


def _finding(stored: Mapping[str, object]) -> Finding | None:
    widenings = _widenings(stored)
    if not widenings:
        return None
    first = widenings[0]
    row = permission_of((FIELD_OF[first.category], first.detail))
    weight = _WEIGHTS.get(str(stored.get("weight", "")), Weight.CRITICAL)
    removed = bool(stored.get("removedRefusal"))
    permission = replace(
        row,
        entry=str(stored.get("entry") or row.entry),
        sentence=str(stored.get("sentence") or row.sentence),
        weight=weight,
        phase=_PHASES.get(str(stored.get("phase", "")), row.phase),
        optional=bool(stored.get("optional")),
        denies=removed,
        askers=_askers(stored),
    )
    tick = str(stored.get("tick") or row.tick) if weight is Weight.CRITICAL else ""
    moved = stored.get("movedFrom")
    left = tuple(str(kit) for kit in moved) if isinstance(moved, list) else ()
    return Finding(permission, widenings, removed, tick, left)


def _widenings(stored: Mapping[str, object]) -> tuple[Widening, ...]:
    listed = stored.get("widenings")
    rows = listed if isinstance(listed, list) and listed else [stored]
    made = [Widening(str(r.get("category", "")), str(r.get("detail") or "")) for r in rows if isinstance(r, Mapping)]
    return tuple(widening for widening in made if widening.category in FIELD_OF)


def _askers(stored: Mapping[str, object]) -> tuple[Asker, ...]:
    listed = stored.get("askers")
    rows = listed if isinstance(listed, list) else [stored]
    found = []
    for asker in rows:
        if isinstance(asker, Mapping) and asker.get("kit"):
            line = asker.get("line")
            reason = str(asker.get("reason") or "")
            at = line if isinstance(line, int) else 0
            found.append(Asker(str(asker["kit"]), str(asker.get("path") or ""), at, reason))
    return tuple(found)
