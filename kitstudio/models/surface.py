"""The permission surface (§7.4): what a host must grant, and what counts as asking for more.

Owner module of ``Surface``, ``Widening``, ``project`` and ``diff_widenings``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kitstudio.models.capabilities import lookup
from kitstudio.models.capabilities.contract import Config, Fact
from kitstudio.models.capabilities.digest import config_digest
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.models.errors import DescriptorError


@dataclass(frozen=True, slots=True)
class Surface:
    """Sorted, deduplicated entries by field. Field names in JSON: see ``SURFACE_FIELDS``."""

    network_install_allow: tuple[str, ...] = ()
    network_install_deny: tuple[str, ...] = ()
    network_runtime_allow: tuple[str, ...] = ()
    network_runtime_deny: tuple[str, ...] = ()
    network_install_http_allow: tuple[str, ...] = ()
    network_install_http_deny: tuple[str, ...] = ()
    network_runtime_http_allow: tuple[str, ...] = ()
    network_runtime_http_deny: tuple[str, ...] = ()
    credentials_install: tuple[str, ...] = ()
    credentials_runtime: tuple[str, ...] = ()
    ssh_agent: tuple[str, ...] = ()
    storage_paths: tuple[str, ...] = ()
    host_mount_paths: tuple[str, ...] = ()
    skills_paths: tuple[str, ...] = ()
    skills_write_paths: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    usb: tuple[str, ...] = ()
    privileged: bool = False
    services: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return self == Surface()


@dataclass(frozen=True, slots=True)
class Widening:
    """One thing a candidate asks for beyond what was granted.

    ``category``: as in the specification digest, e.g. ``network.runtime.allow``. ``detail``: the exact entry,
    empty for ``privileged``.
    """

    category: str
    detail: str = ""


SURFACE_FIELDS: Mapping[str, str] = {
    "network_install_allow": "networkInstallAllow",
    "network_install_deny": "networkInstallDeny",
    "network_runtime_allow": "networkRuntimeAllow",
    "network_runtime_deny": "networkRuntimeDeny",
    "network_install_http_allow": "networkInstallHTTPAllow",
    "network_install_http_deny": "networkInstallHTTPDeny",
    "network_runtime_http_allow": "networkRuntimeHTTPAllow",
    "network_runtime_http_deny": "networkRuntimeHTTPDeny",
    "credentials_install": "credentialsInstall",
    "credentials_runtime": "credentialsRuntime",
    "ssh_agent": "sshAgent",
    "storage_paths": "storagePaths",
    "host_mount_paths": "hostMountPaths",
    "skills_paths": "skillsPaths",
    "skills_write_paths": "skillsWritePaths",
    "ports": "ports",
    "usb": "usb",
    "privileged": "privileged",
    "services": "services",
}
"""Attribute of ``Surface`` → its name in JSON."""

CATEGORIES: Mapping[str, str] = {
    "network_install_allow": "network.install.allow",
    "network_runtime_allow": "network.runtime.allow",
    "network_install_deny": "network.install.deny-removed",
    "network_runtime_deny": "network.runtime.deny-removed",
    "network_install_http_allow": "network.install.http.allow",
    "network_runtime_http_allow": "network.runtime.http.allow",
    "network_install_http_deny": "network.install.http.deny-removed",
    "network_runtime_http_deny": "network.runtime.http.deny-removed",
    "credentials_install": "credentials.install",
    "credentials_runtime": "credentials.runtime",
    "ssh_agent": "ssh-agent",
    "storage_paths": "storage",
    "host_mount_paths": "host-mount",
    "skills_paths": "skills",
    "skills_write_paths": "skills.write",
    "ports": "ports",
    "usb": "usb",
    "privileged": "privileged",
    "services": "services",
}
"""Attribute of ``Surface`` → widening category, in report order."""

DENIES = frozenset(name for name in SURFACE_FIELDS if name.endswith("_deny"))
"""Attributes whose entries refuse: there, what is gone widens."""

EVERY_HOST = ("*", "**")


def project(descriptor: Descriptor) -> Surface:
    """The surface of a descriptor, group members counted one by one."""
    return project_entries(descriptor.entries())


def project_entries(entries: Iterable[Capability]) -> Surface:
    """The surface of a list of requests."""
    return from_facts(fact for entry in entries for fact in entry_facts(entry))


def entry_facts(entry: Capability) -> tuple[Fact, ...]:
    """The surface strings of one request. What does not decode, or is no known type, counts as a service."""
    type_ = lookup(entry.type)
    if type_ is None:
        return (("services", service_entry(entry.type, entry.config)),)
    if type_.silent:
        return ()
    try:
        return tuple(type_.project(type_.decode(entry.config)))
    except ShapeError:
        return (("services", service_entry(entry.type, entry.config)),)


def service_entry(type_: str, config: Config) -> str:
    """A request without a field of its own: its type, and the digest of its config if it has one."""
    digest = config_digest(config)
    if digest is None:
        return f"{type_}+unencodable-config"
    return f"{type_}+{digest}" if digest else type_


def from_facts(facts: Iterable[Fact]) -> Surface:
    """A surface out of its strings."""
    found: dict[str, set[str]] = {}
    for name, text in facts:
        found.setdefault(name, set()).add(text)
    privileged = found.pop("privileged", None) is not None
    return Surface(**{name: _sorted(texts) for name, texts in found.items()}, privileged=privileged)


def facts(surface: Surface) -> Iterator[Fact]:
    """Every string of a surface, in report order."""
    for name in CATEGORIES:
        if name == "privileged":
            if surface.privileged:
                yield name, ""
        else:
            for text in getattr(surface, name):
                yield name, text


def to_json(surface: Surface) -> dict[str, list[str] | bool]:
    """The JSON form, empty fields left out."""
    found: dict[str, list[str] | bool] = {}
    for name, key in SURFACE_FIELDS.items():
        value = getattr(surface, name)
        if value:
            found[key] = value if isinstance(value, bool) else list(value)
    return found


def from_json(value: object) -> Surface:
    """Read the JSON form; unknown fields are ignored. Raises ``DescriptorError`` for a wrong shape."""
    if not isinstance(value, Mapping):
        raise DescriptorError("A permission surface is a mapping.")
    found: list[Fact] = []
    for name, key in SURFACE_FIELDS.items():
        stated = value.get(key)
        if name == "privileged":
            if stated is not None and not isinstance(stated, bool):
                raise DescriptorError("A surface's privileged field is true or false.", where=key)
            if stated:
                found.append((name, ""))
        elif stated is not None:
            if not isinstance(stated, list) or not all(isinstance(item, str) for item in stated):
                raise DescriptorError("A surface's fields are lists of texts.", where=key)
            found.extend((name, item) for item in stated)
    return from_facts(found)


def union(surfaces: Iterable[Surface]) -> Surface:
    """Everything any of the surfaces holds."""
    return from_facts(fact for surface in surfaces for fact in facts(surface))


def diff_widenings(granted: Surface, candidate: Surface) -> tuple[Widening, ...]:
    """What the candidate asks for beyond what was granted, in report order; empty when it stays within."""
    if granted == candidate:
        return ()
    found: list[Widening] = []
    for name, category in CATEGORIES.items():
        old, new = getattr(granted, name), getattr(candidate, name)
        if old == new:
            continue
        if name == "privileged":
            details = [""] if new and not old else []
        elif name.endswith("_http_allow"):
            details = _new_requests(granted, candidate, name)
        elif name.endswith("_http_deny"):
            details = _lost_refusals(granted, candidate, name)
        elif name in DENIES:
            details = _missing(old, new)
        elif name == "ssh_agent":
            details = [text for text in _missing(new, old) if not _agent_covered(text, old)]
        else:
            details = _missing(new, old)
        found.extend(Widening(category, detail) for detail in details)
    return tuple(found)


def _sorted(texts: set[str]) -> tuple[str, ...]:
    return tuple(sorted(texts, key=lambda text: text.encode("utf-8", "surrogatepass")))


def _missing(wanted: Iterable[str], present: Iterable[str]) -> list[str]:
    known = set(present)
    return [text for text in wanted if text not in known]


@dataclass(frozen=True, slots=True)
class _Request:
    """``METHOD host/path`` in its parts."""

    text: str
    method: str
    host: str
    name: str
    port: str
    path: str


def _request(text: str) -> _Request:
    method, _, rest = text.partition(" ")
    host, slash, path = rest.partition("/")
    name, _, port = host.partition(":")
    return _Request(text, method, host, name, port, slash + path)


def _covers(wide: _Request, narrow: _Request) -> bool:
    """True when every request of ``narrow`` is one of ``wide``. Patterns other than every host are not expanded."""
    if wide.host not in EVERY_HOST and (wide.name != narrow.name or wide.port not in ("", narrow.port)):
        return False
    if wide.method not in ("ANY", narrow.method):
        return False
    if wide.path == narrow.path:
        return True
    if not wide.path.endswith("/**"):
        return False
    prefix = wide.path[:-2]
    return narrow.path.startswith(prefix) or f"{narrow.path}/" == prefix


class _Index:
    """Requests found by host name, so that a long list is not compared with a long list."""

    __slots__ = ("_by_name", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts: set[str] = set(texts)
        self._by_name: dict[str, list[_Request]] = {}
        for text in self._texts:
            request = _request(text)
            self._by_name.setdefault(request.name, []).append(request)

    def names(self) -> frozenset[str]:
        return frozenset(self._by_name)

    def covers(self, request: _Request) -> bool:
        if request.text in self._texts:
            return True
        return any(
            _covers(wide, request)
            for name in dict.fromkeys((request.name, *EVERY_HOST))
            for wide in self._by_name.get(name, ())
        )


def _new_requests(granted: Surface, candidate: Surface, name: str) -> list[str]:
    hosts_field = name.replace("_http", "")
    old_hosts: tuple[str, ...] = getattr(granted, hosts_field)
    new_hosts: tuple[str, ...] = getattr(candidate, hosts_field)
    stated = _Index(getattr(granted, name))
    # Older records have no request lists: each allowed host they name stands for every request to it.
    completed = [f"ANY {host}/**" for host in old_hosts if host.partition(":")[0] not in stated.names()]
    covered = _Index([*getattr(granted, name), *completed])
    new = set(_missing(new_hosts, old_hosts))
    spelled: dict[str, list[bool]] = {}
    for host in new_hosts:
        spelled.setdefault(host.partition(":")[0], []).append(host in new)
    details = []
    for request in map(_request, getattr(candidate, name)):
        if covered.covers(request):
            continue
        told_with_port = request.port and (request.host in new or request.name in new)
        told_without = not request.port and all(spelled.get(request.name, [False]))
        if not (told_with_port or told_without):
            details.append(request.text)
    return details


def _lost_refusals(granted: Surface, candidate: Surface, name: str) -> list[str]:
    hosts_field = name.replace("_http", "")
    removed = set(_missing(getattr(granted, hosts_field), getattr(candidate, hosts_field)))
    kept = _Index(getattr(candidate, name))
    return [
        request.text
        for request in map(_request, getattr(granted, name))
        if request.host not in removed and not kept.covers(request)
    ]


def _agent_covered(text: str, granted: Iterable[str]) -> bool:
    known = set(granted)
    phase, _, rest = text.partition(" ")
    if phase in known:
        return True
    verb, _, server = rest.partition(" ")
    user, at, host = server.partition("@")
    return verb == "authenticate" and bool(user and at) and f"{phase} authenticate {host}" in known
