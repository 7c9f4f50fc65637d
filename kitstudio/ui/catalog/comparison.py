"""Two versions of a Kit compared by authority: pure, through the surface (§7.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kitstudio.models.review import Group, Permission, Weight
from kitstudio.models.surface import Widening, diff_widenings, project
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.widgets.text import tr


class ChangeKind(StrEnum):
    ADDED = "added"
    REFUSAL_GONE = "refusal gone"
    NARROWED = "narrowed"
    REFUSAL_NEW = "refusal new"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Change:
    """One row: what it means, and the entry in A and in B (empty where it is not asked)."""

    kind: ChangeKind
    group: Group
    weight: Weight
    sentence: str
    permission: Permission | None
    a: str = ""
    b: str = ""

    @property
    def widens(self) -> bool:
        return self.kind in (ChangeKind.ADDED, ChangeKind.REFUSAL_GONE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All changes, widening ones first, then what narrowed; ``unchanged`` apart."""

    changes: tuple[Change, ...]
    unchanged: tuple[Permission, ...]

    @property
    def widens(self) -> bool:
        return any(change.widens for change in self.changes)

    def counts(self) -> dict[Weight, int]:
        found: dict[Weight, int] = {}
        for change in self.changes:
            if change.widens:
                found[change.weight] = found.get(change.weight, 0) + 1
        return found

    def verdict(self) -> str:
        """The one sentence before any table."""
        if self.widens:
            return tr("B asks for more than A.")
        if self.changes:
            return tr("B asks for less than A.")
        return tr("B asks for the same as A.")


def compare(a: KitDetails, b: KitDetails) -> Comparison:
    """Move from ``a`` to ``b``. Both must have a descriptor."""
    assert a.descriptor is not None and b.descriptor is not None
    before, after = project(a.descriptor), project(b.descriptor)
    old = {(p.category, p.detail): p for p in a.permissions}
    new = {(p.category, p.detail): p for p in b.permissions}
    changes: list[Change] = []
    touched: set[tuple[str, str]] = set()
    for widening in diff_widenings(before, after):
        changes.append(_change(widening, old, new, narrowing=False))
        touched.add((widening.category, widening.detail))
    for widening in diff_widenings(after, before):
        changes.append(_change(widening, new, old, narrowing=True))
        touched.add((widening.category, widening.detail))
    order = list(Group)
    changes.sort(key=lambda change: (not change.widens, order.index(change.group), -change.weight))
    unchanged = tuple(p for key, p in new.items() if key not in touched and key in old)
    return Comparison(_merged(changes), unchanged)


def _change(
    widening: Widening,
    old: dict[tuple[str, str], Permission],
    new: dict[tuple[str, str], Permission],
    *,
    narrowing: bool,
) -> Change:
    """``old`` → ``new`` in the direction that widens; a narrowing is the same thing read backwards."""
    key = (widening.category, widening.detail)
    permission = new.get(key) or old.get(key)
    gone = key not in new and key in old
    entry = permission.entry if permission else f"{widening.category} {widening.detail}".strip()
    group = permission.group if permission else Group.SERVICES
    weight = permission.weight if permission else Weight.CRITICAL
    sentence = permission.sentence if permission else tr("An entry this version of the app has no words for.")
    if narrowing:
        if gone:
            return Change(ChangeKind.REFUSAL_NEW, group, Weight.INFO, sentence, permission, "", entry)
        return Change(ChangeKind.NARROWED, group, Weight.INFO, sentence, permission, entry, "")
    if gone:
        heavy = max(weight, Weight.SERIOUS)
        words = tr("No longer: {sentence}").format(sentence=sentence)
        return Change(ChangeKind.REFUSAL_GONE, group, heavy, words, permission, entry, "")
    return Change(ChangeKind.ADDED, group, weight, sentence, permission, "", entry)


def _merged(changes: list[Change]) -> tuple[Change, ...]:
    """One row per entry and meaning, even where it counts more than once."""
    seen: dict[tuple[object, ...], Change] = {}
    for change in changes:
        seen.setdefault((change.kind, change.group, change.a, change.b, change.sentence), change)
    return tuple(seen.values())
