"""The network policy both versions of the type share: phased allow and deny entries, projected and merged alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kitstudio.models import words
from kitstudio.models.capabilities.contract import Config, Fact, Grant
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.weights import Group, Phase, Weight

PHASES = ("install", "runtime")
METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
EVERY_METHOD = ("ANY",)
EVERY_PATH = ("/**",)


@dataclass(frozen=True, slots=True)
class Entry:
    """One allow or deny entry. ``methods`` and ``paths`` are None when not stated; ``bare``: written as a text."""

    hosts: tuple[str, ...]
    methods: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None

    @property
    def bounded(self) -> bool:
        """True when the entry is about certain HTTP requests only."""
        return bool(self.methods or self.paths)

    def requests(self) -> Iterator[str]:
        """``METHOD host/path`` for each combination; an unbounded entry stands for every request."""
        for host in self.hosts:
            for method in self.methods or EVERY_METHOD:
                for path in self.paths or EVERY_PATH:
                    yield f"{method} {host}{path}"

    def text(self) -> str:
        """The exact entry on one line."""
        hosts = " ".join(self.hosts)
        if not self.bounded:
            return hosts
        paths = self.paths or EVERY_PATH
        methods = " ".join(self.methods or EVERY_METHOD)
        return f"{methods} " + " ".join(f"{host}{path}" for host in self.hosts for path in paths)

    def encode(self) -> JsonValue:
        """As a merge writes it: one unbounded host as a text, everything else as a mapping."""
        if self.methods is None and self.paths is None and len(self.hosts) == 1:
            return self.hosts[0]
        written: dict[str, JsonValue] = {"hosts": list(self.hosts)}
        if self.methods is not None:
            written["methods"] = list(self.methods)
        if self.paths is not None:
            written["paths"] = list(self.paths)
        return written


@dataclass(frozen=True, slots=True)
class Rules:
    """The lists of one phase."""

    allow: tuple[Entry, ...] = ()
    deny: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A whole policy; a phase without rules reaches nothing."""

    install: Rules = field(default_factory=Rules)
    runtime: Rules = field(default_factory=Rules)

    def phases(self) -> tuple[tuple[str, Rules], ...]:
        return ("install", self.install), ("runtime", self.runtime)

    def allowed_hosts(self, phase: str) -> frozenset[str]:
        """Port-less names of every allow entry of a phase, bounded or not: what inject domains are held against."""
        rules = self.install if phase == "install" else self.runtime
        return frozenset(host.partition(":")[0] for entry in rules.allow for host in entry.hosts)


def project(policy: Policy) -> Iterator[Fact]:
    """Hosts of unbounded entries in the host lists; every entry in the request lists."""
    for phase, rules in policy.phases():
        for verb, entries in (("allow", rules.allow), ("deny", rules.deny)):
            for entry in entries:
                yield from _facts(entry, phase, verb)


def describe(policy: Policy) -> Iterator[Grant]:
    """One row for each entry of each list."""
    for phase_name, rules in policy.phases():
        phase = Phase(phase_name)
        for index, entry in enumerate(rules.allow):
            yield _allowed(entry, phase, f".config.{phase_name}.allow[{index}]")
        for index, entry in enumerate(rules.deny):
            yield _denied(entry, phase, f".config.{phase_name}.deny[{index}]")


def unite(policies: Iterable[Policy]) -> Policy:
    """One policy out of several (§9.5): lists joined in order, repeats dropped, hosts granted outright unbounded."""
    parts = list(policies)
    return Policy(
        install=_united([p.install for p in parts]),
        runtime=_united([p.runtime for p in parts]),
    )


def encode(policy: Policy) -> Config:
    """The policy as config; empty lists, phases and policies vanish."""
    written: dict[str, JsonValue] = {}
    for phase, rules in policy.phases():
        lists: dict[str, JsonValue] = {}
        if rules.allow:
            lists["allow"] = [entry.encode() for entry in rules.allow]
        if rules.deny:
            lists["deny"] = [entry.encode() for entry in rules.deny]
        if lists:
            written[phase] = lists
    return written or None


def _facts(entry: Entry, phase: str, verb: str) -> Iterator[Fact]:
    if not entry.bounded:
        hosts_field = f"network_{phase}_{verb}"
        for host in entry.hosts:
            yield hosts_field, host
    requests_field = f"network_{phase}_http_{verb}"
    for request in entry.requests():
        yield requests_field, request


def _allowed(entry: Entry, phase: Phase, at: str) -> Grant:
    weight = max((words.host_weight(h) for h in entry.hosts), default=Weight.INFO)
    hosts = words.listed([words.host(h) for h in entry.hosts])
    methods = entry.methods or EVERY_METHOD
    when = words.while_phase(phase)
    if not entry.bounded:
        sentence = f"Connects to {_reached(entry.hosts)} for any purpose{when}."
    else:
        writes = not READING.issuperset(methods)
        weight = max(weight, Weight.NOTICE) if writes else weight
        what = "Sends data to and reads from" if writes else "Reads from"
        limits = "" if entry.paths in (None, EVERY_PATH) else ", limited to certain paths"
        sentence = f"{what} {hosts}{when}{limits}."
    sentence = " ".join([sentence, *_warnings(entry)])
    tick = ""
    if weight is Weight.CRITICAL:
        tick = f"I accept that it can reach any host on the network{when} and send anything there"
    return Grant(
        Group.NETWORK,
        tuple(_facts(entry, phase.value, "allow")),
        words.exact(entry.text()),
        sentence,
        weight,
        phase,
        at=at,
        tick=tick,
    )


def _reached(hosts: Sequence[str]) -> str:
    """Hosts of an entry without limits: one without a port opens every port, and says so."""
    any_port = [not words.split_port(host)[1] and "${{" not in host for host in hosts]
    if all(any_port):
        return f"{words.listed([words.host(host) for host in hosts])} on any port"
    return words.listed(
        [words.host(h) + (" on any port" if wide else "") for h, wide in zip(hosts, any_port, strict=True)]
    )


def _denied(entry: Entry, phase: Phase, at: str) -> Grant:
    hosts = words.listed([words.host(h) for h in entry.hosts])
    what = f"certain requests to {hosts}" if entry.bounded else hosts
    pronoun = "them" if entry.bounded or len(entry.hosts) > 1 else "it"
    return Grant(
        Group.NETWORK,
        tuple(_facts(entry, phase.value, "deny")),
        words.exact(f"deny {entry.text()}"),
        f"Refuses {what}{words.while_phase(phase)}, even if another Kit asks for {pronoun}.",
        Weight.INFO,
        phase,
        denies=True,
        at=at,
    )


def _warnings(entry: Entry) -> list[str]:
    return list(dict.fromkeys(w for host in entry.hosts if (w := words.host_warning(host))))


def _united(parts: list[Rules]) -> Rules:
    allow = dict.fromkeys(entry for rules in parts for entry in rules.allow)
    deny = dict.fromkeys(entry for rules in parts for entry in rules.deny)
    outright = {host for entry in allow if not entry.bounded for host in entry.hosts}
    kept = []
    for entry in allow:
        if entry.bounded:
            hosts = tuple(h for h in entry.hosts if h not in outright)
            if not hosts:
                continue
            entry = replace(entry, hosts=hosts)
        kept.append(entry)
    return Rules(tuple(dict.fromkeys(kept)), tuple(deny))
