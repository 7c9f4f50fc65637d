"""The egress policy of one sandbox (network-policy@1 and @2, part 7): phases, allow and deny, and who asked for what.

What is enforced is the effective descriptor, nothing else; the Kits' own selected descriptors only say which line an
entry comes from. Pure: resolving and connecting are the proxy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from kitstudio.models.capabilities import network_policy_1, network_policy_2
from kitstudio.models.capabilities.network import Entry
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.descriptor import Capability, Descriptor, Source
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import NETWORK_POLICY, NETWORK_POLICY_2
from kitstudio.runtime.hosts import LOCAL_NAMES, Address, HostPattern, read_host, read_pattern, why_not_public
from kitstudio.runtime.requests import Bound


class Phase(StrEnum):
    """Which lists are open. ``CLOSED``: none (boot, file writing, between the phases)."""

    CLOSED = "closed"
    INSTALL = "install"
    RUNTIME = "runtime"


@dataclass(frozen=True, slots=True)
class Rule:
    """One host of a list entry with its origin. ``kit`` is empty for a declaration of the set itself.

    ``bound``: the HTTP requests it is about; None for an entry about every connection.
    """

    phase: Phase
    denies: bool
    pattern: HostPattern
    kit: str = ""
    path: str = ""
    line: int = 0
    bound: Bound | None = None

    @property
    def text(self) -> str:
        """The entry as a person reads it."""
        return f"{self.bound.text} on {self.pattern.text}" if self.bound else self.pattern.text


@dataclass(frozen=True, slots=True)
class RuleText:
    """A ``Rule`` with its pattern as written."""

    phase: Phase
    denies: bool
    text: str
    kit: str = ""
    path: str = ""
    line: int = 0
    bound: Bound | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the policy says about one host and port. ``host`` is canonical; ``rule`` None when nothing names it.

    ``inspect``: allowed for some HTTP requests only, each to be judged by ``decide_request``.
    """

    allowed: bool
    phase: Phase
    host: str
    port: int
    rule: Rule | None = None
    reason: str = ""
    may_be_private: bool = False
    inspect: bool = False


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
        matching = self._naming(phase, target, port)
        for rule in matching:
            if rule.denies and rule.bound is None:
                return Ruling(False, phase, name, port, rule, f"denied by {rule.text}")
        allows = [r for r in matching if not r.denies]
        if not allows:
            return Ruling(False, phase, name, port, reason=f"no entry names {_shown(target, port)}")
        literal = [r for r in allows if r.pattern.literal]
        private = bool(literal) and (not isinstance(target, str) or target in LOCAL_NAMES)
        free = [r for r in allows if r.bound is None]
        return Ruling(
            True,
            phase,
            name,
            port,
            next((r for r in free if r.pattern.literal), (free or literal or allows)[0]),
            may_be_private=private or (isinstance(target, str) and target in self.private_names),
            inspect=not free or len(allows) < len(matching),
        )

    def decide_request(self, phase: Phase, host: str, port: int, method: str, target: str) -> Ruling:
        """Judge one HTTP request: a matching deny beats everything, then an entry for every connection, then one
        entry that admits both method and path (network-policy@2, duties 1 to 3)."""
        ruling = self.decide(phase, host, port)
        if not ruling.allowed or not ruling.inspect:
            return ruling
        matching = self._naming(phase, read_host(host), port)
        for rule in matching:
            if rule.denies and rule.bound and rule.bound.denies(method, target):
                return replace(ruling, allowed=False, rule=rule, reason=f"denied by {rule.text}")
        if ruling.rule and ruling.rule.bound is None:
            return ruling
        bounded = [rule for rule in matching if not rule.denies and rule.bound]
        for rule in bounded:
            if rule.bound and rule.bound.admits(method, target):
                return replace(ruling, rule=rule)
        reason = f"{bounded[0].text} does not admit {method[:32]} {target.partition('?')[0][:200]}"
        return replace(ruling, allowed=False, rule=bounded[0], reason=reason)

    def _naming(self, phase: Phase, target: str | Address, port: int) -> list[Rule]:
        return [r for r in self.rules if r.phase is phase and r.pattern.matches(target, port)]

    def check_address(self, ruling: Ruling, address: Address) -> str:
        """Why an allowed name must not be connected at ``address``, empty when it may."""
        for rule in self.rules:
            if rule.denies and rule.phase is ruling.phase and rule.pattern.matches(address, ruling.port):
                return f"{ruling.host} is at {address}, denied by {rule.text}"
        if ruling.may_be_private:
            return ""
        reason = why_not_public(address)
        return f"{ruling.host} is at {address}, {reason}" if reason else ""


