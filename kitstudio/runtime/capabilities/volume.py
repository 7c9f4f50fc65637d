"""volume@1: which storage a sandbox has of its own, and whether what is kept still fits what is asked for. Pure.

Block storage is a file of the sandbox's folder with an ext4 file system, keyed by its cleaned path; RAM is a tmpfs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from kitstudio.models.capabilities import paths, sizes
from kitstudio.models.capabilities import volume as volume_type
from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import VOLUME

DEFAULT_BYTES = 8 << 30
"""Sparse: what is not written takes no room."""
SMALLEST_BYTES = 4 << 20
"""Below this no file system with a journal can be made."""
LARGEST_BYTES = 16 << 40
OWNER = 1000
"""The agent of every sandbox (§12): who may write the root of fresh storage."""
_KEPT = ("/proc", "/sys", "/dev", "/run/kit")


@dataclass(frozen=True, slots=True)
class PlannedVolume:
    """One selected request. ``size`` and ``mode`` as stated, empty where they are not; ``path`` is cleaned."""

    path: str
    size: str = ""
    tmpfs: bool = False
    mode: str = ""

    @property
    def key(self) -> str:
        """Names its file: the path and nothing else (duty 8)."""
        return hashlib.sha256(self.path.encode("utf-8", "surrogateescape")).hexdigest()[:20]

    @property
    def settings(self) -> tuple[str, bool, str]:
        """Equal for equivalent requests (part 4)."""
        return sizes.size_key(self.size), self.tmpfs, sizes.mode_key(self.mode)

    @property
    def bytes(self) -> int:
        """What is allocated: at least what a file system needs."""
        stated = sizes.size_in_bytes(self.size) if self.size else None
        if stated is None:
            return DEFAULT_BYTES
        whole = -(-stated.numerator // stated.denominator)
        return max(whole, 4096 if self.tmpfs else SMALLEST_BYTES)

    @property
    def permissions(self) -> int:
        """Of the root of fresh storage."""
        return int(self.mode, 8) if self.mode else 0o755


def plan_volumes(effective: Descriptor) -> tuple[tuple[PlannedVolume, ...], tuple[str, ...]]:
    """The volumes to mount, parents first, and what optional ones go without, in words.

    ``SandboxError`` where a required one cannot be given, or two requests at one path differ (duties 16 and 18).
    """
    found: dict[str, PlannedVolume] = {}
    skipped: list[str] = []
    for entry in effective.entries():
        if entry.type != VOLUME:
            continue
        stated = volume_type.TYPE.decode(entry.config)
        volume = PlannedVolume(paths.clean(stated.path), stated.size, stated.tmpfs, stated.mode)
        why = _why_not(volume)
        if why and not entry.optional:
            raise SandboxError(
                f"The storage at {volume.path} cannot be given: {why}.",
                where=VOLUME,
                remedy="Remove the Kit that asks for it.",
            )
        if why:
            skipped.append(f"{VOLUME} {volume.path}: {why}")
            continue
        earlier = found.setdefault(volume.path, volume)
        if earlier.settings != volume.settings:
            raise SandboxError(f"Two Kits ask for different storage at {volume.path}.", where=VOLUME)
    return tuple(sorted(found.values(), key=lambda volume: volume.path.count("/"))), tuple(skipped)


def refuse_changed(volumes: tuple[PlannedVolume, ...], kept: Mapping[str, PlannedVolume]) -> None:
    """Refuse where a selected path's kept storage was asked for otherwise (duty 12). ``kept``: by path."""
    for volume in volumes:
        earlier = kept.get(volume.path)
        if earlier is not None and earlier.settings != volume.settings:
            raise SandboxError(
                f"The storage at {volume.path} was made as {told(earlier)}, and is now asked for as {told(volume)}.",
                where=VOLUME,
                remedy="Nothing was changed. Launch the set as a new sandbox, which gets storage of its own.",
            )


def told(volume: PlannedVolume) -> str:
    """Its settings in words."""
    size = volume.size.strip() or "no stated size"
    mode = f"mode {volume.mode}" if volume.mode else "no stated mode"
    return f"{'memory' if volume.tmpfs else 'disk'}, {size}, {mode}"


def _why_not(volume: PlannedVolume) -> str:
    if volume.path == "/":
        return "it would hide the whole sandbox"
    if any(volume.path == kept or volume.path.startswith(f"{kept}/") for kept in _KEPT):
        return "the sandbox's own devices and processes are shown there"
    if any(sign in volume.path for sign in "\n\0"):
        return "its path holds a line break"
    if volume.bytes > LARGEST_BYTES:
        return f"{volume.size} is more than a disk here can have (16t)"
    return ""
