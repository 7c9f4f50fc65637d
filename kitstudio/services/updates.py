"""Newer versions of approved Kits: looked for, judged by the gate, applied where nothing more is asked for.

Asked by hand, at a start and once a day, where the settings say so. Each repository is asked twice at most: what the
approved tag stands for now (HEAD), and its tags (conditional). What widens waits; one notice goes out for all of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from kitstudio.models import lock as locks
from kitstudio.models import set_file, words
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import Lock, LockedKit
from kitstudio.models.plan import Plan
from kitstudio.models.policy import Policy
from kitstudio.models.versions import compare, latest, tag_version
from kitstudio.registry.reference import LOCAL, Reference, parse
from kitstudio.registry.source import Source
from kitstudio.services.approvals import Approvals, Request
from kitstudio.services.settings import Settings
from kitstudio.services.topic import Topic

DAY = 24 * 3600.0
AT_ONCE = 4
"""Repositories asked at the same time."""

CHECKED = "ui.state.updates_checked"


class Outcome(StrEnum):
    """What became of an update that was found."""

    APPLIED = "applied"
    WAITS = "waits"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Update:
    """One Kit of one approved set that moved. ``drift``: the approved tag itself stands for something else now, which
    is a warning of its own. ``why``: what a person should know beside it."""

    name: str
    kit: str
    before: str
    after: str
    digest: str
    outcome: Outcome
    drift: bool = False
    request: Request | None = None
    why: str = ""

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.drift and self.after == self.before:
            return f"{words.kit_name(self.before)} is not what was approved: its tag now stands for another digest."
        return f"{words.kit_name(self.before)} → {words.kit_name(self.after)}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a repository says now."""

    newest: str = ""
    digest: str = ""
    why: str = ""


