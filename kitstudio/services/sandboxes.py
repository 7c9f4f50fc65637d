"""Sandboxes as the window and the command line use them: the backend's contract plus jobs and progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import ApprovedLock, Lock
from kitstudio.runtime.backend import (
    Backend,
    Decision,
    ExecResult,
    HookRun,
    HostMountFolder,
    ImageProvider,
    LaunchOptions,
    OwnStorage,
    Progress,
    PublishedPort,
    SandboxStatus,
    Terminal,
)
from kitstudio.services.jobs import Job, Jobs
from kitstudio.services.topic import Topic

if TYPE_CHECKING:
    from kitstudio.runtime.files import Files

_KEPT_STEPS = 400
"""Progress lines kept for one launch; a long download must not grow without bound."""


class Operation(StrEnum):
    """What brings a sandbox up; the word its job's title begins with."""

    LAUNCH = "Launch"
    START = "Start"
    RECREATE = "Recreate"


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch being shown: progress so far, newest last. ``lock``: what it is launched from, where it is known."""

    name: str
    steps: tuple[Progress, ...] = ()
    operation: Operation = Operation.LAUNCH
    lock: Lock | None = None


class Sandboxes:
    """State of the sandboxes page. ``changed`` publishes the name of what changed (empty: the list).

    ``reapprove`` finds the approved lock of a sandbox again (by the lock's SHA-256, with the overrides it was created
    with), for recreate. ``settled`` adds to the options of a new sandbox what the settings say. ``renew`` keeps a
    service's renewed tokens.
    ``granted`` raises where no approval record holds a lock (by its SHA-256): nothing starts then.
    """

    def __init__(
        self,
        backend: Backend,
        images: ImageProvider,
        jobs: Jobs,
        reapprove: Callable[[str, Mapping[str, str]], Awaitable[ApprovedLock]],
        settled: Callable[[LaunchOptions], LaunchOptions] = lambda options: options,
        renew: Callable[[str, str], Awaitable[None]] | None = None,
        granted: Callable[[str], Awaitable[object]] | None = None,
    ) -> None:
        self.changed: Topic[str] = Topic()
        self._backend = backend
        self._images = images
        self._jobs = jobs
        self._reapprove = reapprove
        self._settled = settled
        self._renew = renew or _forget
        self._granted = granted
        self._known: tuple[SandboxStatus, ...] = ()
        self._launches: dict[str, Launch] = {}

    def list(self) -> tuple[SandboxStatus, ...]:
        """The last known state; ``refresh`` asks again."""
        return self._known

    async def refresh(self) -> tuple[SandboxStatus, ...]:
        """Ask the backend."""
        found = await self._backend.list()
        if found != self._known:
            self._known = found
            self.changed.publish("")
        return found

    async def status(self, name: str) -> SandboxStatus:
        """One sandbox, asked now; raises where there is none of that name."""
        return await self._backend.status(name)

    async def watch(self) -> None:
        """Publish what changes, until cancelled: the window runs this as its own task."""
        async for name in self._backend.events():
            self._known = await self._backend.list()
            if any(s.name == name and s.renewed for s in self._known):
                self._simple(name, f"Keep renewed tokens of {name}", partial(self._keep_renewed, name))
            self.changed.publish(name)

    def events(self) -> AsyncIterator[str]:
        """Names of sandboxes whose status, hooks or decisions changed."""
        return self._backend.events()

    def claims(self) -> frozenset[str]:
        """Capability types the backend enforces."""
        return self._backend.capabilities()

    async def acceleration(self) -> tuple[str, str]:
        """(``kvm`` | ``tcg``, reason)."""
        return await self._backend.acceleration()

    def launch(self, approved: ApprovedLock, options: LaunchOptions) -> Job:
        """Create and start as a job; its result is a ``SandboxStatus``. Cancel leaves nothing but cached layers."""

        async def work(progress: Callable[[Progress], None]) -> SandboxStatus:
            return await self._backend.create(approved, self._settled(options), self._images, progress)

        return self._progressing(Launch(options.name, lock=approved.lock), work)

    def launching(self, name: str) -> Launch | None:
        """Progress of a launch, None when there is none."""
        return self._launches.get(name)

    def start(self, name: str) -> Job:
        """Boot a stopped sandbox again, as a job."""

        async def work(progress: Callable[[Progress], None]) -> SandboxStatus:
            if self._granted is not None:
                await self._granted((await self._backend.status(name)).lock_sha256)
            return await self._backend.start(name, progress)

        return self._progressing(Launch(name, operation=Operation.START), work)

    def stop(self, name: str) -> Job:
        """Stop, as a job. Tokens that a provider renewed meanwhile are kept first."""

        async def work() -> None:
            await self._keep_renewed(name)
            await self._backend.stop(name)

        return self._simple(name, f"Stop {name}", work)

    def recreate(self, name: str, approved: ApprovedLock | None = None) -> Job:
        """Drop the writable layer and create again, as a job: from the sandbox's own lock, or from ``approved``, which
        takes its place."""

        async def work(progress: Callable[[Progress], None]) -> SandboxStatus:
            status = await self._backend.status(name)
            lock = approved
            if lock is None:
                lock = await self._reapprove(status.lock_sha256, await self._backend.environment(name))
            self._launches[name] = replace(self._launches[name], lock=lock.lock)
            anew = approved is not None
            return await self._backend.recreate(name, lock, self._images, progress, anew=anew)

        return self._progressing(Launch(name, operation=Operation.RECREATE), work)

    def remove(self, name: str) -> Job:
        """Remove with everything it wrote, as a job."""
        return self._simple(name, f"Remove {name}", lambda: self._backend.remove(name))

    def repair(self, name: str) -> Job:
        """Do what a broken sandbox's ``repair`` names, as a job."""
        return self._simple(name, f"Repair {name}", lambda: self._backend.repair(name))

    async def execute(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        user: str = "",
        on_output: Callable[[bool, bytes], None] | None = None,
    ) -> ExecResult:
        """Run a command to its end; ``on_output`` as in ``Backend.execute``."""
        return await self._backend.execute(name, command, stdin=stdin, user=user, on_output=on_output)

    async def terminal(self, name: str, command: Sequence[str], *, columns: int, rows: int) -> Terminal:
        """A PTY; an empty command means the interactive launch argv (§8)."""
        return await self._backend.terminal(name, command, columns=columns, rows=rows)

    async def launch_commands(self, name: str) -> Mapping[str, tuple[str, ...]]:
        """The argvs of §8 a sandbox can be opened with: ``interactive``, ``headless``, ``shell``; empty: not stated."""
        return await self._backend.launch_commands(name)

    def files(self, name: str, user: str = "") -> Files:
        """The files of a running sandbox."""
        return self._backend.files(name, user)

    async def rebind(self, service: str) -> tuple[str, ...]:
        """Tell running sandboxes that a service's secret changed; the names of those that were told."""
        return await self._backend.rebind(service)

    async def agent_session(self, name: str, verb: str, value: str = "") -> ExecResult:
        """Drive the agent without a terminal (agent-sessions@1): prompt, resume, continue or list, to its end."""
        return await self._backend.execute(name, await self._backend.session_command(name, verb, value))

    async def ports(self, name: str) -> tuple[PublishedPort, ...]:
        """The published ports of a sandbox, running or not."""
        return await self._backend.ports(name)

    async def set_port(self, name: str, container: str, host_port: int) -> tuple[PublishedPort, ...]:
        """Publish ``container`` (``8080/tcp``) at a port of the person's choice, 0 for any free one."""
        found = await self._backend.set_port(name, container, host_port)
        await self._told(name)
        return found

    async def storage(self, name: str) -> tuple[OwnStorage, ...]:
        """A sandbox's own volumes."""
        return await self._backend.storage(name)

    async def mounts(self) -> tuple[HostMountFolder, ...]:
        """Folders of this computer that sandboxes of one Kit share."""
        return await self._backend.mounts()

    async def remove_mount(self, id: str) -> None:
        """Delete such a folder and what is in it."""
        await self._backend.remove_mount(id)

    async def hooks(self, name: str) -> tuple[HookRun, ...]:
        """Lifecycle hooks that ran."""
        return await self._backend.hooks(name)

    async def decisions(self, name: str) -> tuple[Decision, ...]:
        """Egress decisions, oldest first."""
        return await self._backend.decisions(name)

    async def log(self, name: str) -> str:
        """What the sandbox wrote; untrusted text."""
        return await self._backend.log(name)

    async def details(self, name: str) -> Mapping[str, str]:
        """Lock, effective descriptor, full command line, paths."""
        return await self._backend.details(name)

    async def _keep_renewed(self, name: str) -> None:
        """Put tokens that a provider renewed where the old ones were, and tell the other sandboxes."""
        for service, text in (await self._backend.renewed(name)).items():
            await self._renew(service, text)
            await self._backend.rebind(service)

    def _progressing(
        self, launch: Launch, work: Callable[[Callable[[Progress], None]], Awaitable[SandboxStatus]]
    ) -> Job:
        name = launch.name
        if name in self._launches:
            raise KitStudioError(
                f"{name} is already being worked on.", where=name, remedy="Wait for it to finish, or cancel that job."
            )
        self._launches[name] = launch

        async def run(job: Job) -> SandboxStatus:
            def progress(step: Progress) -> None:
                self._launches[name] = _extended(self._launches.get(name, launch), step)
                job.report(": ".join(part for part in (step.phase.value, step.text) if part), step.fraction)
                self.changed.publish(name)

            try:
                return await work(progress)
            finally:
                self._launches.pop(name, None)
                await self._told(name)

        job = self._jobs.run(f"{launch.operation} {name}", run)
        assert job.task is not None
        # A job cancelled before its first step never runs the lines above.
        job.task.add_done_callback(lambda _: self._launches.pop(name, None))
        return job

    def _simple(self, name: str, title: str, work: Callable[[], Awaitable[object]]) -> Job:
        async def run(_: Job) -> object:
            try:
                return await work()
            finally:
                await self._told(name)

        return self._jobs.run(title, run)

    async def _told(self, name: str) -> None:
        """Say that ``name`` changed, with the list as it is now; also while being cancelled."""
        self._known = await asyncio.shield(asyncio.ensure_future(_list(self._backend)))
        self.changed.publish(name)


async def _forget(service: str, text: str) -> None:
    return


async def _list(backend: Backend) -> tuple[SandboxStatus, ...]:
    return await backend.list()


def _extended(launch: Launch, step: Progress) -> Launch:
    """``step`` added; a newer report of the same phase and text replaces the one before it."""
    steps = launch.steps
    if steps and (steps[-1].phase, steps[-1].text) == (step.phase, step.text):
        steps = steps[:-1]
    return replace(launch, steps=(*steps, step)[-_KEPT_STEPS:])
