"""The permission surface (§7.4): what a host must grant, and what counts as asking for more.

Owner module of ``Surface``, ``Widening``, ``project`` and ``diff_widenings``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Surface:
    """Sorted, deduplicated entries by field. Field names in JSON: see ``SURFACE_FIELDS``."""

    network_install_allow: tuple[str, ...] = ()
    network_install_deny: tuple[str, ...] = ()
    network_runtime_allow: tuple[str, ...] = ()
    network_runtime_deny: tuple[str, ...] = ()
    network_install_http_allow: tuple[str, ...] = ()
    network_install_http_deny: tuple[str, ...] = ()
    network_runtime_http_allow: tuple[str, ...] = ()
    network_runtime_http_deny: tuple[str, ...] = ()
    credentials_install: tuple[str, ...] = ()
    credentials_runtime: tuple[str, ...] = ()
    ssh_agent: tuple[str, ...] = ()
    storage_paths: tuple[str, ...] = ()
    host_mount_paths: tuple[str, ...] = ()
    skills_paths: tuple[str, ...] = ()
    skills_write_paths: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    usb: tuple[str, ...] = ()
    privileged: bool = False
    services: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Widening:
    """One thing a candidate asks for beyond what was granted.

    ``category``: as in the specification digest, e.g. ``network.runtime.allow``. ``detail``: the exact entry,
    empty for ``privileged``.
    """

    category: str
    detail: str = ""
