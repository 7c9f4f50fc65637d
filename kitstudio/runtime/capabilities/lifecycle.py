"""lifecycle@1, the plan: hooks, files and the interactive tail of every selected Kit, in composition order. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from kitstudio.models.descriptor import Capability, JsonValue
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import LIFECYCLE
from kitstudio.runtime.policy import contributions, paths


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook, ready to run. ``user`` empty: the phase's default. ``env``: names it may see."""

    kit: str
    phase: str
    index: int
    path: str
    command: tuple[str, ...]
    user: str = ""
    env: tuple[str, ...] = ()
    background: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class StartFile:
    """One file written at each start. ``mode`` 0: the agent's own, writable."""

    kit: str
    path: str
    content: str
    mode: int = 0
    overwrite: bool = True


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Everything lifecycle entries ask for. ``interactive`` None: not stated."""

    install: tuple[Hook, ...] = ()
    startup: tuple[Hook, ...] = ()
    files: tuple[StartFile, ...] = ()
    interactive: tuple[str, ...] | None = None


def plan_lifecycle(approved: ApprovedLock) -> Lifecycle:
    """Collect in order; two files of one cleaned path and two interactive tails are composition errors."""
    hooks: dict[str, list[Hook]] = {"install": [], "startup": []}
    files: dict[str, StartFile] = {}
    interactive: tuple[str, ...] | None = None
    tail_from = ""
    for kit, path, entry in _entries(approved):
        config = entry.config or {}
        for phase, found in hooks.items():
            for index, item in enumerate(_list(config.get(phase), path)):
                found.append(_hook(kit, phase, index, f"{path}.config.{phase}[{index}]", item))
        for index, item in enumerate(_list(config.get("files"), path)):
            file = _file(kit, f"{path}.config.files[{index}]", item)
            if file.path in files:
                raise SandboxError(
                    f"Two Kits write the file {file.path}.", where=f"{files[file.path].kit}, {kit}: {path}.config.files"
                )
            files[file.path] = file
        if config.get("interactive") is not None:
            if interactive is not None:
                raise SandboxError(
                    "Two Kits state how the interactive session starts.",
                    where=f"{tail_from}, {kit}: {path}.config.interactive",
                )
            interactive, tail_from = _texts(config["interactive"], f"{path}.config.interactive"), kit
    return Lifecycle(tuple(hooks["install"]), tuple(hooks["startup"]), tuple(files.values()), interactive)


def _entries(approved: ApprovedLock) -> Iterator[tuple[str, str, Capability]]:
    for kit, descriptor in contributions(approved):
        for path, entry in paths(kit, descriptor):
            if entry.type == LIFECYCLE:
                yield kit, path, entry


def _hook(kit: str, phase: str, index: int, path: str, item: JsonValue) -> Hook:
    if not isinstance(item, dict):
        raise _unreadable(path)
    command = item.get("command")
    argv = ("sh", "-c", command) if isinstance(command, str) else _texts(command, f"{path}.command")
    user, description = item.get("user") or "", item.get("description") or ""
    if not argv or not isinstance(user, str) or not isinstance(description, str):
        raise _unreadable(path)
    env = _texts(item.get("env") or [], f"{path}.env")
    _no_placeholder((*argv, user), path)
    return Hook(kit, phase, index, path, argv, user, env, bool(item.get("background")), description)


def _file(kit: str, path: str, item: JsonValue) -> StartFile:
    if not isinstance(item, dict):
        raise _unreadable(path)
    place, content, mode = item.get("path"), item.get("content") or "", item.get("mode") or "0"
    if not isinstance(place, str) or not isinstance(content, str) or not isinstance(mode, str):
        raise _unreadable(path)
    if not place.startswith("/") or "\0" in place:
        raise SandboxError(f"The file path {place!r} is not absolute.", where=f"{kit}: {path}.path")
    _no_placeholder((place,), path)
    overwrite = item.get("overwrite")
    # POSIX leaves "//a" alone, so normpath does too; one root is meant.
    clean = "/" + posixpath.normpath(place).lstrip("/")
    return StartFile(kit, clean, content, int(mode, 8), overwrite is not False)


def _list(value: JsonValue, path: str) -> list[JsonValue]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _unreadable(path)
    return value


def _texts(value: JsonValue, path: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and "\0" not in item for item in value):
        raise _unreadable(path)
    return tuple(str(item) for item in value)


def _no_placeholder(texts: tuple[str, ...], path: str) -> None:
    if any("${{ kit." in text or "${{kit." in text for text in texts):
        raise SandboxError("A value of the approved set was never filled in.", where=path)


def _unreadable(path: str) -> SandboxError:
    return SandboxError("A lifecycle entry of the approved set cannot be read.", where=path)
