"""Starting and ending a sandbox's supervisor from outside, and finding out how it fares."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from kitstudio.runtime import control, state
from kitstudio.runtime.backend import LaunchPhase, SandboxError, SandboxStatus, State
from kitstudio.runtime.codec import to_json
from kitstudio.runtime.launch import LaunchPlan, Origin
from kitstudio.runtime.proxy.kit_registry import KitShelf
from kitstudio.runtime.skill_store import Skills
from kitstudio.runtime.state import Record, SandboxFolder, read_or_none

STOP_SECONDS = 30.0
ANSWER_SECONDS = 3.0
START_AGAIN = "Start again"
CLEAN_UP = "Clean up"

# What a supervisor inherits: enough to run, no secret of the person's shell.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_RUNTIME_DIR", "PYTHONPATH", "KITSTUDIO_GUEST")

Tell = Callable[[LaunchPhase, str, float | None], None]


async def launch(
    folder: SandboxFolder,
    tell: Tell,
    *,
    first: bool,
    secrets: Mapping[str, str] | None = None,
    agent: str = "",
    keys: frozenset[str] | None = None,
    skills: Skills | None = None,
    kits: KitShelf | None = None,
) -> None:
    """Start the supervisor and follow its launch to ready; on any failure it is down when this returns.

    ``secrets``: by service, handed to the supervisor over its own socket and kept in its memory only.
    ``agent``: the socket of the SSH agent to relay, empty for none; ``keys``: its keys that may be used, None for all.
    ``skills``: the person's own, as they are shared now; ``kits``: what the registry inside serves (kit-registry@1).
    """
    tell(LaunchPhase.BOOT, "", None)
    child = await asyncio.to_thread(_spawn, folder)
    try:
        await _follow(
            folder,
            child,
            tell,
            first=first,
            secrets=dict(secrets or {}),
            agent=agent,
            keys=keys,
            skills=skills or Skills(),
            kits=kits or KitShelf(),
        )
    except BaseException:
        await asyncio.shield(_abandon(folder, child))
        raise


async def halt(folder: SandboxFolder, child: subprocess.Popen[bytes] | None = None) -> None:
    """End supervisor and machine: by asking, then by signal. Returns when both are gone."""
    with suppress(SandboxError, TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS), control.request(folder.path, "stop") as channel:
            await channel.receive_json()
    record = read_or_none(folder)
    supervisor = record.supervisor if record else None
    if supervisor is None and child is not None:
        supervisor = state.identify(child.pid)
    state.terminate(supervisor)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await _gone(supervisor)
    except TimeoutError:
        state.kill(supervisor)
    record = read_or_none(folder)
    machine = record.machine if record else None
    state.kill(machine)
    await _gone(machine, supervisor)
    if child is not None:
        child.poll()


async def settle(folder: SandboxFolder) -> None:
    """After a crash: no leftover process, no stale socket, a recreate cut short undone, the record stopped."""
    record = read_or_none(folder) or _rebuilt(folder)
    state.kill(record.supervisor)
    state.kill(record.machine)
    await _gone(record.supervisor, record.machine)
    (folder.path / "control.sock").unlink(missing_ok=True)
    if folder.previous_upper.exists():
        restore_upper(folder)
    folder.write(stopped(record))


async def status_of(folder: SandboxFolder) -> SandboxStatus:
    """How a sandbox stands: its record, checked against what really runs."""
    try:
        record = await asyncio.to_thread(folder.read)
    except SandboxError as error:
        if not folder.path.exists():
            raise FileNotFoundError(folder.path) from error
        return SandboxStatus("", folder.path.name, State.BROKEN, "", "", broken=error.what, repair=CLEAN_UP)
    record, refused = await _checked(folder, record)
    return SandboxStatus(
        id=record.id,
        name=record.name,
        state=record.state,
        set_name=record.set_name,
        lock_sha256=record.lock_sha256,
        started_at=record.started_at,
        phase=record.phase,
        accel=record.accel,
        memory=state.resident_memory(record.machine),
        memory_limit=record.memory_limit,
        workspace=record.workspace,
        refused=refused,
        broken=record.broken,
        repair=record.repair,
        skipped=record.skipped,
        ports=record.ports if record.state is State.RUNNING else (),
        idle_stop=record.idle_stop if record.state is State.RUNNING else 0.0,
        renewed=record.renewed if record.state is State.RUNNING else 0,
        note=record.note if record.state is State.STOPPED else "",
    )


def stopped(record: Record) -> Record:
    """The record of a sandbox at rest."""
    return dataclasses.replace(
        record,
        state=State.STOPPED,
        phase="",
        started_at=0.0,
        broken="",
        repair="",
        supervisor=None,
        machine=None,
        ports=(),
        idle_stop=0.0,
    )


def restore_upper(folder: SandboxFolder) -> None:
    """Put the writable layer back that a recreate had set aside."""
    folder.upper.unlink(missing_ok=True)
    os.replace(folder.previous_upper, folder.upper)


_CHILDREN: list[subprocess.Popen[bytes]] = []
"""Supervisors started here, kept to be reaped; they live on without us."""


async def _abandon(folder: SandboxFolder, child: subprocess.Popen[bytes]) -> None:
    """End a launch that failed; a supervisor that had no time to say how it ended left its sandbox stopped."""
    await halt(folder, child)
    record = read_or_none(folder)
    if record is not None and record.state in (State.STARTING, State.RUNNING):
        folder.write(stopped(record))


async def _follow(
    folder: SandboxFolder,
    child: subprocess.Popen[bytes],
    tell: Tell,
    *,
    first: bool,
    secrets: Mapping[str, str],
    agent: str,
    keys: frozenset[str] | None,
    skills: Skills,
    kits: KitShelf,
) -> None:
    usable = None if keys is None else sorted(keys)
    while True:
        if child.poll() is not None:
            raise SandboxError(
                f"The sandbox's supervisor ended at once (status {child.returncode}). {_tail(folder.crash)}",
                where=folder.path.name,
            )
        try:
            async with control.request(
                folder.path,
                "launch",
                first=first,
                secrets=dict(secrets),
                agent=agent,
                keys=usable,
                skills=to_json(skills),
                kits=to_json(kits),
            ) as channel:
                while True:
                    answer = await channel.receive_json()
                    if answer.get("ready"):
                        return
                    step = answer["progress"]
                    tell(LaunchPhase(step["phase"]), str(step["text"]), step["fraction"])
        except SandboxError as error:
            if not isinstance(error.__cause__, OSError):
                raise
        await asyncio.sleep(0.02)


def _spawn(folder: SandboxFolder) -> subprocess.Popen[bytes]:
    """A supervisor in a session of its own: no terminal, none of our descriptors, none of our secrets."""
    _CHILDREN[:] = [child for child in _CHILDREN if child.poll() is None]
    (folder.path / "control.sock").unlink(missing_ok=True)
    with folder.crash.open("wb") as crash:
        child = subprocess.Popen(
            # -P: no module of ours is ever looked for in the folder it works in
            [sys.executable, "-P", "-m", "kitstudio.runtime.supervisor", str(folder.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=crash,
            cwd=folder.path,
            env={name: os.environ[name] for name in _INHERITED if name in os.environ},
            start_new_session=True,
        )
    _CHILDREN.append(child)
    return child


async def _gone(*processes: state.Process | None) -> None:
    """Wait for processes that are not our children: there is nothing to wait on but the process table."""
    while any(state.is_alive(process) for process in processes):  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def _checked(folder: SandboxFolder, record: Record) -> tuple[Record, int]:
    """The record as it is once its supervisor was asked, and how many refusals that one counts.

    A supervisor that does not answer may be on its way out: its record then changes, so both are watched.
    """
    deadline = time.monotonic() + ANSWER_SECONDS
    while record.state in (State.STARTING, State.RUNNING):
        if not state.is_alive(record.supervisor):
            if await asyncio.to_thread(_worked_on, folder):
                return record, 0
            now = await asyncio.to_thread(read_or_none, folder)
            if state.of_an_earlier_boot(record.supervisor):
                return stopped(record), 0  # the computer was restarted: nothing of it runs, nothing is to be mended
            if now in (record, None):
                return _broken(record, "The sandbox's supervisor ended without stopping it."), 0
            record = now or record
            continue
        try:
            async with asyncio.timeout(ANSWER_SECONDS), control.request(folder.path, "status") as channel:
                answer = await channel.receive_json()
                idle_stop = float(answer.get("idle", record.idle_stop))
                return dataclasses.replace(record, idle_stop=idle_stop), int(answer["refused"])
        except (SandboxError, TimeoutError):
            if time.monotonic() > deadline:
                return _broken(record, "The sandbox's supervisor does not answer."), 0
            await asyncio.sleep(0.05)
            latest = await asyncio.to_thread(read_or_none, folder)
            record = latest or record
    return record, 0


def _broken(record: Record, why: str) -> Record:
    return dataclasses.replace(record, state=State.BROKEN, phase="", broken=why, repair=CLEAN_UP)


def _rebuilt(folder: SandboxFolder) -> Record:
    """The record of a sandbox whose own cannot be read, from what else is known about it."""
    plan = state.read_json(LaunchPlan, folder.launch)
    origin = state.read_json(Origin, folder.lock)
    return Record(
        id=secrets.token_hex(6),
        name=folder.path.name,
        set_name=origin.name,
        lock_sha256=origin.sha256,
        state=State.STOPPED,
        created=True,
        accel=plan.accel,
        memory_limit=plan.memory,
        workspace=str(plan.workspace or ""),
    )


def _worked_on(folder: SandboxFolder) -> bool:
    try:
        handle = folder.try_lock()
    except FileNotFoundError:
        return False
    if handle is None:
        return True
    os.close(handle)
    return False


def _tail(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[-500:].strip()
    except OSError:
        return ""
