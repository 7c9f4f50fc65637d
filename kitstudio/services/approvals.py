"""The gate (§7.4): the only maker of ``ApprovedLock``. Locks, approval records, what waits.

Records are append-only in the home's database; a lock counts only if its SHA-256 is in one. A decision is recorded
first and the lock file replaced second: a crash between the two leaves the old lock in force.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kitstudio.models import lock as locks
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.lock import Answer, ApprovedLock, Lock
from kitstudio.models.plan import Plan
from kitstudio.models.review import Finding, Review, Weight
from kitstudio.services.composition import JudgedPlan
from kitstudio.services.findings import finding_json
from kitstudio.services.home import Home, write_atomic
from kitstudio.services.records import Record, Records
from kitstudio.services.secret_permissions import refuse_written_secrets
from kitstudio.services.topic import Topic

__all__ = ["ApprovalError", "Approvals", "GateRefused", "Record", "Request"]

MAX_FILE = 8 * 1024 * 1024
"""Bytes of a lock or record file that are read."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
RECORD_KIND = "kitstudio approval record"


class ApprovalError(KitStudioError):
    """The gate did not let something through, and why."""


class GateRefused(ApprovalError):
    """What was asked is more than was said yes to: refused by the gate, not failed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One operation that waits for an answer: the plan, judged against the lock of that name (None: none yet).

    ``reduced``: the same set without the optional items the findings come from, for "approve without the optional
    ones"; None where that is not possible.
    """

    id: str
    name: str
    plan: Plan = field(repr=False)
    review: Review
    granted: Lock | None
    reduced: Plan | None = field(default=None, repr=False)

    @property
    def critical(self) -> tuple[Finding, ...]:
        """The findings that need a tick of their own."""
        return tuple(finding for finding in self.review.findings if finding.weight is Weight.CRITICAL)


