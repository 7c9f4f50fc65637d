"""One Kit's part of a set: its selection, what that asks for, and what can be switched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kitstudio.models import surface as surfaces
from kitstudio.models.choices import Choice, choose
from kitstudio.models.descriptor import Capability, Descriptor, Source
from kitstudio.models.prepare import Remembered
from kitstudio.models.problems import Problem
from kitstudio.models.review import Permission, entry_permissions
from kitstudio.models.selection import Selection, members_of
from kitstudio.models.surface import Surface
from kitstudio.models.versions import reference_version


@dataclass(frozen=True, slots=True)
class Part:
    """``selected``: the Kit's declarations with the selected requests alone, each with its place in ``source``, and
    the version the reference states (§4). ``permissions``: its rows."""

    selection: Selection
    choices: tuple[Choice, ...]
    runtime_problems: tuple[Problem, ...]
    selected: Descriptor
    surface: Surface
    permissions: tuple[Permission, ...]
    lines: Mapping[str, int] | None

    def entries(self) -> tuple[Capability, ...]:
        """The selected requests."""
        return tuple(item.entry for item in self.selection.entries)


_parts: Remembered[Part] = Remembered()


def part_of(
    kit: str,
    descriptor: Descriptor,
    choices: Mapping[str, bool],
    claimed: frozenset[str] | None,
    lines: Mapping[str, int] | None,
) -> Part:
    """A Kit's part; remembered, since most Kits of a set stay as they are when one input changes."""
    switched = tuple(
        choices.get(f"{kit}#{path}", True)
        for index, item in enumerate(descriptor.capabilities)
        if item.optional
        for path in dict.fromkeys(
            (f"capabilities[{index}]", *(m.path for m in members_of(item, f"capabilities[{index}]")))
        )
    )
    key = (kit, switched, claimed, id(lines))
    part = _parts.get(descriptor, key, lambda: _made(kit, descriptor, choices, claimed, lines))
    return part if part.lines is lines else _made(kit, descriptor, choices, claimed, lines)


def _made(
    kit: str,
    descriptor: Descriptor,
    choices: Mapping[str, bool],
    claimed: frozenset[str] | None,
    lines: Mapping[str, int] | None,
) -> Part:
    chosen = choose(kit, descriptor, choices, claimed, lines)
    optional = {path for record in chosen.selection.selected if record.optional for path in record.members}
    # Whatever its author says of its origin: a line is looked up where the request stands in this Kit.
    entries = tuple(replace(item.entry, source=Source(kit, item.path)) for item in chosen.selection.entries)
    version = reference_version(kit) or descriptor.version
    selected = replace(descriptor, capabilities=entries, version=version)
    rows = tuple(
        row
        for item in chosen.selection.entries
        for row in entry_permissions(item.entry, item.path, kit, lines, optional=item.path in optional)
    )
    return Part(
        chosen.selection,
        chosen.choices,
        chosen.runtime_problems,
        selected,
        surfaces.project_entries(entries),
        rows,
        lines,
    )
