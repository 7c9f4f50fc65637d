"""What a person reads before deciding: permissions of a Kit or set, and the findings of a change (§7.4).

Values only; the words come from ``words`` and the capability modules, the counting from ``surface``. The window
and the command line render these values and add nothing of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from kitstudio.models.surface import Widening
from kitstudio.models.weights import Group as Group
from kitstudio.models.weights import Phase as Phase
from kitstudio.models.weights import Weight as Weight


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: Kit reference, dotted path in its descriptor, 1-based line (0 unknown), the Kit's own claim."""

    kit: str
    path: str
    line: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Permission:
    """One entry of a surface in words. ``denies``: the entry refuses instead of allowing."""

    group: Group
    category: str
    detail: str
    entry: str
    sentence: str
    weight: Weight
    phase: Phase = Phase.ALWAYS
    optional: bool = False
    denies: bool = False
    askers: tuple[Asker, ...] = ()


@dataclass(frozen=True, slots=True)
class Chip:
    """A count of authority on a card: words such as ``3 hosts``, heaviest first."""

    group: Group
    text: str
    weight: Weight


@dataclass(frozen=True, slots=True)
class Finding:
    """One descriptor entry of a change, with the widenings it carries.

    ``removed_refusal``: the entry is a deny that is gone. ``tick``: the sentence of the tick a critical finding
    needs, empty for lighter ones.
    """

    permission: Permission
    widenings: tuple[Widening, ...]
    removed_refusal: bool = False
    tick: str = ""

    @property
    def weight(self) -> Weight:
        return self.permission.weight

    @property
    def key(self) -> str:
        """``CATEGORY:DETAIL`` of the first widening: what ``--accept`` takes and a record stores."""
        first = self.widenings[0]
        return f"{first.category}:{first.detail}"


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A change §7.4 leaves out and a reviewer still wants to know (hooks as root, resources, …)."""

    sentence: str
    weight: Weight
    kit: str
    path: str
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """A candidate against what was granted. ``first_grant``: nothing was granted before."""

    title: str
    first_grant: bool
    findings: tuple[Finding, ...]
    narrowed: tuple[Permission, ...] = ()
    unchanged: tuple[Permission, ...] = ()
    uncounted: tuple[Uncounted, ...] = ()

    @property
    def widens(self) -> bool:
        return bool(self.findings)

    def counts(self) -> dict[Weight, int]:
        """Number of findings by weight, heaviest first, zero counts left out."""
        found = {w: sum(f.weight is w for f in self.findings) for w in reversed(Weight)}
        return {weight: n for weight, n in found.items() if n}
