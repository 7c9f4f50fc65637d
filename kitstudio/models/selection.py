"""§7.1.1: which requests of a descriptor are in. Groups are taken or left as a whole; optional ones may be left.

Every member is asked, also after one was rejected, so that a record says everything. A selection holds neither
authority nor surface; composing does (§9.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from kitstudio.models.descriptor import Capability, CapabilityGroup, CapabilityItem, Descriptor, Source
from kitstudio.models.issue import Issue
from kitstudio.models.references import holds_arg, holds_env, holds_env_key
from kitstudio.models.validate import Form, validate_descriptor


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one request. The message is kept either way."""

    accepted: bool
    message: str = ""


Selector: TypeAlias = Callable[[str, Capability], Decision]
"""Asked for each request: (dotted path of the item it belongs to, the request)."""


@dataclass(frozen=True, slots=True)
class Record:
    """What became of one item, kept for the sandbox's lifetime."""

    path: str
    name: str
    source: Source | None
    members: tuple[str, ...]
    member_sources: tuple[Source, ...]
    decisions: tuple[Decision, ...]
    optional: bool = False

    @property
    def rejected(self) -> tuple[str, ...]:
        return tuple(path for path, decision in zip(self.members, self.decisions, strict=True) if not decision.accepted)


@dataclass(frozen=True, slots=True)
class Selected:
    """One request that is in, with its own path in the Kit's descriptor."""

    path: str
    entry: Capability


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome for one descriptor. With errors nothing may be applied."""

    entries: tuple[Selected, ...] = ()
    selected: tuple[Record, ...] = ()
    skipped: tuple[Record, ...] = ()
    errors: tuple[Issue, ...] = ()

    @property
    def refused(self) -> bool:
        return bool(self.errors)


def supported_types(types: frozenset[str]) -> Selector:
    """Accepts what a host grants by type alone."""

    def decide(item: str, entry: Capability) -> Decision:
        if entry.type in types:
            return Decision(True)
        return Decision(False, f"{entry.type} is not supported here")

    return decide


def select(descriptor: Descriptor, selector: Selector) -> Selection:
    """Judge the declarations, then ask about each request."""
    errors = tuple(_leftovers(descriptor)) or validate_descriptor(descriptor, Form.DECLARATIONS).errors
    return Selection(errors=errors) if errors else select_valid(descriptor, selector)


def select_valid(descriptor: Descriptor, selector: Selector) -> Selection:
    """``select`` for declarations that were judged already."""
    entries: list[Selected] = []
    selected: list[Record] = []
    skipped: list[Record] = []
    errors: list[Issue] = []
    for index, item in enumerate(descriptor.capabilities):
        path = f"capabilities[{index}]"
        members = members_of(item, path)
        decisions = tuple(selector(path, member.entry) for member in members)
        record = Record(
            path,
            item.name,
            item.source,
            tuple(member.path for member in members),
            tuple(member.entry.source or Source("", member.path) for member in members),
            decisions,
            item.optional,
        )
        if all(decision.accepted for decision in decisions):
            selected.append(record)
            entries.extend(_with_source(member) for member in members)
            continue
        skipped.append(record)
        if not item.optional:
            errors.extend(_refusals(record, item))
    return Selection(tuple(entries), tuple(selected), tuple(skipped), tuple(errors))


def members_of(item: CapabilityItem, path: str) -> tuple[Selected, ...]:
    """The requests of an item with their paths."""
    if isinstance(item, Capability):
        return (Selected(path, item),)
    return tuple(
        Selected(f"{path}.group.capabilities[{index}]", member)
        for index, member in enumerate(item.members or ())
        if isinstance(member, Capability)
    )


def _with_source(member: Selected) -> Selected:
    if member.entry.source is not None:
        return member
    return Selected(member.path, replace(member.entry, source=Source("", member.path)))


def _refusals(record: Record, item: CapabilityItem) -> Iterator[Issue]:
    what = "the group" if isinstance(item, CapabilityGroup) else "the request"
    label = f" {record.name!r}" if record.name else ""
    kit = f" of {record.source.kit}" if record.source and record.source.kit else ""
    for path, decision in zip(record.members, record.decisions, strict=True):
        if not decision.accepted:
            reason = f": {decision.message}" if decision.message else ""
            yield Issue(path, f"{what}{label}{kit} is required and refused{reason}")


def _leftovers(descriptor: Descriptor) -> Iterator[Issue]:
    for item in descriptor.capabilities:
        texts = [item.name, item.description]
        members = (
            [item] if isinstance(item, Capability) else [m for m in item.members or () if isinstance(m, Capability)]
        )
        for entry in members:
            texts += [entry.type, entry.name, entry.description]
            texts += [entry.source.kit, entry.source.path] if entry.source else []
            if holds_env(entry.config) or holds_env_key(entry.config):
                yield Issue("", "a reference to the environment is left in a request")
                return
            if holds_arg(entry.config):
                yield Issue("", "an arg reference is left in a request")
                return
        if any(holds_arg(text) for text in texts):
            yield Issue("", "an arg reference is left in a request")
            return
