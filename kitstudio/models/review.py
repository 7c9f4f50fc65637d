"""What a person reads before deciding: permissions of a Kit or set, and the findings of a change (§7.4).

The words come from ``words`` and the capability modules, the counting from ``surface``. The window and the command
line render these values and add nothing of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kitstudio.models import words
from kitstudio.models.canonical import encode_value
from kitstudio.models.capabilities import is_newer, lookup
from kitstudio.models.capabilities.contract import CapabilityType, Fact, Grant
from kitstudio.models.capabilities.shape import ShapeError, is_parameterised
from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.models.errors import DescriptorError
from kitstudio.models.surface import CATEGORIES, Widening, service_entry
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
    """One entry of a surface in words. ``denies``: the entry refuses instead of allowing.

    ``facts``: the surface strings it stands for. ``tick``: what a person must accept by itself, if it is critical.
    """

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
    facts: tuple[Fact, ...] = ()
    tick: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    """A count of authority on a card: words such as ``3 hosts``, heaviest first."""

    group: Group
    text: str
    weight: Weight


@dataclass(frozen=True, slots=True)
class Finding:
    """One descriptor entry of a change, with the widenings it carries.

    ``widenings``: heaviest first; the first ``heaviest`` of them are what its weight comes from.
    ``removed_refusal``: the entry is a deny that is gone. ``tick``: the sentence of the tick a critical finding
    needs, empty for lighter ones. ``moved_from``: Kits that had it when it was approved and ask for it no more.
    """

    permission: Permission
    widenings: tuple[Widening, ...]
    removed_refusal: bool = False
    tick: str = ""
    moved_from: tuple[str, ...] = ()
    heaviest: int = 1

    @property
    def weight(self) -> Weight:
        return self.permission.weight

    @property
    def key(self) -> str:
        """``CATEGORY:DETAIL`` of the first widening: what a record stores."""
        return self.keys[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """``CATEGORY:DETAIL`` of each widening its weight comes from: who says yes to all of them says yes to it."""
        return tuple(f"{widening.category}:{widening.detail}" for widening in self.widenings[: self.heaviest])


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

    @property
    def needs_answer(self) -> bool:
        """Whether a person must say yes: it widens, or it is the first grant of something there is to read."""
        return self.widens or (self.first_grant and bool(self.uncounted))

    def counts(self) -> dict[Weight, int]:
        """Number of findings by weight, heaviest first, zero counts left out."""
        found = {w: sum(f.weight is w for f in self.findings) for w in reversed(Weight)}
        return {weight: n for weight, n in found.items() if n}


def permissions(
    descriptor: Descriptor, reference: str = "", lines: Mapping[str, int] | None = None
) -> tuple[Permission, ...]:
    """Everything a descriptor asks for, one row for each part of an entry, families in order, heaviest first."""
    found: list[Permission] = []
    for index, item in enumerate(descriptor.capabilities):
        path = f"capabilities[{index}]"
        if isinstance(item, Capability):
            found += entry_permissions(item, path, reference, lines, optional=item.optional)
            continue
        for place, member in enumerate(item.members or ()):
            if isinstance(member, Capability):
                below = f"{path}.group.capabilities[{place}]"
                found += entry_permissions(member, below, reference, lines, optional=item.optional)
    return arranged(found)


def entry_permissions(
    entry: Capability, path: str, reference: str = "", lines: Mapping[str, int] | None = None, *, optional: bool = False
) -> list[Permission]:
    """The rows of one request at ``path``."""
    reason = words.claim(entry.description)
    return [
        Permission(
            grant.group,
            CATEGORIES[grant.facts[0][0]],
            grant.facts[0][1],
            grant.entry,
            grant.sentence,
            grant.weight,
            grant.phase,
            optional,
            grant.denies,
            (Asker(reference, path + grant.at, line_of(lines, path + grant.at), reason),),
            grant.facts,
            grant.tick,
        )
        for grant in grants(entry)
        if grant.facts
    ]


def grants(entry: Capability) -> Iterable[Grant]:
    """What one request grants, in words. A request that is not understood is as heavy as can be."""
    type_ = lookup(entry.type)
    if type_ is None:
        return (_unknown(entry),)
    if type_.silent:
        return ()
    try:
        return type_.describe(type_.decode(entry.config))
    except ShapeError as error:
        if is_parameterised(entry.config):
            return (_undecided(entry, type_),)
        return (_unreadable(entry, str(error)),)


def union(rows: Iterable[Permission]) -> tuple[Permission, ...]:
    """Rows of several Kits: the same ask is one row with all its askers; required wins."""
    found: dict[tuple[str, tuple[Fact, ...], bool], Permission] = {}
    for row in rows:
        key = (row.category, row.facts, row.denies)
        held = found.get(key)
        if held is None:
            found[key] = row
        else:
            found[key] = replace(
                max(held, row, key=lambda told: told.weight),
                askers=tuple(dict.fromkeys((*held.askers, *row.askers))),
                optional=held.optional and row.optional,
            )
    return arranged(found.values())


def arranged(rows: Iterable[Permission]) -> tuple[Permission, ...]:
    """By family, within a family heaviest first, allowing before refusing."""
    return tuple(sorted(rows, key=lambda row: (words.GROUP_ORDER[row.group], -row.weight, row.denies)))


def chips(asked: Descriptor | Sequence[Permission]) -> tuple[Chip, ...]:
    """Counts of authority for a card: what is critical first, then by family. Empty when nothing is asked for."""
    rows = permissions(asked) if isinstance(asked, Descriptor) else asked
    by_group: dict[Group, list[Permission]] = {}
    for row in rows:
        if not row.denies:
            by_group.setdefault(row.group, []).append(row)
    found = [chip for group in Group for chip in _CHIPS[group](by_group.get(group, []))]
    return tuple(sorted(found, key=lambda chip: chip.weight is not Weight.CRITICAL))


def line_of(lines: Mapping[str, int] | None, path: str) -> int:
    """The line of a path or of the nearest element around it; 0 when unknown."""
    while lines and path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return 0


def _unknown(entry: Capability) -> Grant:
    name = words.term(entry.type)
    if is_newer(entry.type):
        sentence = f"Asks for {name}, which is newer than this app: what it grants cannot be told."
    else:
        sentence = f"Asks for {name}, which this app does not know: what it grants cannot be told."
    return _opaque(entry, sentence)


def _unreadable(entry: Capability, why: str) -> Grant:
    return _opaque(entry, f"Asks for {words.term(entry.type)} in a form that cannot be read: {words.said(why)}.")


def _undecided(entry: Capability, type_: CapabilityType[Any]) -> Grant:
    """A published request whose shape an input decides: what it grants is known once the input is."""
    row = _opaque(entry, f"Asks for a {type_.title} that its inputs decide.")
    tick = "" if type_.heaviest < Weight.CRITICAL else row.tick
    return replace(row, group=type_.family, weight=type_.heaviest, tick=tick)


def _opaque(entry: Capability, sentence: str) -> Grant:
    try:
        config = f" {encode_value(entry.config)}" if entry.config else ""
    except DescriptorError:
        config = " (its config cannot be shown)"
    return Grant(
        Group.SERVICES,
        (("services", service_entry(entry.type, entry.config)),),
        words.exact(f"{entry.type}{config}"),
        sentence,
        Weight.CRITICAL,
        tick=f"I accept that this app cannot tell what {words.term(entry.type)} grants",
    )


def _network_chips(rows: list[Permission]) -> Iterator[Chip]:
    hosts = {host for row in rows for host in _hosts(row)}
    if any(words.split_port(host)[0] in ("*", "**") for host in hosts):
        yield Chip(Group.NETWORK, "Any host", Weight.CRITICAL)
    patterns = {host for host in hosts if words.host_weight(host) is Weight.SERIOUS and "*" in host}
    named = {words.split_port(host)[0] for host in hosts if "*" not in host}
    if patterns:
        yield Chip(Group.NETWORK, words.count(len(patterns), "host pattern"), Weight.SERIOUS)
    if named:
        suspicious = any(words.host_weight(host) is Weight.SERIOUS for host in hosts if "*" not in host)
        yield Chip(Group.NETWORK, words.count(len(named), "host"), Weight.SERIOUS if suspicious else Weight.INFO)


def _hosts(row: Permission) -> Iterator[str]:
    for name, text in row.facts:
        yield text.partition(" ")[2].partition("/")[0] if "_http_" in name else text


def _counted(group: Group, one: str, floor: Weight = Weight.SERIOUS) -> Callable[[list[Permission]], Iterator[Chip]]:
    """A chip that counts distinct entries; it takes the weight of its rows from ``floor`` up, else it is neutral."""

    def chip(rows: list[Permission]) -> Iterator[Chip]:
        if rows:
            heaviest = max(row.weight for row in rows)
            weight = heaviest if heaviest >= floor else Weight.INFO
            yield Chip(group, words.count(len({row.detail for row in rows}), one), weight)

    return chip


def _agent_chips(rows: list[Permission]) -> Iterator[Chip]:
    if any(row.weight is Weight.CRITICAL for row in rows):
        yield Chip(Group.SSH_AGENT, "SSH agent: any use", Weight.CRITICAL)
    elif rows:
        purposes = sorted({text.split(" ", 2)[2] for row in rows for _, text in row.facts if " sign " in text})
        logins = any(" authenticate " in text for row in rows for _, text in row.facts)
        if len(purposes) == 1 and not logins:
            text = f"SSH agent: {words.claim(purposes[0], 20)} only"
        elif logins and not purposes:
            text = "SSH agent: logins"
        else:
            text = "SSH agent: limited"
        yield Chip(Group.SSH_AGENT, text, Weight.NOTICE)


def _host_file_chips(rows: list[Permission]) -> Iterator[Chip]:
    count = len({row.detail for row in rows})
    if count:
        text = "Shared host folder" if count == 1 else words.count(count, "shared host folder")
        yield Chip(Group.HOST_FILES, text, Weight.CRITICAL)


def _skill_chips(rows: list[Permission]) -> Iterator[Chip]:
    if any(row.weight is Weight.CRITICAL for row in rows):
        yield Chip(Group.SKILLS, "Changes your skills", Weight.CRITICAL)
    elif rows:
        yield Chip(Group.SKILLS, "Skills", Weight.INFO)


def _privileged_chips(rows: list[Permission]) -> Iterator[Chip]:
    if rows:
        yield Chip(Group.PRIVILEGED, "Privileged", Weight.CRITICAL)


def _service_chips(rows: list[Permission]) -> Iterator[Chip]:
    unknown = {row.detail for row in rows if row.weight is Weight.CRITICAL}
    newer = {detail for detail in unknown if is_newer(detail.partition("+")[0])}
    if newer:
        yield Chip(Group.SERVICES, f"{words.count(len(newer), 'type')} newer than this app", Weight.CRITICAL)
    if unknown - newer:
        yield Chip(Group.SERVICES, words.count(len(unknown - newer), "unknown request"), Weight.CRITICAL)
    for row in rows:
        known = lookup(row.detail)
        if known is not None and row.weight is not Weight.CRITICAL:
            yield Chip(Group.SERVICES, known.title, row.weight)


_CHIPS: Mapping[Group, Callable[[list[Permission]], Iterator[Chip]]] = {
    Group.NETWORK: _network_chips,
    Group.CREDENTIALS: _counted(Group.CREDENTIALS, "credential"),
    Group.SSH_AGENT: _agent_chips,
    Group.STORAGE: _counted(Group.STORAGE, "volume"),
    Group.HOST_FILES: _host_file_chips,
    Group.SKILLS: _skill_chips,
    Group.PORTS: _counted(Group.PORTS, "port"),
    Group.USB: _counted(Group.USB, "USB device", Weight.NOTICE),
    Group.PRIVILEGED: _privileged_chips,
    Group.SERVICES: _service_chips,
}