class Updates:
    """``found``: what the last check found; ``changed`` publishes it. ``notice`` publishes once for each check that
    brought something new to wait, with everything that it brought."""

    def __init__(
        self,
        approvals: Approvals,
        source: Callable[[Reference], Source],
        rebuild: Callable[[Lock, str], Awaitable[Plan]],
        policy: Callable[[], Policy],
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.changed: Topic[tuple[Update, ...]] = Topic()
        self.notice: Topic[tuple[Request, ...]] = Topic()
        self.found: tuple[Update, ...] = ()
        self.fault: KitStudioError | None = None
        self._approvals = approvals
        self._source = source
        self._rebuild = rebuild
        self._policy = policy
        self._settings = settings
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """For a program that stays: bring back what waits, then look as often as the settings say. Until cancelled."""
        try:
            await self._approvals.load()
            if self._settings.get("updates.on_start"):
                await self.check()
        except KitStudioError as error:
            self._failed(error)
        changed = asyncio.Event()
        leave = self._settings.changed.subscribe(lambda key: changed.set() if key == "updates.daily" else None)
        try:
            while True:
                changed.clear()
                await self._until_due(changed)
                if self._settings.get("updates.daily") and self._due() <= 0:
                    try:
                        await self.check()
                    except KitStudioError as error:
                        self._failed(error)
        finally:
            leave()

    async def check(self) -> tuple[Update, ...]:
        """Ask every source of an approved Kit now; apply what the policy lets through, hold the rest."""
        async with self._turn:
            self._settings.set(CHECKED, str(int(self._clock())))
            seen: dict[str, asyncio.Task[_Seen]] = {}
            found: list[Update] = []
            fresh: list[Request] = []
            room = asyncio.Semaphore(AT_ONCE)
            in_force = {name: lock for name in await self._approvals.names() if (lock := await self._lock(name))}
            try:
                async with asyncio.TaskGroup() as group:
                    for lock in in_force.values():
                        for kit in lock.kits:
                            if kit.reference not in seen and (reference := _asked(kit.reference)) is not None:
                                seen[kit.reference] = group.create_task(self._ask(reference, room))
            except* KitStudioError as errors:
                raise _first(errors) from None
            answers = {reference: task.result() for reference, task in seen.items()}
            for name, lock in in_force.items():
                found += await self._judge(name, lock, answers, fresh)
            self.found, self.fault = tuple(found), None
        self.changed.publish(self.found)
        if fresh:
            self.notice.publish(tuple(fresh))
        return self.found

    async def _lock(self, name: str) -> Lock | None:
        return await self._approvals.lock(name)

    async def _ask(self, reference: Reference, room: asyncio.Semaphore) -> _Seen:
        async with room:
            try:
                source = self._source(reference)
                head = getattr(source, "head", None)
                digest = await head(reference) if head is not None else (await source.manifest(reference)).digest
                tags = await source.tags(reference.name)
            except KitStudioError as error:
                return _Seen(why=f"{error.what} {error.remedy}".strip())
        version = tag_version(reference.tag)
        newest = latest(tags)
        newer = bool(version and newest) and compare(tag_version(newest), version) > 0
        return _Seen(newest if newer else "", digest)

    async def _judge(
        self, name: str, lock: Lock, answers: Mapping[str, _Seen], fresh: list[Request]
    ) -> tuple[Update, ...]:
        """Every Kit of a set that moved: those that ask for no more one by one, the others together."""
        _, document = await self._approvals.granted(locks.sha256(lock))
        found: list[Update] = []
        left: list[Update] = []
        for kit in lock.kits:
            seen = answers.get(kit.reference)
            if seen is None:
                continue
            if seen.why:
                found.append(_update(name, kit, kit.reference, "", Outcome.FAILED, seen.why))
                continue
            drift = bool(seen.digest) and seen.digest != kit.digest
            if not drift and not seen.newest:
                continue
            after = str(parse(kit.reference).with_tag(seen.newest)) if seen.newest else kit.reference
            update = replace(
                _update(name, kit, after, "" if seen.newest else seen.digest, Outcome.WAITS, ""), drift=drift
            )
            try:
                moved = _moved(lock, document, (update,))
                request = await self._approvals.request(name, await self._rebuild(*moved))
            except KitStudioError as error:
                found.append(replace(update, outcome=Outcome.FAILED, why=f"{error.what} {error.remedy}".strip()))
                continue
            if request.refused:
                found.append(replace(update, outcome=Outcome.REFUSED, request=request, why=request.refused[0]))
            elif request.review.needs_answer or update.after == update.before or not self._policy().auto_apply:
                # A tag that was moved is a warning: whatever it asks for, a person looks at it first.
                left.append(replace(update, request=request))
            else:
                approved = await self._approvals.approve(request, frozenset())
                lock, document = approved.lock, moved[1]
                found.append(replace(update, outcome=Outcome.APPLIED, request=request))
        return (*found, *await self._held(name, lock, document, tuple(left), fresh))

    async def _held(
        self, name: str, lock: Lock, document: str, left: tuple[Update, ...], fresh: list[Request]
    ) -> tuple[Update, ...]:
        """One request of a set for everything in it that waits. One that waits already is no news."""
        if not left:
            return ()
        try:
            plan = await self._rebuild(*_moved(lock, document, left))
            request = await self._approvals.request(name, plan)
        except KitStudioError as error:
            why = f"{error.what} {error.remedy}".strip()
            return tuple(replace(update, outcome=Outcome.FAILED, why=why) for update in left)
        known = next((held for held in self._approvals.waiting() if held.name == name), None)
        if known is not None and known.granted == request.granted and _same(known, request):
            request = known
        else:
            await self._approvals.hold(request)
            fresh.append(request)
        return tuple(replace(update, why=update.sentence if update.drift else "") for update in left)

    async def _until_due(self, changed: asyncio.Event) -> None:
        """Until the day is over or the setting changes; without the daily look, until it changes."""
        waiting: set[asyncio.Task[object]] = {asyncio.ensure_future(_wait(changed))}
        if self._settings.get("updates.daily"):
            waiting.add(asyncio.ensure_future(_slept(self._sleep, max(0.0, self._due()))))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _due(self) -> float:
        kept = self._settings.text(CHECKED)
        last = float(kept) if kept.isdecimal() else 0.0
        # A clock that was set back must not put the next look off for years.
        return min(DAY, last + DAY - self._clock())

    def _failed(self, error: KitStudioError) -> None:
        self.fault = error
        self.changed.publish(self.found)


async def _wait(event: asyncio.Event) -> object:
    return await event.wait()


async def _slept(sleep: Callable[[float], Awaitable[None]], seconds: float) -> object:
    await sleep(seconds)
    return None


def _asked(reference: str) -> Reference | None:
    """The reference to ask about; None for a Kit of this machine and one that names no tag."""
    parsed = parse(reference)
    return None if parsed.registry == LOCAL or not parsed.tag else replace(parsed, digest="", text="")


def _update(name: str, kit: LockedKit, after: str, digest: str, outcome: Outcome, why: str) -> Update:
    return Update(name, words.repository(kit.reference), kit.reference, after, digest, outcome, why=why)


def _moved(lock: Lock, document: str, updates: tuple[Update, ...]) -> tuple[Lock, str]:
    """The lock and the set's text with the updates in it: what the gate is asked about."""
    for update in updates:
        kits = tuple(
            replace(kit, reference=update.after, digest=update.digest) if kit.reference == update.before else kit
            for kit in lock.kits
        )
        selection = {
            (f"{update.after}#{path}" if kit == update.before else f"{kit}#{path}"): chosen
            for (kit, _, path), chosen in ((key.partition("#"), value) for key, value in lock.selection.items())
        }
        lock = replace(lock, kits=kits, selection=selection)
        if document:
            document = set_file.replace_kit(document, update.before, update.after, update.digest)
    return lock, document


def _same(one: Request, other: Request) -> bool:
    return not locks.differences(locks.from_plan(one.name, one.plan), locks.from_plan(other.name, other.plan))


def _first(errors: BaseExceptionGroup[KitStudioError]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
