"""The gate on the command line: approve and history. Nothing is approved that a person did not say yes to."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from kitstudio.cli.compose import compose, lock_name
from kitstudio.cli.output import DONE, FAILED, REFUSED, Output, UsageError, ask, interactive
from kitstudio.models import lock as locks
from kitstudio.models import words
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import ApprovedLock
from kitstudio.models.plan import Problem
from kitstudio.models.review import Finding, Review, Uncounted, Weight
from kitstudio.services.approvals import record_json
from kitstudio.services.findings import finding_json, problem_json
from kitstudio.services.home import write_atomic

if TYPE_CHECKING:
    from kitstudio.cli.main import Run
    from kitstudio.services.approvals import Request
    from kitstudio.services.composer import Composer


ANSWERS = {
    "approved": "approved",
    "approved-without-optional": "approved without the optional parts",
    "kept": "refused, kept as it was",
    "silent": "applied without asking, within what was approved",
}
"""The answers of records in plain words."""


async def approve(run: Run) -> int:
    """Decide, and on yes write ``locks/NAME.json``."""
    composer = await compose(run)
    name = lock_name(composer, composer.value.plan, run.args.name)
    approved = await decide(run, composer, name)
    if approved is None:
        return run.code
    studio = await run.studio()
    if run.args.export:
        # The lock is in force: a record that cannot be written elsewhere is a warning, not a failed approval.
        try:
            records = await studio.approvals.history()
            record = next(r for r in records if r.lock_sha256 == approved.sha256 and r.answer != "kept")
            await studio.approvals.export(record, run.args.export)
            run.output.note(f"The record is in {run.args.export}.")
        except KitStudioError as error:
            run.output.note(
                f"warning: {name} is approved, but its record was not exported: {error.what} {error.remedy}"
            )
    run.output.document({"approved": True, "widenings": run.findings, "lock": json.loads(locks.encode(approved.lock))})
    run.output.say(f"Approved: {name}, lock {approved.sha256[:12]}….")
    return DONE


async def history(run: Run) -> int:
    """Approval records, newest first."""
    studio = await run.studio()
    records = await studio.approvals.history()
    lines = [json.dumps(record_json(record), ensure_ascii=False) for record in records]
    if run.args.export:
        write_atomic(run.args.export.absolute(), "".join(f"{line}\n" for line in lines).encode(), mode=0o644)
        run.output.note(f"{len(lines)} records are in {run.args.export}.")
    for record in records:
        run.output.line(record_json(record))
    if not run.output.as_json:
        run.output.table((_when(r.time), r.user, r.name, ANSWERS[r.answer], r.title) for r in records)
    if not records:
        run.output.note("Nothing was decided yet.")
    return DONE


async def decide(run: Run, composer: Composer, name: str) -> ApprovedLock | None:
    """Bring a set through the gate. None: refused or failed, told, with ``run.code`` set."""
    studio = await run.studio()
    plan = composer.value.plan
    if not plan.coherent or not plan.launchable:
        problems = plan.problems or plan.runtime_problems
        run.output.document({"approved": False, "widenings": [], "lock": None, "problems": _problems(problems)})
        tell_problems(run.output, problems)
        if why := studio.approvals.withheld(plan):
            run.output.note(why)
        run.code = FAILED if plan.problems else REFUSED
        return None
    if why := await studio.approvals.tampered(name):
        run.output.note(f"warning: {why}")
    await _refuse_other_set(run, composer, name)
    request = await studio.approvals.request(name, plan)
    run.findings = [finding_json(finding) for finding in request.review.findings]
    tell_rules(run.output, request)
    if request.refused:
        tell_review(run.output, request.review)
        run.output.document({"approved": False, "widenings": run.findings, "lock": None, "refused": [*request.refused]})
        run.output.note("Not approved: a rule of yours refuses it, and nothing overrules that.")
        run.code = REFUSED
        return None
    if run.args.approve_from:
        return await studio.approvals.approve_from(request, run.args.approve_from)
    if not request.review.needs_answer:
        if request.review.uncounted:
            tell_review(run.output, request.review)
            run.output.note("Nothing here needs approval: it stays within what is granted, and is recorded.")
        return await studio.approvals.approve(request, frozenset())
    tell_review(run.output, request.review)
    accepted = await _accepted(run, request, studio.approvals.keep)
    if accepted is None:
        run.output.document({"approved": False, "widenings": run.findings, "lock": None})
        run.code = REFUSED
        return None
    return await studio.approvals.approve(request, accepted)


async def _refuse_other_set(run: Run, composer: Composer, name: str) -> None:
    """A name nobody stated is the workload's: a set without some of the Kits approved under it is taken for another
    one, which would put its lock in the place of that set's."""
    if run.args.name or composer.value.path is not None:
        return
    studio = await run.studio()
    granted = await studio.approvals.lock(name)
    present = {words.repository(member.reference) for member in composer.value.plan.members}
    missing = [
        kit.reference for kit in (granted.kits if granted else ()) if words.repository(kit.reference) not in present
    ]
    if missing:
        raise UsageError(
            f"The lock “{name}” belongs to a set with {words.listed([words.kit_name(kit) for kit in missing])}.",
            where=name,
            remedy=f"Give this set a name of its own with --name, or --name {name} if it is that set you change.",
        )


