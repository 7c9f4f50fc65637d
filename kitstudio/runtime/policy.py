"""The egress policy of one sandbox (network-policy@1, part 7): phases, allow and deny, and who asked for what.

What is enforced is the effective descriptor, nothing else; the Kits' own selected descriptors only say which line an
entry comes from. Pure: resolving and connecting are the proxy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from kitstudio.models.descriptor import Capability, Descriptor, Source
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import NETWORK_POLICY
from kitstudio.runtime.hosts import LOCAL_NAMES, Address, HostPattern, read_host, read_pattern, why_not_public


class Phase(StrEnum):
    """Which lists are open. ``CLOSED``: none (boot, file writing, between the phases)."""

    CLOSED = "closed"
    INSTALL = "install"
    RUNTIME = "runtime"


@dataclass(frozen=True, slots=True)
class Rule:
    """One list entry with its origin. ``kit`` is empty for a declaration of the set itself."""

    phase: Phase
    denies: bool
    pattern: HostPattern
    kit: str = ""
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class RuleText:
    """A ``Rule`` with its pattern as written."""

    phase: Phase
    denies: bool
    text: str
    kit: str = ""
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the policy says about one host and port. ``host`` is canonical; ``rule`` None when nothing names it."""

    allowed: bool
    phase: Phase
    host: str
    port: int
    rule: Rule | None = None
    reason: str = ""
    may_be_private: bool = False


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """All rules of a sandbox. ``private_names``: names the person let reach private addresses."""

    rules: tuple[Rule, ...] = ()
    private_names: frozenset[str] = field(default_factory=frozenset)

    def decide(self, phase: Phase, host: str, port: int) -> Ruling:
        """Judge by name: deny beats allow, a closed phase and an unlisted host are refused."""
        try:
            target = read_host(host)
        except ValueError:
            return Ruling(False, phase, host[:253], port, reason="not a host name or address")
        name = str(target)
        if not 0 < port < 65536:
            return Ruling(False, phase, name, port, reason="not a port")
        if phase is Phase.CLOSED:
            return Ruling(False, phase, name, port, reason="the network is closed in this phase")
        matching = [r for r in self.rules if r.phase is phase and r.pattern.matches(target, port)]
        for rule in matching:
            if rule.denies:
                return Ruling(False, phase, name, port, rule, f"denied by {rule.pattern.text}")
        if not matching:
            return Ruling(False, phase, name, port, reason=f"no entry names {_shown(target, port)}")
        literal = [r for r in matching if r.pattern.literal]
        private = bool(literal) and (not isinstance(target, str) or target in LOCAL_NAMES)
        return Ruling(
            True,
            phase,
            name,
            port,
            (literal or matching)[0],
            may_be_private=private or (isinstance(target, str) and target in self.private_names),
        )

    def check_address(self, ruling: Ruling, address: Address) -> str:
        """Why an allowed name must not be connected at ``address``, empty when it may."""
        for rule in self.rules:
            if rule.denies and rule.phase is ruling.phase and rule.pattern.matches(address, ruling.port):
                return f"{ruling.host} is at {address}, denied by {rule.pattern.text}"
        if ruling.may_be_private:
            return ""
        reason = why_not_public(address)
        return f"{ruling.host} is at {address}, {reason}" if reason else ""


def build_policy(approved: ApprovedLock, private_names: frozenset[str] = frozenset()) -> EgressPolicy:
    """The policy of the effective descriptor; each entry attributed to the first Kit in order that states it.

    A deny entry that cannot be read as a host is an error: dropping it would grant what the person saw refused.
    """
    origins: dict[tuple[Phase, bool, str], tuple[str, str, int]] = {}
    for kit, descriptor in contributions(approved):
        lines = approved.lines.get(kit, {})
        for path, phase, denies, text in _entries(kit, descriptor):
            origins.setdefault((phase, denies, text), (kit, path, lines.get(path, 0)))
    stated = {(phase, denies, text): path for path, phase, denies, text in _entries("", approved.effective)}
    # A refusal that a Kit states stands even if composition had lost it; a grant never enters this way.
    stated |= {key: origin[1] for key, origin in origins.items() if key[1] and key not in stated}
    rules: list[Rule] = []
    for (phase, denies, text), path in stated.items():
        kit, origin_path, line = origins.get((phase, denies, text), ("", path, 0))
        try:
            pattern = read_pattern(text)
        except ValueError as error:
            if denies and text.strip():
                raise SandboxError(
                    f"the deny entry {text!r} cannot be enforced: {error}",
                    where=f"{kit or approved.lock.name}: {origin_path}",
                    remedy="Ask the Kit's author to name a host, or remove the Kit.",
                ) from error
            continue
        rules.append(Rule(phase, denies, pattern, kit, origin_path, line))
    return EgressPolicy(tuple(rules), private_names)


def policy_rules(policy: EgressPolicy) -> tuple[RuleText, ...]:
    """The rules in the form that crosses to the supervisor."""
    return tuple(RuleText(r.phase, r.denies, r.pattern.text, r.kit, r.path, r.line) for r in policy.rules)


def read_policy(rules: tuple[RuleText, ...], private_names: frozenset[str] = frozenset()) -> EgressPolicy:
    """The reverse of ``policy_rules``; ``ValueError`` for an entry that names no host."""
    return EgressPolicy(
        tuple(Rule(r.phase, r.denies, read_pattern(r.text), r.kit, r.path, r.line) for r in rules), private_names
    )


def contributions(approved: ApprovedLock) -> Iterator[tuple[str, Descriptor]]:
    """(Kit, descriptor): selected descriptors in composition order; those of no locked Kit (the set's own) last."""
    locked = [kit.reference for kit in approved.lock.kits]
    for reference in locked:
        if reference in approved.selected:
            yield reference, approved.selected[reference]
    for reference, descriptor in approved.selected.items():
        if reference not in locked:
            yield reference, descriptor


def paths(kit: str, descriptor: Descriptor) -> Iterator[tuple[str, Capability]]:
    """Every request with its dotted path in its Kit; selection keeps the original place in ``source``.

    A request that a set was published from belongs to another Kit's text: its path says so and has no line here.
    """
    for index, item in enumerate(descriptor.capabilities):
        if isinstance(item, Capability):
            yield _place(kit, item.source, index), item
            continue
        for member, entry in enumerate(item.members or ()):
            if isinstance(entry, Capability):
                yield f"capabilities[{index}].group.capabilities[{member}]", entry


def _entries(kit: str, descriptor: Descriptor) -> Iterator[tuple[str, Phase, bool, str]]:
    """(dotted path, phase, denies, host text) of every list member."""
    for path, entry in paths(kit, descriptor):
        if entry.type != NETWORK_POLICY or entry.config is None:
            continue
        for phase in (Phase.INSTALL, Phase.RUNTIME):
            block = entry.config.get(phase.value)
            if not isinstance(block, dict):
                continue
            for name, denies in (("deny", True), ("allow", False)):
                hosts = block.get(name)
                for index, host in enumerate(hosts if isinstance(hosts, list) else ()):
                    if not isinstance(host, str):
                        raise SandboxError(
                            f"a {name} entry of a network policy is not text", where=f"{path}.config.{phase}.{name}"
                        )
                    yield f"{path}.config.{phase}.{name}[{index}]", phase, denies, host


def _shown(host: str | Address, port: int) -> str:
    text = str(host)
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"


def _place(kit: str, source: Source | None, index: int) -> str:
    if source is None or not source.path:
        return f"capabilities[{index}]"
    return source.path if source.kit in ("", kit) else f"{source.kit} {source.path}"
