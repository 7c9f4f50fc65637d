"""§9.5 at publish: the Kits of a set and the set's own declarations as one descriptor.

Contributions come in composition order. Where what is selected is only known at create (groups, environment
references, volumes whose place or size is an arg), requests are not reconciled but kept apart in groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kitstudio.models import words
from kitstudio.models.capabilities import agent_context, host_mount, volume
from kitstudio.models.capabilities.shape import ShapeError, is_parameterised
from kitstudio.models.descriptor import Capability, CapabilityGroup, CapabilityItem, Descriptor, Kind, Source
from kitstudio.models.errors import DescriptorError
from kitstudio.models.reconcile import Asked, Conflict, Contribution, reconcile
from kitstudio.models.references import holds_env
from kitstudio.models.relations import Provide, satisfies
from kitstudio.models.resolve import parsed_provide, parsed_require

STORAGE = (volume.TYPE.name, host_mount.TYPE.name)


class MergeError(DescriptorError):
    """Contributions that cannot be one Kit; ``conflicts`` lists every reason."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(" ".join(conflict.message for conflict in conflicts))
        self.conflicts = tuple(conflicts)


@dataclass(frozen=True, slots=True)
class ContextSource:
    """A body to stage: inline ``content``, or the staged file ``path``; ``target`` where each has its own file."""

    reference: str
    path: str
    content: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged descriptor, and the bodies its publisher still has to stage."""

    descriptor: Descriptor
    context_sources: tuple[ContextSource, ...] = ()


def merge(contributions: Sequence[Contribution], context_path: str = "") -> Merged:
    """One descriptor out of several. ``context_path``: where joined bodies are staged. Raises ``MergeError``."""
    base, conflicts = merge_relations(contributions)
    deferred = any(_defers(contribution.descriptor) for contribution in contributions)
    if deferred:
        merged = _defer(contributions, base, context_path, conflicts)
    else:
        merged = _reconcile(contributions, base, context_path, conflicts)
    if merged.context_sources and not context_path:
        kits = tuple(dict.fromkeys(source.reference for source in merged.context_sources))
        conflicts.append(Conflict(kits, agent_context.TYPE.name, "Instructions need a place to be staged at."))
    if conflicts:
        raise MergeError(conflicts)
    return merged


def merge_relations(contributions: Sequence[Contribution]) -> tuple[Descriptor, list[Conflict]]:
    """Kind, relations and licences of a merge; everything else is the set's own or reconciled."""
    conflicts: list[Conflict] = []
    if not contributions:
        conflicts.append(Conflict((), "kind", "There is nothing to merge."))
    for item in contributions:
        if item.descriptor.kind not in (Kind.WORKLOAD, Kind.MIXIN):
            who = words.kit_name(item.reference)
            message = f"{who} is of kind {item.descriptor.kind!r}; only workloads and mixins are merged."
            conflicts.append(Conflict((item.reference,), "kind", message))
    workloads = tuple(c.reference for c in contributions if c.descriptor.kind == Kind.WORKLOAD)
    if len(workloads) > 1:
        message = f"{words.listed([words.kit_name(w) for w in workloads])} are both workloads. A set can have one."
        conflicts.append(Conflict(workloads, "kind", message))
    offers = [_offers(contribution.descriptor) for contribution in contributions]
    base = Descriptor(
        schema_version="3",
        kind=Kind.WORKLOAD.value if workloads else Kind.MIXIN.value,
        licenses=tuple(sorted({licence for c in contributions for licence in c.descriptor.licenses})),
        provides=_provides(offers),
        requires=_open([c.descriptor.requires for c in contributions], offers),
        integrates=_open([c.descriptor.integrates for c in contributions], offers),
        conflicts=tuple(dict.fromkeys(name for c in contributions for name in c.descriptor.conflicts)),
    )
    return base, conflicts


def _offers(descriptor: Descriptor) -> list[tuple[str, Provide]]:
    found = []
    for text in descriptor.provides:
        try:
            provide = parsed_provide(text)
        except DescriptorError:
            # An entry that does not parse offers nothing; validation reports it.
            continue
        if not provide.version and descriptor.version:
            version = descriptor.version.strip()
            found.append((f"{text.strip()}@{version}", Provide(provide.name, version)))
        else:
            found.append((text.strip(), provide))
    return found


def _provides(offers: list[list[tuple[str, Provide]]]) -> tuple[str, ...]:
    found: dict[Provide, str] = {}
    for texts in offers:
        for text, provide in texts:
            found.setdefault(provide, text)
    return tuple(found.values())


