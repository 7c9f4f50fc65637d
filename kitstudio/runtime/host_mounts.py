"""The folders of this computer behind ``host-mount@1``: made on first use, kept until a person deletes them.

``ROOT/ID/files`` is what sandboxes see; ``ROOT/ID/mount.json`` says whose it is. ``ROOT/ID`` is closed to other users
of this computer, whatever a sandbox does to the modes inside.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kitstudio.runtime import qemu, state
from kitstudio.runtime.backend import HostMountFolder, SandboxError
from kitstudio.runtime.capabilities.host_mount import PlannedMount
from kitstudio.runtime.codec import to_json
from kitstudio.runtime.qemu.spec import Share

_LAUNCHER = Path(qemu.__file__).with_name("launch.py")
MOST_COUNTED = 100_000
"""Entries that are counted for a size: what a sandbox filled without bound is told as "at least"."""
_ID = re.compile(r"[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class _Card:
    owner: str
    path: str


async def why_not_shared(uid: int, gid: int) -> str:
    """Why this computer cannot show a folder to a sandbox as that user's; empty where it can. Found by trying."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), f"{uid}:{gid}", "true"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return "" if process.returncode == 0 else errors.decode(errors="replace").strip()[-200:] or "it does not say why"


def mounts_root(sandbox: Path) -> Path:
    """Where the folders of all sandboxes beside this one lie."""
    return sandbox.parent.parent / "mounts"


def mount_shares(root: Path, mounts: Iterable[PlannedMount]) -> tuple[Share, ...]:
    """Every folder, made where it is new (its mode is applied then, and never again), as the machine shares it.

    ``SandboxError`` names a folder that cannot be used: a sandbox never runs without one it has.
    """
    return tuple(Share(_folder(root, mount), f"m{number}", False, mount.path) for number, mount in enumerate(mounts))


def list_mounts(root: Path, users: Iterable[tuple[str, bool, tuple[PlannedMount, ...]]]) -> tuple[HostMountFolder, ...]:
    """Every kept folder. ``users``: name of a sandbox, whether it runs, its mounts."""
    everyone = tuple(users)
    found: list[HostMountFolder] = []
    for place in sorted(root.iterdir()) if root.is_dir() else ():
        if not _ID.fullmatch(place.name) or not (place / "mount.json").is_file():
            continue
        card = state.read_json(_Card, place / "mount.json")
        having = [(name, runs) for name, runs, mounts in everyone if any(m.id == place.name for m in mounts)]
        size, files = _measure(place / "files")
        found.append(
            HostMountFolder(
                place.name,
                card.owner,
                card.path,
                str(place / "files"),
                size,
                files,
                tuple(name for name, _ in having),
                tuple(name for name, runs in having if runs),
            )
        )
    return tuple(sorted(found, key=lambda each: (each.owner, each.path)))


def remove_mount(root: Path, found: HostMountFolder) -> None:
    """Delete one. Taken out of sight first, so that no sandbox starts with half of it."""
    if found.running:
        raise SandboxError(
            f"The folder is in use by {', '.join(found.running)}.",
            where=f"{found.owner} {found.path}",
            remedy="Stop it first.",
        )
    gone = root / f".gone-{secrets.token_hex(6)}"
    try:
        os.rename(root / found.id, gone)
        _open_up(gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise SandboxError(
            f"The folder could not be deleted completely: {error.strerror}.", where=str(error.filename or gone)
        ) from error


def _folder(root: Path, mount: PlannedMount) -> Path:
    place = root / mount.id
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
        if not (place / "mount.json").exists():
            state.write_json(place / "mount.json", to_json(_Card(mount.owner, mount.path)))
        files = place / "files"
        if not os.path.lexists(files):
            fresh = place / f".files-{secrets.token_hex(6)}"
            fresh.mkdir()
            fresh.chmod(mount.permissions)
            fresh.rename(files)
        if files.is_symlink() or not files.is_dir():
            raise NotADirectoryError(20, "it is not a folder", str(files))
        os.listdir(files)
    except OSError as error:
        raise SandboxError(
            f"The shared folder for {mount.path} cannot be used: {error.strerror}.",
            where=str(error.filename or place),
            remedy="Make it a folder you own, or delete it with: kitstudio mounts --rm " + mount.id,
        ) from error
    return files


def _measure(folder: Path) -> tuple[int, int]:
    """Bytes and files; links are not followed, what cannot be read is not counted."""
    size = files = 0
    queue = [folder]
    while queue and files < MOST_COUNTED:
        try:
            with os.scandir(queue.pop()) as entries:
                for entry in entries:
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(Path(entry.path))
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
                    if files >= MOST_COUNTED:
                        break
        except OSError:
            continue
    return size, files


def _open_up(folder: Path) -> None:
    """A sandbox may have closed folders to their owner, who could then not delete them."""
    queue = [folder]
    while queue:
        current = queue.pop()
        os.chmod(current, 0o700)
        with os.scandir(current) as entries:
            queue += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