def build_policy(approved: ApprovedLock, private_names: frozenset[str] = frozenset()) -> EgressPolicy:
    """The policy of the effective descriptor; each entry attributed to the first Kit in order that states it.

    A deny entry that cannot be read as a host is an error: dropping it would grant what the person saw refused.
    """
    origins: dict[_Stated, tuple[str, str, int]] = {}
    for kit, descriptor in contributions(approved):
        lines = approved.lines.get(kit, {})
        for path, entry in _entries(kit, descriptor):
            origins.setdefault(entry, (kit, path, lines.get(path, 0)))
    stated = {entry: path for path, entry in _entries("", approved.effective)}
    # A refusal that a Kit states stands even if composition had lost it; a grant never enters this way.
    stated |= {key: origin[1] for key, origin in origins.items() if key[1] and key not in stated}
    rules: list[Rule] = []
    for stating, path in stated.items():
        phase, denies, text, bound = stating
        kit, origin_path, line = origins.get(stating, ("", path, 0))
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
        if bound is not None and not denies and not pattern.literal:
            continue  # network-policy@2 duty 9: such an entry names nothing
        rules.append(Rule(phase, denies, pattern, kit, origin_path, line, bound))
    return EgressPolicy(tuple(rules), private_names)


def policy_rules(policy: EgressPolicy) -> tuple[RuleText, ...]:
    """The rules in the form that crosses to the supervisor."""
    return tuple(RuleText(r.phase, r.denies, r.pattern.text, r.kit, r.path, r.line, r.bound) for r in policy.rules)


def read_policy(rules: tuple[RuleText, ...], private_names: frozenset[str] = frozenset()) -> EgressPolicy:
    """The reverse of ``policy_rules``; ``ValueError`` for an entry that names no host."""
    return EgressPolicy(
        tuple(Rule(r.phase, r.denies, read_pattern(r.text), r.kit, r.path, r.line, r.bound) for r in rules),
        private_names,
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


_Stated: TypeAlias = tuple[Phase, bool, str, Bound | None]
_TYPES = {NETWORK_POLICY: network_policy_1.TYPE, NETWORK_POLICY_2: network_policy_2.TYPE}


def _entries(kit: str, descriptor: Descriptor) -> Iterator[tuple[str, _Stated]]:
    """(dotted path, what it states) of every host of every list entry."""
    for path, capability in paths(kit, descriptor):
        if capability.type not in _TYPES or capability.config is None:
            continue
        try:
            policy = _TYPES[capability.type].decode(capability.config)
        except ShapeError as error:
            raise SandboxError(f"The network policy cannot be read: {error}.", where=f"{path}.config") from error
        for phase, rules in policy.phases():
            for name, denies, entries in (("deny", True, rules.deny), ("allow", False, rules.allow)):
                for index, entry in enumerate(entries):
                    place = f"{path}.config.{phase}.{name}[{index}]"
                    bound = _bound(entry)
                    for number, host in enumerate(entry.hosts):
                        bare = capability.type == NETWORK_POLICY or _is_text(capability, phase, name, index)
                        yield place if bare else f"{place}.hosts[{number}]", (Phase(phase), denies, host, bound)


def _bound(entry: Entry) -> Bound | None:
    return Bound(entry.methods or ("ANY",), entry.paths or ("/**",)) if entry.bounded else None


def _is_text(capability: Capability, phase: str, name: str, index: int) -> bool:
    block = (capability.config or {}).get(phase)
    items = block.get(name) if isinstance(block, dict) else None
    return isinstance(items, list) and isinstance(items[index], str)


def _shown(host: str | Address, port: int) -> str:
    text = str(host)
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"


def _place(kit: str, source: Source | None, index: int) -> str:
    if source is None or not source.path:
        return f"capabilities[{index}]"
    return source.path if source.kit in ("", kit) else f"{source.kit} {source.path}"
