"""The gate (§7.4): the only maker of ``ApprovedLock``. Locks, approval records, what waits.

Records are append-only in the home's database; a lock counts only if its SHA-256 is in one. A decision is recorded
first and the lock file replaced second: a crash between the two leaves the old lock in force. The database and the
files are used in a thread, one operation after the other; one that is cancelled is finished first, so that the old or
the new lock is in force and never something between.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from kitstudio.models import lock as locks
from kitstudio.models import words
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import Answer, ApprovedLock, Lock
from kitstudio.models.plan import Plan
from kitstudio.models.policy import HOST_POLICY, Policy, RuleNote, host_refusals, judged
from kitstudio.models.review import Finding, Review, Weight
from kitstudio.registry.threads import in_thread
from kitstudio.services.composition import JudgedPlan
from kitstudio.services.findings import finding_json
from kitstudio.services.home import Home, write_atomic
from kitstudio.services.lock_files import (
    ApprovalError,
    GateRefused,
    LockFiles,
    check_name,
    read_lock,
    record_json,
    sha256,
)
from kitstudio.services.records import Kept, Record, Records
from kitstudio.services.secret_permissions import refuse_written_secrets
from kitstudio.services.set_edits import without_secrets
from kitstudio.services.topic import Topic

__all__ = [
    "ApprovalError",
    "Approvals",
    "GateRefused",
    "Kept",
    "Record",
    "Request",
    "check_name",
    "read_lock",
    "record_json",
    "sha256",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """One operation that waits for an answer: the plan, judged against the lock of that name (None: none yet).

    ``reduced``: the same set without the optional items the findings come from, for "approve without the optional
    ones"; None where that is not possible. ``rules``: what the person's own rules did to the reading, each rule named.
    ``refused``: the sentences of the rules that refuse it; nothing approves it while there is one.
    """

    id: str
    name: str
    plan: Plan = field(repr=False)
    review: Review
    granted: Lock | None
    reduced: Plan | None = field(default=None, repr=False)
    rules: tuple[RuleNote, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def critical(self) -> tuple[Finding, ...]:
        """The findings that need a tick of their own."""
        return tuple(finding for finding in self.review.findings if finding.weight is Weight.CRITICAL)


class Approvals:
    """State of the gate. ``changed`` publishes when what waits or the history changed.

    ``rejudge`` judges a plan again with other choices; ``rebuild`` makes the plan of a lock and a set's text, for what
    waits over a restart; ``policy`` is the person's rules as they are now.
    """

    def __init__(
        self,
        home: Home,
        rejudge: Callable[[JudgedPlan, Mapping[str, bool]], Plan] | None = None,
        *,
        rebuild: Callable[[Lock, str], Awaitable[Plan]] | None = None,
        policy: Callable[[], Policy] = Policy,
        clock: Callable[[], float] = time.time,
        user: str = "",
    ) -> None:
        self.changed: Topic[None] = Topic()
        self._records = Records(home.database)
        self._files = LockFiles(home.locks, self._records)
        self._clock = clock
        self._user = user or getpass.getuser()
        self._rejudge = rejudge
        self._rebuild = rebuild
        self._policy = policy
        self._turn = asyncio.Lock()
        self._waiting: dict[str, Request] = {}
        self._unready: tuple[Kept, ...] = ()
        self._made: dict[str, tuple[Policy, ApprovedLock]] = {}

    async def load(self) -> None:
        """Bring back what waits, from earlier runs and from commands that ran meanwhile. What cannot be judged now is
        named in ``unready``; what was answered elsewhere, or is in force by now, waits no longer."""
        before = frozenset(self._waiting)
        kept = await in_thread(lambda stop: self._records.waiting())
        answered = before.difference(each.id for each in kept)
        self._waiting = {key: request for key, request in self._waiting.items() if key not in answered}
        known = frozenset(self._waiting)
        unready: list[Kept] = []
        for each in kept:
            if await self._in_force(each):
                self._waiting.pop(each.id, None)
                continue
            if each.id in known:
                continue
            try:
                if self._rebuild is None:
                    raise ApprovalError("Nothing here can judge this set again.", where=each.name)
                plan = await self._rebuild(locks.decode(each.lock), each.document)
                request = await self.request(each.name, plan)
            except KitStudioError as error:
                unready.append(replace(each, why=f"{error.what} {error.remedy}".strip()))
            else:
                self._waiting[each.id] = replace(request, id=each.id)
        order = [each.id for each in kept]
        self._waiting = dict(sorted(self._waiting.items(), key=lambda item: _place(order, item[0])))
        self._unready = tuple(unready)
        self.changed.publish(None)

    async def _in_force(self, kept: Kept) -> bool:
        """Whether the lock a request asks for was put in force by another one since: it is settled then."""
        try:
            granted = await self.lock(kept.name)
            same = granted is not None and not locks.differences(granted, locks.decode(kept.lock))
        except KitStudioError:
            return False
        if same:
            await self._whole(lambda: self._records.settle(kept.id))
        return same

    async def request(self, name: str, plan: Plan) -> Request:
        """Judge a launchable plan against the lock ``name``. Raises ``KitStudioError`` if it is not launchable."""
        check_name(name)
        policy = self._policy()
        if why := self.withheld(plan):
            raise GateRefused(why, where=name, remedy="Take the rule back under Settings, or leave the Kit out.")
        problems = (*plan.problems, *plan.runtime_problems)
        if problems:
            more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
            raise ApprovalError(
                f"{problems[0].message}{more}", where=name, remedy=problems[0].detail or "Correct the set first."
            )
        if not plan.launchable:
            raise ApprovalError("The set is still being fetched.", where=name, remedy="Wait until its Kits are known.")
        refuse_written_secrets(plan)
        granted = await self.lock(name)
        verdict = judged(policy, locks.review(name, granted, plan), plan)
        return Request(
            uuid.uuid4().hex,
            name,
            plan,
            verdict.review,
            granted,
            self._reduced(plan, verdict.review),
            verdict.notes,
            verdict.refused,
        )

    def withheld(self, plan: Plan) -> str:
        """Which rule of the host policy keeps a set from running here at all, in words; empty: none does."""
        return self._policy().refuses_types(plan.runtime_problems)

    def waiting(self) -> tuple[Request, ...]:
        """Requests set aside undecided, oldest first; after ``load`` those of earlier runs too."""
        return tuple(self._waiting.values())

    def unready(self) -> tuple[Kept, ...]:
        """What waits and could not be judged again (a secret is needed, a registry is silent), each saying why."""
        return self._unready

    async def hold(self, request: Request) -> None:
        """Leave a request undecided: it waits, nothing is granted. A newer one of the same name takes its place."""
        kept = Kept(
            request.id,
            request.name,
            request.review.title,
            self._clock(),
            locks.encode(locks.from_plan(request.name, request.plan)),
            _document(request.plan),
        )
        await self._whole(lambda: self._records.hold(kept))
        self._waiting = {key: held for key, held in self._waiting.items() if held.name != request.name}
        self._unready = tuple(each for each in self._unready if each.name != request.name)
        self._waiting[request.id] = request
        self.changed.publish(None)

    async def keep(self, request: Request) -> None:
        """Answer no: recorded, the old lock stays in force."""
        record, text = self._record(request, request.plan, self._lock(request, request.plan, "declined"), "kept")

        def answer() -> None:
            self._records.append(record, text)
            self._records.settle(request.id)

        await self._whole(answer)
        self._decided(request)

    async def approve(
        self, request: Request, accepted: frozenset[str], *, without_optional: bool = False
    ) -> ApprovedLock:
        """Answer yes. ``accepted``: keys of the critical findings ticked; refuses unless all of them are.

        A request without findings needs no ticks (a movement within the surface) and is recorded as silent.
        """
        plan = request.plan
        if without_optional:
            if request.reduced is None:
                raise ApprovalError("Nothing this asks for is optional.", where=request.name)
            plan = request.reduced
        # The rules of now, not of when the request was made: a tick demanded meanwhile is still missing.
        findings = judged(self._policy(), request.review, request.plan).review.findings
        critical = [finding for finding in findings if finding.weight is Weight.CRITICAL]
        left = [f for f in critical if f.key not in accepted and not (without_optional and _optional(f))]
        if left:
            raise GateRefused(
                f"{len(left)} critical finding{'s need' if len(left) > 1 else ' needs'} an answer of "
                f"{'their' if len(left) > 1 else 'its'} own: {', '.join(words.exact(f.key) for f in left)}.",
                where=request.name,
                remedy="Read each one and accept it by itself, or keep what was approved before.",
            )
        answer = "approved-without-optional" if without_optional else "approved"
        lock = self._lock(request, plan, "declined" if without_optional else "approved")
        return await self._grant(request, plan, lock, answer if request.review.needs_answer else "silent")

    async def approve_from(self, request: Request, file: Path) -> ApprovedLock:
        """Replay an exported record or lock: equal digests, args and surface, else refused by name."""
        stored = await in_thread(lambda stop: read_lock(file))
        plan = request.plan
        if stored.selection and self._rejudge is not None and isinstance(plan, JudgedPlan):
            # What the record declined stays out: it approves no more than it says.
            plan = self._rejudge(plan, stored.selection)
        made = replace(locks.from_plan(request.name, plan), answers=stored.answers)
        differences = locks.differences(stored, made)
        if stored.name != request.name:
            differences = (f"it is for the set “{stored.name}”, this one is called “{request.name}”", *differences)
        if differences:
            raise GateRefused(
                f"The record does not fit: {differences[0]}.",
                where=str(file),
                remedy="It approves something else. Review this set yourself, or get a record made for exactly it.",
            )
        return await self._grant(request, plan, stored, "approved" if request.review.needs_answer else "silent")

    async def again(self, lock_sha256: str, plan: Plan) -> ApprovedLock:
        """The approved lock with this hash once more, for a set fetched again; refused unless it is the very same."""
        stored, _ = await self.granted(lock_sha256)
        made = replace(locks.from_plan(stored.name, plan), answers=stored.answers)
        differences = locks.differences(stored, made)
        if differences:
            raise ApprovalError(f"The set is not what was approved: {differences[0]}.", where=stored.name)
        policy = self._policy()
        verdict = judged(policy, locks.review(stored.name, stored, plan), plan)
        self._refuse(stored.name, verdict.refused)
        return self._approved(stored, plan)

    def made(self, lock_sha256: str) -> ApprovedLock | None:
        """The approved lock with this hash, if it was made in this run and under the rules of now: with the secrets it
        was given."""
        policy, approved = self._made.get(lock_sha256, (None, None))
        return approved if policy == self._policy() else None

    async def granted(self, lock_sha256: str) -> tuple[Lock, str]:
        """A lock some record of this home put in force, and the set's text then. Raises ``ApprovalError``."""
        found = await in_thread(lambda stop: self._records.granted(lock_sha256))
        if found is None:
            raise ApprovalError(
                "No approval record of this home holds that lock.",
                where=lock_sha256[:16],
                remedy="Approve the set again.",
            )
        return locks.decode(found[0]), found[1]

    async def lock(self, name: str) -> Lock | None:
        """The lock in force; None if there is none. A tampered file is named in ``tampered`` and counts as none."""
        return await in_thread(lambda stop: self._files.lock(name))

    async def names(self) -> tuple[str, ...]:
        """Names with a lock file, sorted."""
        return await in_thread(lambda stop: self._files.names())

    async def tampered(self, name: str) -> str:
        """Why the lock file of that name does not count, empty if it does."""
        return await in_thread(lambda stop: self._files.tampered(name))

    async def history(self) -> tuple[Record, ...]:
        """All records, newest first."""
        return await in_thread(lambda stop: self._records.all())

    async def rollback(self, record: Record) -> Request:
        """A request to go back to the lock of an earlier record: judged like any other, so that what it would widen is
        asked for again and what only narrows is not."""
        if self._rebuild is None:
            raise ApprovalError("Nothing here can judge this set again.", where=record.name)
        lock, document = await self.granted(record.lock_sha256)
        return await self.request(record.name, await self._rebuild(lock, document))

    async def export(self, record: Record, file: Path) -> None:
        """Write one record as JSON, replayable by ``approve_from``."""
        text = json.dumps(record_json(record), ensure_ascii=False, indent=2) + "\n"
        await in_thread(lambda stop: write_atomic(file.absolute(), text.encode(), mode=0o644))

    async def _grant(self, request: Request, plan: Plan, lock: Lock, answer: str) -> ApprovedLock:
        """Record, then put the lock in force. What is in force already is no new decision, and stays as it is."""
        policy = self._policy()
        verdict = judged(policy, request.review, plan)
        self._refuse(request.name, tuple(dict.fromkeys((*request.refused, *verdict.refused))))
        granted = request.granted
        same = answer == "silent" and granted is not None and not locks.differences(granted, lock)
        kept = granted if same and granted is not None else lock
        record, text = self._record(request, plan, kept, answer)
        others = [held.id for held in self._waiting.values() if held.id != request.id and _asks_for(held, kept)]

        def decide() -> None:
            with self._files.alone():
                if self._files.lock(request.name) != granted:
                    raise ApprovalError(
                        "Another decision was made for this set meanwhile.",
                        where=request.name,
                        remedy="Review it again.",
                    )
                if not same:
                    self._records.append(record, text)
                    self._files.put(request.name, text)
                for settled in (request.id, *others):
                    self._records.settle(settled)

        await self._whole(decide)
        for settled in others:
            self._waiting.pop(settled, None)
        self._decided(request)
        approved = self._approved(kept, plan)
        self._made[approved.sha256] = (self._policy(), approved)
        return approved

    async def _whole(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread, after what was begun before it; once begun it is finished, also when cancelled."""
        async with self._turn:
            task = asyncio.ensure_future(in_thread(lambda stop: work()))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                await asyncio.wait({task})
                if not task.cancelled():
                    task.exception()
                self.changed.publish(None)
                raise

    def _reduced(self, plan: Plan, review: Review) -> Plan | None:
        """The set without the optional items that the findings come from; None where there are none."""
        asked = {(w.category, w.detail) for f in review.findings if _optional(f) for w in f.widenings}
        off = {
            f"{choice.kit}#{choice.path}": False
            for choice in plan.choices
            if choice.selected and any((p.category, p.detail) in asked for p in choice.permissions)
        }
        if not off or self._rejudge is None or not isinstance(plan, JudgedPlan):
            return None
        reduced = self._rejudge(plan, off)
        return reduced if reduced.launchable else None

    @staticmethod
    def _lock(request: Request, plan: Plan, optional_answer: str) -> Lock:
        answers = tuple(
            Answer(finding.key, optional_answer if _optional(finding) else "approved")
            for finding in request.review.findings
        )
        return replace(locks.from_plan(request.name, plan), answers=answers)

    @staticmethod
    def _refuse(name: str, sentences: tuple[str, ...]) -> None:
        if sentences:
            raise GateRefused(
                sentences[0] if len(sentences) == 1 else f"{sentences[0]} ({len(sentences) - 1} more)",
                where=name,
                remedy="Nothing overrules such a rule: take it back under Settings, or leave out what it refuses.",
            )

    def _record(self, request: Request, plan: Plan, lock: Lock, answer: str) -> tuple[Record, str]:
        text = locks.encode(lock)
        record = Record(
            time=self._clock(),
            user=self._user,
            name=request.name,
            answer=answer,
            title=request.review.title,
            lock_sha256=sha256(text),
            previous_sha256=sha256(locks.encode(request.granted)) if request.granted else "",
            findings=tuple(finding_json(finding) for finding in request.review.findings),
            document=_document(plan),
        )
        return record, text

    def _decided(self, request: Request) -> None:
        self._waiting.pop(request.id, None)
        self.changed.publish(None)

    def _approved(self, lock: Lock, plan: Plan) -> ApprovedLock:
        assert plan.effective is not None
        refusals = host_refusals(self._policy())
        return ApprovedLock(
            lock,
            sha256(locks.encode(lock)),
            plan.effective,
            {**plan.selected, **({HOST_POLICY: refusals} if refusals is not None else {})},
            {member.reference: dict(member.lines) for member in plan.members},
            dict(plan.environment),
            tuple(value for i in plan.inputs if i.secret and (value := plan.values.get(i.kit, {}).get(i.name))),
            dict(plan.records),
        )


def _asks_for(held: Request, lock: Lock) -> bool:
    """Whether what waits is this very lock."""
    return held.name == lock.name and not locks.differences(lock, locks.from_plan(held.name, held.plan))


def _place(order: list[str], key: str) -> int:
    return order.index(key) if key in order else len(order)


def _document(plan: Plan) -> str:
    """The set's text as it is kept: whoever wrote a secret into it has it written down there and nowhere else."""
    if not isinstance(plan, JudgedPlan) or plan.state is None:
        return ""
    return without_secrets(plan.state.text, plan.document.kits if plan.document else (), plan.inputs)


def _optional(finding: Finding) -> bool:
    return finding.permission.optional
