"""Which HTTP requests a bounded entry of network-policy@2 is about: methods and paths. Pure.

One request may be read as several paths by different servers (encoded, doubled or dotted segments). An allow entry
admits it only if it admits every reading; a deny entry refuses it if it names any.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import unquote

ANY = "ANY"
EVERY_PATH = "/**"


@dataclass(frozen=True, slots=True)
class Bound:
    """Methods (or ``ANY`` alone) and paths: exact ones, or everything below one that ends in ``/**``.

    In deny entries ``*`` also stands for anything within a segment and ``**`` for anything; elsewhere in an allow
    entry a star is a star, so that an entry never admits more than the grammar's own rule of coverage.
    """

    methods: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def text(self) -> str:
        """As a person reads it."""
        return f"{' '.join(self.methods)} {' '.join(self.paths)}"

    def admits(self, method: str, target: str) -> bool:
        """Whether an allow entry with this bound admits the request (duties 2 and 3)."""
        if self.methods != (ANY,) and method not in self.methods:
            return False
        return all(any(_below(pattern, path) for pattern in self.paths) for path in readings(target))

    def denies(self, method: str, target: str) -> bool:
        """Whether a deny entry with this bound refuses the request."""
        if self.methods != (ANY,) and method not in self.methods:
            return False
        return any(
            _below(pattern, path) or _glob(pattern).fullmatch(path) is not None
            for pattern in self.paths
            for path in readings(target)
        )


def readings(target: str) -> tuple[str, ...]:
    """Every path a server may take a request target for, the one as written first. A query does not count."""
    path = re.split(r"[?#]", target, maxsplit=1)[0] or "/"
    found = [path]
    for _ in range(3):
        plain = path.replace("\\", "/")
        found += [_canonical(plain), _canonical(re.sub(r";[^/]*", "", plain))]
        decoded = unquote(path, errors="replace")
        if decoded == path:
            break
        path = decoded
    return tuple(dict.fromkeys(found))


def _canonical(path: str) -> str:
    if not path.startswith("/"):
        return path
    clean = "/" + posixpath.normpath(path).lstrip("/")
    return clean + "/" if path.endswith("/") and clean != "/" else clean


def _below(pattern: str, path: str) -> bool:
    if pattern.endswith(EVERY_PATH):
        start = pattern.removesuffix(EVERY_PATH)
        return not start or path == start or path.startswith(start + "/")
    return path == pattern


def _glob(pattern: str) -> re.Pattern[str]:
    parts = (
        ".*" if part == "**" else "[^/]*" if part == "*" else re.escape(part)
        for part in re.split(r"(\*\*|\*)", pattern)
    )
    return re.compile("".join(parts), re.DOTALL)
