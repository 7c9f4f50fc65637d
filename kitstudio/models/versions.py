"""Versions (§5.2): their shape, their order, and the version a tag or a reference states.

The order is not transitive over mixed segments (1.2 < 1.10 < 1.1a < 1.2): compare pairs, never sort blindly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl

_VERSION = re.compile(r"[0-9]+(?:\.[0-9A-Za-z-]+)*")
_DIGITS = re.compile(r"[0-9]+")


_WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def trim(text: str) -> str:
    """The text without Unicode white space at both ends."""
    return text.strip(_WHITE_SPACE)


def is_version(text: str) -> bool:
    """True for a version without surrounding blanks."""
    return _VERSION.fullmatch(text) is not None


def compare(a: str, b: str) -> int:
    """-1, 0 or 1. Segment by segment; a missing segment is the empty text."""
    left, right = a.split("."), b.split(".")
    for index in range(max(len(left), len(right))):
        order = _compare_segments(left[index] if index < len(left) else "", right[index] if index < len(right) else "")
        if order:
            return order
    return 0


def tag_version(tag: str) -> str:
    """The version an image tag or git ref states, empty if none: one leading ``v`` may stand before it."""
    stripped = tag.removeprefix("v")
    return stripped if is_version(stripped) else ""


def reference_version(reference: str) -> str:
    """The version a consumption reference states, empty if none (§4)."""
    if reference.startswith("git+"):
        fragment = reference.partition("#")[2]
        values = [value for key, value in parse_qsl(fragment, keep_blank_values=True) if key == "ref"]
        return tag_version(values[0]) if values else ""
    name = reference.partition("@")[0]
    last = name.rfind("/")
    colon = name.rfind(":")
    return tag_version(name[colon + 1 :]) if colon > last else ""


def latest(tags: Iterable[str]) -> str:
    """The tag with the highest version, as spelled; the first one on ties; empty when no tag states one."""
    best, best_version = "", ""
    for tag in tags:
        version = tag_version(tag)
        if version and (not best or compare(version, best_version) > 0):
            best, best_version = tag, version
    return best


def strip_zeros(version: str) -> str:
    """The version with leading zeros of its all-digit segments removed."""
    return ".".join(part.lstrip("0") or "0" if _DIGITS.fullmatch(part) else part for part in version.split("."))


def _compare_segments(a: str, b: str) -> int:
    if _DIGITS.fullmatch(a) and _DIGITS.fullmatch(b):
        # Compared as text after padding: segments may be longer than what int() converts.
        a, b = a.lstrip("0"), b.lstrip("0")
        if len(a) != len(b):
            return -1 if len(a) < len(b) else 1
    if a == b:
        return 0
    return -1 if a.encode("utf-8", "surrogatepass") < b.encode("utf-8", "surrogatepass") else 1
