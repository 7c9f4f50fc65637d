"""kit-registry@1: whether a sandbox reaches the registry of local Kits. Pure."""

from __future__ import annotations

from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.capabilities import KIT_REGISTRY


def wants_registry(effective: Descriptor) -> bool:
    """Whether a selected Kit asks for it: one is enough for the whole sandbox."""
    return any(entry.type == KIT_REGISTRY for entry in effective.entries())
