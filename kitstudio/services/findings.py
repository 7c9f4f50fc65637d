"""Findings, permissions and problems as JSON: the one shape records, ``--json`` and copies share."""

from __future__ import annotations

from kitstudio.models.plan import Problem
from kitstudio.models.review import Finding, Permission, Uncounted
from kitstudio.models.surface import Widening


def finding_json(finding: Finding) -> dict[str, object]:
    """One finding as a record keeps it, with every widening it carries."""
    made = widening_json(finding, finding.widenings[0])
    made["entry"] = finding.permission.entry
    made["widenings"] = [{"category": w.category, "detail": w.detail} for w in finding.widenings]
    made["removedRefusal"] = finding.removed_refusal
    made["phase"] = str(finding.permission.phase)
    made["optional"] = finding.permission.optional
    made["askers"] = [
        {"kit": asker.kit, "path": asker.path, "line": asker.line, "reason": asker.reason}
        for asker in finding.permission.askers
    ]
    if finding.tick:
        made["tick"] = finding.tick
    if finding.moved_from:
        made["movedFrom"] = list(finding.moved_from)
    return made


def widening_json(finding: Finding, widening: Widening) -> dict[str, object]:
    """One widening of ``diff``: category and detail as the specification counts, our words and weight beside them."""
    return {
        "category": widening.category,
        "detail": widening.detail or None,
        "weight": finding.weight.name.lower(),
        "sentence": finding.permission.sentence,
        **_asker(finding.permission),
    }


def permission_json(permission: Permission) -> dict[str, object]:
    """One entry of a surface in the same shape, for what narrowed."""
    return {
        "category": permission.category,
        "detail": permission.detail or None,
        "weight": permission.weight.name.lower(),
        "sentence": permission.sentence,
        **_asker(permission),
    }


def uncounted_json(change: Uncounted) -> dict[str, object]:
    """A change §7.4 leaves out."""
    return {"sentence": change.sentence, "kit": change.kit, "path": change.path}


def problem_json(problem: Problem) -> dict[str, object]:
    """One problem of a set."""
    return {
        "kind": problem.kind.value,
        "kits": list(problem.kits),
        "name": problem.name,
        "message": problem.message,
        "remedies": [
            {"kind": r.kind.value, "label": r.label, "kit": r.kit, "other": r.other, "arg": r.arg}
            for r in problem.remedies
        ],
    }


def _asker(permission: Permission) -> dict[str, object]:
    first = permission.askers[0] if permission.askers else None
    return {"kit": first.kit if first else "", "path": first.path if first else ""}
