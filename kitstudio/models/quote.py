"""Text of others inside our own sentences: cut to a length that can be read, nothing in it that acts."""

from __future__ import annotations


def quote(text: str, limit: int = 80) -> str:
    """The text in quotes, control and direction characters escaped, cut at ``limit`` characters."""
    return repr(text if len(text) <= limit else f"{text[:limit]}…")
