"""lifecycle@1 and agent-context@1, carried out in a running guest: files, hooks, the agent's profile (duties 1-19)."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kitstudio.runtime.accounts import ROOT, Account, resolve_account
from kitstudio.runtime.assemble import session_env
from kitstudio.runtime.backend import ExecResult, HookRun, SandboxError
from kitstudio.runtime.capabilities.agent_context import render_profile
from kitstudio.runtime.capabilities.lifecycle import Hook
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.qemu.guest_session import Identity

HOOK_SECONDS = 3600.0
OUTPUT_KEPT = 64 << 10
_PROFILE_LIMIT = 4 << 20
_TERM = "xterm-256color"


class Guest(Protocol):
    """The verbs of ``GuestSession`` that this module uses."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        identity: Identity = ...,
        env: Mapping[str, str] | None = ...,
        cwd: str = ...,
        stdin: bytes = ...,
        timeout: float | None = ...,
        output_limit: int = ...,
        on_output: Callable[[bytes], None] | None = ...,
    ) -> ExecResult: ...

    async def write_file(
        self, path: str, content: bytes, *, uid: int = ..., gid: int = ..., mode: int = ...
    ) -> None: ...

    async def link(self, path: str, target: str, *, uid: int = ..., gid: int = ...) -> bool: ...

    async def read_file(self, path: str, limit: int = ...) -> bytes | None: ...


class HookLog:
    """Hook runs of a sandbox in the order they began; ``changed`` gets the whole list on every change."""

    def __init__(self, runs: tuple[HookRun, ...], changed: Callable[[tuple[HookRun, ...]], None]) -> None:
        self._runs = list(runs)
        self._changed = changed

    def begin(self, run: HookRun) -> int:
        """Keep a run that starts now; gives its place for ``end``."""
        self._runs.append(run)
        self._changed(tuple(self._runs))
        return len(self._runs) - 1

    def end(self, place: int, run: HookRun) -> None:
        """Replace it by how it ended."""
        self._runs[place] = run
        self._changed(tuple(self._runs))


async def account_of(guest: Guest, user: str, default: Account) -> Account:
    """``user`` as the guest's own passwd has it now; ``default`` for none. Root needs no file."""
    if not user:
        return default
    if user in ("root", "0"):
        return ROOT
    passwd, group = await guest.read_file("/etc/passwd"), await guest.read_file("/etc/group")
    try:
        return resolve_account(user, passwd, group)
    except LookupError as error:
        raise SandboxError(f"The user {user!r} does not resolve in the sandbox: {error}.") from error


async def write_start_files(guest: Guest, plan: LaunchPlan) -> None:
    """Write the declared files: the agent's, replaced unless the Kit says to keep what is there."""
    owner = plan.contract.account
    for file in plan.lifecycle.files:
        if not file.overwrite and await exists(guest, file.path):
            continue
        await guest.write_file(file.path, file.content.encode(), uid=owner.uid, gid=owner.gid, mode=file.mode or 0o644)


async def write_profile(guest: Guest, plan: LaunchPlan) -> None:
    """Write the agent's profile and the inline bodies it points at; text outside our section stays."""
    profile, owner = plan.profile, plan.contract.account
    if not profile.path:
        return
    for body in profile.bodies:
        if body.text is not None:
            await guest.write_file(body.path, body.text.encode(), uid=owner.uid, gid=owner.gid, mode=0o644)
    existing = await guest.read_file(profile.path, _PROFILE_LIMIT) or b""
    text = render_profile(profile, existing.decode("utf-8", "surrogateescape"), plan.contract.workdir, plan.name)
    await guest.write_file(
        profile.path, text.encode("utf-8", "surrogateescape"), uid=owner.uid, gid=owner.gid, mode=0o644
    )


async def run_hook(
    guest: Guest, hook: Hook, plan: LaunchPlan, log: HookLog, variables: Mapping[str, str] | None = None
) -> HookRun:
    """Run one hook to its end. A hook that fails is an execution error naming Kit, phase and index.

    ``variables``: what the phase's credentials add to what the hook may list.
    """
    account = await account_of(guest, hook.user, ROOT if hook.phase == "install" else plan.contract.account)
    run = HookRun(
        kit=hook.kit,
        phase=hook.phase,
        index=hook.index,
        command=tuple(plan.hide(part) for part in hook.command),
        user=account.name,
        background=hook.background,
        description=plan.hide(hook.description),
    )
    output = bytearray()

    def keep(piece: bytes) -> None:
        output.extend(piece)
        if len(output) > 2 * OUTPUT_KEPT:
            del output[:-OUTPUT_KEPT]

    place = log.begin(run)
    begun = time.monotonic()

    def ended(status: int | None, note: str = "") -> HookRun:
        text = plan.hide(bytes(output[-OUTPUT_KEPT:]).decode("utf-8", "replace") + note)
        done = dataclasses.replace(run, output=text, status=status, seconds=round(time.monotonic() - begun, 3))
        log.end(place, done)
        return done

    try:
        result = await guest.run(
            hook.command,
            identity=Identity(account.uid, account.gid, account.groups),
            env=hook_env(hook, plan, account, variables),
            cwd=plan.contract.workdir,
            timeout=None if hook.background else HOOK_SECONDS,
            on_output=keep,
        )
    except SandboxError as error:
        ended(-1, f"\n{error}")
        raise _failed(hook, plan, f"could not be run: {error.what}", bytes(output)) from error
    except asyncio.CancelledError:
        ended(-1, "\nended by the launch")
        raise
    if not output and result.status in (126, 127):
        keep(result.stderr)
    done = ended(result.status)
    if result.status != 0 and not hook.background:
        raise _failed(hook, plan, f"failed with status {result.status}", bytes(output))
    return done


def hook_env(
    hook: Hook, plan: LaunchPlan, account: Account, variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The baseline, from the sandbox alone, and the variables the hook lists (duties 6 and 7)."""
    everything = session_env(plan.contract, account, plan.hostname) | dict(variables or {})
    env = {name: everything[name] for name in hook.env if name in everything}
    env["PATH"] = everything["PATH"]
    env["HOME"] = account.home
    env["HOSTNAME"] = plan.hostname
    env["TERM"] = _TERM
    env["PWD"] = plan.contract.workdir
    return env


def agent_env(plan: LaunchPlan, account: Account, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the agent and commands of the person see."""
    return {"TERM": _TERM} | session_env(plan.contract, account, plan.hostname) | dict(extra or {})


async def exists(guest: Guest, path: str) -> bool:
    """Whether anything is at ``path``; what cannot be read as a small file is there all the same."""
    try:
        return await guest.read_file(path, 64 << 20) is not None
    except SandboxError:
        return True


def _failed(hook: Hook, plan: LaunchPlan, how: str, output: bytes) -> SandboxError:
    tail = output[-2000:].decode("utf-8", "replace").strip()
    command = " ".join(hook.command)[:300]
    text = f"The {hook.phase} hook {hook.index + 1} of {hook.kit or 'the set'} {how}. Command: {command}"
    return SandboxError(
        plan.hide(f"{text}\nOutput:\n{tail}" if tail else f"{text}. It wrote nothing."),
        where=f"{hook.kit or 'the set'}: {hook.path}",
        remedy="The Kit's author has to mend the hook, or the set must grant what it needs.",
    )
