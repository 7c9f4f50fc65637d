"""The gate (§7.4): the only maker of ``ApprovedLock``. Locks, approval records, what waits.

Records are append-only in the home's database; a lock counts only if its SHA-256 is in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.lock import ApprovedLock, Lock
from kitstudio.models.plan import Plan
from kitstudio.models.review import Review
from kitstudio.services.topic import Topic


@dataclass(frozen=True, slots=True)
class Request:
    """One operation that waits for an answer: the plan, judged against the lock of that name (None: none yet)."""

    id: str
    name: str
    plan: Plan
    review: Review
    granted: Lock | None


@dataclass(frozen=True, slots=True)
class Record:
    """One decision. ``answer``: approved, approved-without-optional, kept, silent (within the surface)."""

    time: float
    user: str
    name: str
    answer: str
    title: str
    lock_sha256: str
    previous_sha256: str
    findings: tuple[Mapping[str, object], ...]
    lock: Mapping[str, object]


class Approvals:
    """State of the gate. ``changed`` publishes when what waits or the history changed."""

    def __init__(self) -> None:
        self.changed: Topic[None] = Topic()

    def request(self, name: str, plan: Plan) -> Request:
        """Judge a launchable plan against the lock ``name``. Raises ``KitStudioError`` if it is not launchable."""
        raise NotImplementedError

    def waiting(self) -> tuple[Request, ...]:
        """Requests set aside undecided, oldest first."""
        raise NotImplementedError

    def hold(self, request: Request) -> None:
        """Leave a request undecided: it waits, nothing is granted."""
        raise NotImplementedError

    def keep(self, request: Request) -> None:
        """Answer no: recorded, the old lock stays in force."""
        raise NotImplementedError

    def approve(self, request: Request, accepted: frozenset[str], *, without_optional: bool = False) -> ApprovedLock:
        """Answer yes. ``accepted``: keys of the critical findings ticked; refuses unless all of them are.

        A request without findings needs no ticks (a movement within the surface) and is recorded as silent.
        """
        raise NotImplementedError

    def approve_from(self, request: Request, file: Path) -> ApprovedLock:
        """Replay an exported record or lock: equal digests, args and surface, else refused by name."""
        raise NotImplementedError

    def lock(self, name: str) -> Lock | None:
        """The lock in force; None if there is none. A tampered file is named in ``tampered`` and counts as none."""
        raise NotImplementedError

    def tampered(self, name: str) -> str:
        """Why the lock file of that name does not count, empty if it does."""
        raise NotImplementedError

    def history(self) -> tuple[Record, ...]:
        """All records, newest first."""
        raise NotImplementedError

    def export(self, record: Record, file: Path) -> None:
        """Write one record as JSON, replayable by ``approve_from``."""
        raise NotImplementedError
