"""No way through the gate but a recorded yes: two windows over one home, edits, crashes, tampering, in any order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kitstudio.models import lock as locks
from kitstudio.models.changes import judge, kit_side
from kitstudio.models.decode import decode
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import ApprovedLock, Lock
from kitstudio.models.plan import Plan
from kitstudio.models.surface import diff_widenings
from kitstudio.services import lock_files
from kitstudio.services.approvals import Approvals, Request, sha256
from kitstudio.services.home import HomeError, open_home
from kitstudio.services.records import GRANTING
from tests.models.sets import allow, base, member, plan

GH = "requires: [base]\n"
ARG = "args: {host: {default: a.example, enum: [a.example, b.example]}}\n"
CASES = Path(__file__).parents[1] / "conformance" / "surface-diff.jsonl"


def _plans() -> tuple[Plan, ...]:
    """Sets a person comes to by editing one: hosts, refusals, another version, args, order, labels, a Kit more."""
    workload = base(allow("w.example"))
    templated = GH + ARG + allow("${{ kit.args.host }}")
    label = allow("a.example").replace("  config", "  name: another label\n  config")
    return (
        plan(workload),
        plan(workload, member("gh:1", GH + allow("a.example"))),
        plan(member("gh:1", GH + allow("a.example")), workload),
        plan(workload, member("gh:2", GH + allow("a.example", "b.example"))),
        plan(workload, member("gh:3", GH + label)),
        plan(workload, member("gh:4", templated, args={"host": "a.example"})),
        plan(workload, member("gh:4", templated, args={"host": "b.example"})),
        plan(workload, member("gh:5", GH + allow("*", deny=("m.example",)))),
        plan(workload, member("gh:5", GH + allow("*"), digest="sha256:" + "d" * 64)),
        plan(workload, member("gh:1", GH + allow("a.example")), member("other:1", GH + allow("c.example"))),
    )


PLANS = _plans()
INDEX = st.integers(0, len(PLANS) - 1)
WINDOW = st.integers(0, 1)


class Gate(RuleBasedStateMachine):
    """Two windows over one home. ``approved``: every lock that came out; ``said``: what was answered yes to."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.home = open_home(self.root)
        self.windows = [Approvals(self.home, user="ann"), Approvals(self.home, user="ann")]
        self.open: list[Request] = []
        self.granted: list[ApprovedLock] = []
        self.said: list[Lock] = []

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @rule(window=WINDOW, index=INDEX)
    def ask(self, window: int, index: int) -> None:
        self.open = [*self.open[-3:], asyncio.run(self.windows[window].request("team", PLANS[index]))]

    @rule(window=WINDOW, pick=st.integers(0, 3), ticks=st.booleans())
    def yes(self, window: int, pick: int, ticks: bool) -> None:
        if self.open:
            self._approve(window, self.open[pick % len(self.open)], ticks)

    @rule(window=WINDOW, index=INDEX)
    def launch_without_asking(self, window: int, index: int) -> None:
        """What a launch within the surface does: nobody is asked where nothing widens."""
        request = asyncio.run(self.windows[window].request("team", PLANS[index]))
        if not request.review.needs_answer:
            self._approve(window, request, ticks=False)

    @rule(window=WINDOW, pick=st.integers(0, 3), hold=st.booleans())
    def no(self, window: int, pick: int, hold: bool) -> None:
        if self.open:
            request = self.open[pick % len(self.open)]
            asyncio.run(self.windows[window].hold(request) if hold else self.windows[window].keep(request))

    @rule(window=WINDOW, index=INDEX, at=st.sampled_from(["record", "recorded", "file"]))
    def crash(self, window: int, index: int, at: str) -> None:
        """The program dies at a write, after a yes; a new one opens the home."""
        gate = self.windows[window]
        request = asyncio.run(gate.request("team", PLANS[index]))
        before = asyncio.run(gate.lock("team"))
        with pytest.MonkeyPatch.context() as patch:
            append = gate._records.append

            def dies(*args: object) -> None:
                if at == "recorded":
                    append(*args)  # type: ignore[arg-type]
                raise HomeError("gone")

            patch.setattr(*((lock_files, "write_atomic") if at == "file" else (gate._records, "append")), dies)
            with contextlib.suppress(HomeError):
                self._approve(window, request, ticks=True)
        self.windows[window] = Approvals(self.home, user="ann")
        assert asyncio.run(self.windows[window].lock("team")) == before

    @rule(index=INDEX)
    def tamper(self, index: int) -> None:
        """Somebody writes a lock by hand, be it the one a candidate would get."""
        made = locks.encode(locks.from_plan("team", PLANS[index]))
        (self.home.locks / "team.json").write_text(made)

    @rule(window=WINDOW, index=INDEX)
    def replay(self, window: int, index: int) -> None:
        """An exported record only enters for the very set it was made for."""
        gate = self.windows[window]
        records = [record for record in asyncio.run(gate.history()) if record.answer in GRANTING]
        if not records:
            return
        asyncio.run(gate.export(records[0], self.root / "record.json"))
        request = asyncio.run(gate.request("team", PLANS[index]))
        try:
            approved = asyncio.run(gate.approve_from(request, self.root / "record.json"))
        except KitStudioError:
            return
        assert approved.lock == locks.decode(json.dumps(dict(records[0].lock)))
        self.granted.append(approved)

    @invariant()
    def what_is_in_force_is_covered_by_a_record(self) -> None:
        records = asyncio.run(self.windows[0].history())
        recorded = {record.lock_sha256: record for record in records if record.answer in GRANTING}
        in_force = asyncio.run(self.windows[1].lock("team"))
        found = [approved.lock for approved in self.granted] + ([in_force] if in_force is not None else [])
        for lock in found:
            assert locks.sha256(lock) in recorded
            # Said yes to, or within something that was: nothing is enforced beyond what a person read.
            assert any(not diff_widenings(yes.surface, lock.surface) for yes in self.said)
        for approved in self.granted:
            assert locks.sha256(approved.lock) == approved.sha256

    def _approve(self, window: int, request: Request, ticks: bool) -> None:
        accepted = frozenset(finding.key for finding in request.critical) if ticks else frozenset()
        if request.review.needs_answer:
            # A yes counts from when it is said: the record may be on the disk though the program dies then.
            self.said.append(locks.from_plan("team", request.plan))
        try:
            approved = asyncio.run(self.windows[window].approve(request, accepted))
        except HomeError:
            raise
        except KitStudioError:
            if request.review.needs_answer:
                self.said.pop()
            return
        if not self.said:
            # Nothing in this set asks for anything: there was nothing to say yes to.
            self.said.append(approved.lock)
        self.granted.append(approved)


