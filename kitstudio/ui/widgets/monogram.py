"""Monograms: letters and colour of a Kit that has no picture, which is the normal case."""

from __future__ import annotations

import re

PREFIX = re.compile(r"^(sbx-kit-|sbx-|kit-)")
SUFFIX = re.compile(r"-(mixin|kit|set)$")
TINTS = 12


def monogram_letters(repository: str) -> str:
    """Two letters from the last path segment: first letters of the first two words, else of the one word."""
    segment = repository.rsplit("/", 1)[-1]
    name = SUFFIX.sub("", PREFIX.sub("", segment, count=1), count=1) or segment
    words = [word for word in re.split(r"[-_.]+", name) if word]
    letters = words[0][0] + words[1][0] if len(words) > 1 else name[:2]
    return letters.upper()


def monogram_tint(repository: str) -> int:
    """Index of the tint: FNV-1a (32 bit) over the UTF-8 of ``registry/repository``, modulo 12."""
    value = 0x811C9DC5
    for byte in repository.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value % TINTS


def repository_of(reference: str) -> str:
    """``registry/repository`` of a reference as spelled: what a monogram is made from."""
    name = reference.partition("@")[0]
    head, slash, tail = name.rpartition("/")
    return f"{head}{slash}{tail.partition(':')[0]}"
