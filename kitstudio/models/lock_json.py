"""Reading a lock's JSON strictly: every field is asked for once, and what is left over is refused."""

from __future__ import annotations

import json
from typing import Any

from kitstudio.models import surface as surfaces
from kitstudio.models.errors import DescriptorError
from kitstudio.models.surface import Surface

LONGEST = 8 * 1024 * 1024


class LockReader:
    """One object of a lock being read."""

    __slots__ = ("_left", "_where")

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _fault(where, "is not an object")
        self._left: dict[str, Any] = dict(value)
        self._where = where

    @classmethod
    def parse(cls, text: str, form: str, version: int) -> LockReader:
        """The root of a lock of this form and version. Raises ``DescriptorError``."""
        if len(text) > LONGEST:
            raise _fault("", "is too large")
        try:
            document = json.loads(text, object_pairs_hook=_once)
            if "\\u" in text:
                # A lone surrogate is no character: nothing could write it down again.
                json.dumps(document, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise _fault("", f"is not JSON: {error}") from error
        reader = cls(document, "")
        if reader._take("format") != form:
            raise _fault("format", f"is not {form!r}")
        if reader._take("version") != version:
            raise _fault("version", f"is not {version}; a newer app may have written it")
        return reader

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            raise _fault(self._at(name), "is not a text")
        return value

    def objects(self, name: str) -> list[LockReader]:
        value = self._take(name)
        if not isinstance(value, list):
            raise _fault(self._at(name), "is not a list")
        return [LockReader(item, f"{self._at(name)}[{index}]") for index, item in enumerate(value)]

    def texts(self, name: str) -> dict[str, str]:
        found = self._mapping(name)
        for key, value in found.items():
            if not isinstance(value, str):
                raise _fault(f"{self._at(name)}.{key}", "is not a text")
        return found

    def booleans(self, name: str) -> dict[str, bool]:
        found = self._mapping(name)
        for key, value in found.items():
            if not isinstance(value, bool):
                raise _fault(f"{self._at(name)}.{key}", "is neither true nor false")
        return found

    def args(self, name: str) -> dict[str, str | None]:
        """Values by name; a secret one is None."""
        found: dict[str, str | None] = {}
        for key, value in self._mapping(name).items():
            if value == {"secret": True}:
                found[key] = None
            elif isinstance(value, str):
                found[key] = value
            else:
                raise _fault(f"{self._at(name)}.{key}", "is neither a text nor a secret")
        return found

    def surface(self, name: str) -> Surface:
        value = self._mapping(name)
        unknown = sorted(value.keys() - set(surfaces.SURFACE_FIELDS.values()))
        if unknown:
            raise _fault(f"{self._at(name)}.{unknown[0]}", "is not a field of a surface")
        return surfaces.from_json(value)

    def fault(self, what: str) -> DescriptorError:
        """That this object is not what a lock holds there."""
        return _fault(self._where, what)

    def close(self) -> None:
        """Refuse what nobody asked for."""
        if self._left:
            raise _fault(self._at(sorted(self._left)[0]), "is not a field of a lock")

    def _mapping(self, name: str) -> dict[str, Any]:
        value = self._take(name)
        if not isinstance(value, dict):
            raise _fault(self._at(name), "is not an object")
        return value

    def _take(self, name: str) -> Any:
        if name not in self._left:
            raise _fault(self._at(name), "is missing")
        return self._left.pop(name)

    def _at(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is stated twice")
    return found


def _fault(where: str, what: str) -> DescriptorError:
    subject = f"{where} " if where else "The file "
    return DescriptorError(f"This is not a lock: {subject.strip()} {what}.", where=where)
