"""What changed in the config of a request this app cannot read: two JSON values as lines, side marks before them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.models.review import Finding
from kitstudio.models.selection import members_of
from kitstudio.models.surface import service_entry
from kitstudio.models.words import exact

_MAX_LINES = 400
_MAX_LETTERS = 400


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """``lines``: (``+``, ``-`` or blank; text). ``why``: why nothing can be compared, empty if it can."""

    lines: tuple[tuple[str, str], ...] = ()
    why: str = ""


def is_opaque(finding: Finding) -> bool:
    """Whether a finding stands for a request whose config is counted as a whole (§7.4)."""
    return finding.permission.category == "services" and "+" in finding.permission.detail


def compared(finding: Finding, before: Descriptor, after: Descriptor) -> ConfigChange:
    """The request of a finding beside the one of its type that was approved and is gone now."""
    wanted = finding.permission.detail
    type_name = wanted.partition("+")[0]
    old, new = _requests(before, type_name), _requests(after, type_name)
    return config_change(
        next((entry for key, entry in old.items() if key not in new), None) if wanted in new else old.get(wanted),
        new.get(wanted),
    )


def _requests(descriptor: Descriptor, type_name: str) -> dict[str, Capability]:
    """The requests of a type, by the string they stand for in the surface."""
    return {
        service_entry(part.entry.type, part.entry.config): part.entry
        for index, item in enumerate(descriptor.capabilities)
        for part in members_of(item, f"capabilities[{index}]")
        if part.entry.type == type_name
    }


def config_change(before: Capability | None, after: Capability | None) -> ConfigChange:
    """The change of one request; a request that is new has every line new."""
    old, new = _lines(before), _lines(after)
    found: list[tuple[str, str]] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found += [(" ", text) for text in old[a:b]]
        else:
            found += [("-", text) for text in old[a:b]] + [("+", text) for text in new[c:d]]
    return ConfigChange(tuple(found))


def _lines(entry: Capability | None) -> Sequence[str]:
    if entry is None or entry.config is None:
        return ()
    text = json.dumps(entry.config, ensure_ascii=False, indent=2, sort_keys=True, default=str)
    lines = [exact(line) for line in text.splitlines()]
    cut = [line if len(line) <= _MAX_LETTERS else f"{line[:_MAX_LETTERS]}…" for line in lines[:_MAX_LINES]]
    return [*cut, f"… {len(lines) - _MAX_LINES} more lines"] if len(lines) > _MAX_LINES else cut
