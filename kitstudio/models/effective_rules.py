"""Every rule that is in effect for a set, each with who states it, where, and when: Kit, set and host policy alike.

The rows are the plan's own; nothing is left out because it refuses, or because something overrides it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kitstudio.models import words
from kitstudio.models.plan import Plan
from kitstudio.models.policy import HOST_POLICY, Policy, RuleKind, RuleNote, judged
from kitstudio.models.review import Asker, Permission, Review
from kitstudio.models.weights import Group, Phase, Weight


@dataclass(frozen=True, slots=True)
class EffectiveRule:
    """One rule of one origin. ``origin``: a Kit's reference, empty for the set itself, or ``HOST_POLICY``.

    ``overridden``: the sentence of the host policy that acts on it; ``struck``: it takes away all of it.
    """

    group: Group
    entry: str
    sentence: str
    phase: Phase
    weight: Weight
    origin: str
    path: str = ""
    line: int = 0
    denies: bool = False
    optional: bool = False
    overridden: str = ""
    struck: bool = False


def effective_rules(plan: Plan, policy: Policy | None = None) -> tuple[EffectiveRule, ...]:
    """What the machine never grants first, then what each Kit and the set state, one row for each who states it."""
    policy = policy or Policy()
    told = judged(policy, Review("", False, ()), plan).notes
    notes = {note.finding: note for note in told if note.kind is RuleKind.HOST and note.finding}
    found = [_of_host(rule.subject, rule.pattern, rule.text) for rule in policy.of(RuleKind.HOST)]
    for row in plan.permissions:
        note = notes.get(f"{row.category}:{row.detail}")
        found += [_stated(row, asker, note) for asker in row.askers or (Asker("", ""),)]
    return tuple(found)


def _stated(row: Permission, asker: Asker, note: RuleNote | None) -> EffectiveRule:
    return EffectiveRule(
        row.group,
        row.entry,
        row.sentence,
        row.phase,
        row.weight,
        asker.kit,
        asker.path,
        asker.line,
        row.denies,
        row.optional,
        note.sentence if note is not None else "",
        note.struck if note is not None else False,
    )


def _of_host(subject: str, pattern: str, text: str) -> EffectiveRule:
    about = f"reaches {words.term(pattern)}" if subject == "host" else f"grants {words.term(pattern)}"
    group = Group.NETWORK if subject == "host" else Group.SERVICES
    sentence = f"This machine never {about}, whatever is approved."
    return EffectiveRule(
        group, words.exact(text), sentence, Phase.ALWAYS, Weight.INFO, HOST_POLICY, "policy.host", denies=True
    )
