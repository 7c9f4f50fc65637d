"""host-mount@1: which shared folder of this computer belongs to which Kit. Pure.

A folder's identity is the repository of the Kit that declares it, without tag and digest, and its path; a set's own
declaration, which no Kit publishes, belongs to the lock's name, which a person chose.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from kitstudio.models.capabilities import host_mount as mount_type
from kitstudio.models.lock import ApprovedLock
from kitstudio.models.words import repository
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import HOST_MOUNT
from kitstudio.runtime.capabilities.volume import PlannedVolume
from kitstudio.runtime.policy import contributions, paths

MOST = 7
"""Shared folders of one sandbox, beside its workspace."""
_KEPT = ("/proc", "/sys", "/dev", "/run/kit")


@dataclass(frozen=True, slots=True)
class PlannedMount:
    """One selected request. ``owner``: whose folder it is; ``mode``: of a fresh folder, empty where not stated."""

    owner: str
    path: str
    mode: str = ""

    @property
    def id(self) -> str:
        """Names its folder on this computer."""
        return hashlib.sha256(f"{self.owner}\0{self.path}".encode("utf-8", "surrogateescape")).hexdigest()[:24]

    @property
    def permissions(self) -> int:
        return int(self.mode, 8) if self.mode else 0o755


def plan_mounts(
    approved: ApprovedLock, volumes: tuple[PlannedVolume, ...], workdir: str, unable: str = ""
) -> tuple[tuple[PlannedMount, ...], tuple[str, ...]]:
    """The shared folders, parents first, and what optional ones go without.

    ``workdir``: where the workspace is shown, empty where there is none; ``unable``: why this computer shares no folder
    at all (duty 13). ``SandboxError`` where two want one place (duty 14) or a required one cannot be given.
    """
    found: dict[str, PlannedMount] = {}
    skipped: list[str] = []
    taken = {volume.path for volume in volumes}
    for kit, descriptor in contributions(approved):
        for _, entry in paths(kit, descriptor):
            if entry.type != HOST_MOUNT:
                continue
            stated = mount_type.TYPE.decode(entry.config)
            locked = any(kit == each.reference for each in approved.lock.kits)
            owner = repository(kit) if locked else f"set {approved.lock.name}"
            if stated.path in found or stated.path in taken:
                raise SandboxError(f"Two requests for storage meet at {stated.path}; it has one owner.", where=kit)
            why = unable or _why_not(stated.path, workdir, len(found))
            if why and not entry.optional:
                raise SandboxError(f"The shared folder at {stated.path} cannot be given: {why}.", where=kit)
            if why:
                skipped.append(f"{HOST_MOUNT} {stated.path}: {why}")
            else:
                found[stated.path] = PlannedMount(owner, stated.path, stated.mode or "")
    return tuple(sorted(found.values(), key=lambda mount: mount.path.count("/"))), tuple(skipped)


def wants_mounts(approved: ApprovedLock) -> bool:
    """Whether anything asks for a shared folder."""
    return any(entry.type == HOST_MOUNT for entry in approved.effective.entries())


def _why_not(path: str, workdir: str, count: int) -> str:
    if any(path == kept or path.startswith(f"{kept}/") for kept in _KEPT):
        return "the sandbox's own devices and processes are shown there"
    if "\n" in path:
        return "its path holds a line break"
    if workdir and path == workdir:
        return "the workspace is shown there"
    if count >= MOST:
        return f"a sandbox has at most {MOST} shared folders"
    return ""
