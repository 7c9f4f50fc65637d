"""``network-policy@2``: the same as version 1, with entries that may be bounded to HTTP methods and paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from kitstudio.models.capabilities import network
from kitstudio.models.capabilities.contract import CapabilityType, Config, Fact, FieldKeywords, Grant, Slot
from kitstudio.models.capabilities.network import METHODS, Entry, Policy, Rules
from kitstudio.models.capabilities.shape import Reader, ShapeError
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Weight

_ENTRY: FieldKeywords = {
    "": {"required": ["hosts"]},
    ".methods[]": {"enum": ["ANY", *sorted(METHODS)]},
    ".paths[]": {"pattern": "^/"},
}


class NetworkPolicy2(CapabilityType[Policy]):
    name = "com.docker.sandbox/network-policy@2"
    title = "network policy"
    family = Group.NETWORK
    heaviest = Weight.CRITICAL
    singleton = True
    keywords: ClassVar[FieldKeywords] = {
        f"{phase}.{verb}[]{name}": rule
        for phase in network.PHASES
        for verb in ("allow", "deny")
        for name, rule in _ENTRY.items()
    }
    slot = Slot.NETWORK

    def read(self, fields: Reader) -> Policy:
        return Policy(_rules(fields.object("install")), _rules(fields.object("runtime")))

    def presence(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        try:
            policy = self.decode(config)
        except ShapeError:
            return ()
        return tuple(issue for _, _, at, entry in _entries(policy, f"{where}.config") for issue in _shape(entry, at))

    def values(self, config: Policy, at: str) -> Iterable[Issue]:
        for _, verb, place, entry in _entries(config, at):
            yield from _hosts(entry, place)
            yield from _methods(entry, place)
            yield from _paths(entry, place)
            if verb == "allow" and entry.bounded:
                yield from _literal_hosts(entry, place)

    def project(self, config: Policy) -> Iterable[Fact]:
        return network.project(config)

    def describe(self, config: Policy) -> Iterable[Grant]:
        return network.describe(config)

    def encode(self, config: Policy) -> Config:
        return network.encode(config)


def _rules(fields: Reader | None) -> Rules:
    if fields is None:
        return Rules()
    rules = Rules(_list(fields, "allow"), _list(fields, "deny"))
    fields.close()
    return rules


def _list(fields: Reader, name: str) -> tuple[Entry, ...]:
    stated = fields.texts_or_objects(name, "a host or a mapping with hosts, methods and paths")
    return tuple(Entry((item,)) if isinstance(item, str) else _entry(item) for item in stated or ())


def _entry(fields: Reader) -> Entry:
    stated = {name: fields.has(name) for name in ("methods", "paths")}
    lists = {name: fields.texts(name) or () for name in ("hosts", "methods", "paths")}
    fields.close()
    return Entry(
        lists["hosts"],
        lists["methods"] if stated["methods"] else None,
        lists["paths"] if stated["paths"] else None,
    )


def _entries(policy: Policy, at: str) -> Iterator[tuple[str, str, str, Entry]]:
    for phase, rules in policy.phases():
        for verb, entries in (("allow", rules.allow), ("deny", rules.deny)):
            for index, entry in enumerate(entries):
                yield phase, verb, f"{at}.{phase}.{verb}[{index}]", entry


def _shape(entry: Entry, at: str) -> Iterator[Issue]:
    if not entry.hosts or "" in entry.hosts:
        yield Issue(f"{at}.hosts", "an entry names at least one host, and no empty one")
    if entry.methods == ():
        yield Issue(f"{at}.methods", "a stated list of methods is not empty; leave it out to mean every method")
    if entry.paths == ():
        yield Issue(f"{at}.paths", "a stated list of paths is not empty; leave it out to mean every path")
    if entry.paths and not entry.methods:
        yield Issue(f"{at}.paths", "paths need methods; write methods: [ANY] to mean every method")


def _hosts(entry: Entry, at: str) -> Iterator[Issue]:
    if not entry.hosts:
        yield Issue(f"{at}.hosts", "an entry names at least one host")
    if "" in entry.hosts:
        yield Issue(f"{at}.hosts", "a host is not empty")


def _literal_hosts(entry: Entry, at: str) -> Iterator[Issue]:
    for host in entry.hosts:
        if "*" in host:
            yield Issue(f"{at}.hosts", f"an entry with methods or paths names its hosts in full, not {host!r}")


def _methods(entry: Entry, at: str) -> Iterator[Issue]:
    if entry.methods == ():
        yield Issue(f"{at}.methods", "a stated list of methods is not empty; leave it out to mean every method")
    seen: set[str] = set()
    for method in entry.methods or ():
        if method == "ANY":
            if len(entry.methods or ()) > 1:
                yield Issue(f"{at}.methods", "ANY stands alone, since it already means every method")
        elif method not in METHODS:
            yield Issue(f"{at}.methods", f"{method!r} is not one of ANY, {', '.join(sorted(METHODS))}")
        if method in seen and method != "ANY":
            yield Issue(f"{at}.methods", f"{method} is stated twice")
        seen.add(method)


def _paths(entry: Entry, at: str) -> Iterator[Issue]:
    if entry.paths is None:
        return
    if not entry.paths:
        yield Issue(f"{at}.paths", "a stated list of paths is not empty; leave it out to mean every path")
        return
    if not entry.methods:
        yield Issue(f"{at}.paths", "paths need methods; write methods: [ANY] to mean every method")
    for path in entry.paths:
        if not path.startswith("/"):
            yield Issue(f"{at}.paths", f"a path begins with a slash, {path!r} does not")


TYPE = NetworkPolicy2()
