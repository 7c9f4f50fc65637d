"""``updates [--check]``: newer tags and digest drift of approved Kits, with what more they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitstudio.cli.gate import tell_review
from kitstudio.cli.output import DONE, FAILED
from kitstudio.models import words
from kitstudio.services.findings import widening_json

if TYPE_CHECKING:
    from kitstudio.cli.main import Run
    from kitstudio.services.approvals import Kept, Request


async def updates(run: Run) -> int:
    """What waits; with ``--check`` the sources are asked first, and what is within the surface is applied."""
    studio = await run.studio()
    await studio.approvals.load()
    if not run.args.check:
        return _waiting(run, studio.approvals.waiting(), studio.approvals.unready())
    found = await studio.updates.check()
    for update in found:
        widenings = _widenings(update.request)
        run.output.line(
            {
                "kit": update.kit,
                "from": update.before,
                "to": update.after,
                "widens": bool(widenings),
                "widenings": widenings,
                "set": update.name,
                "drift": update.drift,
                "outcome": update.outcome.value,
                "why": update.why,
            }
        )
        run.output.say(f"{update.name}: {update.sentence} ({update.outcome.value})")
        if update.why:
            run.output.note(f"  {update.why}")
        if update.request is not None and update.request.review.findings:
            tell_review(run.output, update.request.review)
    if not found:
        run.output.note("Nothing newer than what was approved.")
    return FAILED if found and all(update.outcome.value == "failed" for update in found) else DONE


def _waiting(run: Run, requests: tuple[Request, ...], unready: tuple[Kept, ...]) -> int:
    for request in requests:
        widenings = _widenings(request)
        granted = {words.repository(kit.reference): kit for kit in request.granted.kits} if request.granted else {}
        for member in request.plan.members:
            before = granted.get(words.repository(member.reference))
            if before is None or (before.reference, before.digest) == (member.reference, member.digest):
                continue
            run.output.line(
                {
                    "kit": words.repository(member.reference),
                    "from": before.reference,
                    "to": member.reference,
                    "widens": bool(widenings),
                    "widenings": widenings,
                    "set": request.name,
                    "drift": before.reference == member.reference,
                    "outcome": "waits",
                    "why": "",
                }
            )
        run.output.say(f"{request.name} waits for an answer:")
        tell_review(run.output, request.review)
    for kept in unready:
        run.output.note(f"warning: {words.exact(kept.name)} waits for an answer and cannot be judged now: {kept.why}")
    if not requests and not unready:
        run.output.note("Nothing waits. Look for newer versions with: kitstudio updates --check")
    return DONE


def _widenings(request: Request | None) -> list[dict[str, object]]:
    if request is None:
        return []
    return [widening_json(f, w) for f in request.review.findings for w in f.widenings]
