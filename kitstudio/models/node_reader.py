"""Reading the nodes of a tree as values (§1.2): typing, nulls, merge keys, unknown keys. Faults are gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias, TypeVar, cast

from kitstudio.models.descriptor import JsonValue
from kitstudio.models.document import Node, NodeKind
from kitstudio.models.quote import quote
from kitstudio.models.scalars import BINARY, BOOL, NULL, NULLS, STR, Scalar, TagMismatch, resolve, short_tag

T = TypeVar("T")
Fields: TypeAlias = "dict[str, Node]"
"""The values of a mapping by key, aliases followed."""

_TRUE: Final = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE: Final = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})
_DEEPEST_MERGE: Final = 100


class NodeReader:
    """One pass over a tree. Faults are kept with their node: what is wrong, and what would repair it."""

    __slots__ = ("faults",)

    def __init__(self) -> None:
        self.faults: list[tuple[Node, str, str]] = []

    def fault(self, node: Node, what: str, remedy: str = "") -> None:
        """Keep a fault; reading goes on."""
        self.faults.append((node, what, remedy))

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
            if text in known and not key.style:
                found[text] = value.resolved()
            elif not self.is_null(key):
                text = self.scalar_text(key)
                if text in known:
                    found[text] = value.resolved()
                else:
                    self.fault(key, f"{quote(text)} is not a field of {owner}", _suggest(text, known))
        return found

    def merged_pairs(self, mapping: Node) -> Iterable[tuple[Node, Node]]:
        """Keys and values with merge keys followed; own keys beat merged ones, earlier merges later ones."""
        if mapping.merges:
            return self._merged(mapping, 0)
        walk = iter(mapping.children)
        return [(key if key.target is None else key.target, value) for key, value in zip(walk, walk, strict=True)]

    def _merged(self, mapping: Node, depth: int) -> Iterator[tuple[Node, Node]]:
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
                for name, merged in self._merged(target, depth + 1):
                    if name.text not in seen:
                        seen.add(name.text)
                        yield name, merged

    def list_of(self, node: Node, key: str, read: Callable[[Node], T]) -> tuple[T, ...]:
        """The items of a list; null items are dropped."""
        if node.kind is NodeKind.SEQUENCE:
            items = [child if child.target is None else child.target for child in node.children]
            return tuple([read(item) for item in items if not self.is_null(item)])
        if not self.is_null(node):
            self.fault(node, f"{key!r} must be a list")
        return ()

    def map_of(self, node: Node, key: str, read: Callable[[Node], T]) -> dict[str, T]:
        """A map with free keys; a null key is dropped."""
        if node.kind is NodeKind.MAPPING:
            pairs = list(self.merged_pairs(node))
            return {self.scalar_text(name): read(value.resolved()) for name, value in pairs if not self.is_null(name)}
        if not self.is_null(node):
            self.fault(node, f"{key!r} must be a map")
        return {}

    def scalar_text(self, node: Node, key: str = "") -> str:
        """A scalar as spelled, whatever its type; null is the empty text."""
        if node.kind is not NodeKind.SCALAR:
            self.fault(node, f"{key!r} must be text" if key else "text is expected here")
            return ""
        if not node.tag:
            return "" if not node.style and node.text in NULLS else node.text
        tag, value = self.resolved(node)
        if tag == NULL:
            return ""
        return cast(str, value) if tag == BINARY else node.text

    def strict_text(self, node: Node, key: str) -> str:
        """A field that must resolve to text: a number, boolean, date or null is a fault."""
        if node.kind is NodeKind.SCALAR and self.resolved(node)[0] == STR:
            return node.text
        self.fault(node, f"{key!r} must be text", "Put it in quotes.")
        return ""

    def boolean(self, node: Node, key: str) -> bool:
        """True or false, also as YAML 1.1 spells them; null is false."""
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
        """True or false and nothing else."""
        if node.kind is NodeKind.SCALAR:
            tag, value = self.resolved(node)
            if tag == BOOL:
                return bool(value)
        self.fault(node, "'optional' of a group must be true or false")
        return False

    def is_null(self, node: Node) -> bool:
        """True for a null scalar."""
        if node.kind is not NodeKind.SCALAR:
            return False
        if not node.tag:
            return not node.style and node.text in NULLS
        return self.resolved(node)[0] == NULL

    def resolved(self, node: Node) -> tuple[str, Scalar]:
        """A scalar's tag and value."""
        try:
            return resolve(node)
        except TagMismatch as error:
            self.fault(node, error.message)
            return short_tag(node.tag), node.text

    def config(self, node: Node) -> dict[str, JsonValue] | None:
        """A ``config`` payload; None when null."""
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
        """A node as a plain value."""
        if node.kind is NodeKind.SCALAR:
            return node.text if node.style and not node.tag else self.resolved(node)[1]
        if node.kind is NodeKind.SEQUENCE:
            return [self.value(child if child.target is None else child.target) for child in node.children]
        found: dict[str, JsonValue] = {}
        for key, value in self.merged_pairs(node):
            if key.style and not key.tag:
                found[key.text] = self.value(value.resolved())
                continue
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


def _suggest(text: str, known: frozenset[str]) -> str:
    squeezed = text.replace("-", "").replace("_", "").lower()
    for name in sorted(known):
        if name.lower() == squeezed:
            return f"Write `{name}`: keys are case-sensitive."
    return "Fields are: " + ", ".join(sorted(known)) + "."
