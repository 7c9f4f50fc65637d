"""A person's own rules (§7.4 leaves them to the runtime): what they refuse, what needs a tick, what is expected, and
what this machine never grants.

No rule ever answers yes. *Never* refuses; *tick* asks for one more answer; *expected* only sorts the reading; the *host
policy* takes away from what is enforced. Each says its own text wherever it did something.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from kitstudio.models import words
from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.models.plan import Plan, Problem
from kitstudio.models.review import Finding, Permission, Review
from kitstudio.models.surface import CATEGORIES
from kitstudio.models.weights import Weight

HOST_POLICY = "this machine’s host policy"
"""Who is named as the origin of a refusal that the host policy adds."""

NETWORK_POLICY = "com.docker.sandbox/network-policy@1"
SUBJECTS = ("host", "type", "category")

_OUR_TYPES = "com.docker.sandbox/"
"""What a type is taken for whose name stands alone."""

_TYPE = re.compile(r"[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*(?:@[0-9]+)?")
_LABEL = re.compile(r"[\w*-]{1,63}")

_TYPE_OF: Mapping[str, str] = {
    "network": "com.docker.sandbox/network-policy",
    "credentials": "com.docker.sandbox/credential",
    "ssh-agent": "com.docker.sandbox/ssh-agent",
    "storage": "com.docker.sandbox/volume",
    "host-mount": "com.docker.sandbox/host-mount",
    "skills": "com.docker.sandbox/agent-skills",
    "ports": "com.docker.sandbox/port",
    "usb": "com.docker.sandbox/usb-device",
    "privileged": "com.docker.sandbox/privileged",
}


class RuleKind(StrEnum):
    """What a rule does."""

    NEVER = "never"
    TICK = "tick"
    EXPECTED = "expected"
    HOST = "host policy"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``subject``: host, type or category; for an expectation ``publisher`` is whose Kits it is about."""

    kind: RuleKind
    subject: str
    pattern: str
    publisher: str = ""

    @property
    def text(self) -> str:
        """As it is written in the settings."""
        return f"{self.publisher or self.subject}={self.pattern}"


@dataclass(frozen=True, slots=True)
class RuleNote:
    """What one rule did to the reading. ``finding``: its key, empty where the rule met something already granted.

    ``struck``: the entry is not granted at all, so it is shown struck out; ``entry``: which one.
    """

    kind: RuleKind
    rule: str
    sentence: str
    finding: str = ""
    entry: str = ""
    struck: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A review as the rules leave it: findings sorted and ticks added, notes that name the rules, refusals."""

    review: Review
    notes: tuple[RuleNote, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules of a person and a machine. ``auto_apply``: updates within the surface are applied by themselves."""

    rules: tuple[Rule, ...] = ()
    auto_apply: bool = True

    def of(self, kind: RuleKind) -> tuple[Rule, ...]:
        """The rules of one kind, in the order they were written."""
        return tuple(rule for rule in self.rules if rule.kind is kind)

    def host_denies(self) -> tuple[str, ...]:
        """The patterns of hosts that this machine never reaches, as a network policy refuses them."""
        found: list[str] = []
        for rule in self.of(RuleKind.HOST):
            if rule.subject == "host":
                found.append(rule.pattern)
                if rule.pattern.startswith("*."):
                    found.append(f"*{rule.pattern}")
        return tuple(dict.fromkeys(found))

    def withheld(self, type_: str) -> Rule | None:
        """The rule of the host policy by which this machine never grants a capability type; None: it may."""
        rules = (rule for rule in self.of(RuleKind.HOST) if rule.subject == "type")
        return next((rule for rule in rules if _is_type(rule.pattern, type_)), None)

    def refuses_types(self, problems: Iterable[Problem]) -> str:
        """Why a set cannot run where a type it requires is one that the host policy withholds; empty: not for that."""
        for problem in problems:
            if rule := self.withheld(problem.name):
                who = words.kit_name(problem.kits[0]) if problem.kits else "The set"
                return f"{who} requires {problem.name}, which this machine never grants: host policy “{rule.text}”."
        return ""


