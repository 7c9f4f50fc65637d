"""Sandboxes as the window and the command line use them: the backend's contract plus jobs and progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.backend import (
    Decision,
    ExecResult,
    HookRun,
    LaunchOptions,
    Progress,
    SandboxStatus,
    Terminal,
)
from kitstudio.services.jobs import Job
from kitstudio.services.topic import Topic


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch being shown: progress so far, newest last."""

    name: str
    steps: tuple[Progress, ...] = ()


class Sandboxes:
    """State of the sandboxes page. ``changed`` publishes the name of what changed (empty: the list)."""

    def __init__(self) -> None:
        self.changed: Topic[str] = Topic()

    def list(self) -> tuple[SandboxStatus, ...]:
        """The last known state; ``refresh`` asks again."""
        raise NotImplementedError

    async def refresh(self) -> tuple[SandboxStatus, ...]:
        raise NotImplementedError

    def claims(self) -> frozenset[str]:
        """Capability types the backend enforces."""
        raise NotImplementedError

    async def acceleration(self) -> tuple[str, str]:
        """(``kvm`` | ``tcg``, reason)."""
        raise NotImplementedError

    def launch(self, approved: ApprovedLock, options: LaunchOptions) -> Job:
        """Create and start as a job; its result is a ``SandboxStatus``. Cancel leaves nothing but cached layers."""
        raise NotImplementedError

    def launching(self, name: str) -> Launch | None:
        """Progress of a launch, None when there is none."""
        raise NotImplementedError

    def start(self, name: str) -> Job:
        raise NotImplementedError

    def stop(self, name: str) -> Job:
        raise NotImplementedError

    def recreate(self, name: str) -> Job:
        raise NotImplementedError

    def remove(self, name: str) -> Job:
        raise NotImplementedError

    def repair(self, name: str) -> Job:
        raise NotImplementedError

    async def execute(self, name: str, command: Sequence[str], *, stdin: bytes = b"", user: str = "") -> ExecResult:
        raise NotImplementedError

    async def terminal(self, name: str, command: Sequence[str], *, columns: int, rows: int) -> Terminal:
        raise NotImplementedError

    async def hooks(self, name: str) -> tuple[HookRun, ...]:
        raise NotImplementedError

    async def decisions(self, name: str) -> tuple[Decision, ...]:
        raise NotImplementedError

    async def log(self, name: str) -> str:
        raise NotImplementedError

    async def details(self, name: str) -> Mapping[str, str]:
        raise NotImplementedError
