"""Which acceleration works here, found by really booting the guest kernel under it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kitstudio.runtime.guest.image import GuestImage


@dataclass(frozen=True, slots=True)
class Acceleration:
    """``kind``: ``kvm`` or ``tcg`` (software emulation); ``reason`` in plain words."""

    kind: str
    reason: str


async def acceleration(guest: GuestImage, state_dir: Path) -> Acceleration:
    """KVM when the guest kernel reaches its init under it within five seconds, else software emulation.

    Cached in ``state_dir`` per kernel, QEMU version and host boot. ``SandboxError`` when QEMU is missing.
    """
    raise NotImplementedError
