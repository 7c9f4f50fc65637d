"""resources@1: how large the machine is. Never quietly less than a required entry asks for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import RESOURCES

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt])(i?b?)?)?", re.ASCII | re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


LEAST_MEMORY = 128
"""MiB a guest needs to boot."""


@dataclass(frozen=True, slots=True)
class Host:
    """What this computer has: MiB of memory and processors."""

    memory: int
    cpus: int


@dataclass(frozen=True, slots=True)
class Size:
    """What the machine gets, and which optional asks were left out, in words."""

    memory: int
    cpus: int
    skipped: tuple[str, ...] = ()


def size_machine(effective: Descriptor, host: Host, *, memory: int, cpus: int, default_cpus: int) -> Size:
    """The person's choice, else what the set asks, else the default. ``SandboxError`` when a requirement is unmet."""
    wanted_memory = wanted_cpus = 0
    skipped: list[str] = []
    for entry in effective.entries():
        if entry.type != RESOURCES:
            continue
        reasons = list(_unmet(entry, host, memory, cpus))
        if reasons and not entry.optional:
            raise SandboxError(
                f"This set requires {reasons[0]}.",
                where=RESOURCES,
                remedy="Choose a size yourself, or run the set on another computer." if "GPU" not in reasons[0] else "",
            )
        if reasons:
            skipped.append(f"{RESOURCES}: {reasons[0]}")
            continue
        stated_memory, stated_cpus = _stated(entry)
        wanted_memory, wanted_cpus = max(wanted_memory, stated_memory), max(wanted_cpus, stated_cpus)
    default_memory = max(512, min(2048, host.memory // 2))
    _check_choice(memory, cpus, host)
    return Size(memory or wanted_memory or default_memory, cpus or wanted_cpus or default_cpus, tuple(skipped))


def parse_size(text: str) -> int:
    """A size of the grammar in bytes, powers of 1024; ``ValueError`` where it is none."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a size")
    power: int = 1024 ** _POWER[(match[2] or "").lower()]
    return math.ceil(float(match[1]) * power)


def _check_choice(memory: int, cpus: int, host: Host) -> None:
    """The person's own numbers, where stated, must fit this computer."""
    if memory and not LEAST_MEMORY <= memory <= host.memory:
        raise SandboxError(
            f"A sandbox cannot have {memory} MiB of memory here.",
            where="memory",
            remedy=f"Choose {LEAST_MEMORY} to {host.memory} MiB.",
        )
    if cpus and not 1 <= cpus <= host.cpus:
        raise SandboxError(
            f"A sandbox cannot have {cpus} processors here.", where="cpus", remedy=f"Choose 1 to {host.cpus}."
        )


def _unmet(entry: Capability, host: Host, memory: int, cpus: int) -> list[str]:
    """What cannot be given; the person's own choice answers for memory and processors."""
    found: list[str] = []
    if (entry.config or {}).get("gpu"):
        found.append("a GPU, which sandboxes here do not have")
    wanted_memory, wanted_cpus = _stated(entry)
    if not memory and wanted_memory > host.memory:
        found.append(f"{wanted_memory} MiB of memory and this computer has {host.memory}")
    if not cpus and wanted_cpus > host.cpus:
        found.append(f"{wanted_cpus} processors and this computer has {host.cpus}")
    return found


def _stated(entry: Capability) -> tuple[int, int]:
    config = entry.config or {}
    memory, cpu = config.get("memory") or "0", config.get("cpu") or 0
    if not isinstance(memory, str) or isinstance(cpu, bool) or not isinstance(cpu, int | float):
        raise SandboxError("The resources entry of the set cannot be read.", where=RESOURCES)
    return math.ceil(parse_size(memory) / (1 << 20)), math.ceil(cpu)
