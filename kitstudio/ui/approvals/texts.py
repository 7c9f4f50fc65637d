"""What the approval dialog says: every count and button text comes from the request, never from the widgets."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from kitstudio.models.lock import LockedKit
from kitstudio.models.plan import Member
from kitstudio.models.review import Finding, Group, Permission, Review, Weight
from kitstudio.models.words import claim
from kitstudio.services.approvals import Request
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.text import counted, group_word, phase_words, tr, weight_word


@dataclass(frozen=True, slots=True)
class Change:
    """One Kit that differs from what was granted. ``before`` is None for a Kit that is new."""

    member: Member
    before: LockedKit | None


def changes(request: Request) -> tuple[Change, ...]:
    """Kits whose reference or digest differs from the granted lock, matched by repository."""
    granted = {repository_of(kit.reference): kit for kit in (request.granted.kits if request.granted else ())}
    found = []
    for member in request.plan.members:
        before = granted.get(repository_of(member.reference))
        if before is None or (before.reference, before.digest) != (member.reference, member.digest):
            found.append(Change(member, before))
    return tuple(found)


def version_of(reference: str) -> str:
    """The tag of a reference, empty without one."""
    tail = reference.partition("@")[0].rpartition("/")[2]
    return tail.partition(":")[2]


def short_name(reference: str) -> str:
    """Last path segment of the repository."""
    return repository_of(reference).rpartition("/")[2] or reference


def kept_version(request: Request) -> str:
    """The one version that stays in force, empty where it is not a single one."""
    changed = [change for change in changes(request) if change.before is not None]
    same = len(changed) == 1 and len(changes(request)) == 1
    before = changed[0].before if same else None
    return version_of(before.reference) if before is not None else ""


def keep_text(request: Request) -> str:
    """The button that keeps things as they are."""
    if request.review.first_grant:
        return tr("Do not approve")
    version = kept_version(request)
    return tr("Keep {version}").format(version=version) if version else tr("Keep what is approved")


def undecided_text(request: Request) -> str:
    """What happens on Escape."""
    if request.review.first_grant:
        return tr("Esc or closing decides nothing: nothing is granted.")
    version = kept_version(request)
    if version:
        return tr("Esc or closing decides nothing: {version} stays in force.").format(version=version)
    return tr("Esc or closing decides nothing: the approved lock stays in force.")


def approve_text(review: Review) -> str:
    """``Approve all 3 changes``; permissions instead of changes where nothing was granted before."""
    count = len(review.findings)
    if not count:
        return tr("Approve this set")
    if review.first_grant:
        one, many = tr("Approve this permission"), tr("Approve all {n} permissions")
    else:
        one, many = tr("Approve this change"), tr("Approve all {n} changes")
    return one if count == 1 else many.format(n=count)


def optional_findings(review: Review) -> tuple[Finding, ...]:
    """Findings a person may leave out."""
    return tuple(f for f in review.findings if f.permission.optional and not f.removed_refusal)


def without_text(review: Review) -> str:
    """The button that leaves optional findings out, empty where there are none."""
    count = len(optional_findings(review))
    if not count:
        return ""
    if count == 1:
        return tr("Approve without the optional one")
    return tr("Approve without the {n} optional ones").format(n=count)


def summary(review: Review) -> str:
    """``2 new permissions and 1 refusal taken away. Nothing has been applied yet.``"""
    gone = sum(finding.removed_refusal for finding in review.findings)
    new = len(review.findings) - gone
    parts = []
    if new:
        one, many = ("permission", "permissions") if review.first_grant else ("new permission", "new permissions")
        parts.append(counted(new, one, many))
    if gone:
        parts.append(tr("{refusals} taken away").format(refusals=counted(gone, "refusal", "refusals")))
    if not parts:
        parts.append(tr("It asks for no permission; what it does inside its sandbox stands below"))
    return f"{tr(' and ').join(parts)}. {tr('Nothing has been applied yet.')}"


def groups_summary(permissions: tuple[Permission, ...]) -> str:
    """``7 network, 1 credentials``: what a collapsed part holds."""
    if len(permissions) == 1:
        return permissions[0].sentence
    found = Counter(permission.group for permission in permissions)
    return ", ".join(f"{n} {_noun(group, n)}" for group, n in found.most_common())


def needed(review: Review, *, without_optional: bool) -> frozenset[str]:
    """Keys of the critical findings that must be ticked before approving."""
    return frozenset(
        f.key for f in review.findings if f.weight is Weight.CRITICAL and not (without_optional and _skippable(f))
    )


def hint(review: Review, ticked: frozenset[str]) -> tuple[str, bool]:
    """The line under the buttons, and whether everything critical is ticked."""
    missing = len(needed(review, without_optional=False) - ticked)
    critical = len(needed(review, without_optional=False))
    if missing and critical == 1:
        return tr("Tick the critical change to make approving possible."), False
    if missing:
        return tr("Tick {missing} of {critical} critical changes to make approving possible.").format(
            missing=missing, critical=critical
        ), False
    if critical:
        return tr("All critical changes are ticked. Your answer will be recorded with who, when and what."), True
    return tr("Nothing here is critical. Your answer will be recorded with who, when and what."), True


def meta_words(finding: Finding) -> str:
    """``Runtime · optional``, or the phase alone for a refusal."""
    return phase_words(finding.permission)


def reason_of(finding: Finding) -> str:
    """The Kit's claim, one visible line; empty if it makes none."""
    return next((claim(asker.reason) for asker in finding.permission.askers if asker.reason), "")


