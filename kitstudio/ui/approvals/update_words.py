"""What a look for newer versions came to, in one line for the page's strip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kitstudio.models.words import listed
from kitstudio.services.updates import Outcome, Update
from kitstudio.ui.widgets.text import counted, tr, visible

_LONGEST = 3


def found_words(found: Sequence[Update]) -> tuple[str, str, str]:
    """Icon, lead and words. A source that did not answer is named first: then nothing is known of its Kits."""
    if not found:
        return "success", tr("Nothing is newer."), tr("Every approved Kit is the newest version its source has.")
    counts = Counter(update.outcome for update in found)
    parts = []
    if waits := counts[Outcome.WAITS]:
        parts.append(counted(waits, "waits for your answer", "wait for your answer"))
    if applied := counts[Outcome.APPLIED]:
        parts.append(tr("{n} put in force, asking for no more").format(n=applied))
    if refused := counts[Outcome.REFUSED]:
        parts.append(tr("{n} refused by a rule of yours").format(n=refused))
    if not counts[Outcome.FAILED]:
        return "success", counted(len(found), "update found.", "updates found."), ", ".join(parts) + "."
    failed = [f"{visible(each.name)}: {visible(each.why)}" for each in found if each.outcome is Outcome.FAILED]
    lead = tr("{kits} could not be looked up.").format(kits=counted(len(failed), "Kit", "Kits"))
    words = " ".join(dict.fromkeys(failed[:_LONGEST]))
    if len(failed) > _LONGEST:
        words += " " + tr("And {n} more.").format(n=len(failed) - _LONGEST)
    return "critical", lead, f"{words} {tr('Of the others:')} {listed(parts)}." if parts else words
