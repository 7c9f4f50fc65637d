"""The set of a sandbox, to be changed: as it was approved, what recreation drops, and an entry a refusal suggests.

Nothing here widens anything: a changed set goes through the composer and the gate like every other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kitstudio.models import set_file
from kitstudio.models.descriptor import Descriptor, JsonValue, Kind, ListedKit
from kitstudio.models.lock import Lock, differences, from_plan
from kitstudio.models.plan import Plan
from kitstudio.models.surface import diff_widenings
from kitstudio.models.words import claim
from kitstudio.runtime.backend import Decision
from kitstudio.services.approvals import Approvals
from kitstudio.services.composition import SetState

_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()+,;=:@%/-]{0,1000}")
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_MOST_LOST = 12


@dataclass(frozen=True, slots=True)
class Proposal:
    """One network entry, as exact as the refusal was. ``text``: the entry as a person reads it."""

    type: str
    config: Mapping[str, JsonValue]
    text: str
    phase: str


@dataclass(frozen=True, slots=True)
class SandboxSet:
    """The approved set of ``sandbox``: its ``lock``, and the text, choices and inputs it was made of."""

    sandbox: str
    lock: Lock
    state: SetState
    proposal: Proposal | None = None


async def set_of(approvals: Approvals, sandbox: str, lock_sha256: str, proposal: Proposal | None = None) -> SandboxSet:
    """What a sandbox was made from, as its approval record has it; raises ``ApprovalError`` where there is none."""
    lock, document = await approvals.granted(lock_sha256)
    state = SetState(
        document or _rendered(lock),
        choices=dict(lock.selection),
        set_args={name: value for name, value in lock.set_args.items() if value is not None},
    )
    return SandboxSet(sandbox, lock, state, proposal)


def propose(decision: Decision) -> tuple[Proposal | None, str]:
    """The entry that would have allowed a refused request, or None and why no entry of a set would."""
    if ".deny" in decision.path or decision.reason.startswith("denied by"):
        return None, (
            "An entry of the set refuses it, and a refusal is stronger than every allowance. Use a version of that Kit "
            "without the refusal, or leave the Kit out."
        )
    if decision.phase not in ("install", "runtime"):
        return None, "The network is closed in this phase, whatever a set asks for."
    host = decision.host
    if not 0 < decision.port < 65536 or not _HOST.fullmatch(host):
        return None, "What was asked for is no host name that an entry could name."
    bounded = ".allow" in decision.path
    if not bounded and not decision.reason.startswith("no entry names") and decision.reason:
        return None, "It was not refused for want of an entry. What refused it is said above."
    if not bounded:
        target = f"{host}:{decision.port}"
        config: dict[str, JsonValue] = {decision.phase: {"allow": [target]}}
        return Proposal("com.docker.sandbox/network-policy@1", config, target, decision.phase), ""
    method = decision.method or ""
    path = (decision.url_path or "").partition("?")[0]
    if method not in _METHODS or not _PATH.fullmatch(path) or path.endswith("/**"):
        return None, "An entry bounds this host by method and path, and this request states none that can be named."
    target = f"{host}:{decision.port}"
    entry: dict[str, JsonValue] = {"hosts": [target], "methods": [method], "paths": [path]}
    config = {decision.phase: {"allow": [entry]}}
    return Proposal("com.docker.sandbox/network-policy@2", config, f"{method} {target}{path}", decision.phase), ""


def losses(before: Lock, plan: Plan) -> tuple[str, ...]:
    """In words, what of an approved set a changed one no longer has or does otherwise (§7.4 read backwards)."""
    after = from_plan(before.name, plan)
    found = list(differences(before, after))
    lost = diff_widenings(after.surface, before.surface)
    found += [f"no longer granted: {claim(f'{each.category} {each.detail}', 120)}" for each in lost[:_MOST_LOST]]
    if len(lost) > _MOST_LOST:
        found.append(f"and {len(lost) - _MOST_LOST} more are no longer granted")
    dropped = sorted({kind for choice in plan.choices if not choice.supported for kind in choice.types})
    if dropped:
        found.append(f"not enforced here and left out: {', '.join(claim(kind, 80) for kind in dropped)}")
    return tuple(found)


def _rendered(lock: Lock) -> str:
    kits = tuple(
        ListedKit(kit.reference, kit.digest, {name: value for name, value in kit.args.items() if value is not None})
        for kit in lock.kits
    )
    return set_file.render(Descriptor("3", kind=Kind.SET, kits=kits, kits_stated=True))
