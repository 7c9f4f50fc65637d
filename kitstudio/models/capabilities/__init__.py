"""The well-known capability types (§7.2), one module each, and the questions about a type's name."""

from __future__ import annotations

from typing import Any

from kitstudio.models.capabilities.contract import CapabilityType
from kitstudio.models.capabilities.registry import TYPES

NAMESPACE = "com.docker.sandbox"


def lookup(type_: str) -> CapabilityType[Any] | None:
    """The module of a well-known type; None for every other type (§7.3)."""
    return TYPES.get(type_)


def known_types() -> frozenset[str]:
    """Every type this app has a module for."""
    return frozenset(TYPES)


def split_type(type_: str) -> tuple[str, str, int]:
    """``namespace/name@version`` in its parts. Raises ``ValueError`` for anything else."""
    namespace, slash, rest = type_.partition("/")
    name, at, version = rest.rpartition("@")
    if not (namespace and slash and name and at and version.isascii() and version.isdigit()):
        raise ValueError(f"{type_!r} is not namespace/name@version")
    return namespace, name, int(version)


def is_newer(type_: str) -> bool:
    """True for a type of the specification's own namespace that this app does not know: newer than this app."""
    return type_.startswith(f"{NAMESPACE}/") and type_ not in TYPES
