"""The folder of all sandboxes: taking a name, listing, seeing what changed, sweeping up remains."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime import state
from kitstudio.runtime.backend import LaunchOptions, LaunchPhase, SandboxError, State
from kitstudio.runtime.state import Record, SandboxFolder, read_or_none

_YOUNG_SECONDS = 60.0


def claim(sandboxes: Path, name: str, approved: ApprovedLock, options: LaunchOptions) -> tuple[SandboxFolder, int]:
    """The name, taken by one rename: whoever comes second finds it in use. Gives the folder and its held lock."""
    with state.disk_full_is_told(sandboxes):
        sandboxes.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = SandboxFolder(sandboxes / f".new-{secrets.token_hex(6)}")
        made.path.mkdir(mode=0o700)
        lock = made.try_lock()
    assert lock is not None
    try:
        made.write(
            Record(
                id=secrets.token_hex(6),
                name=name,
                set_name=approved.lock.name,
                lock_sha256=approved.sha256,
                state=State.STARTING,
                phase=LaunchPhase.PULL.value,
                accel=options.accel,
                workspace=str(options.workspace or ""),
            )
        )
        place = sandboxes / name
        try:
            os.rename(made.path, place)
        except OSError as error:
            raise SandboxError(
                f"A sandbox named {name} exists already.",
                where=name,
                remedy="Choose another name, or remove that one.",
            ) from error
    except BaseException:
        os.close(lock)
        shutil.rmtree(made.path, ignore_errors=True)
        raise
    return SandboxFolder(place), lock


def sweep(sandboxes: Path) -> None:
    """Remains of removals and of creates that died before they had a name."""
    for path in sandboxes.glob(".gone-*"):
        shutil.rmtree(path, ignore_errors=True)
    for path in sandboxes.glob(".new-*"):
        with suppress(OSError):
            if abs(time.time() - path.stat().st_mtime) > _YOUNG_SECONDS:  # a clock may have been put back
                shutil.rmtree(path, ignore_errors=True)


def paths(sandboxes: Path) -> list[Path]:
    """The sandboxes' folders by name."""
    if not sandboxes.is_dir():
        return []
    return sorted(p for p in sandboxes.iterdir() if p.is_dir() and not p.name.startswith("."))


def marks(sandboxes: Path) -> dict[str, tuple[int, ...]]:
    """Per name, numbers that differ after any change of status, hooks or decisions."""
    found: dict[str, tuple[int, ...]] = {}
    for path in paths(sandboxes):
        folder = SandboxFolder(path)
        numbers: list[int] = []
        for file in (folder.record, folder.hooks, folder.decisions):
            try:
                numbers.append(file.stat().st_mtime_ns)
            except FileNotFoundError:
                numbers.append(0)
        record = read_or_none(folder)
        numbers.append(int(state.is_alive(record.supervisor)) if record else -1)
        found[path.name] = tuple(numbers)
    return found
