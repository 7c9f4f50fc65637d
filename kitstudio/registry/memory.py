"""What was seen last under a name that may move: a tag's digest, a repository's tags, and the server's own mark.

A mark (``ETag``) lets the next question be answered by "nothing new". Without a lasting memory this run's is used.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import requests

MAX_MARK = 512


@dataclass(frozen=True, slots=True)
class Seen:
    """``value`` as it was last, and the mark it came with (empty where the server gives none)."""

    mark: str
    value: str


class Memory(Protocol):
    """Keeps ``Seen`` by key. Blocking; a memory that fails forgets, it never stops a request."""

    def recall(self, key: str) -> Seen | None:
        """What was kept, or None."""

    def keep(self, key: str, seen: Seen) -> None:
        """Keep the newest."""


class RunMemory:
    """This run's memory, bounded: what was not used for longest goes first."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._kept: OrderedDict[str, Seen] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, key: str) -> Seen | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: str, seen: Seen) -> None:
        with self._lock:
            self._kept[key] = seen
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def mark_of(response: requests.Response) -> str:
    """The ``ETag``, where it can be sent back."""
    mark = response.headers.get("ETag", "")
    return mark if len(mark) <= MAX_MARK and mark.isascii() and mark.isprintable() else ""


def unless(seen: Seen | None) -> dict[str, str]:
    """The header that asks for an answer only if something is new."""
    return {"If-None-Match": seen.mark} if seen is not None and seen.mark else {}
