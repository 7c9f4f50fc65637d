"""Sparse ext4 disks: the writable layer of a sandbox, and its own storage."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from kitstudio.runtime.backend import SandboxError


async def create_disk(path: Path, size_mib: int, label: str = "") -> None:
    """A new sparse ext4 file of ``size_mib`` MiB at ``path``, as ``create_disk_of`` makes them."""
    await create_disk_of(path, size_mib << 20, label)


async def create_disk_of(path: Path, size: int, label: str = "", *, owner: int = 0) -> None:
    """A new sparse ext4 file of ``size`` bytes at ``path`` (temporary name, then renamed); its root belongs to
    ``owner``. ``SandboxError`` when that cannot be."""
    program = shutil.which("mke2fs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not program:
        raise SandboxError("mke2fs is not installed.", remedy="Install the package e2fsprogs.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    extended = f"lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner={owner}:{owner}"
    options = ["-q", "-F", "-t", "ext4", "-m", "0", "-E", extended]
    if label:
        options += ["-L", label[:16]]
    try:
        _make_sparse(temporary, size)
        process = await asyncio.create_subprocess_exec(
            program,
            *options,
            str(temporary),
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
        if process.returncode != 0:
            raise SandboxError(
                f"The sandbox's disk could not be made: {errors.decode(errors='replace').strip()[-300:]}",
                where=str(path),
                remedy="Free some space on this disk, then try again.",
            )
        temporary.replace(path)
    except OSError as error:
        raise SandboxError(f"The sandbox's disk could not be made: {error.strerror}.", where=str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _make_sparse(path: Path, size: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.truncate(size)
