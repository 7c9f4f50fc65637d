"""privileged@1: whether a sandbox's root is the machine's root. Pure.

Without it, programs of the sandbox lack the kernel's administrative rights even as root: no mounts, devices, modules,
network set-up or debugging of others. With it they have all of them, every device, and writable /sys and cgroups. The
machine's edge, and the network's only way out, are the same either way.
"""

from __future__ import annotations

from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.capabilities import PRIVILEGED


def is_privileged(effective: Descriptor) -> bool:
    """One request makes the whole sandbox privileged (duty 4)."""
    return any(entry.type == PRIVILEGED for entry in effective.entries())