def _open(needs: list[tuple[str, ...]], offers: list[list[tuple[str, Provide]]]) -> tuple[str, ...]:
    """Needs that no other contribution answers, each text once."""
    found: dict[str, None] = {}
    by_name: dict[str, list[tuple[int, Provide]]] = {}
    for place, offered in enumerate(offers):
        for _, provide in offered:
            by_name.setdefault(provide.name, []).append((place, provide))
    for index, texts in enumerate(needs):
        for text in texts:
            try:
                require = parsed_require(text)
            except DescriptorError:
                # Kept as it stands: validation of the result reports it.
                found.setdefault(text)
                continue
            others = (provide for place, provide in by_name.get(require.name, ()) if place != index)
            if not any(satisfies(provide, require) for provide in others):
                found.setdefault(text)
    return tuple(found)


def _defers(descriptor: Descriptor) -> bool:
    if any(isinstance(item, CapabilityGroup) for item in descriptor.capabilities):
        return True
    return any(
        holds_env(entry.config) or (entry.type == volume.TYPE.name and is_parameterised(entry.config))
        for entry in descriptor.entries()
    )


def _asked(contributions: Sequence[Contribution]) -> list[Asked]:
    return [
        Asked(contribution.reference, f"capabilities[{index}]", item)
        for contribution in contributions
        for index, item in enumerate(contribution.descriptor.capabilities)
        if isinstance(item, Capability)
    ]


def _reconcile(
    contributions: Sequence[Contribution], base: Descriptor, context_path: str, conflicts: list[Conflict]
) -> Merged:
    merged = reconcile(_asked(contributions), context_file=context_path)
    conflicts.extend(merged.conflicts)
    sources = tuple(ContextSource(body.kit, body.path, body.content) for body in merged.bodies)
    return Merged(replace(base, capabilities=merged.entries), sources)


def _defer(
    contributions: Sequence[Contribution], base: Descriptor, context_path: str, conflicts: list[Conflict]
) -> Merged:
    staged = _Staging(context_path)
    storage = _storage(contributions, conflicts)
    items: list[CapabilityItem] = []
    for contribution in contributions:
        for index, item in enumerate(contribution.descriptor.capabilities):
            path = f"capabilities[{index}]"
            source = item.source or Source(contribution.reference, path)
            if isinstance(item, CapabilityGroup):
                members = tuple(
                    staged.member(contribution.reference, f"{path}.group.capabilities[{place}]", member)
                    for place, member in enumerate(item.members or ())
                    if isinstance(member, Capability)
                )
                items.append(replace(item, members=members, source=source))
            elif (contribution.reference, path) in storage:
                kept = storage[contribution.reference, path]
                if kept is not None:
                    items.append(kept)
            else:
                member = staged.member(contribution.reference, path, item)
                items.append(
                    CapabilityGroup((member,), item.name, item.description, optional=item.optional, source=source)
                )
    return Merged(replace(base, capabilities=tuple(items)), tuple(staged.sources))


class _Staging:
    """Bodies of deferred members, each to a file of its own."""

    def __init__(self, context_path: str) -> None:
        self.context_path = context_path
        self.sources: list[ContextSource] = []

    def member(self, kit: str, path: str, entry: Capability) -> Capability:
        entry = replace(
            entry,
            optional=False,
            optional_stated=False,
            config=entry.config or None,
            source=entry.source or Source(kit, path),
        )
        if entry.type != agent_context.TYPE.name:
            return entry
        try:
            typed = agent_context.TYPE.decode(entry.config)
        except ShapeError:
            # Left as it stands: validation of the result reports it.
            return entry
        if typed.body is None or holds_env(typed.content) or holds_env(typed.content_file):
            return entry
        target = f"{self.context_path}.parts/{len(self.sources)}.md"
        self.sources.append(ContextSource(kit, typed.content_file, typed.content, target))
        moved = replace(typed, content="", content_file=target)
        return replace(entry, config=agent_context.TYPE.encode(moved))


def _storage(
    contributions: Sequence[Contribution], conflicts: list[Conflict]
) -> dict[tuple[str, str], Capability | None]:
    """Concrete ungrouped storage is reconciled even so: place of each request → the merged one, None where it is
    another's."""
    asked = [
        item for item in _asked(contributions) if item.entry.type in STORAGE and not is_parameterised(item.entry.config)
    ]
    named = [replace(a, entry=replace(a.entry, source=a.entry.source or Source(a.kit, a.path))) for a in asked]
    merged = reconcile(named)
    conflicts.extend(merged.conflicts)
    found: dict[tuple[str, str], Capability | None] = {(a.kit, a.path): None for a in asked}
    firsts = {entry.source: entry for entry in merged.entries}
    for item in named:
        if item.entry.source in firsts:
            found[item.kit, item.path] = firsts.pop(item.entry.source)
    return found
