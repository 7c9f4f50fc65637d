"""What a plain scalar means inside ``config`` (§1.2): a YAML 1.2 leaning core, unlike a stock YAML 1.1 loader."""

from __future__ import annotations

import base64
import binascii
import calendar
import re
from dataclasses import dataclass
from typing import TypeAlias

from kitstudio.models.document import Node
from kitstudio.models.quote import quote

NULLS = frozenset(["", "~", "null", "Null", "NULL"])
"""What an unquoted scalar that means nothing looks like."""
_SPECIAL: dict[str, bool | float | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(NULLS, None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INT = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:([Tt ])([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_DIGITS = frozenset("0123456789+-.")
_LONGEST_NUMBER = 400

STR, BOOL, INT, FLOAT, NULL, TIMESTAMP, BINARY, MERGE = (
    "!!str",
    "!!bool",
    "!!int",
    "!!float",
    "!!null",
    "!!timestamp",
    "!!binary",
    "!!merge",
)
_CORE_TAGS = frozenset({STR, BOOL, INT, FLOAT, NULL, TIMESTAMP})
_YAML_PREFIX = "tag:yaml.org,2002:"

Scalar: TypeAlias = str | bool | int | float | None


@dataclass(frozen=True, slots=True)
class TagMismatch(Exception):
    """A scalar that is not what its explicit tag says."""

    message: str


def short_tag(tag: str) -> str:
    """``tag:yaml.org,2002:str`` → ``!!str``; other tags as they are."""
    return "!!" + tag[len(_YAML_PREFIX) :] if tag.startswith(_YAML_PREFIX) else tag


def resolve(node: Node) -> tuple[str, Scalar]:
    """The short tag and value of a scalar. A timestamp's value is its RFC 3339 text. Raises TagMismatch."""
    text = node.text
    tag = short_tag(node.tag) if node.tag else ""
    if tag in {"", "!"}:
        if node.style:
            return STR, text
        if text == "<<":
            return MERGE, text
        return resolve_plain(text)
    if tag == STR:
        return STR, text
    if tag == BINARY:
        return BINARY, _decode_binary(text)
    if tag not in _CORE_TAGS:
        return tag, text
    found, value = resolve_plain(text)
    if found == tag:
        return found, value
    if tag == FLOAT and found == INT and isinstance(value, int):
        return FLOAT, float(value)
    raise TagMismatch(f"{quote(text)} is not a value of the tag {tag}")


def resolve_plain(text: str) -> tuple[str, Scalar]:
    """Tag and value of unquoted text."""
    if text in _SPECIAL:
        special = _SPECIAL[text]
        if special is None:
            return NULL, None
        return (BOOL if isinstance(special, bool) else FLOAT), special
    if text[0] not in _DIGITS:
        return STR, text
    if text[0] == ".":
        return _float_or_text(text, text)
    stamp = timestamp(text)
    if stamp is not None:
        return TIMESTAMP, stamp
    plain = text.replace("_", "")
    if len(plain) <= _LONGEST_NUMBER:
        number = _integer(plain)
        if number is not None:
            return INT, number
    return _float_or_text(plain, text)


def timestamp(text: str) -> str | None:
    """RFC 3339 text of a date or time, None when ``text`` is neither."""
    if len(text) < 8 or text[4:5] != "-":
        return None
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return None
    head = f"{year:04}-{month:02}-{day:02}"
    if match[4] is None:
        return f"{head}T00:00:00Z"
    zone = match[9]
    if (match[4] == " ") == (zone is not None):
        return None
    hour, minute, second = int(match[5]), int(match[6]), int(match[7])
    if hour > 23 or minute > 59 or second > 59:
        return None
    if zone not in {None, "Z"} and (int(zone[1:3]) > 23 or int(zone[4:]) > 59):
        return None
    fraction = (match[8] or "")[:9].rstrip("0")
    zone = "Z" if zone in {None, "+00:00", "-00:00"} else zone
    return f"{head}T{hour:02}:{minute:02}:{second:02}{'.' + fraction if fraction else ''}{zone}"


def _days_in(year: int, month: int) -> int:
    return 29 if month == 2 and calendar.isleap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _integer(text: str) -> int | None:
    match = _INT.fullmatch(text)
    if match is None:
        return None
    digits = match[2]
    base = {"x": 16, "b": 2, "o": 8}.get(digits[1:2].lower(), 10)
    if base == 10 and len(digits) > 1 and digits[0] == "0":
        base = 8
    number = int(digits[2:] if digits[1:2].isalpha() else digits, base)
    if match[1] == "-":
        return -number if number <= 2**63 else None
    if number < 2**63 or (number < 2**64 and not match[1]):
        return number
    return None


def _float_or_text(plain: str, text: str) -> tuple[str, Scalar]:
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        if number not in (float("inf"), float("-inf")):
            return FLOAT, number
    return STR, text


def _decode_binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise TagMismatch("the !!binary value is not base64 of UTF-8 text") from error
