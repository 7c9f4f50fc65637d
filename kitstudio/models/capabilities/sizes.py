"""Byte sizes as configs write them: ``2g``, ``1.5 GiB``; exact, never a float."""

from __future__ import annotations

import re
from fractions import Fraction

SIZE_PATTERN = r"([0-9]+(?:\.[0-9]+)?)[\t\n\f\r ]*(?:([kKmMgGtT])i?[bB]?)?"
MODE_PATTERN = "[0-7]{3,4}"
_SIZE = re.compile(SIZE_PATTERN)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_MODE = re.compile(MODE_PATTERN)
_LONGEST = 256

SIZE_RULE = "a number, optionally followed by k, m, g or t (powers of 1024)"
MODE_RULE = "three or four octal digits, quoted"


def is_size(text: str) -> bool:
    """True for a well-formed size."""
    return _SIZE.fullmatch(text) is not None


def is_mode(text: str) -> bool:
    """True for three or four octal digits."""
    return _MODE.fullmatch(text) is not None


def size_in_bytes(text: str) -> Fraction | None:
    """The exact number of bytes; None for what is no size, or for more digits than any size needs."""
    match = _SIZE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    number, suffix = match.groups()
    scale: int = 1024 ** _POWERS[(suffix or "").lower()]
    return Fraction(number) * scale


def size_key(text: str) -> str:
    """Equal for equal sizes, whatever their spelling; empty only for an unstated size."""
    size = size_in_bytes(text)
    return text and (str(size) if size is not None else f"text {text}")


def mode_key(text: str) -> str:
    """Equal for equal modes; empty only for an unstated one."""
    return text and (text.lstrip("0") or "0")
