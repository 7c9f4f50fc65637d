"""§9.5, the part that publishing a set and composing a sandbox share: requests of several Kits become one list.

Conflicts are collected, each with the Kits that disagree; nothing is chosen over anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kitstudio.models import words
from kitstudio.models.capabilities import agent_context as context_type
from kitstudio.models.capabilities import lifecycle as lifecycle_type
from kitstudio.models.capabilities import lookup, network_policy_1, network_policy_2
from kitstudio.models.capabilities.agent_context import AgentContext
from kitstudio.models.capabilities.contract import CapabilityType, Config, MergeConflict, Slot
from kitstudio.models.capabilities.cross import Placed, session_agreement
from kitstudio.models.capabilities.digest import config_digest
from kitstudio.models.capabilities.lifecycle import Lifecycle, destination
from kitstudio.models.capabilities.network import unite
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.models.references import holds_arg


@dataclass(frozen=True, slots=True)
class Contribution:
    """One Kit's part of a merge, by the reference it is known by."""

    reference: str
    descriptor: Descriptor


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why contributions do not merge: who, about what."""

    kits: tuple[str, ...]
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One request and the contribution that states it."""

    kit: str
    path: str
    entry: Capability


@dataclass(frozen=True, slots=True)
class Body:
    """An agent-context body: its text, or the staged file it lies in."""

    kit: str
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The merged list, the bodies left over, and what is in the way."""

    entries: tuple[Capability, ...]
    bodies: tuple[Body, ...]
    conflicts: tuple[Conflict, ...]


def reconcile(asked: Sequence[Asked], *, context_file: str = "") -> Reconciled:
    """Merge requests in contribution order. ``context_file``: where the joined bodies will lie, if anywhere."""
    merge = _Merge(context_file)
    for item in asked:
        merge.add(item)
    return merge.result()


class _Merge:
    """The entries so far, by slot; keyed ones by their key in first-seen order."""

    def __init__(self, context_file: str) -> None:
        self.context_file = context_file
        self.keyed: dict[tuple[str, str], _Keyed] = {}
        self.joined: dict[Slot, list[tuple[Asked, Any]]] = {}
        self.conflicts: list[Conflict] = []
        self.bodies: list[Body] = []

    def add(self, asked: Asked) -> None:
        type_ = lookup(asked.entry.type)
        if type_ is None:
            self._add_keyed(asked, asked.entry.type, _whole(asked.entry.config), None, None)
            return
        try:
            typed = type_.decode(asked.entry.config)
            parts = type_.split(typed) if type_.rewritten else (typed,)
        except ShapeError as error:
            self._conflict((asked.kit,), type_.name, _undecodable(asked, type_, error))
            return
        if type_.slot in (Slot.NETWORK, Slot.LIFECYCLE, Slot.CONTEXT):
            self.joined.setdefault(type_.slot, []).append((asked, typed))
            return
        for part in parts:
            key = "" if type_.one_author else type_.merge_key(part)
            shared = "storage" if key is not None and key.startswith("storage ") else type_.name
            self._add_keyed(asked, shared, _whole(asked.entry.config) if key is None else key, type_, part)

    def result(self) -> Reconciled:
        slots: dict[Slot, list[Capability]] = {slot: [] for slot in Slot}
        for keyed in self.keyed.values():
            slots[keyed.type.slot if keyed.type else Slot.KEYED].append(keyed.entry())
        slots[Slot.NETWORK] = self._network(self.joined.get(Slot.NETWORK, []))
        slots[Slot.LIFECYCLE] = self._lifecycle(self.joined.get(Slot.LIFECYCLE, []))
        slots[Slot.CONTEXT] = self._context(self.joined.get(Slot.CONTEXT, []))
        entries = tuple(entry for slot in Slot for entry in slots[slot])
        placed = [Placed(f"the merged {entry.type}", entry) for entry in entries]
        for issue in session_agreement(placed):
            self._conflict((), "sessions", issue.message)
        return Reconciled(entries, tuple(self.bodies), tuple(self.conflicts))

    def _add_keyed(self, asked: Asked, family: str, key: str, type_: CapabilityType[Any] | None, typed: Any) -> None:
        held = self.keyed.get((family, key))
        if held is None:
            self.keyed[family, key] = _Keyed(type_, typed, asked, [asked])
            return
        kits = tuple(dict.fromkeys((held.first.kit, asked.kit)))
        if held.type is not type_:
            self._conflict(kits, held.first.entry.type, f"{_both(kits)} want storage at {key[8:]}; it has one owner.")
        elif type_ is not None and type_.one_author:
            if config_digest(held.first.entry.config) != config_digest(asked.entry.config):
                self._conflict(kits, type_.name, f"{_both(kits)} state different {type_.title}; a set has one author.")
        elif type_ is not None:
            try:
                held.typed = type_.merge(held.typed, typed)
            except MergeConflict as error:
                self._conflict(kits, type_.name, f"{_both(kits)} ask for {error}.")
        held.askers.append(asked)

    def _network(self, asked: list[tuple[Asked, Any]]) -> list[Capability]:
        if not asked:
            return []
        newer = any(item.entry.type == network_policy_2.TYPE.name for item, _ in asked)
        type_: CapabilityType[Any] = network_policy_2.TYPE if newer else network_policy_1.TYPE
        policy = unite(typed for _, typed in asked)
        for item, typed in asked:
            if any(e.methods == () or e.paths == () for _, r in typed.phases() for e in (*r.allow, *r.deny)):
                self._conflict(
                    (item.kit,), type_.name, f"{_both((item.kit,))} states an empty list of methods or paths."
                )
        return [_joined(type_.name, type_.encode(policy), [item for item, _ in asked])]

    def _lifecycle(self, asked: list[tuple[Asked, Any]]) -> list[Capability]:
        if not asked:
            return []
        name = lifecycle_type.TYPE.name
        parts: list[tuple[Asked, Lifecycle]] = asked
        written: dict[str, str] = {}
        for item, part in parts:
            for file in part.files:
                if holds_arg(file.path):
                    message = (
                        f"{_both((item.kit,))} writes {file.path!r}, whose place is not known before the arg is pinned."
                    )
                    self._conflict((item.kit,), name, message)
                    continue
                earlier = written.setdefault(destination(file), item.kit)
                if earlier is not item.kit or sum(destination(f) == destination(file) for f in part.files) > 1:
                    kits = tuple(dict.fromkeys((earlier, item.kit)))
                    self._conflict(kits, name, f"{_both(kits)} write the file {destination(file)}.")
        stating = [(item, part) for item, part in parts if part.interactive is not None]
        if len(stating) > 1:
            kits = tuple(dict.fromkeys(item.kit for item, _ in stating))
            self._conflict(kits, name, f"{_both(kits)} state interactive arguments; a set has one author of them.")
        joined = Lifecycle(
            tuple(hook for _, part in parts for hook in part.install),
            tuple(hook for _, part in parts for hook in part.startup),
            tuple(file for _, part in parts for file in part.files),
            stating[0][1].interactive if stating else None,
        )
        return [_joined(name, lifecycle_type.TYPE.encode(joined), [item for item, _ in parts])]

    def _context(self, asked: list[tuple[Asked, Any]]) -> list[Capability]:
        parts: list[tuple[Asked, AgentContext]] = [(i, p) for i, p in asked if p != AgentContext()]
        if not parts:
            return []
        name = context_type.TYPE.name
        explicit = [(item, part) for item, part in parts if part.directory]
        legacy = [(item, part) for item, part in parts if part.filename and not part.directory]
        profile = AgentContext()
        if explicit:
            owner, profile = explicit[0]
            for item, part in explicit[1:]:
                if part.destination != profile.destination:
                    kits = tuple(dict.fromkeys((owner.kit, item.kit)))
                    message = (
                        f"{_both(kits)} name different instruction files, {profile.destination} and "
                        f"{part.destination}; sets with several are newer than this app."
                    )
                    self._conflict(kits, name, message)
        elif legacy:
            profile = legacy[0][1]
            if len(legacy) > 1:
                kits = tuple(item.kit for item, _ in legacy)
                self._conflict(kits, name, f"{_both(kits)} both name the agent's instruction file.")
        self.bodies = [
            Body(item.kit, part.content_file, "" if part.content_file else part.content)
            for item, part in parts
            if part.body is not None
        ]
        merged = replace(profile, content="", content_file=self.context_file if self.bodies else "")
        return [_joined(name, context_type.TYPE.encode(merged), [item for item, _ in parts])]

    def _conflict(self, kits: tuple[str, ...], name: str, message: str) -> None:
        self.conflicts.append(Conflict(kits, name, words.exact(message)))


@dataclass(slots=True)
class _Keyed:
    """One request under one key, and everyone who asks for it."""

    type: CapabilityType[Any] | None
    typed: Any
    first: Asked
    askers: list[Asked]

    def entry(self) -> Capability:
        config: Config = self.first.entry.config
        if self.type is not None and self.type.rewritten:
            config = self.type.encode(self.typed)
        base = self.first.entry
        optional = all(asked.entry.optional for asked in self.askers)
        return replace(
            base,
            config=config or None,
            config_stated=bool(config),
            optional=optional,
            optional_stated=optional,
            name=_first_name(self.askers),
        )


def _joined(type_: str, config: Config, askers: Sequence[Asked]) -> Capability:
    optional = all(asked.entry.optional for asked in askers)
    return Capability(
        type_,
        config=config or None,
        config_stated=bool(config),
        optional=optional,
        optional_stated=optional,
        name=_first_name(askers),
    )


def _first_name(askers: Iterable[Asked]) -> str:
    return next((asked.entry.name for asked in askers if asked.entry.name), "")


def _whole(config: Config) -> str:
    digest = config_digest(config)
    return "unencodable" if digest is None else digest


def _both(kits: Sequence[str]) -> str:
    return words.listed([words.kit_name(kit) for kit in kits], limit=6)


def _undecodable(asked: Asked, type_: CapabilityType[Any], error: ShapeError) -> str:
    advice = " Pin the arg it refers to." if holds_arg(asked.entry.config) else ""
    return f"{words.kit_name(asked.kit)} states a {type_.title} that cannot be read: {error}.{advice}"