def tell_review(output: Output, review: Review) -> None:
    """The findings in words, heaviest first."""
    counts = ", ".join(weighed(n, weight) for weight, n in review.counts().items())
    output.say(f"{review.title}{': ' + counts if counts else ''}.")
    for finding in review.findings:
        permission = finding.permission
        optional = ", optional" if permission.optional else ""
        output.say(f"\n  {finding.weight.name.capitalize()}. {permission.sentence}")
        output.say(f"    {permission.entry}  ({permission.phase.value}{optional})")
        for asker in permission.askers:
            line = f", line {asker.line}" if asker.line else ""
            reason = f"; the Kit says: “{asker.reason}”" if asker.reason else ""
            output.say(f"    asked by {asker.kit}{line}{reason}")
        if finding.weight is Weight.CRITICAL:
            output.say(f"    accept with {_flags(finding)}")
    tell_uncounted(output, review.uncounted, "Also in this set" if review.first_grant else "Also changed")
    output.say()


def weighed(number: int, weight: Weight) -> str:
    """``2 serious``, ``1 notice``, ``2 notices``: only a notice has a plural."""
    name = weight.name.lower()
    return words.count(number, name) if weight is Weight.NOTICE else words.count(number, name, name)


def tell_rules(output: Output, request: Request) -> None:
    """What the person's own rules did to the reading, each rule named."""
    for note in request.rules:
        output.note(f"{note.entry}: {note.sentence}" if note.entry else note.sentence)


def tell_problems(output: Output, problems: tuple[Problem, ...] | list[Problem]) -> None:
    """What is wrong with a set, one paragraph each, with what would help."""
    for problem in problems:
        output.say(f"{problem.kind.value}: {problem.message}")
        if problem.detail:
            output.say(f"  {problem.detail}")
        for remedy in problem.remedies:
            output.say(f"  – {remedy.label}")


def tell_uncounted(output: Output, changes: Iterable[Uncounted], lead: str) -> None:
    """What §7.4 does not count, with the entry and who states it."""
    for number, change in enumerate(changes):
        if not number:
            output.say(f"\n  {lead}, not counted by the specification:")
        output.say(f"\n    {change.sentence}")
        if change.entry:
            output.say(f"      {change.entry}")
        output.say(f"      stated by {', '.join(part for part in (change.kit, change.path) if part)}")


async def _accepted(run: Run, request: Request, keep: Callable[[Request], Awaitable[None]]) -> frozenset[str] | None:
    """Keys of what was said yes to, None if something was not: by flags, else asked on a terminal."""
    stated = frozenset(run.args.accept)
    known = {f"{w.category}:{w.detail}" for finding in request.review.findings for w in finding.widenings}
    for key in stated - known:
        run.output.note(f"warning: nothing here asks for {key}")
    open_ones = [
        finding
        for finding in request.review.findings
        if not stated.issuperset(finding.keys) and not (run.args.yes and finding.weight is not Weight.CRITICAL)
    ]
    if not open_ones and (request.review.widens or run.args.yes):
        return frozenset(finding.key for finding in request.critical)
    if not interactive() or run.output.as_json:
        critical = [finding for finding in open_ones if finding.weight is Weight.CRITICAL]
        flags = [_flags(finding) for finding in critical] if run.args.yes else ["--yes"]
        run.output.note(f"Not approved: nobody was there to ask. To approve, read the above and add {' '.join(flags)}.")
        return None
    questions = [f.tick or f.permission.sentence for f in open_ones if f.weight is Weight.CRITICAL]
    lighter = len(open_ones) - len(questions)
    first = request.review.first_grant
    if lighter and first:
        questions.append(f"Approve {'this permission' if lighter == 1 else f'these {lighter} permissions'}?")
    elif not open_ones:
        questions.append("Approve this set?")
    elif lighter:
        questions.append(f"Approve {'this change' if lighter == 1 else f'these {lighter} changes'}?")
    for question in questions:
        answer = _answer(question)
        if answer != "yes":
            if answer:
                await keep(request)
            stays = "nothing is granted" if first else "what was approved before stays in force"
            run.output.note(f"Not approved; {stays}.")
            return None
    return frozenset(finding.key for finding in request.critical)


def _answer(question: str) -> str:
    """Asks until it is yes or no; empty at the end of input, which decides nothing."""
    while True:
        answer = ask(f"{question} [yes/no] ").lower()
        if answer in ("yes", "no", ""):
            return answer


def _flags(finding: Finding) -> str:
    """What accepts one finding, as a shell takes it: nothing a Kit writes ends the quotes or the line."""
    return " ".join(f"--accept {_quoted(key)}" for key in finding.keys)


def _quoted(text: str) -> str:
    if text.isprintable():
        return shlex.quote(text)
    plain = text.encode("unicode_escape").decode().replace("'", "\\'")
    return f"$'{plain}'"


def _problems(problems: tuple[Problem, ...]) -> list[dict[str, object]]:
    return [problem_json(problem) for problem in problems]


def _when(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
