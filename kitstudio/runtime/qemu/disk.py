"""Sparse ext4 disks: the writable layer of a sandbox."""

from __future__ import annotations

from pathlib import Path


async def create_disk(path: Path, size_mib: int, label: str = "") -> None:
    """A new sparse ext4 file at ``path`` (temporary name, then renamed). ``SandboxError`` when that cannot be."""
    raise NotImplementedError
