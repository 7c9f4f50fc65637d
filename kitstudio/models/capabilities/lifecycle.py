"""``lifecycle@1``: hooks at create and at every boot, files written before the start, the interactive arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models.capabilities import paths, sizes
from kitstudio.models.capabilities.commands import Argv, command
from kitstudio.models.capabilities.contract import CapabilityType, Config, FieldKeywords, Slot
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.issue import Issue

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Hook:
    """``command`` is an argv, a text already wrapped in ``sh -c``. ``env``: names the hook may see."""

    command: Argv
    user: str = ""
    env: tuple[str, ...] = ()
    description: str = ""
    background: bool = False


@dataclass(frozen=True, slots=True)
class File:
    path: str
    content: str = ""
    mode: str = ""
    overwrite: bool = True
    overwrite_stated: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """``interactive`` is None when not stated; a stated empty list is a statement."""

    install: tuple[Hook, ...] = ()
    startup: tuple[Hook, ...] = ()
    files: tuple[File, ...] = ()
    interactive: Argv | None = None


class LifecycleType(CapabilityType[Lifecycle]):
    name = "com.docker.sandbox/lifecycle@1"
    title = "hooks and files"
    singleton = True
    silent = True
    slot = Slot.LIFECYCLE
    keywords: ClassVar[FieldKeywords] = {
        "install[]": {"required": ["command"]},
        "startup[]": {"required": ["command"]},
        "install[].env[]": {"pattern": f"^(?:{_VARIABLE.pattern})$"},
        "startup[].env[]": {"pattern": f"^(?:{_VARIABLE.pattern})$"},
        "files[]": {"required": ["path"]},
        "files[].path": {"pattern": "^/"},
        "files[].mode": {"pattern": f"^(?:{sizes.MODE_PATTERN})?$"},
    }

    def read(self, fields: Reader) -> Lifecycle:
        return Lifecycle(
            tuple(_hook(item, startup=False) for item in fields.objects("install") or ()),
            tuple(_hook(item, startup=True) for item in fields.objects("startup") or ()),
            tuple(_file(item) for item in fields.objects("files") or ()),
            fields.texts("interactive"),
        )

    def values(self, config: Lifecycle, at: str) -> Iterable[Issue]:
        if not (config.install or config.startup or config.files or config.interactive):
            yield Issue(at, "lifecycle states at least one hook, file or interactive argument")
        for phase, hooks in (("install", config.install), ("startup", config.startup)):
            for index, hook in enumerate(hooks):
                yield from _hook_issues(hook, f"{at}.{phase}[{index}]")
        for index, file in enumerate(config.files):
            yield from _file_issues(file, f"{at}.files[{index}]")

    def encode(self, config: Lifecycle) -> Config:
        written: dict[str, JsonValue] = {}
        if config.install:
            written["install"] = [_encoded_hook(hook) for hook in config.install]
        if config.startup:
            written["startup"] = [_encoded_hook(hook) for hook in config.startup]
        if config.files:
            written["files"] = [_encoded_file(file) for file in config.files]
        if config.interactive is not None:
            written["interactive"] = list(config.interactive)
        return written or None


def destination(file: File) -> str:
    """What two files are compared by."""
    return paths.clean(file.path)


def _hook(fields: Reader, *, startup: bool) -> Hook:
    hook = Hook(
        command(fields, "command") or (),
        fields.text("user"),
        fields.texts("env") or (),
        fields.text("description"),
        fields.boolean("background") if startup else False,
    )
    fields.close()
    return hook


def _file(fields: Reader) -> File:
    stated = fields.has("overwrite") and not fields.is_null("overwrite")
    overwrite = fields.boolean("overwrite")
    file = File(
        fields.text("path"),
        fields.text("content"),
        fields.text("mode"),
        overwrite if stated else True,
        stated,
        fields.text("description"),
    )
    fields.close()
    return file


def _hook_issues(hook: Hook, at: str) -> Iterator[Issue]:
    if not hook.command:
        yield Issue(at, "a hook has a command")
    for index, name in enumerate(hook.env):
        if not _VARIABLE.fullmatch(name):
            yield Issue(f"{at}.env[{index}]", f"{name!r} is not the name of an environment variable")


def _file_issues(file: File, at: str) -> Iterator[Issue]:
    if not file.path.startswith("/"):
        yield Issue(f"{at}.path", "a file's path begins with a slash")
    if file.mode and not sizes.is_mode(file.mode):
        yield Issue(f"{at}.mode", f"{file.mode!r} is not {sizes.MODE_RULE}")


def _encoded_hook(hook: Hook) -> JsonValue:
    written: dict[str, JsonValue] = {"command": list(hook.command)}
    if hook.user:
        written["user"] = hook.user
    if hook.env:
        written["env"] = list(hook.env)
    if hook.description:
        written["description"] = hook.description
    if hook.background:
        written["background"] = True
    return written


def _encoded_file(file: File) -> JsonValue:
    written: dict[str, JsonValue] = {"path": file.path, "content": file.content}
    if file.mode:
        written["mode"] = file.mode
    if file.overwrite_stated:
        written["overwrite"] = file.overwrite
    if file.description:
        written["description"] = file.description
    return written


TYPE = LifecycleType()
