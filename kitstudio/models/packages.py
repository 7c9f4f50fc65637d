"""Derived provides (§9.6): what the package databases of a root filesystem say is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kitstudio.models.errors import DescriptorError
from kitstudio.models.relations import is_name

DATABASE_PATHS: Mapping[str, str] = {"deb": "/var/lib/dpkg/status", "apk": "/lib/apk/db/installed"}
"""Namespace → where its database stands in a root filesystem."""

MAX_LINE = 1024 * 1024

_EPOCH = re.compile(r"[0-9]+:")
_CORES = (
    re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){0,2}"),
    re.compile(r"[0-9]+(?:\.[0-9]+){0,2}"),
)


@dataclass(frozen=True, slots=True)
class Package:
    """One installed package as its database records it."""

    name: str
    version: str


def parse_dpkg(text: str) -> tuple[Package, ...]:
    """Installed packages of ``/var/lib/dpkg/status``. Raises DescriptorError for a line over 1 MiB."""
    found = []
    for lines in _records(text):
        fields: dict[str, str] = {}
        for line in lines:
            key, colon, value = line.partition(":")
            if colon and line[0] not in " \t":
                fields[key.strip().lower()] = value.strip()
        status = fields.get("status", "").split()
        if status and status[-1] == "installed" and fields.get("package"):
            found.append(Package(fields["package"], fields.get("version", "")))
    return tuple(found)


def parse_apk(text: str) -> tuple[Package, ...]:
    """Installed packages of ``/lib/apk/db/installed``. Raises DescriptorError for a line over 1 MiB."""
    found = []
    for lines in _records(text):
        fields = {line[0]: line[2:] for line in lines if line[1:2] == ":"}
        if fields.get("P"):
            found.append(Package(fields["P"], fields.get("V", "")))
    return tuple(found)


def derived_provides(platforms: Iterable[Mapping[str, tuple[Package, ...]]]) -> tuple[str, ...]:
    """``deb/…@core`` and ``apk/…@core`` entries on which every platform agrees.

    One mapping a platform: namespace → packages; a namespace without a database is absent.
    """
    listed = list(platforms)
    found: list[str] = []
    for namespace in DATABASE_PATHS:
        if listed and all(namespace in platform for platform in listed):
            found.extend(_agreed(namespace, [platform[namespace] for platform in listed]))
    return tuple(found)


def package_version(recorded: str) -> str:
    """The dotted core of a recorded version, at most three parts; empty if there is none."""
    text = recorded.strip()
    epoch = _EPOCH.match(text)
    if epoch:
        text = text[epoch.end() :]
    upstream = text.rpartition("-")[0] if "-" in text else text
    if "~" in upstream:
        return ""
    matches = [match[0] for core in _CORES if (match := core.match(text))]
    return max(matches, key=len, default="")


def _agreed(namespace: str, platforms: list[tuple[Package, ...]]) -> list[str]:
    cores: dict[str, set[str]] = {}
    for packages in platforms:
        for package in packages:
            cores.setdefault(package.name, set()).add(package_version(package.version))
    everywhere = set.intersection(*({package.name for package in packages} for packages in platforms))
    found = []
    for name in sorted(everywhere):
        if len(cores[name]) == 1 and "/" not in name and is_name(name):
            (core,) = cores[name]
            if core:
                found.append(f"{namespace}/{name}@{core}")
    return sorted(found)


def _records(text: str) -> Iterable[list[str]]:
    lines: list[str] = []
    for number, raw in enumerate(text.split("\n"), 1):
        if len(raw) > MAX_LINE:
            raise DescriptorError(f"A line of the package database is over {MAX_LINE} bytes.", where=f"line {number}")
        line = raw.removesuffix("\r")
        if line.strip():
            lines.append(line)
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines
