"""``port@1``: one port of the sandbox, published on this computer; the host side is the runtime's choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models import words
from kitstudio.models.capabilities.contract import CapabilityType, Claim, Config, Fact, FieldKeywords, Grant
from kitstudio.models.capabilities.shape import Reader, ShapeError
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Weight


@dataclass(frozen=True, slots=True)
class Port:
    """``transport`` as stated; empty means tcp."""

    container: int
    transport: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        return f"{self.container}/{self.transport or 'tcp'}"


class PortType(CapabilityType[Port]):
    name = "com.docker.sandbox/port@1"
    title = "port"
    family = Group.PORTS
    keywords: ClassVar[FieldKeywords] = {
        "": {"required": ["container"]},
        "container": {"minimum": 1, "maximum": 65535},
        "transport": {"enum": ["", "tcp", "udp"]},
    }

    def read(self, fields: Reader) -> Port:
        return Port(fields.integer("container"), fields.text("transport"), fields.text("name"))

    def values(self, config: Port, at: str) -> Iterable[Issue]:
        if not 1 <= config.container <= 65535:
            yield Issue(f"{at}.container", f"a port is 1 to 65535, not {config.container}")
        if config.transport not in ("", "tcp", "udp"):
            yield Issue(f"{at}.transport", f"{config.transport!r} is neither tcp nor udp")

    def claims(self, config: Config) -> tuple[Claim, ...]:
        try:
            port = self.decode(config)
        except ShapeError:
            return ()
        return (Claim(f"port {port.key}", ".config.container", f"the port {port.key}"),)

    def project(self, config: Port) -> Iterable[Fact]:
        return (("ports", config.key),)

    def describe(self, config: Port) -> Iterable[Grant]:
        label = f" ({words.quoted(config.name)})" if config.name else ""
        yield Grant(
            Group.PORTS,
            tuple(self.project(config)),
            words.exact(config.key),
            f"Opens port {config.container}{label} of the sandbox to programs on this computer.",
            Weight.NOTICE,
            at=".config",
        )

    def merge_key(self, config: Port) -> str:
        return config.key


TYPE = PortType()
