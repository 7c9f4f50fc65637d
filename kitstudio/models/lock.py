"""The lock: what was approved, for one set and one installation (``cli.md``, last paragraph; core digest §9).

Owner module of ``Lock``, its canonical JSON, ``gate`` and ``verify_recreate``. No time and no user in it: those
are in the approval record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitstudio.models import surface as surface_module
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.resolve import Resolution, Unit
from kitstudio.models.surface import Surface, project


@dataclass(frozen=True, slots=True)
class LockedKit:
    """One Kit in composition order. ``args``: values as used, secrets as ``None`` (``{"secret": true}`` in JSON)."""

    reference: str
    digest: str
    kind: str
    args: Mapping[str, str | None] = field(default_factory=dict)
    surface: Surface = field(default_factory=Surface)


@dataclass(frozen=True, slots=True)
class Answer:
    """One finding and what the person said: ``approved`` or ``declined`` (only optional ones can be declined)."""

    key: str
    answer: str


@dataclass(frozen=True, slots=True)
class Lock:
    """See module docstring. ``effective_digest``: SHA-256 of the canonical JSON of the effective descriptor.

    ``selection``: ``KIT#PATH`` of each optional item → in or out.
    """

    name: str
    kits: tuple[LockedKit, ...]
    surface: Surface
    effective_digest: str
    answers: tuple[Answer, ...] = ()
    selection: Mapping[str, bool] = field(default_factory=dict)
    set_args: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApprovedLock:
    """A lock whose SHA-256 stands in this home's approval records, with the descriptor it approves.

    Only ``services.approvals`` makes one; ``runtime`` accepts nothing else. ``effective``: the enforced
    descriptor; ``selected``: per reference, the Kit's own selected part (hooks keep their Kit this way);
    ``lines``: per reference, dotted path → 1-based line, for "which descriptor line decided".
    """

    lock: Lock
    sha256: str
    effective: Descriptor
    selected: Mapping[str, Descriptor]
    lines: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def reference_lock(resolution: Resolution) -> dict[str, object]:
    """The lock of the specification's reference: version 1, Kits in composition order, each with its surface."""
    return {"version": 1, "kits": [_reference_kit(resolution.units[i]) for i in resolution.ordered]}


def _reference_kit(unit: Unit) -> dict[str, object]:
    written: dict[str, object] = {"reference": unit.reference, "digest": unit.digest}
    written["kind"] = unit.descriptor.kind if unit.descriptor is not None else ""
    if unit.args:
        written["args"] = dict(sorted(unit.args.items()))
    surface = project(unit.descriptor) if unit.descriptor is not None else Surface()
    written["permissions"] = surface_module.to_json(surface)
    return written