def parse(kind: RuleKind, text: str) -> Rule:
    """A rule from the settings: ``host=…``, ``type=…``, ``category=…``; ``PUBLISHER=DOMAIN`` for what is expected.

    Raises ``ValueError`` with half a sentence that says what is wrong.
    """
    subject, equals, pattern = (part.strip() for part in text.partition("="))
    if not equals or not subject or not pattern or any(char.isspace() for char in pattern):
        raise ValueError(f"must be written NAME=VALUE, not “{words.exact(text)}”")
    if kind is RuleKind.EXPECTED:
        if "/" not in subject or "*" in pattern or "/" in pattern:
            raise ValueError("must name a publisher and a domain: docker.io/acme=acme.example")
        return Rule(kind, "host", pattern.lower().strip("."), subject.rstrip("/"))
    allowed = ("host", "type") if kind is RuleKind.HOST else SUBJECTS
    if subject not in allowed:
        raise ValueError(f"must begin with one of {', '.join(allowed)}")
    if subject == "host" and not _is_host(pattern):
        raise ValueError(f"must name a host, not “{words.exact(pattern)}”")
    if subject == "type":
        pattern = pattern if "/" in pattern else f"{_OUR_TYPES}{pattern}"
        if not _TYPE.fullmatch(pattern):
            raise ValueError(f"must name a capability type, not “{words.exact(pattern)}”")
    if subject == "category" and not any(_in_category(pattern, category) for category in CATEGORIES.values()):
        raise ValueError(f"must name a category of §7.4, not “{words.exact(pattern)}”")
    return Rule(kind, subject, pattern.lower() if subject == "host" else pattern)


def judged(policy: Policy, review: Review, plan: Plan) -> Verdict:
    """The review as the rules leave it. What was granted before a *never* rule was made is refused by it too."""
    if not policy.rules:
        return Verdict(review)
    notes: list[RuleNote] = []
    refused: list[str] = []
    for rule in policy.of(RuleKind.NEVER):
        for key, sentence in _never(rule, review, plan):
            refused.append(f"Your rule “never {rule.text}” refuses this: {sentence}")
            notes.append(RuleNote(RuleKind.NEVER, rule.text, refused[-1], key))
    findings = [_ticked(policy, finding, notes) for finding in review.findings]
    expected = frozenset(finding.key for finding in findings if _expected(policy, finding, notes))
    findings.sort(key=lambda f: (-f.weight, f.key in expected, words.GROUP_ORDER[f.permission.group]))
    notes += _overridden(policy, plan)
    return Verdict(replace(review, findings=tuple(findings)), tuple(notes), tuple(dict.fromkeys(refused)))


def host_refusals(policy: Policy) -> Descriptor | None:
    """What the host policy adds to every sandbox's network: refusals alone, in both phases."""
    hosts = policy.host_denies()
    if not hosts:
        return None
    config = {phase: {"deny": list(hosts)} for phase in ("install", "runtime")}
    return Descriptor("3", kind="mixin", capabilities=(Capability(NETWORK_POLICY, config, True),))  # type: ignore[arg-type]


def _never(rule: Rule, review: Review, plan: Plan) -> Iterator[tuple[str, str]]:
    """(key of the finding or empty, what is refused) for everything asked for that a rule meets."""
    for finding in review.findings:
        facts = [(w.category, w.detail) for w in finding.widenings]
        if any(_meets(rule, category, detail) for category, detail in facts):
            yield finding.key, finding.permission.sentence
    told = {finding.permission.facts for finding in review.findings}
    for row in plan.permissions:
        if not row.denies and row.facts not in told and _row_meets(rule, row):
            yield "", row.sentence
    if rule.subject == "type" and plan.effective is not None:
        for entry in plan.effective.entries():
            if _is_type(rule.pattern, entry.type):
                yield "", f"it asks for {words.term(entry.type)}."


def _ticked(policy: Policy, finding: Finding, notes: list[RuleNote]) -> Finding:
    for rule in policy.of(RuleKind.TICK):
        if any(_meets(rule, widening.category, widening.detail) for widening in finding.widenings):
            sentence = f"Your rule “tick {rule.text}” asks for an answer of its own."
            notes.append(RuleNote(RuleKind.TICK, rule.text, sentence, finding.key))
            row = replace(finding.permission, weight=Weight.CRITICAL)
            return replace(finding, permission=row, tick=finding.tick or f"I accept {words.exact(row.entry)}")
    return finding


def _expected(policy: Policy, finding: Finding, notes: list[RuleNote]) -> bool:
    hosts = [host for widening in finding.widenings for host in _hosts(widening.category, widening.detail)]
    if not hosts or finding.removed_refusal or not finding.permission.askers:
        return False
    for rule in policy.of(RuleKind.EXPECTED):
        theirs = all(_published_by(rule.publisher, asker.kit) for asker in finding.permission.askers)
        if theirs and all(_below(rule.pattern, host) for host in hosts):
            who = words.exact(rule.publisher)
            sentence = f"Your rule “{rule.text}” expects {who} to reach hosts of {words.term(rule.pattern)}."
            notes.append(RuleNote(RuleKind.EXPECTED, rule.text, sentence, finding.key))
            return True
    return False


