"""The files behind ``volume@1``: one sparse ext4 disk for each path of a sandbox, in the sandbox's folder.

``volumes.json`` says what each was made as. A path that is no longer selected keeps its disk, unmounted; removing the
sandbox removes all of them with its folder.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kitstudio.runtime import state
from kitstudio.runtime.backend import OwnStorage, SandboxError
from kitstudio.runtime.capabilities import VOLUME
from kitstudio.runtime.capabilities.volume import OWNER, PlannedVolume, refuse_changed
from kitstudio.runtime.codec import to_json
from kitstudio.runtime.qemu.disk import create_disk_of
from kitstudio.runtime.qemu.spec import Disk, RamDisk


def kept_volumes(folder: Path) -> dict[str, PlannedVolume]:
    """What the sandbox's storage was made as, by path."""
    record = folder / "volumes.json"
    if not record.exists():
        return {}
    return {volume.path: volume for volume in state.read_json(tuple[PlannedVolume, ...], record)}


def check_volumes(folder: Path, volumes: tuple[PlannedVolume, ...]) -> None:
    """Before anything is replaced: refuse where kept storage was asked for otherwise."""
    refuse_changed(volumes, kept_volumes(folder))


async def make_volumes(folder: Path, volumes: tuple[PlannedVolume, ...]) -> None:
    """Allocate what is new; what is there is left alone, its permissions and contents included (duty 13)."""
    kept = await asyncio.to_thread(kept_volumes, folder)
    refuse_changed(volumes, kept)
    (folder / "volumes").mkdir(mode=0o700, exist_ok=True)
    for volume in volumes:
        if volume.tmpfs or volume.path in kept:
            continue
        path = disk_path(folder, volume)
        await create_disk_of(path, volume.bytes, "volume", owner=OWNER)
        try:
            await _furnish(path, volume.permissions)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    everything = {**kept, **{volume.path: kept.get(volume.path, volume) for volume in volumes}}
    await asyncio.to_thread(state.write_json, folder / "volumes.json", to_json(tuple(everything.values())))


def volume_disks(folder: Path, volumes: Sequence[PlannedVolume]) -> tuple[tuple[Disk, ...], tuple[RamDisk, ...]]:
    """What the machine mounts. ``SandboxError`` names a path whose disk has gone: it is never made anew in silence."""
    disks: list[Disk] = []
    ram: list[RamDisk] = []
    for number, volume in enumerate(volumes):
        if volume.tmpfs:
            ram.append(RamDisk(volume.path, volume.bytes if volume.size else 0, volume.permissions, OWNER))
            continue
        path = disk_path(folder, volume)
        if not path.is_file():
            raise SandboxError(
                f"The disk of the storage at {volume.path} is not there any more.",
                where=str(path),
                remedy="Put it back, or remove the sandbox and launch its set again.",
            )
        disks.append(Disk(path, f"v{number}", volume.path))
    return tuple(disks), tuple(ram)


def list_volumes(folder: Path, volumes: Sequence[PlannedVolume]) -> tuple[OwnStorage, ...]:
    """Every volume with what it takes on this computer."""
    kept = kept_volumes(folder)
    selected = {volume.path: volume for volume in volumes}
    found: list[OwnStorage] = []
    for path, volume in sorted((kept | selected).items()):
        used = 0
        with suppress(OSError):
            used = 0 if volume.tmpfs else disk_path(folder, volume).stat().st_blocks * 512
        found.append(OwnStorage(path, volume.size, volume.mode, volume.tmpfs, used, path in selected))
    return tuple(found)


def disk_path(folder: Path, volume: PlannedVolume) -> Path:
    """Where the disk of a volume lies."""
    return folder / "volumes" / f"{volume.key}.ext4"


async def _furnish(path: Path, mode: int) -> None:
    """Empty it (mke2fs leaves a folder) and give its root the mode, without mounting it."""
    program = shutil.which("debugfs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not program:
        raise SandboxError("debugfs is not installed.", where=VOLUME, remedy="Install the package e2fsprogs.")
    requests = f"rmdir lost+found\nset_inode_field <2> mode 04{mode:04o}\n"
    process = await asyncio.create_subprocess_exec(
        program,
        *("-w", "-f", "-", str(path)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await process.communicate(requests.encode())
    except BaseException:
        process.kill()
        await process.wait()
        raise
    complaints = "\n".join(line for line in errors.decode(errors="replace").splitlines() if not _is_banner(line))
    if process.returncode != 0 or complaints:
        raise SandboxError(f"The storage could not be prepared: {complaints[-300:]}", where=str(path))


def _is_banner(line: str) -> bool:
    return line.startswith("debugfs ") or not line.strip()
