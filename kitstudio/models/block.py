"""The checks of capability lists (§7, §7.1, §11): one block is the ordinary entries, or one group's members."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kitstudio.models.capabilities import lookup
from kitstudio.models.capabilities.contract import claim
from kitstudio.models.capabilities.cross import (
    POLICIES,
    Placed,
    both_policies,
    inject_domains,
    session_agreement,
)
from kitstudio.models.capabilities.digest import config_digest
from kitstudio.models.descriptor import Capability, CapabilityGroup, Descriptor
from kitstudio.models.issue import Issue
from kitstudio.models.quote import quote
from kitstudio.models.references import Held, held

TYPE = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/[a-z0-9](?:[a-z0-9-]*[a-z0-9])?@[1-9][0-9]*")
CREDENTIAL = "com.docker.sandbox/credential@1"


def check_capabilities(descriptor: Descriptor, *, cross_check: bool, plain: bool = False) -> Iterator[Issue]:
    """Every check of ``capabilities``. Groups come first, the ordinary entries last as one block.

    ``plain``: there is no placeholder in any config.
    """
    ordinary: list[Placed] = []
    grouped = False
    for index, item in enumerate(descriptor.capabilities):
        path = f"capabilities[{index}]"
        if isinstance(item, Capability):
            ordinary.append(Placed(path, item))
        else:
            grouped = True
            yield from _check_group(item, path, descriptor.kind, plain)
    yield from _check_block(ordinary, descriptor.kind, plain, cross_check=cross_check and not grouped)


def check_published_capabilities(descriptor: Descriptor) -> Iterator[Issue]:
    """What the published form asks of each entry beyond the authored one."""
    for index, item in enumerate(descriptor.capabilities):
        path = f"capabilities[{index}]"
        if isinstance(item, Capability):
            yield from _check_published(item, path)
            continue
        for place, member in enumerate(item.members or ()):
            if isinstance(member, Capability):
                yield from _check_published(member, f"{path}.group.capabilities[{place}]")


def _check_published(entry: Capability, path: str) -> Iterable[Issue]:
    known = lookup(entry.type)
    return known.check_published(entry.config, path) if known else ()


def _check_group(group: CapabilityGroup, path: str, kind: str, plain: bool) -> Iterator[Issue]:
    if group.source is not None and not group.source.path:
        yield Issue(f"{path}.source", "a source needs its path")
    if group.members is None:
        yield Issue(
            f"{path}.group", "a group needs its requests", "List them under `capabilities`, or remove the group."
        )
        return
    below = f"{path}.group.capabilities"
    if not group.members:
        yield Issue(below, "a group lists at least one request")
        return
    members: list[Placed] = []
    for index, member in enumerate(group.members):
        place = f"{below}[{index}]"
        if isinstance(member, CapabilityGroup):
            yield Issue(place, "a group cannot hold another group", "List the requests themselves.")
            continue
        if member.optional_stated:
            yield Issue(f"{place}.optional", "a group is optional as a whole", "State `optional` on the group.")
        members.append(Placed(place, member))
    yield from _check_block(members, kind, plain, cross_check=False)


def _check_block(block: list[Placed], kind: str, plain: bool, *, cross_check: bool) -> Iterator[Issue]:
    if not block:
        return
    if kind == "mixin":
        for placed in block:
            known = lookup(placed.entry.type)
            if known is not None and known.workload_only:
                yield Issue("capabilities", f"{placed.entry.type} is for a workload, not for a mixin")
                break
    found = _Block(kind, Counter([placed.entry.type for placed in block]) if len(block) > 1 else {}, plain)
    for placed in block:
        yield from found.check(placed)
    yield from both_policies(block)
    yield from session_agreement(block)
    if cross_check and not found.deferred and found.policy_is_usable:
        yield from inject_domains(found.policy, found.credentials)


class _Block:
    """What the entries judged so far have claimed."""

    def __init__(self, kind: str, counts: Mapping[str, int], plain: bool) -> None:
        self.kind = kind
        self.plain = plain
        self.counts = counts
        self.types: dict[str, str] = {}
        self.exact: dict[tuple[str, str], str] = {}
        self.claimed: dict[str, str] = {}
        self.deferred = False
        self.policies = 0
        self.policy: Capability | None = None
        self.credentials: list[Placed] = []

    @property
    def policy_is_usable(self) -> bool:
        return self.policies == (self.policy is not None)

    def check(self, placed: Placed) -> Iterator[Issue]:
        path, entry = placed.path, placed.entry
        holds = Held.NONE if self.plain else held(entry.config)
        parameterised = holds is not Held.NONE and bool(holds & (Held.ARG | Held.ENV))
        if holds is not Held.NONE and Held.ENV_KEY in holds:
            yield Issue(f"{path}.config", "a key cannot refer to the environment", "Only values can.")
        if entry.source is not None and not entry.source.path:
            yield Issue(f"{path}.source.path", "a source needs its path")
        if not TYPE.fullmatch(entry.type):
            yield Issue(f"{path}.type", *_malformed_type(entry.type))
            return
        known = lookup(entry.type)
        self.policies += entry.type in POLICIES
        repeated = self.types.setdefault(entry.type, path)
        singleton = known is not None and known.singleton and repeated is not path
        if singleton:
            yield Issue(f"{path}.type", f"{entry.type} is already stated at {repeated}", "Keep one entry.")
        # A type stated once has no twin: its config need not be digested.
        digest = config_digest(entry.config) if self.counts.get(entry.type, 1) > 1 else None
        if digest is not None:
            twin = self.exact.setdefault((entry.type, digest), path)
            if twin is not path:
                if not singleton:
                    yield Issue(path, f"the entry repeats {twin}", "Remove one of the two.")
                return
        if known is None:
            self.deferred |= parameterised
            return
        if known.configless and entry.config_stated:
            yield Issue(f"{path}.config", f"{entry.type} takes no config", "Remove the key.")
        overlaps = claim(self.claimed, known.literal_claims(entry.config), path)
        yield from overlaps
        if parameterised:
            self.deferred = True
            yield from known.presence(entry.config, path, self.kind)
            return
        faults = known.check(entry.config, path, self.kind)
        yield from faults
        repeats = claim(self.claimed, known.claims(entry.config), path)
        yield from repeats
        if faults or overlaps or repeats or singleton:
            return
        if entry.type in POLICIES:
            self.policy = entry
        elif entry.type == CREDENTIAL:
            self.credentials.append(placed)


def _malformed_type(text: str) -> tuple[str, str]:
    if not text:
        return "a request needs its type", "Write `type: com.docker.sandbox/port@1`, for example."
    if "@" not in text:
        return f"{quote(text)} has no version", "A type is namespace/name@version."
    return f"{quote(text)} is not a capability type", "A type is namespace/name@version in lower case."
