"""Long work as objects: title, progress, cancel, result, error. The footer and ``--json`` progress read these."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kitstudio.models.errors import KitStudioError
from kitstudio.services.topic import Topic


class JobState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class JobView:
    """What is shown of a job. ``fraction`` 0..1, None where unknown."""

    id: int
    title: str
    state: JobState
    text: str = ""
    fraction: float | None = None
    error: KitStudioError | None = None


class Job:
    """One running piece of work. Made by ``Jobs.run``; ``report`` is for the work itself."""

    def __init__(self, number: int, title: str, changed: Callable[[JobView], None]) -> None:
        self._changed = changed
        self.view = JobView(number, title, JobState.RUNNING)
        self.task: asyncio.Task[Any] | None = None

    def report(self, text: str = "", fraction: float | None = None) -> None:
        """Say how far the work is."""
        self._set(JobView(self.view.id, self.view.title, self.view.state, text, fraction))

    def cancel(self) -> None:
        """Ask the work to end; it cleans up after itself."""
        if self.task is not None:
            self.task.cancel()

    async def wait(self) -> Any:
        """The result; raises what the work raised (``CancelledError`` included)."""
        assert self.task is not None
        return await self.task

    def _set(self, view: JobView) -> None:
        self.view = view
        self._changed(view)


class Jobs:
    """All jobs of the program. Structured: ``close`` cancels what runs and waits for it."""

    def __init__(self) -> None:
        self.changed: Topic[JobView] = Topic()
        self._jobs: dict[int, Job] = {}
        self._next = 1

    def running(self) -> tuple[Job, ...]:
        """Jobs not ended yet, oldest first."""
        return tuple(self._jobs.values())

    def run(self, title: str, work: Callable[[Job], Awaitable[Any]]) -> Job:
        """Start ``work(job)`` as a task. An error that is not a ``KitStudioError`` is shown as a fault of ours."""
        job = Job(self._next, title, self.changed.publish)
        self._next += 1
        self._jobs[job.view.id] = job

        async def runner() -> Any:
            view = job.view
            try:
                result = await work(job)
            except asyncio.CancelledError:
                view = JobView(view.id, title, JobState.CANCELLED)
                raise
            except KitStudioError as error:
                view = JobView(view.id, title, JobState.FAILED, error=error)
                raise
            except Exception as error:
                fault = KitStudioError(
                    f"{type(error).__name__}: {error}",
                    where=title,
                    remedy="This is a fault in Kit Studio. Run “kitstudio doctor --bundle FILE” and report it.",
                )
                view = JobView(view.id, title, JobState.FAILED, error=fault)
                raise
            else:
                view = JobView(view.id, title, JobState.DONE, fraction=1.0)
                return result
            finally:
                self._jobs.pop(view.id, None)
                job._set(view)

        job.task = asyncio.get_running_loop().create_task(runner(), name=title)
        job.task.add_done_callback(_retrieve)
        self.changed.publish(job.view)
        return job

    async def close(self, seconds: float = 3.0) -> None:
        """Cancel everything and wait, at most ``seconds``."""
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Mark the exception as seen: the job's view carries it."""
    if not task.cancelled():
        task.exception()
