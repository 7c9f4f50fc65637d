"""The short way in for compact JSON, which is what publishing writes (§9.3): no tree, no positions.

A descriptor is YAML, and JSON is YAML only nearly. Whatever the two could read differently, and whatever is wrong, is
left to the YAML path: the answer here is a descriptor that path would give too, or None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar

from kitstudio.models.descriptor import (
    ARG_TEXT_FIELDS,
    LIST_FIELDS,
    TEXT_FIELDS,
    Arg,
    Capability,
    CapabilityGroup,
    CapabilityItem,
    Descriptor,
    JsonValue,
    ListedKit,
    Source,
)
from kitstudio.models.scalars import resolve_plain

T = TypeVar("T")

_DOUBTFUL: Final = re.compile(
    r"[\t\n\r\x85\u2028\u2029\ufeff]"  # what folds a line, and blanks that indent
    r"|\\/|\\u[dD][89a-fA-F]"  # escapes YAML does not know; halves of a character
    r'|" +:'  # a key may be too far from its colon
)
_LONGEST_KEY: Final = 160
"""A key of libyaml ends within 1,024 characters, and an escape takes six."""
_MOST_BRACKETS: Final = 1000
"""No text with fewer can be nested deeper than the limit of the YAML path."""


class _Doubt(Exception):
    """The YAML path has to answer."""


def read_json(text: str) -> Descriptor | None:
    """The descriptor of a compact JSON text whose characters are allowed; None when the YAML path has to answer."""
    if text[:1] != "{" or _DOUBTFUL.search(text):
        return None
    if text.count("{") + text.count("[") > _MOST_BRACKETS and _depth(text) > _MOST_BRACKETS:
        return None
    try:
        return _descriptor(_DECODER.decode(text))
    except (_Doubt, ValueError, RecursionError):
        return None


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs) or (found and max(map(len, found)) > _LONGEST_KEY):
        raise _Doubt
    return found


def _number(spelled: str) -> JsonValue:
    return resolve_plain(spelled)[1]


def _no_number(spelled: str) -> NoReturn:
    raise _Doubt


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_number, parse_float=_number, parse_constant=_no_number
)


def _descriptor(value: Any) -> Descriptor:
    found: dict[str, Any] = {}
    for key, item in value.items():
        if key in TEXT_FIELDS:
            found[TEXT_FIELDS[key]] = _text(item)
        elif key in LIST_FIELDS:
            found[key] = _list(item, _text)
        elif key == "capabilities":
            found[key] = _list(item, _item)
        elif key == "args":
            found[key] = _map(item, _arg)
        elif key == "kits":
            found[key] = _list(item, _kit)
            found["kits_stated"] = item is not None
        else:
            raise _Doubt
    if found.get("schema_version") != "3":
        raise _Doubt
    return Descriptor(**found)


def _item(value: Any) -> CapabilityItem:
    value = _mapping(value)
    if "group" in value:
        return _group(value)
    found: dict[str, Any] = {"type": ""}
    for key, item in value.items():
        if key == "type" or key == "description":
            found[key] = _text(item)
        elif key == "config":
            found[key] = None if item is None else _mapping(item)
            found["config_stated"] = True
        elif key == "name":
            found[key] = _strict_text(item)
        elif key == "optional":
            found[key] = _boolean(item)
            found["optional_stated"] = True
        elif key == "source":
            found[key] = _source(item)
        else:
            raise _Doubt
    return Capability(**found)


def _group(value: Mapping[str, Any]) -> CapabilityGroup:
    if not value.keys() <= {"group", "source"}:
        raise _Doubt
    source = _source(value["source"]) if "source" in value else None
    if value["group"] is None:
        return CapabilityGroup(None, source=source)
    found: dict[str, Any] = {"members": (), "members_null": True}
    for key, item in _mapping(value["group"]).items():
        if key == "capabilities":
            found["members"] = _list(item, _item)
            found["members_null"] = item is None
        elif key == "name" or key == "description":
            found[key] = _strict_text(item)
        elif key == "optional":
            if not isinstance(item, bool):
                raise _Doubt
            found[key] = item
        else:
            raise _Doubt
    return CapabilityGroup(**found, source=source)


def _source(value: Any) -> Source:
    value = _mapping(value)
    if not value.keys() <= {"kit", "path"}:
        raise _Doubt
    return Source(**{key: _strict_text(item) for key, item in value.items()})


def _arg(value: Any) -> Arg:
    found: dict[str, Any] = {}
    for key, item in ({} if value is None else _mapping(value)).items():
        if key == "default":
            found[key] = None if item is None else _text(item)
        elif key == "required":
            found[key] = _boolean(item)
        elif key == "enum":
            found[key] = _list(item, _text)
        elif key in ARG_TEXT_FIELDS:
            found[ARG_TEXT_FIELDS[key]] = _text(item)
        else:
            raise _Doubt
    return Arg(**found)


def _kit(value: Any) -> ListedKit:
    found: dict[str, Any] = {"ref": ""}
    for key, item in _mapping(value).items():
        if key in {"ref", "digest"}:
            found[key] = _text(item)
        elif key == "args":
            found[key] = _map(item, _text)
        else:
            raise _Doubt
    return ListedKit(**found)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Doubt
    return value


def _list(value: Any, read: Callable[[Any], T]) -> tuple[T, ...]:
    """The items of a list; null items are dropped."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _Doubt
    return tuple([read(item) for item in value if item is not None])


def _map(value: Any, read: Callable[[Any], T]) -> dict[str, T]:
    return {} if value is None else {key: read(item) for key, item in _mapping(value).items()}


def _text(value: Any) -> str:
    # A number or a truth value is text as spelled: its spelling is gone here.
    if value is None:
        return ""
    return _strict_text(value)


def _strict_text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Doubt
    return value


def _boolean(value: Any) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise _Doubt
    return value
