"""Optional requests of a set as switches, and the selection they make (§7.1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kitstudio.models import words
from kitstudio.models.capabilities import agent_context, is_newer, lifecycle, lookup
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.descriptor import Capability, CapabilityItem, Descriptor
from kitstudio.models.problems import Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.models.review import Permission, entry_permissions
from kitstudio.models.selection import Decision, Selected, Selection, members_of, select_valid


@dataclass(frozen=True, slots=True)
class Choice:
    """An optional request or group, and whether it is in. ``supported``: the runtime claims its types.

    ``takes_along``: what else leaves with it, counted and never quoted, since a value filled in may be secret.
    """

    kit: str
    path: str
    label: str
    types: tuple[str, ...]
    selected: bool
    supported: bool
    reason: str = ""
    permissions: tuple[Permission, ...] = ()
    takes_along: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a Kit's part of the set is: its selection, its switches, and what the runtime cannot grant."""

    selection: Selection
    choices: tuple[Choice, ...]
    runtime_problems: tuple[Problem, ...]


def choose(
    kit: str,
    descriptor: Descriptor,
    choices: Mapping[str, bool],
    claimed: frozenset[str] | None,
    lines: Mapping[str, int] | None = None,
) -> Chosen:
    """Select one Kit's requests.

    ``choices``: ``KIT#PATH`` of an optional item, or of one member of a group, which then goes as a whole and names
    the member as what was refused. ``claimed``: types the runtime enforces, None when no runtime is asked. A required
    request it does not claim stays in, so that the whole ask is seen; the problem says that it cannot run.
    """
    offered = []
    refused_members: set[int] = set()
    partly: set[str] = set()
    problems: dict[str, Problem] = {}
    refused: dict[str, str] = {}
    for index, item in enumerate(descriptor.capabilities):
        path = f"capabilities[{index}]"
        members = members_of(item, path)
        missing = tuple(
            dict.fromkeys(m.entry.type for m in members if claimed is not None and m.entry.type not in claimed)
        )
        if not item.optional:
            for type_ in missing:
                problems.setdefault(type_, _unsupported(kit, type_))
            continue
        wanted = choices.get(f"{kit}#{path}", True)
        off = {id(m.entry) for m in members if m.path != path and not choices.get(f"{kit}#{m.path}", True)}
        if missing or off or not wanted:
            refused[path] = _reason(missing) if missing else "switched off"
            if wanted:
                refused_members |= off
                partly |= {path} if off else set()
        offered.append(_choice(kit, path, item, members, refused.get(path, ""), not missing, lines))

    def decide(path: str, entry: Capability) -> Decision:
        if path not in refused:
            return Decision(True)
        if id(entry) in refused_members:
            return Decision(False, "switched off")
        if path in partly and refused[path] == "switched off":
            return Decision(True)
        if claimed is not None and entry.type in claimed and refused[path] != "switched off":
            return Decision(True)
        return Decision(False, refused[path])

    return Chosen(select_valid(descriptor, decide), tuple(offered), tuple(problems.values()))


def _choice(
    kit: str,
    path: str,
    item: CapabilityItem,
    members: tuple[Selected, ...],
    reason: str,
    supported: bool,
    lines: Mapping[str, int] | None,
) -> Choice:
    rows = [
        row for member in members for row in entry_permissions(member.entry, member.path, kit, lines, optional=True)
    ]
    types = tuple(dict.fromkeys(member.entry.type for member in members))
    along = _along([member.entry for member in members])
    return Choice(kit, path, _label(item, types), types, not reason, supported, reason, tuple(rows), along)


def _along(entries: Sequence[Capability]) -> str:
    """The hooks, files and instructions of a request or group, in words."""
    counts = {"installation step": 0, "startup step": 0, "file": 0}
    instructions = False
    for entry in entries:
        instructions = instructions or entry.type == agent_context.TYPE.name
        if entry.type != lifecycle.TYPE.name:
            continue
        try:
            stated = lifecycle.TYPE.decode(entry.config)
        except ShapeError:
            # What does not decode is a problem of its Kit, told there.
            continue
        counts["installation step"] += len(stated.install)
        counts["startup step"] += len(stated.startup)
        counts["file"] += len(stated.files)
    parts = [words.count(number, one) for one, number in counts.items() if number]
    return words.listed([*parts, *(["instructions for the agent"] if instructions else [])])


def _label(item: CapabilityItem, types: tuple[str, ...]) -> str:
    if item.name:
        return words.claim(item.name, 80)
    titles = [type_.title if (type_ := lookup(name)) else name for name in types]
    label = words.listed(titles)
    return label[:1].upper() + label[1:]


def _reason(missing: tuple[str, ...]) -> str:
    verb = "is" if len(missing) == 1 else "are"
    return f"{words.listed(missing)} {verb} not enforced here"


def _unsupported(kit: str, type_: str) -> Problem:
    who = words.kit_name(kit) if kit else "The set"
    if is_newer(type_):
        message = f"{who} requires {type_}, which is newer than this app."
        detail = "A newer version of this app may grant it."
    elif lookup(type_) is None:
        message = f"{who} requires {type_}, which this app does not know."
        detail = "Only a runtime that knows the type can grant it."
    else:
        message = f"{who} requires {type_}, which sandboxes of this app do not enforce yet."
        detail = "Nothing is granted that cannot be enforced."
    remedies = (Remedy(RemedyKind.REMOVE, f"Remove {who}", kit=kit),) if kit else ()
    return Problem(ProblemKind.UNSUPPORTED_CAPABILITY, (kit,) if kit else (), type_, message, detail, remedies)
