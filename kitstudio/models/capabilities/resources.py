"""``resources@1``: how much CPU, memory and GPU the sandbox would like; a wish, never a permission."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models.capabilities import sizes
from kitstudio.models.capabilities.contract import CapabilityType, FieldKeywords, Slot
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.issue import Issue


@dataclass(frozen=True, slots=True)
class Resources:
    """``cpu`` is None when not stated; empty texts are not stated."""

    cpu: float | None = None
    memory: str = ""
    gpu: str = ""

    def memory_mib(self) -> int:
        """The memory in whole MiB, rounded up; 0 when not stated."""
        size = sizes.size_in_bytes(self.memory) if self.memory else None
        return 0 if size is None else -(-size.numerator // (size.denominator * 1024 * 1024))

    def text(self) -> str:
        """On one line, for a person."""
        parts = []
        if self.cpu:
            parts.append(f"{self.cpu:g} CPU")
        if self.memory:
            parts.append(f"{' '.join(self.memory.split())} memory")
        if self.gpu:
            parts.append(f"GPU {self.gpu}")
        return ", ".join(parts)


class ResourcesType(CapabilityType[Resources]):
    name = "com.docker.sandbox/resources@1"
    title = "resources"
    singleton = True
    silent = True
    slot = Slot.RESOURCES
    one_author = True
    keywords: ClassVar[FieldKeywords] = {"cpu": {"minimum": 0}, "memory": {"pattern": f"^(?:{sizes.SIZE_PATTERN})?$"}}

    def read(self, fields: Reader) -> Resources:
        return Resources(fields.number("cpu"), fields.text("memory"), fields.text("gpu"))

    def values(self, config: Resources, at: str) -> Iterable[Issue]:
        if config.cpu is not None and config.cpu < 0:
            yield Issue(f"{at}.cpu", "a number of CPUs is not negative")
        if config.memory and not sizes.is_size(config.memory):
            yield Issue(f"{at}.memory", f"{config.memory!r} is not a size: {sizes.SIZE_RULE}")


TYPE = ResourcesType()
