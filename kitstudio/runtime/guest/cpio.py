"""Writing a newc cpio archive, the form the kernel unpacks as its first file system. Same entries, same bytes."""

from __future__ import annotations

import stat
from pathlib import PurePosixPath


class Cpio:
    """An archive being written. Missing parent folders are added as 0755; everything belongs to root."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._known: set[str] = set()

    def folder(self, name: str, mode: int = 0o755) -> None:
        """A folder with this mode."""
        self._add(name, stat.S_IFDIR | mode, b"")

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """A plain file."""
        self._add(name, stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name: str, major: int, minor: int, mode: int = 0o600) -> None:
        """A character device."""
        self._add(name, stat.S_IFCHR | mode, b"", major, minor)

    def finish(self) -> bytes:
        """The whole archive, padded so that another one may follow it."""
        archive = self._bytes + _entry("TRAILER!!!", 0, 0, b"", 0, 0)
        return bytes(archive) + bytes(-len(archive) % 512)

    def _add(self, name: str, mode: int, content: bytes, major: int = 0, minor: int = 0) -> None:
        for parent in reversed(PurePosixPath(name).parents):
            if str(parent) != "." and str(parent) not in self._known:
                self.folder(str(parent))
        if name in self._known:
            raise ValueError(f"{name} is in the archive already")
        self._known.add(name)
        self._bytes += _entry(name, len(self._known), mode, content, major, minor)


def _entry(name: str, inode: int, mode: int, content: bytes, major: int, minor: int) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)
