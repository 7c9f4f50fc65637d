"""Lexical paths inside a sandbox: cleaning and the two rules configs hold paths to."""

from __future__ import annotations


def clean(path: str) -> str:
    """The shortest equal path, lexically: slashes collapsed, ``.`` and ``..`` resolved, no trailing slash."""
    rooted = path.startswith("/")
    kept: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept.append(part)
        elif kept and kept[-1] != "..":
            kept.pop()
        elif not rooted:
            kept.append(part)
    joined = "/".join(kept)
    return f"/{joined}" if rooted else joined or "."


def is_canonical(path: str) -> bool:
    """True for an absolute path that equals its own cleaned form."""
    return path.startswith("/") and clean(path) == path


def joined(directory: str, name: str) -> str:
    """``directory`` and ``name`` as one cleaned path."""
    return clean(f"{directory}/{name}")
