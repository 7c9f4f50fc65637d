"""``agent-context@1``: instructions a Kit brings for the agent, and the file the agent reads them from.

A singleton, as §7.1 has it; newer grammars allow one entry a destination, and a block with several is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models.capabilities import paths
from kitstudio.models.capabilities.contract import CapabilityType, Config, FieldKeywords, Slot
from kitstudio.models.capabilities.shape import Reader, ShapeError, holds_reference
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.issue import Issue


@dataclass(frozen=True, slots=True)
class AgentContext:
    """``directory`` with ``filename`` is an explicit profile; ``filename`` alone the legacy one."""

    filename: str = ""
    directory: str = ""
    content_file: str = ""
    content: str = ""

    @property
    def destination(self) -> str:
        """The explicit profile's path, empty without one."""
        return paths.joined(self.directory, self.filename) if self.directory else ""

    @property
    def body(self) -> tuple[str, str] | None:
        """(``content`` or ``contentFile``, its value), None without a body."""
        if self.content_file:
            return "contentFile", self.content_file
        return ("content", self.content) if self.content else None


class AgentContextType(CapabilityType[AgentContext]):
    name = "com.docker.sandbox/agent-context@1"
    title = "agent instructions"
    singleton = True
    silent = True
    slot = Slot.CONTEXT
    keywords: ClassVar[FieldKeywords] = {
        "directory": {"pattern": "^/"},
        "": {"dependencies": {"directory": ["filename"]}},
    }

    def read(self, fields: Reader) -> AgentContext:
        return AgentContext(
            fields.text("filename"), fields.text("directory"), fields.text("contentFile"), fields.text("content")
        )

    def presence(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        raw = config or {}
        found = list(_profile(raw, f"{where}.config", kind))
        if "content" in raw and "contentFile" in raw:
            found.append(Issue(f"{where}.config", "content and contentFile exclude each other"))
        return tuple(found)

    def check(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        found = tuple(_profile(config or {}, f"{where}.config", kind))
        try:
            typed = self.decode(config)
        except ShapeError as error:
            return (*found, Issue(f"{where}.config", str(error)))
        if typed.content and typed.content_file:
            found = (*found, Issue(f"{where}.config", "content and contentFile exclude each other"))
        return found

    def encode(self, config: AgentContext) -> Config:
        written: dict[str, JsonValue] = {}
        for name, value in (
            ("filename", config.filename),
            ("directory", config.directory),
            ("contentFile", config.content_file),
            ("content", config.content),
        ):
            if value:
                written[name] = value
        return written or None


def _profile(raw: dict[str, JsonValue], at: str, kind: str) -> Iterator[Issue]:
    directory, filename = raw.get("directory"), raw.get("filename")
    if "directory" not in raw:
        if isinstance(filename, str) and filename and kind == "mixin":
            yield Issue(f"{at}.filename", "only a workload names the agent's file without a directory")
        return
    if not isinstance(directory, str):
        yield Issue(f"{at}.directory", "directory is a text")
    elif not holds_reference(directory) and not _is_directory(directory):
        yield Issue(f"{at}.directory", "directory is an absolute path in its shortest form")
    if not isinstance(filename, str) or not filename:
        yield Issue(f"{at}.filename", "a directory needs a filename beside it")
    elif not holds_reference(filename) and (filename in (".", "..") or set(filename) & set("/\\\0")):
        yield Issue(f"{at}.filename", f"{filename!r} is not a plain file name")


def _is_directory(text: str) -> bool:
    return paths.is_canonical(text) and not set(text) & set("\\\0")


TYPE = AgentContextType()
