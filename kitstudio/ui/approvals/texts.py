"""What the approval dialog says: every count and button text comes from the request, never from the widgets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kitstudio.models.lock import LockedKit
from kitstudio.models.plan import Member
from kitstudio.models.review import Asker, Finding, Group, Permission, Review, Weight
from kitstudio.models.words import exact, said
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


def summary(review: Review, *, decided: bool = False) -> str:
    """``2 new permissions and 1 refusal taken away. Nothing has been applied yet.``"""
    gone = sum(finding.removed_refusal for finding in review.findings)
    moved = sum(bool(finding.moved_from) for finding in review.findings)
    new = len(review.findings) - gone - moved
    parts = []
    if new:
        one, many = ("permission", "permissions") if review.first_grant else ("new permission", "new permissions")
        parts.append(counted(new, one, many))
    if gone:
        parts.append(tr("{refusals} taken away").format(refusals=counted(gone, "refusal", "refusals")))
    if moved:
        parts.append(
            tr("{permissions} moved to another Kit").format(permissions=counted(moved, "permission", "permissions"))
        )
    if not parts:
        parts.append(tr("It asks for no permission; what it does inside its sandbox stands below"))
    serious = sum(change.weight >= Weight.SERIOUS for change in review.uncounted)
    beside = tr("Below: {changes} the specification does not count.").format(
        changes=counted(serious, "serious change", "serious changes")
    )
    told = [f"{tr(' and ').join(parts)}.", *([beside] if serious else [])]
    if not decided:
        told.append(tr("Nothing has been applied yet."))
    return " ".join(told)


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


def reason_words(asker: Asker) -> str:
    """The Kit's own words, marked as its claim and closed in quotes nothing inside can end; or that it has none."""
    reason = said(asker.reason)
    return f"{tr('the Kit says:')} {reason}" if reason else tr("the Kit gives no reason")


def asker_words(asker: Asker) -> str:
    """Which Kit asks and where: ``gh 2.73.0, kit.yaml line 34``."""
    who = exact(f"{short_name(asker.kit)} {version_of(asker.kit)}".strip())
    return tr("{kit}, kit.yaml line {line}").format(kit=who, line=asker.line) if asker.line else who


def spoken(finding: Finding) -> str:
    """All of a finding but its entry, for assistive technology."""
    item = finding.permission
    lead = tr("Removed refusal") if finding.removed_refusal else weight_word(item.weight)
    parts = [f"{lead}, {group_word(item.group)}: {item.sentence}", meta_words(finding)]
    for asker in item.askers:
        parts += [asker_words(asker), reason_words(asker)]
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def behind(count: int) -> str:
    """How many operations wait behind the one on screen."""
    return tr("1 more waits behind this") if count == 1 else tr("{n} more wait behind this").format(n=count)


def gone_text() -> str:
    """Said where the asker went away while the person was reading."""
    return tr("What asked has ended meanwhile. The request waits under Approvals, undecided.")


def kept_text(request: Request) -> str:
    """What the keeping button does, for assistive technology."""
    if request.review.first_grant:
        return tr("Grants nothing, and records that answer.")
    return tr("What was approved before stays in force; your answer is recorded.")


def change_text(change: Change) -> str:
    """``gh 2.72.0 → 2.73.0`` in a menu of changed Kits."""
    before = version_of(change.before.reference) if change.before is not None else ""
    after = version_of(change.member.reference)
    name = exact(short_name(change.member.reference))
    return f"{name} {exact(before)} → {exact(after)}" if before != after else f"{name} {exact(after)}".strip()


def notes_of(request: Request, finding: Finding) -> tuple[str, ...]:
    """What the person's own rules did to a finding, each rule named."""
    return tuple(note.sentence for note in request.rules if note.finding == finding.key)


def is_struck(request: Request, finding: Finding) -> bool:
    """Whether the host policy takes all of an entry away, so that approving it grants nothing."""
    return any(note.struck and note.finding == finding.key for note in request.rules)


def notes_beside(request: Request) -> tuple[str, ...]:
    """What the rules did that belongs to no finding: to what was granted before, or to what is left out."""
    keys = {finding.key for finding in request.review.findings}
    found = [
        f"{note.entry}: {note.sentence}" if note.entry else note.sentence
        for note in request.rules
        if note.finding not in keys
    ]
    return tuple(dict.fromkeys(found))


def _noun(group: Group, count: int) -> str:
    name = str(group)
    return tr(name.removesuffix("s")) if count == 1 and group in _PLURALS else tr(name)


_PLURALS = (Group.CREDENTIALS, Group.HOST_FILES, Group.SKILLS, Group.PORTS, Group.SERVICES)


def _skippable(finding: Finding) -> bool:
    return finding.permission.optional and not finding.removed_refusal
