"""The values of a plan: members as far as they are known, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitstudio.models.choices import Choice
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.inputs import Input
from kitstudio.models.problems import Problem
from kitstudio.models.review import Permission
from kitstudio.models.selection import Selection
from kitstudio.models.surface import Surface


@dataclass(frozen=True, slots=True)
class Member:
    """One Kit of a set as far as it is known.

    ``descriptor`` is the published form, None while it loads or when it failed (``failure`` says why: a problem
    of kind not-a-kit, unreachable or missing-platform). ``text``: the descriptor as the registry handed it over,
    for lines. ``lines``: dotted path → 1-based line in ``text``.
    """

    reference: str
    digest: str = ""
    descriptor: Descriptor | None = None
    args: Mapping[str, str] = field(default_factory=dict)
    image_env: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    failure: Problem | None = None
    loading: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """``requirer`` needs (or works with) ``provider`` by capability ``name``; why one stands above the other.

    ``entry``: the need as it is stated, with its constraint.
    """

    requirer: str
    provider: str
    name: str
    integrates: bool = False
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A set, judged. Every field is filled as far as the problems allow; ``coherent`` says whether it may launch.

    ``ordered``: composition order, workload first, then providers before those that need them (§5.3); members
    that could not be ordered follow in stated order. ``effective``: the selected, merged descriptor that is
    enforced (§9.5), None while incoherent. ``kit_surfaces``: per reference, for attribution. ``records``: per
    reference, what was selected and skipped, and why. ``values``: per reference, every input's value as used.
    The set's own declarations stand under the empty reference.
    """

    members: tuple[Member, ...] = ()
    problems: tuple[Problem, ...] = ()
    runtime_problems: tuple[Problem, ...] = ()
    ordered: tuple[str, ...] = ()
    topological: tuple[str, ...] = ()
    workload: str = ""
    edges: tuple[Edge, ...] = ()
    inputs: tuple[Input, ...] = ()
    choices: tuple[Choice, ...] = ()
    effective: Descriptor | None = None
    selected: Mapping[str, Descriptor] = field(default_factory=dict)
    surface: Surface = field(default_factory=Surface)
    kit_surfaces: Mapping[str, Surface] = field(default_factory=dict)
    permissions: tuple[Permission, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    loading: bool = False
    records: Mapping[str, Selection] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @property
    def coherent(self) -> bool:
        return not self.problems and not self.loading and self.effective is not None

    @property
    def launchable(self) -> bool:
        return self.coherent and not self.runtime_problems

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Members whose requests are not in ``surface``: not fetched, failed, or in want of an input."""
        return tuple(member.reference for member in self.members if member.reference not in self.kit_surfaces)
