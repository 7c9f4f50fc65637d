"""The review as text for a mail or a ticket, and as JSON for a program: what is shown, nothing less."""

from __future__ import annotations

import json

from kitstudio.models.review import Permission
from kitstudio.models.words import exact
from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.widgets.text import group_word, tr, weight_word


def as_text(request: Request) -> str:
    """The review for a mail or a ticket."""
    review = request.review
    lines = [exact(review.title), texts.summary(review), ""]
    for finding in review.findings:
        item = finding.permission
        lines += [f"[{weight_word(item.weight)}] {group_word(item.group)}: {item.sentence}", f"    {item.entry}"]
        if finding.removed_refusal:
            lines.append(f"    {tr('Removed refusal')}")
        for asker in item.askers:
            line = f", {tr('line')} {asker.line}" if asker.line else ""
            lines.append(f"    {texts.meta_words(finding)}; {exact(asker.kit)}{line}")
            lines.append(f"    {texts.reason_words(asker)}")
        lines.append("")
    for heading, permissions in ((tr("Narrowed"), review.narrowed), (tr("Unchanged"), review.unchanged)):
        lines += [f"{heading}: {len(permissions)}"] + [f"    {p.sentence} ({p.entry})" for p in permissions]
    if review.uncounted:
        lines += ["", tr("Also changed, not counted by the specification:")]
        for change in review.uncounted:
            where = f"{exact(change.kit)}, {exact(change.path)}"
            lines.append(f"    [{weight_word(change.weight)}] {change.sentence} ({where})")
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
