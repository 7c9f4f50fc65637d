"""Writing YAML a person would write: scalars quoted where a reader could take them for something else."""

from __future__ import annotations

import json
import re
from typing import Final

from kitstudio.models.descriptor import JsonValue
from kitstudio.models.errors import DescriptorError
from kitstudio.models.scalars import STR, resolve_plain

_PLAIN: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9._/@+-]|:(?=[A-Za-z0-9])| (?=[A-Za-z0-9]))*")
_OTHER_READERS: Final = frozenset(["y", "yes", "n", "no", "on", "off", "true", "false", "null"])
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def scalar(text: str, *, flow: bool = False) -> str:
    """A text as one YAML scalar on one line: plain where nothing could misread it, else in double quotes."""
    if not flow and _PLAIN.fullmatch(text) and text.lower() not in _OTHER_READERS and resolve_plain(text)[0] == STR:
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """A text in double quotes, valid in YAML and in JSON."""
    if _SURROGATE.search(text):
        raise DescriptorError("The text holds half of a character and cannot be written.")
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def block(value: JsonValue, indent: int, newline: str) -> str:
    """A value in block style: what follows a key's colon, or a dash when it is text or a number."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines = (f"{pad}{scalar(key)}:{block(item, indent + 2, newline)}" for key, item in value.items())
        return newline + newline.join(lines)
    if isinstance(value, list) and value:
        return newline + newline.join(f"{pad}-{_item(item, indent + 2, newline)}" for item in value)
    return " " + (scalar(value) if isinstance(value, str) else json.dumps(value))


def flow(value: JsonValue) -> str:
    """A value in flow style, which is JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return json.dumps(value)


def _item(value: JsonValue, indent: int, newline: str) -> str:
    if isinstance(value, dict) and value:
        return " " + block(value, indent, newline).removeprefix(newline).lstrip(" ")
    if isinstance(value, list) and value:
        return " " + flow(value)
    return block(value, indent, newline)
