"""Typed reading of a capability's config (§7): one place for what "a text", "a list" or "a whole number" accepts.

A type module reads its config through a ``Reader``: each field is asked for once, then ``close`` refuses what is
left over. Any fault is a ``ShapeError``; validation reports it at ``….config`` and skips that entry's value rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from kitstudio.models.descriptor import JsonValue
from kitstudio.models.references import holds_arg, holds_env

_INT64 = 2**63


class ShapeError(Exception):
    """A config that does not have its type's shape; the text says which field and what was expected."""


def holds_reference(text: str) -> bool:
    """True when a text holds an arg reference or the opener of an environment reference (§6, §6.1)."""
    return holds_arg(text) or holds_env(text)


def is_parameterised(value: JsonValue) -> bool:
    """True when a config value holds an arg reference (keys included) or an environment opener (values only)."""
    return holds_arg(value) or holds_env(value)


def is_encodable(value: JsonValue) -> bool:
    """False for what JSON cannot spell: infinities, not-a-number, and mapping keys that are not text."""
    if isinstance(value, float):
        return math.isfinite(value)
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        inside: Iterable[object] = ()
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    return False
            inside = item.values()
        elif isinstance(item, list):
            inside = item
        for below in inside:
            kind = type(below)
            if kind is dict or kind is list:
                waiting.append(below)
            elif kind is float and not math.isfinite(cast(float, below)):
                return False
    return True


class Reader:
    """One mapping of a config being read, its keys all text. ``where`` names it in messages."""

    __slots__ = ("_left", "where")

    def __init__(self, value: Mapping[str, JsonValue] | None, where: str = "config") -> None:
        self._left: dict[str, JsonValue] = dict(value or {})
        self.where = where

    def has(self, name: str) -> bool:
        """True when the field is stated, null included. Ask before reading it."""
        return self._key(name) is not None

    def is_null(self, name: str) -> bool:
        """True when the field is stated and null. Ask before reading it."""
        key = self._key(name)
        return key is not None and self._left[key] is None

    def copy(self) -> dict[str, JsonValue]:
        """What has not been read yet, as it stands."""
        return dict(self._left)

    def text(self, name: str) -> str:
        value = self._take(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._fault(name, "text", value)
        return value

    def boolean(self, name: str) -> bool:
        value = self._take(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self._fault(name, "true or false", value)
        return value

    def integer(self, name: str) -> int:
        value = self._take(name)
        if value is None:
            return 0
        if isinstance(value, float) and value.is_integer() and abs(value) < _INT64:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not -_INT64 <= value < _INT64:
            raise self._fault(name, "a whole number", value)
        return value

    def number(self, name: str) -> float | None:
        """A number, or None when absent or null."""
        value = self._take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._fault(name, "a number", value)
        return float(value)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts, None when absent or null; a null inside reads as an empty text."""
        value = self._take(name)
        return None if value is None else self._texts(name, value)

    def text_or_texts(self, name: str) -> str | tuple[str, ...] | None:
        """A field that takes one text or a list of them."""
        value = self._take(name)
        if value is None or isinstance(value, str):
            return value
        return self._texts(name, value)

    def mapping(self, name: str) -> dict[str, JsonValue] | None:
        """A free mapping, None when absent or null."""
        value = self._take(name)
        if value is not None and not isinstance(value, dict):
            raise self._fault(name, "a mapping", value)
        return value

    def object(self, name: str) -> Reader | None:
        """A nested fixed-shape mapping, None when absent or null."""
        value = self.mapping(name)
        return None if value is None else Reader(value, f"{self.where}.{name}")

    def objects(self, name: str) -> tuple[Reader, ...] | None:
        """A list of fixed-shape mappings; a null inside reads as an empty one."""
        value = self.items(name)
        if value is None:
            return None
        found = []
        for index, item in enumerate(value):
            place = f"{self.where}.{name}[{index}]"
            if item is not None and not isinstance(item, dict):
                raise ShapeError(f"{place} must be a mapping, not {_spoken(item)}")
            found.append(Reader(item, place))
        return tuple(found)

    def texts_or_objects(self, name: str, wanted: str) -> tuple[str | Reader, ...] | None:
        """A list of texts and fixed-shape mappings; a null inside reads as an empty text."""
        value = self.items(name)
        if value is None:
            return None
        found: list[str | Reader] = []
        for index, item in enumerate(value):
            place = f"{self.where}.{name}[{index}]"
            if item is None or isinstance(item, str):
                found.append(item or "")
            elif isinstance(item, dict):
                found.append(Reader(item, place))
            else:
                raise ShapeError(f"{place} must be {wanted}")
        return tuple(found)

    def items(self, name: str) -> Sequence[JsonValue] | None:
        """A list of anything, None when absent or null."""
        value = self._take(name)
        if value is not None and not isinstance(value, list):
            raise self._fault(name, "a list", value)
        return value

    def close(self) -> None:
        """Refuse what nobody asked for: a misspelled key silently ignored is a policy silently absent (§1.2)."""
        if self._left:
            names = ", ".join(repr(str(k)) for k in sorted(self._left, key=str))
            raise ShapeError(f"{self.where} has no field {names}")

    def _key(self, name: str) -> str | None:
        if name in self._left:
            return name
        for key in self._left:
            if isinstance(key, str) and len(key) == len(name) and _folded(key) == _folded(name):
                return key
        return None

    def _take(self, name: str) -> JsonValue:
        left = self._left
        if not left:
            return None
        stated = name in left
        value = left.pop(name, None)
        size = len(name)
        alike: list[str] = []
        for key in left:
            if len(key) == size and _folded(key) == _folded(name):
                alike.append(key)
        # Spellings that differ in case are one field; the last one in byte order, the exact one, stands.
        for key in alike:
            other = left.pop(key)
            if not stated:
                value, stated = other, True
        return value

    def _texts(self, name: str, value: JsonValue) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self._fault(name, "a list of texts", value)
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, str):
                raise ShapeError(f"{self.where}.{name}[{index}] must be text, not {_spoken(item)}")
        return tuple(cast(str, item) if item is not None else "" for item in value)

    def _fault(self, name: str, wanted: str, value: JsonValue) -> ShapeError:
        return ShapeError(f"{self.where}.{name} must be {wanted}, not {_spoken(value)}")


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return "".join(c.casefold() if len(c.casefold()) == 1 else c for c in text)


def _spoken(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"