class Approvals:
    """State of the gate. ``changed`` publishes when what waits or the history changed."""

    def __init__(
        self,
        home: Home,
        rejudge: Callable[[JudgedPlan, Mapping[str, bool]], Plan] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        user: str = "",
    ) -> None:
        self.changed: Topic[None] = Topic()
        self._folder = home.locks
        self._records = Records(home.database)
        self._clock = clock
        self._user = user or getpass.getuser()
        self._rejudge = rejudge
        self._waiting: dict[str, Request] = {}
        self._made: dict[str, ApprovedLock] = {}

    def request(self, name: str, plan: Plan) -> Request:
        """Judge a launchable plan against the lock ``name``. Raises ``KitStudioError`` if it is not launchable."""
        check_name(name)
        problems = (*plan.problems, *plan.runtime_problems)
        if problems:
            more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
            raise ApprovalError(
                f"{problems[0].message}{more}", where=name, remedy=problems[0].detail or "Correct the set first."
            )
        if not plan.launchable:
            raise ApprovalError("The set is still being fetched.", where=name, remedy="Wait until its Kits are known.")
        refuse_written_secrets(plan)
        granted = self.lock(name)
        review = locks.review(name, granted, plan)
        return Request(uuid.uuid4().hex, name, plan, review, granted, self._reduced(plan, review))

    def waiting(self) -> tuple[Request, ...]:
        """Requests set aside undecided, oldest first."""
        return tuple(self._waiting.values())

    def hold(self, request: Request) -> None:
        """Leave a request undecided: it waits, nothing is granted. A newer one of the same name takes its place."""
        self._waiting = {key: kept for key, kept in self._waiting.items() if kept.name != request.name}
        self._waiting[request.id] = request
        self.changed.publish(None)

    def keep(self, request: Request) -> None:
        """Answer no: recorded, the old lock stays in force."""
        text = locks.encode(self._lock(request, request.plan, "declined"))
        self._record(request, "kept", text)
        self._decided(request)

    def approve(self, request: Request, accepted: frozenset[str], *, without_optional: bool = False) -> ApprovedLock:
        """Answer yes. ``accepted``: keys of the critical findings ticked; refuses unless all of them are.

        A request without findings needs no ticks (a movement within the surface) and is recorded as silent.
        """
        plan = request.plan
        if without_optional:
            if request.reduced is None:
                raise ApprovalError("Nothing this asks for is optional.", where=request.name)
            plan = request.reduced
        left = [f for f in request.critical if f.key not in accepted and not (without_optional and _optional(f))]
        if left:
            raise GateRefused(
                f"{len(left)} critical finding{'s need' if len(left) > 1 else ' needs'} an answer of "
                f"{'their' if len(left) > 1 else 'its'} own: {', '.join(f.key for f in left)}.",
                where=request.name,
                remedy="Read each one and accept it by itself, or keep what was approved before.",
            )
        answer = "approved-without-optional" if without_optional else "approved"
        lock = self._lock(request, plan, "declined" if without_optional else "approved")
        return self._grant(request, plan, lock, answer if request.review.needs_answer else "silent")

    def approve_from(self, request: Request, file: Path) -> ApprovedLock:
        """Replay an exported record or lock: equal digests, args and surface, else refused by name."""
        stored = read_lock(file)
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
        return self._grant(request, plan, stored, "approved" if request.review.needs_answer else "silent")

    def again(self, lock_sha256: str, plan: Plan) -> ApprovedLock:
        """The approved lock with this hash once more, for a set fetched again; refused unless it is the very same."""
        stored, _ = self.granted(lock_sha256)
        made = replace(locks.from_plan(stored.name, plan), answers=stored.answers)
        differences = locks.differences(stored, made)
        if differences:
            raise ApprovalError(f"The set is not what was approved: {differences[0]}.", where=stored.name)
        return _approved(stored, plan)

    def made(self, lock_sha256: str) -> ApprovedLock | None:
        """The approved lock with this hash, if it was made in this run: with the secrets it was given."""
        return self._made.get(lock_sha256)

    def granted(self, lock_sha256: str) -> tuple[Lock, str]:
        """A lock some record of this home put in force, and the set's text then. Raises ``ApprovalError``."""
        found = self._records.granted(lock_sha256)
        if found is None:
            raise ApprovalError(
                "No approval record of this home holds that lock.",
                where=lock_sha256[:16],
                remedy="Approve the set again.",
            )
        return locks.decode(found[0]), found[1]

    def lock(self, name: str) -> Lock | None:
        """The lock in force; None if there is none. A tampered file is named in ``tampered`` and counts as none."""
        text = self._read(name)
        return None if text is None or self._fault(name, text) else locks.decode(text)

    def names(self) -> tuple[str, ...]:
        """Names with a lock file, sorted."""
        return tuple(sorted(path.stem for path in self._folder.glob("*.json") if _NAME.fullmatch(path.stem)))

    def tampered(self, name: str) -> str:
        """Why the lock file of that name does not count, empty if it does."""
        text = self._read(name)
        return "" if text is None else self._fault(name, text)

    def history(self) -> tuple[Record, ...]:
        """All records, newest first."""
        return self._records.all()

    def export(self, record: Record, file: Path) -> None:
        """Write one record as JSON, replayable by ``approve_from``."""
        text = json.dumps(record_json(record), ensure_ascii=False, indent=2) + "\n"
        write_atomic(file.absolute(), text.encode(), mode=0o644)

    def _grant(self, request: Request, plan: Plan, lock: Lock, answer: str) -> ApprovedLock:
        """Record, then put the lock in force. What is in force already is no new decision, and stays as it is."""
        granted = request.granted
        with self._alone():
            self._still_current(request)
            if answer == "silent" and granted is not None and not locks.differences(granted, lock):
                lock = granted
            else:
                text = locks.encode(lock)
                self._record(request, answer, text)
                write_atomic(self._path(request.name), text.encode())
        self._decided(request)
        approved = _approved(lock, plan)
        self._made[approved.sha256] = approved
        return approved

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

    def _record(self, request: Request, answer: str, text: str) -> None:
        record = Record(
            time=self._clock(),
            user=self._user,
            name=request.name,
            answer=answer,
            title=request.review.title,
            lock_sha256=sha256(text),
            previous_sha256=sha256(locks.encode(request.granted)) if request.granted else "",
            findings=tuple(finding_json(finding) for finding in request.review.findings),
            document=_document(request.plan),
        )
        self._records.append(record, text)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other window or command decides between the look at the lock in force and the new one."""
        try:
            handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ApprovalError(f"The locks cannot be used: {error.strerror}.", where=str(self._folder)) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _still_current(self, request: Request) -> None:
        if self.lock(request.name) != request.granted:
            raise ApprovalError(
                "Another decision was made for this set meanwhile.", where=request.name, remedy="Review it again."
            )

    def _decided(self, request: Request) -> None:
        self._waiting.pop(request.id, None)
        self.changed.publish(None)

    def _path(self, name: str) -> Path:
        return self._folder / f"{check_name(name)}.json"

    def _read(self, name: str) -> str | None:
        path = self._path(name)
        try:
            with path.open("rb") as stream:
                return stream.read(MAX_FILE + 1).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            return "\ufffd"
        except OSError as error:
            raise ApprovalError(f"The lock cannot be read: {error.strerror}.", where=str(path)) from error

    def _fault(self, name: str, text: str) -> str:
        if self._records.grants(name, sha256(text)):
            try:
                locks.decode(text)
            except DescriptorError as error:
                return f"The lock of {name} was approved here and cannot be read by this version: {error.what}"
            return ""
        return (
            f"The lock file of {name} is not one that was approved here: its SHA-256 is in no approval record. "
            "It was changed or brought from elsewhere, and counts as none."
        )


def check_name(name: str) -> str:
    """The name of a lock or sandbox, if it may be one. Raises ``ApprovalError``."""
    if not _NAME.fullmatch(name):
        raise ApprovalError(
            "This cannot be the name of a set.",
            where=name[:80],
            remedy="A name has up to 63 letters, digits, dots, hyphens and underscores, and starts with a letter or "
            "digit. Use --name or save the set under such a name.",
        )
    return name


def read_lock(file: Path) -> Lock:
    """The lock in an exported record or lock file. Raises ``ApprovalError``."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE + 1)
        document = json.loads(raw[:MAX_FILE])
        is_record = document.get("kind") == RECORD_KIND
        if is_record and document.get("answer") == "kept":
            raise ApprovalError("This record approves nothing: its answer was a refusal.", where=str(file))
        return locks.decode(json.dumps(document.get("lock") if is_record else document, ensure_ascii=False))
    except OSError as error:
        raise ApprovalError(f"The file cannot be read: {error.strerror}.", where=str(file)) from error
    except ApprovalError:
        raise
    except (ValueError, AttributeError, RecursionError, KitStudioError) as error:
        raise ApprovalError(
            f"The file is neither a lock nor an approval record: {error}.",
            where=str(file),
            remedy="Export one with “kitstudio approve --export FILE” or “kitstudio history”.",
        ) from error


def record_json(record: Record) -> dict[str, object]:
    """A record as ``history`` prints and ``export`` writes it."""
    return {
        "kind": RECORD_KIND,
        "time": record.time,
        "user": record.user,
        "name": record.name,
        "answer": record.answer,
        "title": record.title,
        "lockSha256": record.lock_sha256,
        "previousSha256": record.previous_sha256,
        "findings": [dict(finding) for finding in record.findings],
        "lock": dict(record.lock),
    }


def sha256(text: str) -> str:
    """The identity of a lock's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _approved(lock: Lock, plan: Plan) -> ApprovedLock:
    assert plan.effective is not None
    return ApprovedLock(
        lock,
        sha256(locks.encode(lock)),
        plan.effective,
        dict(plan.selected),
        {member.reference: dict(member.lines) for member in plan.members},
        dict(plan.environment),
        tuple(value for i in plan.inputs if i.secret and (value := plan.values.get(i.kit, {}).get(i.name))),
    )


def _document(plan: Plan) -> str:
    return plan.state.text if isinstance(plan, JudgedPlan) and plan.state is not None else ""


def _optional(finding: Finding) -> bool:
    return finding.permission.optional
