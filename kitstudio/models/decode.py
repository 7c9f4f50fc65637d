"""Strict decoding of a descriptor (§1.2): text → ``Document``. Any unknown key anywhere is an error.

Faults are gathered: one DecodeError names them all, placed at the first.
"""

from __future__ import annotations

from typing import Any

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
from kitstudio.models.document import DecodeError, Document, Node, NodeKind, Position, place
from kitstudio.models.json_text import read_json
from kitstudio.models.node_reader import Fields, NodeReader
from kitstudio.models.quote import quote
from kitstudio.models.tree import parse_tree, read_text

__all__ = [
    "DecodeError",
    "Document",
    "Node",
    "NodeKind",
    "Position",
    "decode",
    "decode_tree",
    "decode_yaml",
    "tree_value",
]

_DESCRIPTOR_KEYS = frozenset({"capabilities", "args", "kits", *TEXT_FIELDS, *LIST_FIELDS})
_ARG_KEYS = frozenset({"default", "required", "enum", *ARG_TEXT_FIELDS})
_KIT_KEYS = frozenset({"ref", "digest", "args"})
_ITEM_KEYS = frozenset({"group", "source", "type", "name", "optional", "config", "description"})
_GROUP_KEYS = frozenset({"name", "description", "optional", "capabilities"})
_SOURCE_KEYS = frozenset({"kit", "path"})


def decode(text: str | bytes, *, name: str = "") -> Document:
    """The descriptor a text states, with the place of every element. ``name`` labels errors.

    Raises DecodeError; ``where`` is ``name:line:column``.
    """
    characters = read_text(text, name)
    descriptor = read_json(characters)
    if descriptor is None:
        return _decode_yaml(characters, name)
    return Document(descriptor, lambda: parse_tree(characters, name), characters, name)


def decode_yaml(text: str | bytes, *, name: str = "") -> Document:
    """The same without the short way for JSON: slower, with the same answer."""
    return _decode_yaml(read_text(text, name), name)


def _decode_yaml(text: str, name: str) -> Document:
    root = parse_tree(text, name)
    return Document(decode_tree(root, name), root, text, name)


def decode_tree(root: Node, name: str = "") -> Descriptor:
    """The descriptor a tree states."""
    reader = _Reader()
    found = reader.descriptor(root)
    if reader.faults:
        _raise_faults(reader.faults, name)
    return found


def tree_value(root: Node) -> JsonValue:
    """A tree as plain values, the way ``config`` is read."""
    reader = _Reader()
    found = reader.value(root.resolved())
    if reader.faults:
        _raise_faults(reader.faults, "")
    return found


def _raise_faults(faults: list[tuple[Node, str, str]], name: str) -> None:
    node, what, remedy = faults[0]
    if len(faults) > 1:
        what = "; ".join([what, *(f"{message} ({place('', other)})" for other, message, _ in faults[1:10])])
        if len(faults) > 10:
            what += f"; and {len(faults) - 10} more"
    raise DecodeError(what + ".", name=name, at=node, remedy=remedy)


class _Reader(NodeReader):
    """The shapes of a descriptor. Each field is read as it comes; what is not stated keeps its default."""

    __slots__ = ()

    def descriptor(self, root: Node) -> Descriptor:
        if root.kind is not NodeKind.MAPPING and not self.is_null(root):
            self.fault(root, "A descriptor is a mapping of fields", 'Begin with `schemaVersion: "3"`.')
            return Descriptor("")
        found: dict[str, Any] = {"schema_version": ""}
        fields = self.fields(root, _DESCRIPTOR_KEYS, "a descriptor")
        for key, node in fields.items():
            if key in TEXT_FIELDS:
                found[TEXT_FIELDS[key]] = self.scalar_text(node, key)
            elif key in LIST_FIELDS:
                found[key] = self.list_of(node, key, self.scalar_text)
            elif key == "capabilities":
                found[key] = self.list_of(node, key, self.capability_item)
            elif key == "args":
                found[key] = self.map_of(node, key, self.arg)
            else:
                found["kits"] = self.list_of(node, key, self.listed_kit)
                found["kits_stated"] = not self.is_null(node)
        if found["schema_version"] != "3":
            # Of another grammar nothing else can be judged: its fields are not wrong, they are not ours.
            at = fields.get("schemaVersion", root)
            self.faults = [(at, *_wrong_version(found["schema_version"]))]
        return Descriptor(**found)

    def arg(self, node: Node) -> Arg:
        found: dict[str, Any] = {}
        for key, value in self.fields(node, _ARG_KEYS, "an arg").items():
            if key in ARG_TEXT_FIELDS:
                found[ARG_TEXT_FIELDS[key]] = self.scalar_text(value, key)
            elif key == "default":
                found[key] = None if self.is_null(value) else self.scalar_text(value, key)
            elif key == "required":
                found[key] = self.boolean(value, key)
            else:
                found[key] = self.list_of(value, key, self.scalar_text)
        return Arg(**found)

    def listed_kit(self, node: Node) -> ListedKit:
        found: dict[str, Any] = {"ref": ""}
        for key, value in self.fields(node, _KIT_KEYS, "an entry of kits").items():
            found[key] = self.map_of(value, key, self.scalar_text) if key == "args" else self.scalar_text(value, key)
        return ListedKit(**found)

    def capability_item(self, node: Node) -> CapabilityItem:
        fields = self.fields(node, _ITEM_KEYS, "a capability")
        if "group" not in fields:
            return self.capability(fields)
        for key in fields.keys() - {"group", "source"}:
            self.fault(fields[key], f"{key!r} cannot stand beside 'group'", "State it inside the group.")
        return self.group(fields)

    def capability(self, fields: Fields) -> Capability:
        found: dict[str, Any] = {"type": ""}
        for key, node in fields.items():
            if key == "config":
                found[key] = self.config(node)
                found["config_stated"] = True
            elif key == "optional":
                found[key] = self.boolean(node, key)
                found["optional_stated"] = True
            elif key == "name":
                found[key] = self.strict_text(node, key)
            elif key == "source":
                found[key] = self.source(node)
            else:
                found[key] = self.scalar_text(node, key)
        return Capability(**found)

    def group(self, fields: Fields) -> CapabilityGroup:
        source = self.source(fields["source"]) if "source" in fields else None
        if self.is_null(fields["group"]):
            return CapabilityGroup(None, source=source)
        found: dict[str, Any] = {"members": (), "members_null": True}
        for key, node in self.fields(fields["group"], _GROUP_KEYS, "a group").items():
            if key == "capabilities":
                found["members"] = self.list_of(node, key, self.capability_item)
                found["members_null"] = self.is_null(node)
            elif key == "optional":
                found[key] = self.real_boolean(node)
            else:
                found[key] = self.strict_text(node, key)
        return CapabilityGroup(**found, source=source)

    def source(self, node: Node) -> Source:
        inside = self.fields(node, _SOURCE_KEYS, "source")
        return Source(**{key: self.strict_text(value, key) for key, value in inside.items()})


def _wrong_version(version: str) -> tuple[str, str]:
    if version in {"2", "1"}:
        return (
            f"This is a v{version} Kit descriptor: v{version} and v3 Kits cannot be mixed, and only v3 is read here",
            'Ask its publisher for a v3 Kit, or rewrite it for schemaVersion "3".',
        )
    if not version:
        return "schemaVersion is missing", 'Begin the descriptor with `schemaVersion: "3"`.'
    return f'schemaVersion {quote(version)} is not "3"', 'State `schemaVersion: "3"`.'
