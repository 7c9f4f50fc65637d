"""``volume@1``: storage private to one sandbox, at a path; block storage that outlives the container, or RAM."""

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
from kitstudio.models.capabilities.shape import Reader, holds_reference
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Weight


@dataclass(frozen=True, slots=True)
class Volume:
    path: str
    size: str = ""
    tmpfs: bool = False
    mode: str = ""

    def settings(self) -> tuple[str, bool, str]:
        """Equal when two requests at one path are the same request."""
        return sizes.size_key(self.size), self.tmpfs, sizes.mode_key(self.mode)


class VolumeType(CapabilityType[Volume]):
    name = "com.docker.sandbox/volume@1"
    title = "volume"
    family = Group.STORAGE
    keywords: ClassVar[FieldKeywords] = {
        "": {"required": ["path"]},
        "path": {"pattern": "^/"},
        "size": {"pattern": f"^(?:{sizes.SIZE_PATTERN})?$"},
        "mode": {"pattern": f"^(?:{sizes.MODE_PATTERN})?$"},
    }

    def read(self, fields: Reader) -> Volume:
        return Volume(fields.text("path"), fields.text("size"), fields.boolean("tmpfs"), fields.text("mode"))

    def values(self, config: Volume, at: str) -> Iterable[Issue]:
        if not config.path.startswith("/"):
            yield Issue(f"{at}.path", "a volume's path begins with a slash")
        if config.size and not sizes.is_size(config.size):
            yield Issue(f"{at}.size", f"{config.size!r} is not a size: {sizes.SIZE_RULE}")
        if config.mode and not sizes.is_mode(config.mode):
            yield Issue(f"{at}.mode", f"{config.mode!r} is not {sizes.MODE_RULE}")

    def literal_claims(self, config: Config) -> tuple[Claim, ...]:
        return storage_claim(config, own="volume", rival="host-mount")

    def project(self, config: Volume) -> Iterable[Fact]:
        return (("storage_paths", paths.clean(config.path)),)

    def describe(self, config: Volume) -> Iterable[Grant]:
        path = paths.clean(config.path)
        size = f", {words.term(config.size)}" if config.size else ""
        kept = "in memory, emptied at every stop" if config.tmpfs else "kept until this sandbox is removed"
        yield Grant(
            Group.STORAGE,
            tuple(self.project(config)),
            words.exact(path),
            f"Keeps files of its own at {words.term(path)}{size}, {kept}.",
            Weight.INFO,
            at=".config",
        )

    def merge_key(self, config: Volume) -> str:
        return storage_key(config.path)

    def merge(self, first: Volume, second: Volume) -> Volume:
        if first.settings() != second.settings():
            raise MergeConflict(f"different storage at {paths.clean(first.path)}; no setting is chosen over the other")
        return first


def storage_key(path: str) -> str:
    """The key volumes and host mounts share: one destination has one owner."""
    return f"storage {paths.clean(path)}"


def storage_claim(config: Config, *, own: str, rival: str) -> tuple[Claim, ...]:
    """The literal destination of a raw volume or host-mount config."""
    path = (config or {}).get("path")
    if not isinstance(path, str) or not path or holds_reference(path):
        return ()
    cleaned = paths.clean(path)
    return (Claim(f"{own} {cleaned}", ".config.path", f"the path {cleaned}", (f"{rival} {cleaned}",)),)


TYPE = VolumeType()
