"""Frozen dataclasses to JSON and back, strictly: what crosses to the supervisor or lies on disk is checked by type."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """A dataclass, enum, path, tuple, mapping or scalar as plain JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} does not go into JSON")


def from_json(shape: type[T], value: Any) -> T:
    """``value`` as a ``shape``; ``ValueError`` for a missing field, an unknown field or a wrong type."""
    return typing.cast(T, _read(shape, value, shape.__name__))


def _read(shape: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(shape)
    if origin in (types.UnionType, typing.Union):
        return _read_union(typing.get_args(shape), value, where)
    if origin is tuple:
        return tuple(_read(typing.get_args(shape)[0], item, where) for item in _expect(list, value, where))
    if origin is frozenset:
        return frozenset(_read(typing.get_args(shape)[0], item, where) for item in _expect(list, value, where))
    if origin is not None and issubclass(origin, Mapping):
        inner = typing.get_args(shape)[1]
        return {key: _read(inner, item, where) for key, item in _expect(dict, value, where).items()}
    if dataclasses.is_dataclass(shape):
        return _read_fields(shape, _expect(dict, value, where), where)
    if issubclass(shape, Enum):
        return shape(value)
    if issubclass(shape, Path):
        return shape(_expect(str, value, where))
    if shape is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _expect(shape, value, where)


def _read_union(shapes: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in shapes:
        return None
    for shape in shapes:
        if shape is not type(None):
            return _read(shape, value, where)
    raise ValueError(f"{where}: nothing fits")


def _read_fields(shape: Any, value: dict[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(shape)
    names = {f.name for f in dataclasses.fields(shape)}
    unknown = value.keys() - names
    if unknown:
        raise ValueError(f"{where}: unknown {sorted(unknown)}")
    try:
        return shape(**{name: _read(hints[name], item, f"{where}.{name}") for name, item in value.items()})
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _expect(kind: type[T], value: Any, where: str) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{where}: {type(value).__name__} where {kind.__name__} is wanted")
    return value
