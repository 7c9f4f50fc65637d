"""Strict decoding of a descriptor (§1.2): text → ``Document``. Any unknown key anywhere is an error.

Faults are gathered: one DecodeError names them all, placed at the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar, cast

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
from kitstudio.models.document import DecodeError, Document, Node, NodeKind, Position, place
from kitstudio.models.json_text import read_json
from kitstudio.models.quote import quote
from kitstudio.models.scalars import BINARY, BOOL, NULL, STR, Scalar, TagMismatch, resolve, short_tag
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

T = TypeVar("T")
Fields: TypeAlias = "dict[str, Node]"

_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})
_TEXT_KEYS = ("kind", "displayName", "author", "description", "sourceUrl", "iconUrl", "version", "build", "dockerfile")
_LIST_KEYS = ("licenses", "provides", "requires", "integrates", "conflicts")
_DESCRIPTOR_KEYS = frozenset({"schemaVersion", "capabilities", "args", "kits", *_TEXT_KEYS, *_LIST_KEYS})
_ARG_KEYS = frozenset({"default", "required", "description", "enum", "pattern", "env", "buildArg"})
_KIT_KEYS = frozenset({"ref", "digest", "args"})
_ITEM_KEYS = frozenset({"group", "source", "type", "name", "optional", "config", "description"})
_GROUP_KEYS = frozenset({"name", "description", "optional", "capabilities"})
_SOURCE_KEYS = frozenset({"kit", "path"})
_DEEPEST_MERGE = 100


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


class _Reader:
    """One pass over a tree. Faults are kept with their node."""

    __slots__ = ("faults",)

    def __init__(self) -> None:
        self.faults: list[tuple[Node, str, str]] = []

    def fault(self, node: Node, what: str, remedy: str = "") -> None:
        self.faults.append((node, what, remedy))

    def descriptor(self, root: Node) -> Descriptor:
        if root.kind is not NodeKind.MAPPING and not self.is_null(root):
            self.fault(root, "A descriptor is a mapping of fields", 'Begin with `schemaVersion: "3"`.')
            return Descriptor("")
        fields = self.fields(root, _DESCRIPTOR_KEYS, "a descriptor")
        version = self.text(fields, "schemaVersion")
        if version != "3":
            at = fields.get("schemaVersion", root)
            self.faults.insert(0, (at, *_wrong_version(version)))
        kits = fields.get("kits")
        return Descriptor(
            schema_version=version,
            capabilities=self.list_of(fields, "capabilities", self.capability_item),
            args=self.map_of(fields, "args", self.arg),
            kits=self.list_of(fields, "kits", self.listed_kit),
            kits_stated=kits is not None and not self.is_null(kits.resolved()),
            kind=self.text(fields, "kind"),
            display_name=self.text(fields, "displayName"),
            author=self.text(fields, "author"),
            description=self.text(fields, "description"),
            source_url=self.text(fields, "sourceUrl"),
            icon_url=self.text(fields, "iconUrl"),
            version=self.text(fields, "version"),
            build=self.text(fields, "build"),
            dockerfile=self.text(fields, "dockerfile"),
            licenses=self.list_of(fields, "licenses", self.list_text),
            provides=self.list_of(fields, "provides", self.list_text),
            requires=self.list_of(fields, "requires", self.list_text),
            integrates=self.list_of(fields, "integrates", self.list_text),
            conflicts=self.list_of(fields, "conflicts", self.list_text),
        )

    def arg(self, node: Node) -> Arg:
        if self.is_null(node):
            return Arg()
        fields = self.fields(node, _ARG_KEYS, "an arg")
        default = fields.get("default")
        return Arg(
            default=None if default is None or self.is_null(default.resolved()) else self.text(fields, "default"),
            required=self.boolean(fields, "required"),
            description=self.text(fields, "description"),
            enum=self.list_of(fields, "enum", self.list_text),
            pattern=self.text(fields, "pattern"),
            env=self.text(fields, "env"),
            build_arg=self.text(fields, "buildArg"),
        )

    def listed_kit(self, node: Node) -> ListedKit:
        fields = self.fields(node, _KIT_KEYS, "an entry of kits")
        return ListedKit(
            ref=self.text(fields, "ref"),
            digest=self.text(fields, "digest"),
            args=self.map_of(fields, "args", self.scalar_text),
        )

    def capability_item(self, node: Node) -> CapabilityItem:
        fields = self.fields(node, _ITEM_KEYS, "a capability")
        if "group" not in fields:
            return self.capability(fields)
        for key in fields.keys() - {"group", "source"}:
            self.fault(fields[key], f"{key!r} cannot stand beside 'group'", "State it inside the group.")
        return self.group(fields)

    def capability(self, fields: Fields) -> Capability:
        config = fields.get("config")
        return Capability(
            type=self.text(fields, "type"),
            config=None if config is None else self.config(config.resolved()),
            config_stated=config is not None,
            name=self.strict_text(fields, "name"),
            description=self.text(fields, "description"),
            optional=self.boolean(fields, "optional"),
            optional_stated="optional" in fields,
            source=self.source(fields),
        )

    def group(self, fields: Fields) -> CapabilityGroup:
        node = fields["group"].resolved()
        source = self.source(fields)
        if self.is_null(node):
            return CapabilityGroup(None, source=source)
        inside = self.fields(node, _GROUP_KEYS, "a group")
        optional = inside.get("optional")
        return CapabilityGroup(
            members=self.list_of(inside, "capabilities", self.capability_item),
            name=self.strict_text(inside, "name"),
            description=self.strict_text(inside, "description"),
            optional=optional is not None and self.real_boolean(optional.resolved()),
            source=source,
            members_null="capabilities" not in inside or self.is_null(inside["capabilities"].resolved()),
        )

    def source(self, fields: Fields) -> Source | None:
        node = fields.get("source")
        if node is None:
            return None
        inside = self.fields(node.resolved(), _SOURCE_KEYS, "source")
        return Source(self.strict_text(inside, "kit"), self.strict_text(inside, "path"))

    def fields(self, node: Node, known: frozenset[str], owner: str) -> Fields:
        """The values of a fixed-shape mapping by key; unknown keys are faults."""
        if node.kind is NodeKind.SCALAR and self.is_null(node) and owner != "source":
            return {}
        if node.kind is not NodeKind.MAPPING:
            self.fault(node, f"{owner} must be a mapping")
            return {}
        found: Fields = {}
        for key, value in self.merged_pairs(node):
            text = key.text
            if text in known and key.plain:
                found[text] = value
            elif not self.is_null(key):
                text = self.scalar_text(key)
                if text in known:
                    found[text] = value
                else:
                    self.fault(key, f"{quote(text)} is not a field of {owner}", _suggest(text, known))
        return found

    def merged_pairs(self, mapping: Node, depth: int = 0) -> Iterator[tuple[Node, Node]]:
        """Keys and values with merge keys followed; own keys beat merged ones, earlier merges later ones."""
        merges = [(key, value) for key, value in mapping.pairs() if _is_merge(key)]
        if not merges:
            for key, value in mapping.pairs():
                yield key.resolved(), value
            return
        if depth > _DEEPEST_MERGE:
            self.fault(mapping, "merge keys nest too deeply")
            return
        seen: set[str] = set()
        for key, value in mapping.pairs():
            if not _is_merge(key):
                seen.add(key.resolved().text)
                yield key.resolved(), value
        for key, value in merges:
            parts = [value] if value.resolved().kind is NodeKind.MAPPING else value.children
            if not parts and value.kind is not NodeKind.SEQUENCE:
                self.fault(key, "a merge key takes a mapping, an alias to one or a list of them")
            for part in parts:
                target = part.resolved()
                if target.kind is not NodeKind.MAPPING:
                    self.fault(part, "a merge key takes a mapping, an alias to one or a list of them")
                    continue
                for name, merged in self.merged_pairs(target, depth + 1):
                    if name.text not in seen:
                        seen.add(name.text)
                        yield name, merged

    def list_of(self, fields: Fields, key: str, read: Callable[[Node], T]) -> tuple[T, ...]:
        """The items of a list; null items are dropped."""
        stated = fields.get(key)
        if stated is None:
            return ()
        node = stated.resolved()
        if node.kind is NodeKind.SEQUENCE:
            items = (child.resolved() for child in node.children)
            return tuple(read(item) for item in items if not self.is_null(item))
        if not self.is_null(node):
            self.fault(node, f"{key!r} must be a list")
        return ()

    def map_of(self, fields: Fields, key: str, read: Callable[[Node], T]) -> dict[str, T]:
        """A map with free keys; a null key is dropped."""
        stated = fields.get(key)
        if stated is None:
            return {}
        node = stated.resolved()
        if node.kind is NodeKind.MAPPING:
            pairs = list(self.merged_pairs(node))
            return {self.scalar_text(name): read(value.resolved()) for name, value in pairs if not self.is_null(name)}
        if not self.is_null(node):
            self.fault(node, f"{key!r} must be a map")
        return {}

    def text(self, fields: Fields, key: str) -> str:
        node = fields.get(key)
        return "" if node is None else self.scalar_text(node.resolved(), key)

    def list_text(self, node: Node) -> str:
        return self.scalar_text(node)

    def scalar_text(self, node: Node, key: str = "") -> str:
        """A scalar as spelled, whatever its type; null is the empty text."""
        if node.style and not node.tag:
            return node.text
        if node.kind is not NodeKind.SCALAR:
            self.fault(node, f"{key!r} must be text" if key else "text is expected here")
            return ""
        tag, value = self.resolved(node)
        if tag == NULL:
            return ""
        return cast(str, value) if tag == BINARY else node.text

    def strict_text(self, fields: Fields, key: str) -> str:
        """A field that must resolve to text: a number, boolean, date or null is a fault."""
        stated = fields.get(key)
        if stated is None:
            return ""
        node = stated.resolved()
        if node.kind is NodeKind.SCALAR and self.resolved(node)[0] == STR:
            return node.text
        self.fault(node, f"{key!r} must be text", "Put it in quotes.")
        return ""

    def boolean(self, fields: Fields, key: str) -> bool:
        stated = fields.get(key)
        if stated is None:
            return False
        node = stated.resolved()
        if node.kind is NodeKind.SCALAR:
            tag, value = self.resolved(node)
            if tag == BOOL:
                return bool(value)
            if tag == NULL:
                return False
            if node.text in _TRUE:
                return True
            if node.text in _FALSE:
                return False
        self.fault(node, f"{key!r} must be true or false")
        return False

    def real_boolean(self, node: Node) -> bool:
        if node.kind is NodeKind.SCALAR:
            tag, value = self.resolved(node)
            if tag == BOOL:
                return bool(value)
        self.fault(node, "'optional' of a group must be true or false")
        return False

    def is_null(self, node: Node) -> bool:
        if node.kind is not NodeKind.SCALAR or (node.style and not node.tag):
            return False
        return self.resolved(node)[0] == NULL

    def resolved(self, node: Node) -> tuple[str, Scalar]:
        try:
            return resolve(node)
        except TagMismatch as error:
            self.fault(node, error.message)
            return short_tag(node.tag), node.text

    def config(self, node: Node) -> dict[str, JsonValue] | None:
        if self.is_null(node):
            return None
        if node.kind is not NodeKind.MAPPING:
            self.fault(node, "'config' must be a map")
            return None
        found: dict[str, JsonValue] = {}
        for key, value in self.merged_pairs(node):
            if not self.is_null(key):
                found[self.scalar_text(key)] = self.value(value.resolved())
        return found

    def value(self, node: Node) -> JsonValue:
        if node.kind is NodeKind.SCALAR:
            return self.resolved(node)[1]
        if node.kind is NodeKind.SEQUENCE:
            return [self.value(child.resolved()) for child in node.children]
        found: dict[str, JsonValue] = {}
        for key, value in self.merged_pairs(node):
            tag, spelled = self.resolved(key)
            # A key that is no text has no JSON spelling: it stays what it is, and encoding refuses the config.
            name = cast(str, spelled if tag in {STR, BINARY} or not tag.startswith("!!") else (tag, key.text))
            found[name] = self.value(value.resolved())
        return found


def _is_merge(key: Node) -> bool:
    return (
        key.text == "<<"
        and key.kind is NodeKind.SCALAR
        and ((key.plain and key.tag in {"", "!"}) or short_tag(key.tag) == "!!merge")
    )


def _wrong_version(version: str) -> tuple[str, str]:
    if version in {"2", "1"}:
        return (
            f'This is a v{version} Kit descriptor; only schemaVersion "3" is understood',
            'Ask its publisher for a v3 Kit, or rewrite it for schemaVersion "3".',
        )
    if not version:
        return "schemaVersion is missing", 'Begin the descriptor with `schemaVersion: "3"`.'
    return f'schemaVersion {quote(version)} is not "3"', 'State `schemaVersion: "3"`.'


def _suggest(text: str, known: frozenset[str]) -> str:
    squeezed = text.replace("-", "").replace("_", "").lower()
    for name in sorted(known):
        if name.lower() == squeezed:
            return f"Write `{name}`: keys are case-sensitive."
    return "Fields are: " + ", ".join(sorted(known)) + "."
