"""Canonical JSON of a descriptor (§9.3): what is published, compared and digested."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import cast

from kitstudio.models.decode import decode
from kitstudio.models.descriptor import (
    Arg,
    Capability,
    CapabilityGroup,
    CapabilityItem,
    Descriptor,
    JsonValue,
    ListedKit,
    Source,
)
from kitstudio.models.errors import DescriptorError

_ESCAPED = re.compile("[<>&\u2028\u2029]")
_UNREADABLE = re.compile("[\x7f-\x9f\ufeff\ufffe\uffff]")
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def encode(descriptor: Descriptor) -> str:
    """Compact JSON in the fixed key order, empty values omitted. Raises DescriptorError for what JSON cannot spell."""
    return _write(cast(JsonValue, to_value(descriptor)))


def encode_value(value: JsonValue) -> str:
    """Canonical JSON of a config: keys sorted. Raises DescriptorError for what JSON cannot spell."""
    return _write(_sorted(value))


def to_value(descriptor: Descriptor) -> dict[str, JsonValue]:
    """The descriptor as a JSON object in canonical order, empty values omitted."""
    return _present(
        {
            "schemaVersion": descriptor.schema_version,
            "displayName": descriptor.display_name,
            "author": descriptor.author,
            "description": descriptor.description,
            "sourceUrl": descriptor.source_url,
            "iconUrl": descriptor.icon_url,
            "version": descriptor.version,
            "licenses": list(descriptor.licenses),
            "kind": descriptor.kind,
            "provides": list(descriptor.provides),
            "requires": list(descriptor.requires),
            "integrates": list(descriptor.integrates),
            "conflicts": list(descriptor.conflicts),
            "capabilities": [_item(item) for item in descriptor.capabilities],
            "args": {name: _arg(descriptor.args[name]) for name in sorted(descriptor.args)},
            "build": descriptor.build,
            "kits": [_kit(kit) for kit in descriptor.kits],
            "dockerfile": descriptor.dockerfile,
        },
        always=("schemaVersion", "kind"),
    )


def plain_value(descriptor: Descriptor) -> dict[str, JsonValue]:
    """The descriptor as a JSON object that keeps what is stated: an empty config, ``optional: false``, no kits."""
    found = to_value(descriptor)
    if descriptor.kits_stated and not descriptor.kits:
        found["kits"] = []
    items = found.get("capabilities")
    for value, item in zip(items if isinstance(items, list) else (), descriptor.capabilities, strict=True):
        _keep_stated(cast(dict[str, JsonValue], value), item)
    return found


def from_value(value: Mapping[str, JsonValue], *, name: str = "") -> Descriptor:
    """The descriptor a JSON object states, under the rules of decoding."""
    return decode(readable(_write(dict(value))), name=name).descriptor


def texts_of(part: Descriptor | Capability) -> Iterator[str]:
    """Every text and key a descriptor or one of its entries holds."""
    value: JsonValue = cast(JsonValue, to_value(part)) if isinstance(part, Descriptor) else _item(part)
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from (key for key in item if isinstance(key, str))
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def readable(text: str) -> str:
    """JSON text with the characters escaped that YAML refuses or folds; canonical JSON writes them as they are."""
    return _UNREADABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _item(item: CapabilityItem) -> JsonValue:
    if isinstance(item, CapabilityGroup) and item.members is None:
        return {"group": None}
    if isinstance(item, Capability):
        return _present(
            {
                "source": _source(item.source),
                "type": item.type,
                "name": item.name,
                "optional": item.optional,
                "config": _sorted(item.config) if item.config else None,
                "description": item.description,
            },
            always=("type",),
        )
    group = _present(
        {
            "name": item.name,
            "description": item.description,
            "optional": item.optional,
            "capabilities": None if item.members_null else [_item(member) for member in item.members or ()],
        },
        always=("capabilities",),
    )
    return _present({"group": cast(JsonValue, group), "source": _source(item.source)})


def _keep_stated(value: dict[str, JsonValue], item: CapabilityItem) -> None:
    if isinstance(item, CapabilityGroup):
        members = cast(dict[str, JsonValue], value.get("group") or {}).get("capabilities") or []
        for below, member in zip(cast(list[JsonValue], members), item.members or (), strict=True):
            _keep_stated(cast(dict[str, JsonValue], below), member)
        return
    if item.config_stated:
        value.setdefault("config", {} if item.config is not None else None)
    if item.optional_stated:
        value.setdefault("optional", False)


def _source(source: Source | None) -> JsonValue:
    return None if source is None else {"kit": source.kit, "path": source.path}


def _arg(arg: Arg) -> JsonValue:
    found = _present(
        {
            "default": arg.default,
            "required": arg.required,
            "description": arg.description,
            "enum": list(arg.enum),
            "pattern": arg.pattern,
            "env": arg.env,
            "buildArg": arg.build_arg,
        },
        always=("default",) if arg.default is not None else (),
    )
    return cast(JsonValue, found)


def _kit(kit: ListedKit) -> JsonValue:
    args: JsonValue = {name: kit.args[name] for name in sorted(kit.args)}
    return _present({"ref": kit.ref, "digest": kit.digest, "args": args}, always=("ref",))


def _present(fields: dict[str, JsonValue], always: tuple[str, ...] = ()) -> dict[str, JsonValue]:
    return {key: value for key, value in fields.items() if value or key in always}


def _sorted(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise DescriptorError(
                    "A map inside config has a key that is not text.", remedy="Put the key in quotes."
                )
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _write(value: JsonValue) -> str:
    parts: list[str] = []
    _append(value, parts)
    return "".join(parts)


def _append(value: JsonValue, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(_text(value))
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, int):
        parts.append(str(value))
    elif isinstance(value, float):
        parts.append(number(value))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            parts.append("," if index else "[")
            _append(item, parts)
        parts.append("]" if value else "[]")
    else:
        for index, (key, item) in enumerate(value.items()):
            parts.append("," if index else "{")
            parts.append(_text(key))
            parts.append(":")
            _append(item, parts)
        parts.append("}" if value else "{}")


def _text(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], json.dumps(text, ensure_ascii=False))


def number(value: float) -> str:
    """A float as Go and JavaScript write it: shortest round trip, exponents without padding."""
    if not math.isfinite(value):
        raise DescriptorError("A number in config has no JSON spelling.", remedy="Infinity and NaN cannot be stated.")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    shortest = repr(value)
    sign = "-" if shortest[0] == "-" else ""
    mantissa, _, exponent = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not 1e-6 <= abs(value) < 1e21:
        power = point - 1
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'+' if power >= 0 else '-'}{abs(power)}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if len(digits) <= point:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"
