"""``ssh-agent@1``: use of an SSH agent, per phase, unrestricted or bounded to purposes and login servers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from kitstudio.models import words
from kitstudio.models.capabilities.contract import CapabilityType, Claim, Config, Fact, FieldKeywords, Grant
from kitstudio.models.capabilities.shape import Reader, ShapeError, holds_reference
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.issue import Issue
from kitstudio.models.references import holds_arg
from kitstudio.models.weights import Group, Phase, Weight

PHASES = ("install", "runtime")
FIELDS = ("phase", "unrestricted", "sign", "authenticate")
_NAMESPACE = re.compile(r"[!-~]+")
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_SERVER = re.compile(rf"([a-z_][a-z0-9_.-]*@)?{_LABEL}(\.{_LABEL})*")
_DIGITS = re.compile(r"[0-9.]+")


@dataclass(frozen=True, slots=True)
class SshAgent:
    """``unrestricted`` as stated (None: not stated, which means True); lists are None when not stated."""

    phases: tuple[str, ...]
    unrestricted: bool | None
    sign: tuple[str, ...] | None
    authenticate: tuple[str, ...] | None

    @property
    def free(self) -> bool:
        return self.unrestricted is not False


class SshAgentType(CapabilityType[SshAgent]):
    name = "com.docker.sandbox/ssh-agent@1"
    title = "SSH agent"
    family = Group.SSH_AGENT
    heaviest = Weight.CRITICAL
    rewritten = True
    keywords: ClassVar[FieldKeywords] = {
        "": {"required": ["phase"]},
        "phase": {"enum": list(PHASES)},
        "phase[]": {"enum": list(PHASES)},
    }

    def read(self, fields: Reader) -> SshAgent:
        stated = fields.text_or_texts("phase")
        phases = (stated,) if isinstance(stated, str) else stated or ()
        unrestricted = fields.boolean("unrestricted") if fields.has("unrestricted") else None
        return SshAgent(phases, unrestricted, fields.texts("sign"), fields.texts("authenticate"))

    def presence(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        raw = dict(config or {})
        free = raw.get("unrestricted")
        if isinstance(free, str) and holds_arg(free):
            # What the reference will say is not known yet: a stated list can only go with false.
            raw["unrestricted"] = not ("sign" in raw or "authenticate" in raw)
        return self.check(raw, where, kind)

    def check(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        """Only the first fault of an entry is reported."""
        for name in FIELDS:
            if name in (config or {}) and (config or {})[name] is None:
                return (Issue(f"{where}.config.{name}", "null is no value here; leave the field out"),)
        try:
            typed = self.decode(config)
        except ShapeError as error:
            return (Issue(f"{where}.config", str(error)),)
        return tuple(self.values(typed, f"{where}.config"))[:1]

    def values(self, config: SshAgent, at: str) -> Iterable[Issue]:
        yield from _phase_issues(config.phases, f"{at}.phase")
        stated = config.sign is not None or config.authenticate is not None
        if config.free and stated:
            yield Issue(f"{at}.unrestricted", "sign and authenticate are limits: they need unrestricted: false")
        if not config.free and not stated:
            yield Issue(f"{at}.unrestricted", "unrestricted: false needs sign, authenticate or both")
        yield from _list_issues(config.sign, _NAMESPACE, f"{at}.sign", "a purpose of printable letters without blanks")
        yield from _list_issues(config.authenticate, _SERVER, f"{at}.authenticate", "a login server, host or user@host")
        for server in config.authenticate or ():
            if _DIGITS.fullmatch(server.rpartition("@")[2]):
                yield Issue(f"{at}.authenticate", f"{server!r} is an address; a login server is named")

    def literal_claims(self, config: Config) -> tuple[Claim, ...]:
        stated = (config or {}).get("phase")
        items = stated if isinstance(stated, list) else [stated]
        return tuple(
            Claim(f"ssh-agent {phase}", ".config.phase", f"the SSH agent for {phase}")
            for phase in dict.fromkeys(p for p in items if isinstance(p, str))
            if not holds_reference(phase)
        )

    def project(self, config: SshAgent) -> Iterable[Fact]:
        for phase in config.phases:
            if config.free:
                yield "ssh_agent", phase
                continue
            for space in config.sign or ():
                yield "ssh_agent", f"{phase} sign {space}"
            for server in config.authenticate or ():
                yield "ssh_agent", f"{phase} authenticate {server}"

    def describe(self, config: SshAgent) -> Iterable[Grant]:
        return (_grant(replace(config, phases=(phase,)), phase) for phase in dict.fromkeys(config.phases))

    def split(self, config: SshAgent) -> tuple[SshAgent, ...]:
        if not config.phases:
            raise ShapeError("config.phase is missing")
        return tuple(replace(config, phases=(phase,)) for phase in config.phases)

    def merge_key(self, config: SshAgent) -> str:
        return config.phases[0]

    def merge(self, first: SshAgent, second: SshAgent) -> SshAgent:
        if first.free or second.free:
            return SshAgent(first.phases, None, None, None)
        return SshAgent(
            first.phases,
            False,
            _united(first.sign, second.sign),
            _united(first.authenticate, second.authenticate),
        )

    def encode(self, config: SshAgent) -> Config:
        phases: JsonValue = config.phases[0] if len(config.phases) == 1 else list(config.phases)
        written: dict[str, JsonValue] = {"phase": phases}
        if config.unrestricted is not None:
            written["unrestricted"] = config.unrestricted
        if config.sign is not None:
            written["sign"] = list(config.sign)
        if config.authenticate is not None:
            written["authenticate"] = list(config.authenticate)
        return written


def _phase_issues(phases: tuple[str, ...], at: str) -> Iterator[Issue]:
    if not phases:
        yield Issue(at, "phase is install, runtime, or a list of both")
    for index, phase in enumerate(phases):
        if phase not in PHASES and not holds_reference(phase):
            yield Issue(at, f"the phase {phase!r} is neither install nor runtime")
        elif phase in phases[:index]:
            yield Issue(at, f"the phase {phase!r} is stated twice")


def _list_issues(values: tuple[str, ...] | None, rule: re.Pattern[str], at: str, wanted: str) -> Iterator[Issue]:
    if values is None:
        return
    if not values:
        yield Issue(at, "a stated list is not empty; leave it out to allow none")
    for index, value in enumerate(values):
        if not holds_reference(value) and not rule.fullmatch(value):
            yield Issue(at, f"{value!r} is not {wanted}")
        elif value in values[:index]:
            yield Issue(at, f"{value!r} is stated twice")


def _united(first: tuple[str, ...] | None, second: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if first is None and second is None:
        return None
    return tuple(sorted({*(first or ()), *(second or ())}))


def _grant(config: SshAgent, phase_name: str) -> Grant:
    phase = Phase.INSTALL if phase_name == "install" else Phase.RUNTIME
    when = words.while_phase(phase)
    facts = tuple(TYPE.project(config))
    if config.free:
        return Grant(
            Group.SSH_AGENT,
            facts,
            "every key, for anything",
            f"Signs with any SSH key you expose, for anything, and logs in anywhere with it{when}.",
            Weight.CRITICAL,
            phase,
            at=".config",
            tick=f"I accept that it can use every SSH key I expose to log in and sign as me{when}",
        )
    spaces, servers = config.sign or (), config.authenticate or ()
    parts = []
    if spaces:
        parts.append(f"signs as you for {words.listed([words.term(s) for s in spaces])}")
    if servers:
        parts.append(f"logs in as you to {words.listed([words.term(s) for s in servers])}")
    sentence = " and ".join(parts)
    limit = "" if spaces and servers else ", and nothing else" if sentence else "Signs nothing"
    entry = " ".join(
        [f"sign {' '.join(spaces)}"] * bool(spaces) + [f"authenticate {' '.join(servers)}"] * bool(servers)
    )
    return Grant(
        Group.SSH_AGENT,
        facts,
        words.exact(entry),
        f"{sentence[:1].upper()}{sentence[1:]}{limit}{when}. Your keys never enter the sandbox.",
        Weight.NOTICE,
        phase,
        at=".config",
    )


TYPE = SshAgentType()
