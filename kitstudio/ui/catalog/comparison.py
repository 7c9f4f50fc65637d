"""Two versions of a Kit compared by authority: pure, through the surface (§7.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from kitstudio.models.review import Group, Permission, Uncounted, Weight
from kitstudio.models.surface import Widening, diff_widenings, project
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.widgets.fold import FoldLine, uncounted_lines
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
    """All changes, widening ones first, then what narrowed; ``unchanged`` apart. ``new`` and ``gone``: hooks, files and
    the rest that the specification does not count."""

    changes: tuple[Change, ...]
    unchanged: tuple[Permission, ...]
    new: tuple[Uncounted, ...] = ()
    gone: tuple[Uncounted, ...] = ()

    def also_lines(self) -> tuple[FoldLine, ...]:
        """What §7.4 leaves out and differs between the two: in B, then no longer in it."""
        new, gone = uncounted_lines(self.new), uncounted_lines(self.gone)
        added = (replace(line, sentence=tr("Added: {what}").format(what=line.sentence)) for line in new)
        dropped = (replace(line, sentence=tr("Dropped: {what}").format(what=line.sentence)) for line in gone)
        return (*added, *dropped)

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
        if self.new or self.gone:
            return tr("B asks for the same as A, and does other things inside.")
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
    before_too = {_uncounted_key(item) for item in a.uncounted}
    after_too = {_uncounted_key(item) for item in b.uncounted}
    new_too = tuple(item for item in b.uncounted if _uncounted_key(item) not in before_too)
    gone_too = tuple(item for item in a.uncounted if _uncounted_key(item) not in after_too)
    return Comparison(_merged(changes), unchanged, new_too, gone_too)


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
    # As the gate weighs an update: every new grant is worth reading.
    return Change(ChangeKind.ADDED, group, max(weight, Weight.NOTICE), sentence, permission, "", entry)


def _merged(changes: list[Change]) -> tuple[Change, ...]:
    """One row per entry and meaning, even where it counts more than once."""
    seen: dict[tuple[object, ...], Change] = {}
    for change in changes:
        seen.setdefault((change.kind, change.group, change.a, change.b, change.sentence), change)
    return tuple(seen.values())


def _uncounted_key(item: Uncounted) -> tuple[str, str, int]:
    return item.sentence, item.entry, int(item.weight)
