"""Writing flat dotted keys as TOML tables; the standard library only reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dump(values: Mapping[str, object]) -> str:
    """TOML text of dotted keys: one table for each prefix, sorted, read back equal by ``tomllib``."""
    tables: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, {})[name] = value
    parts = []
    for table in sorted(tables):
        lines = [f"[{'.'.join(_key(part) for part in table.split('.'))}]"] if table else []
        lines += [f"{_key(name)} = {_value(value)}" for name, value in sorted(tables[table].items())]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, str):
        # TOML's basic strings take JSON's escapes; DEL alone must be escaped there and is not here.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(str(k))} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return str(value)
