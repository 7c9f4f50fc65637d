"""§9.5 at create: the selected requests of a set's Kits as the one descriptor that is enforced.

The same reconciliation as publishing a set; groups must be selected first, bodies stay with their Kits, and
provenance is left behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kitstudio.models.descriptor import Capability, CapabilityGroup, Descriptor
from kitstudio.models.merge import MergeError, merge_relations
from kitstudio.models.reconcile import Asked, Conflict, Contribution, reconcile


@dataclass(frozen=True, slots=True)
class Composition:
    """The composed descriptor, as far as there are no conflicts."""

    descriptor: Descriptor
    conflicts: tuple[Conflict, ...] = ()


def compose(contributions: Sequence[Contribution]) -> Descriptor:
    """The composed descriptor. Raises ``MergeError`` with every conflict."""
    composed = try_compose(contributions)
    if composed.conflicts:
        raise MergeError(composed.conflicts)
    return composed.descriptor


def try_compose(contributions: Sequence[Contribution]) -> Composition:
    """Compose and list what is in the way."""
    base, conflicts = merge_relations(contributions)
    asked = []
    for contribution in contributions:
        for index, item in enumerate(contribution.descriptor.capabilities):
            path = f"capabilities[{index}]"
            if isinstance(item, CapabilityGroup):
                message = f"{contribution.reference} still has a group; select before composing."
                conflicts.append(Conflict((contribution.reference,), path, message))
            elif isinstance(item, Capability):
                asked.append(Asked(contribution.reference, path, replace(item, source=None)))
    merged = reconcile(asked)
    return Composition(replace(base, capabilities=merged.entries), (*conflicts, *merged.conflicts))
