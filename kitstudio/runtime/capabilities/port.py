"""port@1: which ports of a sandbox are published. Datagrams are not: they do not pass the control connection. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from kitstudio.models.capabilities import port as port_type
from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import PORT

MOST = 64


@dataclass(frozen=True, slots=True)
class PlannedPort:
    """One publication. ``name``: what the Kit calls it, untrusted text."""

    container: int
    name: str = ""

    @property
    def key(self) -> str:
        return f"{self.container}/tcp"


def plan_ports(effective: Descriptor) -> tuple[tuple[PlannedPort, ...], tuple[str, ...]]:
    """Each port once (duty 5), and what optional requests go without. ``SandboxError`` for a required udp port."""
    found: dict[str, PlannedPort] = {}
    skipped: list[str] = []
    for entry in effective.entries():
        if entry.type != PORT:
            continue
        stated = port_type.TYPE.decode(entry.config)
        why = ""
        if stated.transport == "udp":
            why = "datagrams are not published by this program"
        elif len(found) >= MOST and stated.key not in found:
            why = f"a sandbox publishes at most {MOST} ports"
        if why and not entry.optional:
            raise SandboxError(
                f"The port {stated.key} cannot be published: {why}.",
                where=PORT,
                remedy="Remove the Kit that requires it, or choose a version where it is optional.",
            )
        if why:
            skipped.append(f"{PORT} {stated.key}: {why}")
        else:
            earlier = found.get(stated.key)
            if earlier is None or not earlier.name:
                found[stated.key] = PlannedPort(stated.container, stated.name)
    return tuple(found.values()), tuple(skipped)
