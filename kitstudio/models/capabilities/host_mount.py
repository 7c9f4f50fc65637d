"""``host-mount@1``: a folder of this computer, chosen by the runtime, shared by every sandbox with the same Kit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models import words
from kitstudio.models.capabilities import paths, sizes
from kitstudio.models.capabilities.contract import (
    CapabilityType,
    Claim,
    Config,
    Fact,
    FieldKeywords,
    Grant,
    MergeConflict,
)
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.capabilities.volume import storage_claim, storage_key
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Weight


@dataclass(frozen=True, slots=True)
class HostMount:
    """``mode`` is None when not stated; a stated one is never empty."""

    path: str
    mode: str | None = None


class HostMountType(CapabilityType[HostMount]):
    name = "com.docker.sandbox/host-mount@1"
    title = "shared host folder"
    family = Group.HOST_FILES
    heaviest = Weight.CRITICAL
    keywords: ClassVar[FieldKeywords] = {
        "": {"required": ["path"]},
        "path": {"pattern": "^/"},
        "mode": {"pattern": f"^(?:{sizes.MODE_PATTERN})$"},
    }

    def read(self, fields: Reader) -> HostMount:
        mode = fields.text("mode") if fields.has("mode") else None
        return HostMount(fields.text("path"), mode)

    def values(self, config: HostMount, at: str) -> Iterable[Issue]:
        if not paths.is_canonical(config.path) or config.path == "/" or "\0" in config.path:
            yield Issue(f"{at}.path", "a host mount's path is absolute, in its shortest form, and not the root")
        if config.mode is not None and not sizes.is_mode(config.mode):
            yield Issue(f"{at}.mode", f"{config.mode!r} is not {sizes.MODE_RULE}")

    def literal_claims(self, config: Config) -> tuple[Claim, ...]:
        return storage_claim(config, own="host-mount", rival="volume")

    def project(self, config: HostMount) -> Iterable[Fact]:
        return (("host_mount_paths", config.path),)

    def describe(self, config: HostMount) -> Iterable[Grant]:
        yield Grant(
            Group.HOST_FILES,
            tuple(self.project(config)),
            words.exact(f"host-mount {config.path}"),
            "Reads and writes a folder on this computer. Every sandbox with this Kit shares it.",
            Weight.CRITICAL,
            at=".config",
            tick="I accept that any sandbox with this Kit can change what the others find there",
        )

    def merge_key(self, config: HostMount) -> str:
        return storage_key(config.path)

    def merge(self, first: HostMount, second: HostMount) -> HostMount:
        raise MergeConflict(f"a shared folder at {first.path}; it has one owner")


TYPE = HostMountType()