Gate.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestGate = Gate.TestCase


DIFFS = [case for line in CASES.read_text().splitlines() if "widenings" in (case := json.loads(line))["expect"]]


@pytest.mark.parametrize("case", DIFFS, ids=lambda case: case["id"])
def test_the_judged_diffs_pass_through_the_review_a_person_reads(case: dict[str, dict[str, str]]) -> None:
    """Every widening of the corpus stands in a finding of the dialog's own model, and nothing else does."""
    sides = [kit_side("demo.invalid/kit:1", decode(case["in"][side]).descriptor) for side in ("a", "b")]
    review = judge("kit", *sides)
    told = {(w.category, w.detail) for finding in review.findings for w in finding.widenings}
    wanted = {(w["category"], w["detail"] or "") for w in case["expect"]["widenings"]}  # type: ignore[index]
    assert told == wanted


async def test_cancelling_an_approval_leaves_the_old_lock_or_the_new_one(tmp_path: Path) -> None:
    gate = Approvals(open_home(tmp_path), user="ann")
    request = await gate.request("team", PLANS[1])
    task = asyncio.ensure_future(gate.approve(request, frozenset()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    lock = await gate.lock("team")
    assert lock is None or locks.sha256(lock) == (await gate.history())[0].lock_sha256
    assert not await gate.tampered("team")


async def test_a_removal_and_a_return_of_the_same_entry_asks_again(tmp_path: Path) -> None:
    gate = Approvals(open_home(tmp_path), user="ann")
    await gate.approve(await gate.request("team", PLANS[3]), frozenset())
    narrower = await gate.request("team", PLANS[1])
    assert not narrower.review.needs_answer
    await gate.approve(narrower, frozenset())
    back = await gate.request("team", PLANS[3])
    assert [finding.permission.entry for finding in back.review.findings] == ["b.example"]


async def test_going_back_is_judged_like_any_other_change(tmp_path: Path) -> None:
    async def rebuild(lock: Lock, document: str) -> Plan:
        return next(p for p in PLANS if not locks.differences(replace(lock, answers=()), locks.from_plan("team", p)))

    gate = Approvals(open_home(tmp_path), rebuild=rebuild, user="ann")
    await gate.approve(await gate.request("team", PLANS[3]), frozenset())
    await gate.approve(await gate.request("team", PLANS[1]), frozenset())
    silent, wide = await gate.history()
    back = await gate.rollback(wide)
    assert [finding.permission.entry for finding in back.review.findings] == ["b.example"]
    await gate.approve(back, frozenset())
    narrower = await gate.rollback(silent)
    assert not narrower.review.needs_answer
    assert [record.answer for record in await gate.history()] == ["approved", "silent", "approved"]


async def test_a_rule_made_while_the_dialog_is_open_counts(tmp_path: Path) -> None:
    from kitstudio.models.policy import Policy, RuleKind, parse
    from kitstudio.services.approvals import GateRefused

    rules: list[Policy] = [Policy()]
    gate = Approvals(open_home(tmp_path), policy=lambda: rules[-1], user="ann")
    request = await gate.request("team", PLANS[1])
    rules.append(Policy((parse(RuleKind.NEVER, "host=a.example"),)))
    with pytest.raises(GateRefused, match=r"host=a\.example"):
        await gate.approve(request, frozenset())
    assert await gate.lock("team") is None and not await gate.history()


async def test_the_host_policy_is_enforced_and_leaves_the_lock_as_it_is_row_50(tmp_path: Path) -> None:
    from kitstudio.models.policy import HOST_POLICY, Policy, RuleKind, parse
    from kitstudio.runtime.policy import build_policy

    plain = Approvals(open_home(tmp_path / "a"), user="ann")
    ruled = Policy((parse(RuleKind.HOST, "host=a.example"),))
    strict = Approvals(open_home(tmp_path / "b"), policy=lambda: ruled, user="ann")
    request = await strict.request("team", PLANS[1])
    assert [(note.entry, note.struck) for note in request.rules] == [("a.example", True)]
    approved = await strict.approve(request, frozenset())
    same = await plain.approve(await plain.request("team", PLANS[1]), frozenset())
    assert approved.sha256 == same.sha256 == sha256(locks.encode(same.lock))
    rules = [(r.kit, r.denies, r.pattern.text) for r in build_policy(approved).rules if r.pattern.text == "a.example"]
    assert (HOST_POLICY, True, "a.example") in rules
    # Row 110: what the host policy, the set and a Kit state are all there, each with its origin.
    assert {kit for kit, _, _ in rules} == {HOST_POLICY, "demo.invalid/gh:1"}
