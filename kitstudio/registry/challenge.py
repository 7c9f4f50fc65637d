"""``WWW-Authenticate`` as registries send it: which scheme, and where a token is fetched."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_HEADER = 8192

_SCHEME = re.compile(r"(?:^|,)\s*([A-Za-z][A-Za-z0-9-]*)(?=\s+[A-Za-z_]+\s*=|\s*(?:,|$))")
_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


@dataclass(frozen=True, slots=True)
class Challenge:
    """What one scheme asks for. ``scheme`` is lower case."""

    scheme: str
    realm: str = ""
    service: str = ""
    scope: str = ""


def parse_challenges(header: str) -> tuple[Challenge, ...]:
    """Every challenge of a header, in order; what cannot be read is passed over."""
    header = header[:MAX_HEADER]
    masked = re.sub(r'"(?:[^"\\]|\\.)*"', lambda quoted: '"' + "_" * (len(quoted[0]) - 2) + '"', header)
    starts = [(match.start(1), match[1].lower()) for match in _SCHEME.finditer(masked)]
    found = []
    ends = [*(start for start, _ in starts[1:]), len(header)]
    for (start, scheme), end in zip(starts, ends, strict=False):
        stated = {m[1].lower(): _unquoted(m) for m in _PARAMETER.finditer(header[start + len(scheme) : end])}
        found.append(Challenge(scheme, stated.get("realm", ""), stated.get("service", ""), stated.get("scope", "")))
    return tuple(found)


def _unquoted(match: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else match[3]
