"""Requests and records of plain values for the window's tests, and a gate that answers like the real one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kitstudio.models import lock as locks
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import Lock, LockedKit
from kitstudio.models.plan import Member, Plan
from kitstudio.models.review import Asker, Finding, Group, Permission, Phase, Review, Weight
from kitstudio.models.surface import Surface, Widening
from kitstudio.services.approvals import Kept, Record, Request
from kitstudio.services.topic import Topic

GH = "hub.example/acme/gh:2.73.0"
AGENT = "hub.example/globex/agent:4.1.0"


def finding(weight: Weight, sentence: str, entry: str, *, removed: bool = False, tick: str = "", **rest) -> Finding:  # type: ignore[no-untyped-def]
    permission = Permission(Group.NETWORK, "network.runtime.allow", entry, entry, sentence, weight, **rest)
    return Finding(permission, (Widening("network.runtime.allow", entry),), removed, tick)


CRITICAL = finding(
    Weight.CRITICAL,
    "Reads and writes a folder on this computer.",
    "host-mount /home/agent/.cache/gh",
    askers=(Asker(GH, "capabilities[0]", 34, "Keeps <b>files</b>."),),
    tick="I accept that",
)
REFUSAL = finding(
    Weight.SERIOUS,
    "No longer refuses metadata.internal.example.",
    "deny metadata.internal.example:80",
    removed=True,
    denies=True,
    phase=Phase.RUNTIME,
)
OPTIONAL = finding(Weight.NOTICE, "Sends files.", "POST uploads.example/**", optional=True)
NARROWED = Permission(Group.PORTS, "ports", "8022", "8022/tcp", "no longer opens port 8022", Weight.INFO)


def request(*findings: Finding, first: bool = False, **rest) -> Request:  # type: ignore[no-untyped-def]
    members = (Member(GH, "sha256:41b80d52"), Member(AGENT, "sha256:aaaa"))
    granted = Lock(
        "team-agent",
        (
            LockedKit("hub.example/acme/gh:2.72.0", "sha256:9f3c1e7a", "mixin"),
            LockedKit(AGENT, "sha256:aaaa", "workload"),
        ),
        Surface(),
        "",
    )
    plan = Plan(members=members, workload=AGENT)
    review = Review("gh 2.73.0 asks for more than you approved for 2.72.0", first, findings, **rest)
    return Request("1", "team-agent", plan, review, None if first else granted, plan)


def record(answer: str, name: str = "team-agent", **rest: Any) -> Record:
    """A decision that is kept."""
    found = (
        {
            "sentence": "Sends files.",
            "weight": "notice",
            "entry": "POST uploads.example/**",
            "category": "network.runtime.allow",
            "detail": "uploads.example",
            "kit": GH,
        },
    )
    lock = Lock(name, (LockedKit(GH, "sha256:41b80d52", "mixin"),), Surface(), "")
    made = Record(1_700_000_000.0, "sam", name, answer, f"{name} asked", locks.sha256(lock), "", found)
    return replace(made, **rest)


class Gate:
    """What windows ask of the gate: answers are remembered, ``error`` is raised once instead of the next one."""

    def __init__(self, *waiting: Request, history: tuple[Record, ...] = ()) -> None:
        self.changed: Topic[None] = Topic()
        self.kept: list[Request] = []
        self.approved: list[tuple[Request, frozenset[str], bool]] = []
        self.error: KitStudioError | None = None
        self.waits_unready: tuple[Kept, ...] = ()
        self.stored: tuple[Request, ...] = ()
        self._waiting, self._history = list(waiting), history

    def waiting(self) -> tuple[Request, ...]:
        return tuple(self._waiting)

    def unready(self) -> tuple[Kept, ...]:
        return self.waits_unready

    async def load(self) -> None:
        self._waiting = [*self.stored, *self._waiting]
        self.changed.publish(None)

    async def names(self) -> tuple[str, ...]:
        return ()

    async def history(self) -> tuple[Record, ...]:
        return self._history

    async def hold(self, asked: Request) -> None:
        self._waiting = [other for other in self._waiting if other.name != asked.name] + [asked]
        self.changed.publish(None)

    async def keep(self, asked: Request) -> None:
        self._answered(asked, lambda: self.kept.append(asked))

    async def approve(self, asked: Request, ticked: frozenset[str], *, without_optional: bool = False) -> str:
        self._answered(asked, lambda: self.approved.append((asked, ticked, without_optional)))
        return f"granted {asked.name}"

    def _answered(self, asked: Request, act: Callable[[], None]) -> None:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        act()
        self._waiting = [other for other in self._waiting if other.id != asked.id]
        self.changed.publish(None)
