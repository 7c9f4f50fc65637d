"""What the registry inside a sandbox serves (kit-registry@1): the Kits of approved sets, from where they are kept."""

from __future__ import annotations

from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import Lock
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import parse
from kitstudio.runtime.proxy.kit_registry import MOST_KITS, KitShelf, ServedKit
from kitstudio.services.approvals import Approvals
from kitstudio.services.places import Places


async def served_kits(approvals: Approvals, places: Places) -> KitShelf:
    """Every Kit of every lock in force. A lock that was tampered with is none, and serves nothing."""
    locks = [lock for name in await approvals.names() if (lock := await approvals.lock(name)) is not None]
    return KitShelf(_roots(locks, places), _kits(locks))


def _kits(locks: list[Lock]) -> tuple[ServedKit, ...]:
    found: dict[ServedKit, None] = {}
    for lock in locks:
        for kit in lock.kits:
            try:
                reference = parse(kit.reference)
            except KitStudioError:
                continue  # a lock names what it was made from; what is no reference is at no registry
            name = f"{reference.registry.replace(':', '-')}/{reference.repository}"
            found[ServedKit(name, reference.tag, kit.digest)] = None
    return tuple(found)[:MOST_KITS]


def _roots(locks: list[Lock], places: Places) -> tuple[Path, ...]:
    """The store of the home, and layouts that Kits are read from in place."""
    found = {places.blobs: None}
    for kit in (kit for lock in locks for kit in lock.kits):
        try:
            source = places.of(parse(kit.reference)).source
        except KitStudioError:
            continue
        if isinstance(source, LayoutSource):
            found[source.root] = None
    return tuple(found)
