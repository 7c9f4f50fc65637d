"""A file on its way out: bounded to what was announced, told in pieces, and ended when the caller goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from kitstudio.registry.blob_store import CHUNK
from kitstudio.registry.threads import Stop


class Outgoing:
    """The body of an upload as ``requests`` reads it; ``sent`` is told how many more bytes were taken."""

    def __init__(self, file: IO[bytes], size: int, stop: Stop, sent: Callable[[int], None]) -> None:
        self._file = file
        self._size = size
        self._stop = stop
        self._sent = sent
        self._untold = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.read(CHUNK):
            yield chunk

    def read(self, count: int = -1) -> bytes:
        """The next piece, never past the announced size."""
        self._stop.check()
        left = self._size - self._file.tell()
        data = self._file.read(left if count < 0 else min(count, left))
        self._untold += len(data)
        # A connection takes small pieces; whoever listens wants to hear of it now and then.
        if self._untold >= CHUNK or len(data) == left:
            self._sent(self._untold)
            self._untold = 0
        return data

    def tell(self) -> int:
        """How far it was read."""
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Begin again, when a sign-in was asked for; what was told as sent is taken back."""
        before = self._file.tell()
        place = self._file.seek(offset, whence)
        self._sent(self._untold + place - before)
        self._untold = 0
        return place
