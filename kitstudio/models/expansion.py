"""Expansion of args (§6): structural, into the decoded document, never into bytes.

The build phase works on the tree as authored, so untouched scalars keep their spelling; the create phase works on
the decoded plain document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from kitstudio.models.canonical import encode_value, plain_value, readable
from kitstudio.models.decode import decode_tree, tree_value
from kitstudio.models.descriptor import Descriptor, JsonValue
from kitstudio.models.document import Alias, Collection, Document, Node, NodeKind
from kitstudio.models.errors import DescriptorError
from kitstudio.models.quote import quote
from kitstudio.models.references import ARG_REFERENCE, ENV_OPENER, ENV_REFERENCE, whole_reference
from kitstudio.models.tree import MAX_TEXT, parse_tree, refuse_duplicate_keys

VOLUME = "com.docker.sandbox/volume@1"
_KEPT_AS_TEXT = frozenset({"size", "mode"})
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_LONGEST_NUMBER = 400


def expand_build(document: Document, values: Mapping[str, str]) -> Descriptor:
    """The descriptor with every reference to a build-phase arg replaced. ``values``: resolved values by name."""
    owned = {name for name, arg in document.descriptor.args.items() if arg.is_build}
    root = _Build(_Phase("build", values, owned.__contains__)).node(document.root)
    return _decoded(lambda: decode_tree(root, document.name), document.name)


def expand_create(source: Document | Descriptor, values: Mapping[str, str]) -> Descriptor:
    """The descriptor with every reference to a create-phase arg replaced. ``values``: resolved values by name."""
    if isinstance(source, Document):
        descriptor, name, plain = source.descriptor, source.name, tree_value(source.root)
    else:
        descriptor, name, plain = source, "", plain_value(source)
    build = {arg_name for arg_name, arg in descriptor.args.items() if arg.is_build}
    phase = _Phase("create", values, lambda arg_name: arg_name not in build)
    text = readable(encode_value(_Create(phase).value(plain)))
    return _decoded(lambda: decode_tree(parse_tree(text, name), name), name)


def _decoded(decode: Callable[[], Descriptor], name: str) -> Descriptor:
    try:
        return decode()
    except DescriptorError:
        # The cause may repeat a value, and a value may be a secret: neither text nor chain goes on.
        pass
    raise DescriptorError(
        "The descriptor does not decode once args are filled in.",
        where=name,
        remedy="A value does not fit where it is used: a number or true where only text can stand, for example.",
    )


def adopt_type(text: str) -> str | int | float | bool:
    """The type a whole value's spelling names (§6): only what survives a round trip converts."""
    if text in {"true", "false"}:
        return text == "true"
    if len(text) > _LONGEST_NUMBER or not _DECIMAL.fullmatch(text):
        return text
    if _INTEGER.fullmatch(text) and text != "-0" and -(2**63) <= int(text) < 2**63:
        return int(text)
    number = float(text)
    return number if _plain_spelling(number) == text else text


class _Phase:
    """One expansion: which names it owns, and their values."""

    def __init__(self, label: str, values: Mapping[str, str], owns: Callable[[str], bool]) -> None:
        self.label = label
        self.values = values
        self.owns = owns
        self.left = MAX_TEXT
        """Characters that may still be filled in: few references to one long value make a document of any size."""

    def value(self, name: str) -> str:
        value = self.values.get(name)
        if value is None:
            raise DescriptorError(
                f"The {self.label}-phase arg {quote(name)} is referred to and has no value.",
                where=name,
                remedy="Supply a value, or give the arg a default.",
            )
        self.left -= len(value)
        if self.left < 0:
            raise DescriptorError(
                f"The descriptor is larger than {MAX_TEXT // 1024 // 1024} MiB once args are filled in.",
                where=name,
                remedy="Supply a shorter value.",
            )
        return value

    def substitute(self, text: str) -> str:
        """The text with owned references replaced, in one pass."""
        if "${{" not in text:
            return text
        return ARG_REFERENCE.sub(lambda found: self.value(found[1]) if self.owns(found[1]) else found[0], text)

    def substitute_guarded(self, text: str) -> str:
        """The same, refusing a value that makes or completes an environment reference (§6.1)."""
        if "${{" not in text:
            return text
        parts: list[str] = []
        literal: list[tuple[int, int]] = []
        length = start = 0
        for found in ARG_REFERENCE.finditer(text):
            if not self.owns(found[1]):
                continue
            value = self.value(found[1])
            before = text[start : found.start()]
            literal.append((length, length + len(before)))
            parts += (before, value)
            length += len(before) + len(value)
            start = found.end()
        if not start:
            return text
        parts.append(text[start:])
        literal.append((length, length + len(text) - start))
        result = "".join(parts)
        for opener in ENV_OPENER.finditer(result):
            whole = ENV_REFERENCE.match(result, opener.start())
            if whole is None or not any(a <= whole.start() and whole.end() <= b for a, b in literal):
                raise DescriptorError(
                    "A value of an arg must not make a reference to the environment.",
                    remedy="Choose a value without `${{ kit.env`.",
                )
        return result

    def typed(self, text: str) -> str | int | float | bool | None:
        """The typed value when the text is nothing but one owned reference, else None."""
        name = whole_reference(text) if text.startswith("${{") else ""
        return adopt_type(self.value(name)) if name and self.owns(name) else None


