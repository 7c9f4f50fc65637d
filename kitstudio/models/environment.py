"""The final container environment in configs (§6.1): ``${{ kit.env.NAME }}`` in string values, never in keys.

Values may be secrets: no message repeats one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from kitstudio.models.canonical import encode
from kitstudio.models.descriptor import Capability, CapabilityItem, Descriptor, JsonValue
from kitstudio.models.errors import DescriptorError
from kitstudio.models.quote import quote
from kitstudio.models.references import ARG_OPENER, ENV_OPENER, ENV_REFERENCE

MAX_BYTES: Final = 524_288
"""Bytes of the descriptor before, and of all config text after expansion (§9.4)."""


def expand_environment(descriptor: Descriptor, env: Mapping[str, str]) -> Descriptor:
    """The descriptor with every environment reference of its configs replaced.

    Raises DescriptorError whose ``where`` is the dotted path of the field.
    """
    if len(encode(descriptor).encode()) > MAX_BYTES:
        raise DescriptorError("The descriptor is over 512 KiB, too large to expand.")
    expansion = _Expansion(env)
    items = tuple(expansion.item(item, f"capabilities[{i}]") for i, item in enumerate(descriptor.capabilities))
    return replace(descriptor, capabilities=items)


_Path: TypeAlias = "tuple[_Path, str] | str"
"""A path as links to its parts: joined for a message only, since paths may be longer than the document."""


class _Expansion:
    """One pass; counts the text it leaves behind."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.bytes = 0

    def item(self, item: CapabilityItem, path: str) -> CapabilityItem:
        if isinstance(item, Capability):
            if item.config is None:
                return item
            return replace(item, config=self.mapping(item.config, f"{path}.config"))
        if item.members is None:
            return item
        below = f"{path}.group.capabilities"
        return replace(item, members=tuple(self.item(m, f"{below}[{i}]") for i, m in enumerate(item.members)))

    def value(self, value: JsonValue, path: _Path) -> JsonValue:
        if isinstance(value, str):
            return self.text(value, path)
        if isinstance(value, list):
            return [self.value(item, (path, f"[{index}]")) for index, item in enumerate(value)]
        if isinstance(value, dict):
            return self.mapping(value, path)
        return value

    def mapping(self, value: dict[str, JsonValue], path: _Path) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {}
        for key in sorted(value):
            if "${{" in key and ENV_OPENER.search(key):
                raise _refusal("A key cannot refer to the environment.", path, "Only values can.")
            found[key] = self.value(value[key], (path, f".{key}"))
        return {key: found[key] for key in value}

    def text(self, text: str, path: _Path) -> str:
        if "${{" in text:
            for opener in ENV_OPENER.finditer(text):
                if ENV_REFERENCE.match(text, opener.start()) is None:
                    what = "A reference to the environment is not complete."
                    raise _refusal(what, path, "Write `${{ kit.env.NAME }}`.")
            text = ENV_REFERENCE.sub(lambda found: self.variable(found[1], path), text)
        self.bytes += len(text.encode("utf-8", "surrogatepass"))
        if self.bytes > MAX_BYTES:
            raise _refusal("The configs are over 512 KiB once the environment is filled in.", path)
        return text

    def variable(self, name: str, path: _Path) -> str:
        value = self.env.get(name)
        if value is None:
            raise _refusal(f"The environment has no variable {quote(name)}.", path)
        if "\0" in value or ("${{" in value and (ARG_OPENER.search(value) or ENV_OPENER.search(value))):
            what = f"The variable {quote(name)} holds a NUL or a Kit placeholder and cannot be filled in."
            raise _refusal(what, path)
        return value


def _refusal(what: str, path: _Path, remedy: str = "") -> DescriptorError:
    parts: list[str] = []
    while isinstance(path, tuple):
        path, part = path
        parts.append(part)
    return DescriptorError(what, where="".join([path, *reversed(parts)]), remedy=remedy)
