"""``acp@1``: how to start an agent's Agent Client Protocol adapter inside the sandbox; grants nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models.capabilities.commands import Argv, command
from kitstudio.models.capabilities.contract import CapabilityType, Claim, Config, FieldKeywords, MergeConflict
from kitstudio.models.capabilities.shape import Reader, holds_reference
from kitstudio.models.issue import Issue
from kitstudio.models.relations import is_name, normalise

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Acp:
    agent: str
    command: Argv
    env: tuple[tuple[str, str], ...]
    protocol_version: int


class AcpType(CapabilityType[Acp]):
    name = "com.docker.sandbox/acp@1"
    title = "agent protocol adapter"
    silent = True
    keywords: ClassVar[FieldKeywords] = {"": {"required": ["agent", "command"]}, "protocolVersion": {"minimum": 1}}

    def read(self, fields: Reader) -> Acp:
        env = fields.object("env")
        version = fields.integer("protocolVersion") if fields.has("protocolVersion") else 1
        return Acp(fields.text("agent"), command(fields, "command") or (), _env(env), version)

    def check(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        at = f"{where}.config"
        for key, value in (config or {}).items():
            if value is None:
                return (Issue(f"{at}.{key}", "null is no value here; leave the field out"),)
        return super().check(config, where, kind)

    def values(self, config: Acp, at: str) -> Iterable[Issue]:
        if not is_name(config.agent):
            yield Issue(f"{at}.agent", "agent is a name some Kit provides, without a version")
        if not config.command or not _program(config.command).strip() or any("\0" in a for a in config.command):
            yield Issue(f"{at}.command", "command names a program")
        for name, value in config.env:
            if not _VARIABLE.fullmatch(name):
                yield Issue(f"{at}.env", f"{name!r} is not the name of an environment variable")
            elif "\0" in value:
                yield Issue(f"{at}.env.{name}", "a value holds no NUL")
        if config.protocol_version < 1:
            yield Issue(f"{at}.protocolVersion", "a protocol version is 1 or more")

    def literal_claims(self, config: Config) -> tuple[Claim, ...]:
        agent = (config or {}).get("agent")
        if not isinstance(agent, str) or holds_reference(agent) or not is_name(agent):
            return ()
        return (Claim(f"acp {normalise(agent)}", ".config.agent", f"an adapter for {agent}"),)

    def merge_key(self, config: Acp) -> str:
        return normalise(config.agent) if is_name(config.agent) else config.agent

    def merge(self, first: Acp, second: Acp) -> Acp:
        if (first.command, first.env, first.protocol_version) != (second.command, second.env, second.protocol_version):
            raise MergeConflict(f"different adapters for the agent {first.agent}")
        return first


def _env(fields: Reader | None) -> tuple[tuple[str, str], ...]:
    if fields is None:
        return ()
    return tuple((name, fields.text(name)) for name in sorted(fields.copy()))


def _program(argv: Argv) -> str:
    return argv[2] if len(argv) == 3 and argv[:2] == ("sh", "-c") else argv[0]


TYPE = AcpType()
