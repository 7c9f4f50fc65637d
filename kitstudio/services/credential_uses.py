"""Which services approved sets and sandboxes sign in to: what a person may want to bind a secret for. Never a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import yaml

from kitstudio.models.capabilities import credential as credential_type
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.lock import Lock
from kitstudio.models.surface import Surface

CREDENTIAL = "com.docker.sandbox/credential@1"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One service and the sets that ask for it, by name."""

    service: str
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """One service in one sandbox. ``phases``: when it counts; ``optional``: the Kit runs without it, too; ``how``:
    ``key`` (a header of the host's), ``variable`` (the secret itself is handed to the sandbox), ``tokens`` (OAuth)."""

    service: str
    phases: tuple[str, ...]
    optional: bool
    how: tuple[str, ...]
    hosts: tuple[str, ...]


def wanted_services(locks: Collection[Lock]) -> tuple[Wanted, ...]:
    """Every service the approved sets ask for, by name."""
    found: dict[str, list[str]] = {}
    for lock in locks:
        for service in _named(lock.surface):
            found.setdefault(service, []).append(lock.name)
    return tuple(Wanted(service, tuple(sorted(set(sets)))) for service, sets in sorted(found.items()))


def uses_in(effective: str) -> tuple[Use, ...]:
    """The services of an effective descriptor, as the sandbox keeps it (YAML)."""
    try:
        document = yaml.safe_load(effective)
    except yaml.YAMLError:
        return ()
    stated = document.get("capabilities") if isinstance(document, dict) else None
    entries = stated if isinstance(stated, list) else []
    found = [_use(entry) for entry in entries if isinstance(entry, dict) and entry.get("type") == CREDENTIAL]
    return tuple(use for use in found if use is not None)


def _use(entry: Mapping[str, object]) -> Use | None:
    config = entry.get("config")
    if not isinstance(config, dict):
        return None
    try:
        stated = credential_type.TYPE.decode(config)
    except (ShapeError, ValueError):
        return None
    how: list[str] = []
    hosts: list[str] = []
    if stated.api_key is not None:
        managed = stated.api_key.proxy_managed or not stated.api_key.name
        how.append("key" if managed else "variable")
        hosts += [rule.domain for rule in stated.api_key.inject]
    if stated.oauth is not None:
        how.append("tokens")
        hosts += stated.oauth.resource_hosts
    return Use(stated.service, stated.phases, entry.get("optional") is True, tuple(how), tuple(dict.fromkeys(hosts)))


def _named(surface: Surface) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*surface.credentials_install, *surface.credentials_runtime)))
