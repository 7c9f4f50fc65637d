"""The console log of one machine: the first and the last part are kept, however much the guest prints."""

from __future__ import annotations

import re
from pathlib import Path

_HEAD = 64 << 10
_TAIL = 64 << 10
_LIMIT = 256 << 10
_GAP = b"\n[... cut ...]\n"


class ConsoleLog:
    """Appends to ``path``; never longer than 256 KiB. The bytes are the guest's: untrusted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept = bytearray()
        self._stream = path.open("wb")

    def write(self, data: bytes) -> None:
        """Append what the guest printed."""
        self._kept += data
        if len(self._kept) > _LIMIT:
            self._kept = self._kept[:_HEAD] + _GAP + self._kept[-_TAIL:]
            self._stream.seek(0)
            self._stream.truncate()
            data = bytes(self._kept)
        self._stream.write(data)
        self._stream.flush()

    def close(self) -> None:
        """No more will come."""
        self._stream.close()

    def has(self, text: str) -> bool:
        """Whether the kept part holds this text."""
        return text.encode() in self._kept

    def last_lines(self, count: int = 5) -> str:
        """The last lines as harmless text."""
        text = bytes(self._kept[-4096:]).decode("utf-8", "replace")
        lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x20-\x7e\xa0-\U0010ffff]", "", line) for line in text.splitlines()]
        return "\n".join([line.strip()[:300] for line in lines if line.strip()][-count:])
