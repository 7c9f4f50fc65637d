"""What an optional request needs of this computer, judged before selection: a group is taken or left as a whole, so
what is not here must be known before anything of the group applies (§7.1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kitstudio.models.capabilities import credential as credential_type
from kitstudio.models.descriptor import Capability
from kitstudio.models.plan import Plan
from kitstudio.models.selection import Record
from kitstudio.runtime.capabilities import CREDENTIAL, GIT_IDENTITY, SSH_AGENT


@dataclass(frozen=True, slots=True)
class Available:
    """What this computer has: a complete Git identity, an SSH agent, secrets bound to ``services``."""

    identity: bool = False
    agent: bool = False
    services: frozenset[str] = frozenset()


def missing(plan: Plan, available: Available) -> dict[str, bool]:
    """``SetState.choices`` that leave out optional requests which cannot be granted, and the groups they are in."""
    return {
        f"{kit}#{path}": False
        for kit, record, path, entry in requests(plan)
        if record.optional and not _has(available, entry)
    }


def services(plan: Plan) -> tuple[str, ...]:
    """The services that selected requests sign in to."""
    found = [credential_type.TYPE.decode(entry.config).service for *_, entry in requests(plan) if _signs_in(entry)]
    return tuple(dict.fromkeys(found))


def requests(plan: Plan) -> Iterator[tuple[str, Record, str, Capability]]:
    """Every selected request: its Kit, the record of its item, its own path, the request."""
    for kit, selection in plan.records.items():
        entries = {each.path: each.entry for each in selection.entries}
        for record in selection.selected:
            for path in record.members:
                yield kit, record, path, entries[path]


def _has(available: Available, entry: Capability) -> bool:
    if entry.type == GIT_IDENTITY:
        return available.identity
    if entry.type == SSH_AGENT:
        return available.agent
    return not _signs_in(entry) or credential_type.TYPE.decode(entry.config).service in available.services


def _signs_in(entry: Capability) -> bool:
    return entry.type == CREDENTIAL
