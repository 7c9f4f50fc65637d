"""JSON Schema of a descriptor and of each capability's config, for editors: made by asking the code that reads them.

A type's ``read`` is run with a reader that notes which fields it asks for, and ``keywords`` adds what it asks of their
values. A schema sees one field at a time: whatever holds a placeholder is let through, and so is what only the whole
document can decide. ``validate`` is the judge.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kitstudio.models.block import TYPE
from kitstudio.models.capabilities import known_types, lookup
from kitstudio.models.capabilities.contract import CapabilityType, FieldKeywords
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.descriptor import ARG_TEXT_FIELDS, LIST_FIELDS, TEXT_FIELDS, JsonValue
from kitstudio.models.errors import DescriptorError
from kitstudio.models.quote import quote
from kitstudio.models.references import ARG_REFERENCE, ENV_OPENER, NAME

Schema: TypeAlias = dict[str, JsonValue]

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
"""The version editors understand."""

_PLACEHOLDER: Final[Schema] = {"type": "string", "pattern": f"{ARG_REFERENCE.pattern}|{ENV_OPENER.pattern}"}
_NULL: Final[Schema] = {"type": "null"}
_ANY_TEXT: Final[Schema] = {"type": ["string", "number", "boolean", "null"]}
"""A field that is text however it is spelled: ``version: 1.10`` is the text 1.10."""
_SPELLED_BOOLEANS: Final = ("y", "yes", "on", "n", "no", "off")
_EVERY_NAME: Final = "*"


def descriptor_schema() -> Schema:
    """The schema of a descriptor as an author writes it (§3 to §7)."""
    properties: Schema = dict.fromkeys(TEXT_FIELDS, _ANY_TEXT)
    properties |= {name: _list_of(_ANY_TEXT) for name in sorted(LIST_FIELDS)}
    properties |= {
        "schemaVersion": {"enum": ["3", 3], "description": "The version of the grammar."},
        "kind": {"enum": ["workload", "mixin", "set"], "description": "A base, an addition to one, or a list of Kits."},
        "iconUrl": _either({"type": "string", "pattern": "^(?:[hH][tT][tT][pP][sS]://.*)?$"}, _PLACEHOLDER, _NULL),
        "capabilities": _list_of({"$ref": "#/definitions/item"}),
        "args": {"type": ["object", "null"], "additionalProperties": {"$ref": "#/definitions/arg"}},
        "kits": _list_of({"$ref": "#/definitions/kit"}),
    }
    types = sorted(known_types())
    definitions: Schema = {"item": _item(), "capability": _capability(types), "group": _group(), "arg": _arg()}
    definitions |= {"kit": _kit(), "source": _object({"kit": {"type": "string"}, "path": {"type": "string"}})}
    definitions |= {_short(name): _config(_known(name)) for name in types}
    filled: Schema = {"type": "string", "minLength": 1}
    alone = [["build", "dockerfile"], ["kits", "build"], ["kits", "dockerfile"]]
    rules: list[JsonValue] = [
        _not_both(pair, {"build": filled, "dockerfile": filled, "kits": {"minItems": 1}}) for pair in alone
    ]
    return {
        "$schema": DRAFT,
        "title": "Sandbox Kit descriptor, version 3",
        **_object(properties, required=["schemaVersion", "kind"]),
        "allOf": rules,
        "definitions": definitions,
    }


def capability_schema(name: str) -> Schema:
    """The schema of one type's config (§7.2). ``name`` in full, or without the specification's namespace.

    Raises DescriptorError for a type nobody here knows.
    """
    type_ = _known(name)
    about = (sys.modules[type(type_).__module__].__doc__ or "").partition("\n\n")[0].replace("``", "`")
    return {"$schema": DRAFT, "title": type_.name, "description": " ".join(about.split()), **_config(type_)}


def schemas() -> dict[str, Schema]:
    """Every schema by the name of its file."""
    found = {f"{_short(name)}.schema.json": capability_schema(name) for name in sorted(known_types())}
    return {"descriptor.schema.json": descriptor_schema(), **found}


def _known(name: str) -> CapabilityType[Any]:
    type_ = lookup(name) or lookup(f"com.docker.sandbox/{name}")
    if type_ is None:
        names = ", ".join(sorted(map(_short, known_types())))
        raise DescriptorError(f"There is no capability type {quote(name)} here.", remedy=f"Known are: {names}.")
    return type_


def _short(name: str) -> str:
    return name.partition("/")[2]


def _config(type_: CapabilityType[Any]) -> Schema:
    asked = _Asked(type_.keywords)
    type_.read(asked)
    return asked.schema()


def _item() -> Schema:
    return {
        "if": {"required": ["group"]},
        "then": _object({"group": {"$ref": "#/definitions/group"}, "source": {"$ref": "#/definitions/source"}}),
        "else": {"$ref": "#/definitions/capability"},
    }


def _capability(types: Sequence[str]) -> Schema:
    fields: Schema = {
        "type": {"type": "string", "pattern": _whole(TYPE), "examples": list(types)},
        "name": {"type": "string"},
        "description": _ANY_TEXT,
        "optional": _boolean(),
        "source": {"$ref": "#/definitions/source"},
        "config": {"type": ["object", "null"]},
    }
    rules: list[JsonValue] = []
    for name in types:
        type_ = _known(name)
        config: Schema = {"properties": {"config": {"$ref": f"#/definitions/{_short(name)}"}}}
        if type_.configless:
            config = {"properties": {"config": False}}
        elif "required" in type_.keywords.get("", {}):
            config["required"] = ["config"]
        rules.append({"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": config})
    return {**_object(fields, required=["type"]), "allOf": rules}


def _group() -> Schema:
    fields: Schema = {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "optional": {"type": "boolean"},
        "capabilities": {
            "type": "array",
            "items": _either({"$ref": "#/definitions/capability"}, _NULL),
            "contains": {"type": "object"},
        },
    }
    return _object(fields, required=["capabilities"])


def _arg() -> Schema:
    variable = _either({"type": "string", "pattern": _whole(NAME, empty=True)}, _NULL)
    fields: Schema = dict.fromkeys(("default", *ARG_TEXT_FIELDS), _ANY_TEXT)
    fields |= {"required": _boolean(), "enum": _list_of(_ANY_TEXT), "env": variable, "buildArg": variable}
    return {**_object(fields), "type": ["object", "null"]}


def _kit() -> Schema:
    fields: Schema = {
        "ref": {**_ANY_TEXT, "minLength": 1},
        "digest": _either({"type": "string", "pattern": "^(?:sha256:[0-9a-f]{64})?$"}, _NULL),
        "args": {
            "type": ["object", "null"],
            "propertyNames": {"pattern": _whole(NAME)},
            "additionalProperties": _ANY_TEXT,
        },
    }
    return _object(fields, required=["ref"])


def _boolean() -> Schema:
    spelled: list[JsonValue] = [way(word) for word in _SPELLED_BOOLEANS for way in (str.lower, str.title, str.upper)]
    return _either({"type": ["boolean", "null"]}, {"enum": list(dict.fromkeys(map(str, spelled)))})


def _list_of(item: Schema) -> Schema:
    """Null items are dropped."""
    return {"type": ["array", "null"], "items": item if item is _ANY_TEXT else _either(item, _NULL)}


def _object(properties: Mapping[str, JsonValue], required: Sequence[str] = ()) -> Schema:
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def _either(*choices: Schema) -> Schema:
    return {"anyOf": list(choices)}


def _not_both(names: Sequence[str], stated: Mapping[str, Schema]) -> Schema:
    return {"not": {"properties": {name: stated[name] for name in names}, "required": list(names)}}


def _whole(pattern: re.Pattern[str], *, empty: bool = False) -> str:
    return f"^(?:{pattern.pattern}){'?' if empty else ''}$"


class _Asked(Reader):
    """A reader that notes what it is asked for, and answers with something harmless. ``schema`` is what it noted."""

    __slots__ = ("_asked", "_keywords", "_path")

    def __init__(self, keywords: FieldKeywords, path: str = "") -> None:
        super().__init__(None)
        self._keywords = keywords
        self._path = path
        self._asked: dict[str, Callable[[], Schema]] = {}

    def schema(self) -> Schema:
        """The object that was asked for."""
        properties: Schema = {name: made() for name, made in self._asked.items()}
        free = properties.pop(_EVERY_NAME, False)
        asked = self._keywords.get(self._path, {})
        # Null reads as an empty mapping, which lacks what is required.
        type_: JsonValue = "object" if "required" in asked else ["object", "null"]
        return {"type": type_, "properties": properties, "additionalProperties": free, **asked}

    def has(self, name: str) -> bool:
        return True

    def is_null(self, name: str) -> bool:
        return False

    def copy(self) -> dict[str, JsonValue]:
        return {_EVERY_NAME: ""}

    def text(self, name: str) -> str:
        self._asked[name] = lambda: self._text(self._at(name))
        return ""

    def boolean(self, name: str) -> bool:
        self._asked[name] = lambda: _either({"type": ["boolean", "null"]}, _PLACEHOLDER)
        return False

    def integer(self, name: str) -> int:
        self._asked[name] = lambda: self._number("integer", name)
        return 0

    def number(self, name: str) -> float | None:
        self._asked[name] = lambda: self._number("number", name)
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        self._asked[name] = lambda: self._texts_of(name)
        return ()

    def text_or_texts(self, name: str) -> str | tuple[str, ...] | None:
        self._asked[name] = lambda: _either(self._text(self._at(name)), self._texts_of(name))
        return ""

    def mapping(self, name: str) -> dict[str, JsonValue] | None:
        self._asked[name] = lambda: {"type": ["object", "null"]}
        return {}

    def object(self, name: str) -> Reader | None:
        below = _Asked(self._keywords, self._at(name))
        self._asked[name] = below.schema
        return below

    def objects(self, name: str) -> tuple[Reader, ...] | None:
        below = _Asked(self._keywords, f"{self._at(name)}[]")
        self._asked[name] = lambda: {"type": ["array", "null"], "items": below.schema()}
        return (below,)

    def texts_or_objects(self, name: str, wanted: str) -> tuple[str | Reader, ...] | None:
        below = _Asked(self._keywords, f"{self._at(name)}[]")
        text: Schema = {"type": ["string", "null"]}
        self._asked[name] = lambda: {"type": ["array", "null"], "items": _either(text, below.schema())}
        return (below,)

    def close(self) -> None:
        """Nothing is left over."""

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _text(self, path: str) -> Schema:
        asked = self._keywords.get(path)
        if asked is None:
            return {"type": ["string", "null"]}
        return _either({"type": "string", **asked}, _NULL, _PLACEHOLDER)

    def _number(self, kind: str, name: str) -> Schema:
        return _either({"type": kind, **self._keywords.get(self._at(name), {})}, _NULL, _PLACEHOLDER)

    def _texts_of(self, name: str) -> Schema:
        return {"type": ["array", "null"], "items": self._text(f"{self._at(name)}[]")}