def _overridden(policy: Policy, plan: Plan) -> Iterator[RuleNote]:
    """Entries that the host policy overrides, wholly (struck out) or in part."""
    for rule in policy.of(RuleKind.HOST):
        for row in plan.permissions if rule.subject == "host" else ():
            hosts = [] if row.denies else [host for name, text in row.facts for host in _hosts(CATEGORIES[name], text)]
            if not any(hosts_meet(rule.pattern, host) for host in hosts):
                continue
            struck = all(_covers(rule.pattern, host) for host in hosts)
            what = "overrides this entry" if struck else f"takes {words.term(rule.pattern)} out of this entry"
            sentence = f"This machine never reaches it: host policy “{rule.text}” {what}."
            yield RuleNote(RuleKind.HOST, rule.text, sentence, f"{row.category}:{row.detail}", row.entry, struck)
        for choice in plan.choices if rule.subject == "type" else ():
            if any(_is_type(rule.pattern, type_) for type_ in choice.types):
                sentence = f"Left out: this machine never grants it, host policy “{rule.text}”."
                yield RuleNote(RuleKind.HOST, rule.text, sentence, "", choice.label, True)


def _row_meets(rule: Rule, row: Permission) -> bool:
    return any(_meets(rule, CATEGORIES[name], text) for name, text in row.facts)


def _meets(rule: Rule, category: str, detail: str) -> bool:
    if rule.subject == "category":
        return _in_category(rule.pattern, category)
    if rule.subject == "host":
        return any(hosts_meet(rule.pattern, host) for host in _hosts(category, detail))
    if category == "services":
        return _is_type(rule.pattern, detail.partition("+")[0])
    return _TYPE_OF.get(category.partition(".")[0]) == rule.pattern.partition("@")[0]


def _in_category(pattern: str, category: str) -> bool:
    return category == pattern or category.startswith(f"{pattern}.")


def _is_type(pattern: str, type_: str) -> bool:
    return type_ == pattern or ("@" not in pattern and type_.partition("@")[0] == pattern)


def _hosts(category: str, detail: str) -> Iterator[str]:
    if category.startswith("network."):
        yield detail.partition(" ")[2].partition("/")[0] if ".http." in category else detail


def _published_by(publisher: str, reference: str) -> bool:
    return words.repository(reference).startswith(f"{publisher}/")


def _below(domain: str, pattern: str) -> bool:
    """Whether every host of a pattern lies under a domain."""
    name = words.split_port(pattern)[0].lower().rstrip(".").removeprefix("*").removeprefix("*")
    return name == domain or (name.endswith(f".{domain}") and "*" not in name)


def hosts_meet(rule: str, asked: str) -> bool:
    """Whether some host belongs to both patterns; in doubt it does: a rule is never narrower than it reads."""
    (ours, our_port), (theirs, their_port) = _split(rule), _split(asked)
    if our_port and their_port and our_port != their_port:
        return False
    return _meet(_labels(ours), _labels(theirs))


def _covers(rule: str, asked: str) -> bool:
    """Whether the rule takes in every host of the pattern, on every port."""
    (mine, our_port), (others, their_port) = _split(rule), _split(asked)
    if our_port and our_port != their_port:
        return False
    if mine in ("*", "**") or mine == others:
        return True
    front, _, below = mine.partition(".")
    if front not in ("*", "**") or "*" in below:
        return False
    return others.endswith(f".{below}")


def _is_host(pattern: str) -> bool:
    """Whether a pattern can be met by a host at all: a rule that never does anything would only look like one."""
    name, port = _split(pattern)
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536):
        return False
    if pattern.rstrip("*.").endswith(":") or pattern != words.exact(pattern):
        return False
    if _address(name):
        return True
    labels = name.split(".")
    return len(name) <= 253 and all(_LABEL.fullmatch(label) for label in labels) and not labels[-1].isdecimal()


def _split(text: str) -> tuple[str, str]:
    """A host pattern as the network compares it, and its port: encoded, in small letters, an address in its one
    spelling. However a Kit spells a host, a rule about it is meant."""
    if address := _address(text):
        return address, ""
    name, port = words.split_port(text)
    name = name.lower().removesuffix(".")
    return _address(name) or ".".join(words.encoded_label(label) for label in name.split(".")), port


def _address(text: str) -> str:
    """A literal address in its one spelling; empty where the text is none."""
    try:
        address = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return ""
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(inner or address)


def _labels(pattern: str) -> tuple[str, ...]:
    """Labels from the top down; a wildcard at the front stands for one label or more."""
    return tuple(reversed(pattern.split(".")))


def _meet(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    for ours, theirs in zip(left, right, strict=False):
        if ours in ("*", "**") or theirs in ("*", "**"):
            return True
        if "*" in ours or "*" in theirs:
            continue
        if ours != theirs:
            return False
    return len(left) == len(right)
