"""Rules between the entries of one declaration block (§7.1, §11). What they judge; ``validate`` says when.

``Placed`` entries are ordinary ones of one block with their paths. Entries that hold references are left out by the
functions themselves, except where a rule needs only the types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kitstudio.models.capabilities import (
    agent_interactive_sessions,
    agent_sessions,
    credential,
    lifecycle,
    network_policy_1,
    network_policy_2,
)
from kitstudio.models.capabilities.commands import Argv
from kitstudio.models.capabilities.contract import CapabilityType
from kitstudio.models.capabilities.network import Policy
from kitstudio.models.capabilities.shape import ShapeError, is_parameterised
from kitstudio.models.descriptor import Capability
from kitstudio.models.issue import Issue

POLICIES: dict[str, CapabilityType[Policy]] = {t.name: t for t in (network_policy_1.TYPE, network_policy_2.TYPE)}


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry and its dotted path."""

    path: str
    entry: Capability


def both_policies(block: Iterable[Placed]) -> tuple[Issue, ...]:
    """The two versions of the network policy exclude each other; the version 2 entry is told so."""
    found: dict[str, str] = {}
    for placed in block:
        if placed.entry.type in POLICIES:
            found.setdefault(placed.entry.type, placed.path)
    if len(found) < 2:
        return ()
    return (
        Issue(
            f"{found[network_policy_2.TYPE.name]}.type",
            f"both versions of the network policy are stated; the other one is {found[network_policy_1.TYPE.name]}",
            "Keep one of the two.",
        ),
    )


def session_agreement(block: Sequence[Placed]) -> tuple[Issue, ...]:
    """``newSession`` equals a stated ``interactive``, and the two session types list sessions alike."""
    interactive = _first(block, agent_interactive_sessions.TYPE)
    if interactive is None:
        return ()
    path, sessions = interactive
    found = []
    hooks = _first(block, lifecycle.TYPE)
    if hooks is not None and _differ(sessions.new_session, hooks[1].interactive):
        found.append(
            Issue(f"{path}.config.newSession", f"newSession differs from the interactive arguments of {hooks[0]}")
        )
    headless = _first(block, agent_sessions.TYPE)
    if headless is not None and _differ(sessions.list, headless[1].list):
        found.append(Issue(f"{path}.config.list", f"list differs from the one of {headless[0]}"))
    return tuple(found)


def inject_domains(policy: Capability | None, credentials: Sequence[Placed]) -> tuple[Issue, ...]:
    """Every inject domain is among the hosts the policy allows in each phase its credential names.

    ``policy``: the block's one valid policy, None when it has none at all. ``credentials``: the valid ones.
    Patterns are not expanded: only a bare ``*`` or ``**`` covers what is not named.
    """
    found: list[Issue] = []
    if not credentials:
        return ()
    rules = POLICIES[policy.type].decode(policy.config) if policy is not None else Policy()
    for placed in credentials:
        typed = credential.TYPE.decode(placed.entry.config)
        for phase in typed.phases:
            allowed = rules.allowed_hosts(phase)
            for index, rule in enumerate(typed.api_key.inject if typed.api_key else ()):
                domain = rule.domain.partition(":")[0]
                if domain not in allowed and not allowed & {"*", "**"}:
                    found.append(
                        Issue(
                            f"{placed.path}.config.apiKey.inject[{index}].domain",
                            f"{rule.domain!r} is not among the hosts the network policy allows at {phase}",
                            f"Add it to the policy's {phase} allow list.",
                        )
                    )
    return tuple(found)


def _differ(one: Argv | None, other: Argv | None) -> bool:
    return one is not None and other is not None and one != other


def _first(block: Sequence[Placed], type_: CapabilityType[Any]) -> tuple[str, Any] | None:
    for placed in block:
        if placed.entry.type == type_.name:
            if is_parameterised(placed.entry.config):
                return None
            try:
                return placed.path, type_.decode(placed.entry.config)
            except ShapeError:
                return None
    return None
