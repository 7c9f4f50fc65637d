"""Writing the tar that ``tar2sqfs`` reads: every header is ours, whatever the layer's looked like."""

from __future__ import annotations

from kitstudio.runtime.inventory import EntryType
from kitstudio.runtime.layer_tar import BLOCK, TarEntry

END = bytes(2 * BLOCK)
_KINDS = {
    EntryType.FILE: b"0",
    EntryType.HARDLINK: b"1",
    EntryType.SYMLINK: b"2",
    EntryType.CHARACTER: b"3",
    EntryType.WHITEOUT: b"3",
    EntryType.BLOCK: b"4",
    EntryType.DIRECTORY: b"5",
    EntryType.FIFO: b"6",
}
_OCTAL_LIMIT = 0o7777777


def header(entry: TarEntry, *, opaque: bool = False) -> bytes:
    """The header blocks of one entry; its data, padded to whole blocks, must follow. A whiteout becomes device 0:0."""
    length = entry.size if entry.type is EntryType.FILE else 0
    path = (entry.path or ".").encode("utf-8", "surrogateescape")
    link = entry.link.encode("utf-8", "surrogateescape")
    records: list[tuple[bytes, bytes]] = []
    if len(path) > 99:
        records.append((b"path", path))
    if len(link) > 99:
        records.append((b"linkpath", link))
    for name, value, limit in (
        (b"uid", entry.uid, _OCTAL_LIMIT),
        (b"gid", entry.gid, _OCTAL_LIMIT),
        (b"size", length, 0o77777777777),
    ):
        if value > limit:
            records.append((name, b"%d" % value))
    if opaque:
        records.append((b"SCHILY.xattr.trusted.overlay.opaque", b"y"))
    for key in sorted(entry.xattrs):
        records.append((b"SCHILY.xattr." + key.encode("utf-8", "surrogateescape"), entry.xattrs[key]))
    blocks = b""
    if records:
        content = b"".join(_record(key, value) for key, value in records)
        blocks = _block(b"pax", b"x", 0o644, 0, 0, len(content), 0, b"", (0, 0)) + content + padding(len(content))
    uid, gid = min(entry.uid, _OCTAL_LIMIT), min(entry.gid, _OCTAL_LIMIT)
    size = min(length, 0o77777777777)
    return blocks + _block(
        path[:99], _KINDS[entry.type], entry.mode, uid, gid, size, entry.mtime, link[:99], entry.device
    )


def padding(size: int) -> bytes:
    """What follows ``size`` bytes of data."""
    return bytes(-size % BLOCK)


def _block(
    name: bytes, kind: bytes, mode: int, uid: int, gid: int, size: int, mtime: int, link: bytes, device: tuple[int, int]
) -> bytes:
    head = b"%s%07o\0%07o\0%07o\0%011o\0%011o\0" % (name.ljust(100, b"\0"), mode, uid, gid, size, mtime)
    tail = b"%s%sustar\00000%s%07o\0%07o\0" % (kind, link.ljust(100, b"\0"), bytes(64), *device)
    whole = (head + b" " * 8 + tail).ljust(BLOCK, b"\0")
    return whole[:148] + b"%06o\0 " % sum(whole) + whole[156:]


def _record(key: bytes, value: bytes) -> bytes:
    length = len(key) + len(value) + 3
    while len(b"%d" % (length + len(b"%d" % length))) != len(b"%d" % length):
        length += 1
    total = length + len(b"%d" % length)
    return b"%d %s=%s\n" % (total, key, value)