def as_text(request: Request) -> str:
    """The review for a mail or a ticket."""
    review = request.review
    lines = [review.title, summary(review), ""]
    for finding in review.findings:
        item = finding.permission
        lines += [f"[{weight_word(item.weight)}] {group_word(item.group)}: {item.sentence}", f"    {item.entry}"]
        for asker in item.askers:
            line = f", {tr('line')} {asker.line}" if asker.line else ""
            lines.append(f"    {meta_words(finding)}; {asker.kit}{line}")
        reason = reason_of(finding)
        lines += [f"    {tr('the Kit says')}: “{reason}”" if reason else f"    {tr('the Kit gives no reason')}", ""]
    for heading, permissions in ((tr("Narrowed"), review.narrowed), (tr("Unchanged"), review.unchanged)):
        lines += [f"{heading}: {len(permissions)}"] + [f"    {p.sentence} ({p.entry})" for p in permissions]
    if review.uncounted:
        lines += ["", tr("Also changed, not counted by the specification:")]
        lines += [f"    [{weight_word(u.weight)}] {u.sentence} ({u.kit}, {u.path})" for u in review.uncounted]
    return "\n".join(lines).rstrip() + "\n"


def as_json(request: Request) -> str:
    """The review for a program: the findings by their keys, with who asks."""
    review = request.review
    return json.dumps(
        {
            "name": request.name,
            "title": review.title,
            "firstGrant": review.first_grant,
            "findings": [
                {
                    "key": f.key,
                    "widenings": [{"category": w.category, "detail": w.detail} for w in f.widenings],
                    "removedRefusal": f.removed_refusal,
                    **_permission(f.permission),
                }
                for f in review.findings
            ],
            "narrowed": [_permission(p) for p in review.narrowed],
            "unchanged": [_permission(p) for p in review.unchanged],
            "uncounted": [
                {"sentence": u.sentence, "weight": u.weight.name.lower(), "kit": u.kit, "path": u.path}
                for u in review.uncounted
            ],
        },
        ensure_ascii=False,
        indent=2,
    )


def _noun(group: Group, count: int) -> str:
    name = str(group)
    return tr(name.removesuffix("s")) if count == 1 and group in _PLURALS else tr(name)


_PLURALS = (Group.CREDENTIALS, Group.HOST_FILES, Group.SKILLS, Group.PORTS, Group.SERVICES)


def _skippable(finding: Finding) -> bool:
    return finding.permission.optional and not finding.removed_refusal


def _permission(permission: Permission) -> dict[str, object]:
    return {
        "group": str(permission.group),
        "weight": permission.weight.name.lower(),
        "sentence": permission.sentence,
        "entry": permission.entry,
        "phase": str(permission.phase),
        "optional": permission.optional,
        "askers": [{"kit": a.kit, "path": a.path, "line": a.line, "reason": a.reason} for a in permission.askers],
    }