class _Create:
    """Expansion of a plain document."""

    def __init__(self, phase: _Phase) -> None:
        self.phase = phase

    def value(self, value: JsonValue, *, typed: bool = True) -> JsonValue:
        if isinstance(value, str):
            expanded = self.phase.substitute_guarded(value)
            adopted = self.phase.typed(value) if typed else None
            return expanded if adopted is None else adopted
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return self.mapping(value)
        return value

    def mapping(self, value: dict[str, JsonValue]) -> JsonValue:
        is_volume = value.get("type") == VOLUME
        found: dict[str, JsonValue] = {}
        for key, item in value.items():
            name = self.phase.substitute_guarded(key) if isinstance(key, str) else key
            if name in found:
                raise DescriptorError("Two keys become one when args are filled in.")
            if is_volume and key == "config" and isinstance(item, dict):
                found[name] = self.volume_config(item)
            else:
                found[name] = self.value(item)
        return found

    def volume_config(self, config: dict[str, JsonValue]) -> JsonValue:
        found: dict[str, JsonValue] = {}
        for key, item in config.items():
            name = self.phase.substitute_guarded(key) if isinstance(key, str) else key
            if name in found:
                raise DescriptorError("Two keys become one when args are filled in.")
            found[name] = self.value(item, typed=name not in _KEPT_AS_TEXT)
        return found


class _Build:
    """Expansion of a tree; every node is copied once, so aliases keep sharing."""

    def __init__(self, phase: _Phase) -> None:
        self.phase = phase
        self.copies: dict[tuple[int, bool, bool], Node] = {}

    def node(self, node: Node, *, typed: bool = True, volume: bool = False) -> Node:
        known = self.copies.get((id(node), typed, volume))
        if known is not None:
            return known
        if node.kind is NodeKind.SCALAR:
            copy = self.scalar(node, typed)
        elif node.kind is NodeKind.ALIAS:
            target = self.node(node.resolved(), typed=typed, volume=volume)
            copy = Alias(node.start_mark, node.end_mark or node.start_mark, node.text, target)
        elif node.kind is NodeKind.SEQUENCE:
            copy = _with(node, [self.node(child) for child in node.children])
        else:
            copy = self.mapping(node, volume)
        self.copies[(id(node), typed, volume)] = copy
        return copy

    def mapping(self, node: Node, volume: bool) -> Node:
        is_volume = _literal_type(node) == VOLUME
        children: list[Node] = []
        for key, value in node.pairs():
            new_key = self.key(key)
            kept = volume and new_key.resolved().text in _KEPT_AS_TEXT
            into = (is_volume and new_key.resolved().text == "config") or (volume and _merges(key))
            children += (new_key, self.node(value, typed=not kept, volume=into))
        copy = _with(node, children)
        refuse_duplicate_keys(copy, "")
        return copy

    def key(self, key: Node) -> Node:
        resolved = key.resolved()
        text = self.phase.substitute(resolved.text)
        if text == resolved.text:
            return key
        return _text(resolved, text)

    def scalar(self, node: Node, typed: bool) -> Node:
        text = self.phase.substitute(node.text)
        if text == node.text:
            return node
        adopted = self.phase.typed(node.text) if typed else None
        return _text(node, text, style="" if adopted is not None and not isinstance(adopted, str) else '"')


def _text(node: Node, text: str, style: str = '"') -> Node:
    return Node(NodeKind.SCALAR, node.start_mark, node.end_mark, "", text, style)


def _with(node: Node, children: list[Node]) -> Collection:
    copy = Collection(node.kind, node.start_mark, node.tag, children, flow=node.flow)
    copy.end_mark = node.end_mark
    return copy


def _merges(key: Node) -> bool:
    return key.plain and key.text == "<<"


def _literal_type(mapping: Node) -> str:
    own = mapping.get("type")
    if own is not None:
        return own.resolved().text
    for key, value in mapping.pairs():
        if _merges(key):
            target = value.resolved()
            parts = target.children if target.kind is NodeKind.SEQUENCE else [target]
            for part in parts:
                if part.resolved().kind is NodeKind.MAPPING:
                    found = _literal_type(part.resolved())
                    if found:
                        return found
    return ""


def _plain_spelling(number: float) -> str:
    spelled = format(Decimal(repr(number)), "f")
    return spelled.removesuffix(".0")
