"""The decoded Kit descriptor as values: §3.4, §4, §6, §7 and §7.1.1.

Presence is remembered only where the grammar asks for it (``config``, ``optional``, ``group``, ``kits``);
everywhere else absent, null and empty are one thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
"""What a config payload is made of. Treated as immutable: no function of ``models`` changes one in place."""


TEXT_FIELDS: Final[Mapping[str, str]] = {
    "schemaVersion": "schema_version",
    "kind": "kind",
    "displayName": "display_name",
    "author": "author",
    "description": "description",
    "sourceUrl": "source_url",
    "iconUrl": "icon_url",
    "version": "version",
    "build": "build",
    "dockerfile": "dockerfile",
}
"""The fields of a descriptor that hold text: as spelled → attribute."""
LIST_FIELDS: Final = frozenset({"licenses", "provides", "requires", "integrates", "conflicts"})
"""The fields of a descriptor that list texts."""
ARG_TEXT_FIELDS: Final[Mapping[str, str]] = {
    "description": "description",
    "pattern": "pattern",
    "env": "env",
    "buildArg": "build_arg",
}
"""The same of an arg; its default is text too, and may be absent."""


class Kind(StrEnum):
    """``kind:`` (§4). ``SET`` exists in authored descriptors only."""

    WORKLOAD = "workload"
    MIXIN = "mixin"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Source:
    """Diagnostic provenance of an entry (§7): never a trust input."""

    kit: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Capability:
    """One typed request (§7). ``config`` is None when absent or null; ``config_stated`` tells them apart."""

    type: str
    config: dict[str, JsonValue] | None = None
    config_stated: bool = False
    name: str = ""
    description: str = ""
    optional: bool = False
    optional_stated: bool = False
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class CapabilityGroup:
    """Requests that are accepted or skipped together (§7.1.1). ``members`` is None for ``group: null``."""

    members: tuple[Capability | CapabilityGroup, ...] | None
    name: str = ""
    description: str = ""
    optional: bool = False
    source: Source | None = None
    members_null: bool = False
    """True when the member list is absent or null: canonical JSON keeps the difference to an empty list."""


CapabilityItem: TypeAlias = Capability | CapabilityGroup


@dataclass(frozen=True, slots=True)
class Arg:
    """One declared input (§6). ``default`` is None when nothing is declared; ``""`` is a real default."""

    default: str | None = None
    required: bool = False
    description: str = ""
    enum: tuple[str, ...] = ()
    pattern: str = ""
    env: str = ""
    build_arg: str = ""

    @property
    def is_build(self) -> bool:
        """True when the value is baked in at publish; create-phase otherwise."""
        return bool(self.build_arg)


@dataclass(frozen=True, slots=True)
class ListedKit:
    """One entry of ``kits:`` (§3.4)."""

    ref: str
    digest: str = ""
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A decoded descriptor. ``kind`` stays text here: validation judges it, not decoding."""

    schema_version: str
    kind: str = ""
    display_name: str = ""
    author: str = ""
    description: str = ""
    source_url: str = ""
    icon_url: str = ""
    version: str = ""
    licenses: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    integrates: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    capabilities: tuple[CapabilityItem, ...] = ()
    args: Mapping[str, Arg] = field(default_factory=dict)
    build: str = ""
    dockerfile: str = ""
    kits: tuple[ListedKit, ...] = ()
    kits_stated: bool = False

    def entries(self) -> tuple[Capability, ...]:
        """Every request, group members included, in declaration order."""
        found: list[Capability] = []
        for item in self.capabilities:
            if isinstance(item, Capability):
                found.append(item)
            else:
                found.extend(m for m in item.members or () if isinstance(m, Capability))
        return tuple(found)
