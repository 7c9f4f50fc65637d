"""Reading a layer's tar as what it is: input of a stranger. Every size, name and number is judged before it is used.

The reader yields entries with the place of their data; it never copies contents and never touches the file system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.inventory import EntryType

BLOCK = 512
MAX_ENTRIES = 500_000
MAX_PATH = 4000
MAX_NAME = 255
MAX_DEPTH = 512
_MAX_HEADER = 1 << 20
_MAX_XATTRS = 64 << 10
_TYPES = {
    b"0": EntryType.FILE,
    b"\0": EntryType.FILE,
    b"7": EntryType.FILE,
    b"1": EntryType.HARDLINK,
    b"2": EntryType.SYMLINK,
    b"3": EntryType.CHARACTER,
    b"4": EntryType.BLOCK,
    b"5": EntryType.DIRECTORY,
    b"6": EntryType.FIFO,
}
_XATTR = "SCHILY.xattr."


@dataclass(frozen=True, slots=True)
class TarEntry:
    """One entry. ``path`` is normal and relative (``""``: the root); ``offset``: where its data begins."""

    path: str
    type: EntryType
    mode: int
    uid: int
    gid: int
    size: int = 0
    mtime: int = 0
    link: str = ""
    device: tuple[int, int] = (0, 0)
    offset: int = 0
    xattrs: Mapping[str, bytes] = field(default_factory=dict)


def read_entries(tar: memoryview) -> Iterator[TarEntry]:
    """The entries in order; ``SandboxError`` naming the entry that is not acceptable."""
    position, count = 0, 0
    extended: dict[str, bytes] = {}
    while position + BLOCK <= len(tar):
        header = bytes(tar[position : position + BLOCK])
        if not any(header):
            return
        _verify_checksum(header, position)
        size = _number(header[124:136], position)
        kind = header[156:157]
        start = position + BLOCK
        if kind in b"xgLK":
            position = _after(start, size, len(tar))
            if size > _MAX_HEADER:
                raise SandboxError(f"The layer has an extended header of {size} bytes.")
            content = bytes(tar[start : start + size])
            if kind == b"x":
                extended.update(_pax_records(content))
            elif kind != b"g":
                extended["path" if kind == b"L" else "linkpath"] = content.rstrip(b"\0")
            continue
        count += 1
        if count > MAX_ENTRIES:
            raise SandboxError(f"The layer has more than {MAX_ENTRIES} entries.")
        if "size" in extended:
            size = _decimal(extended["size"], position)
        entry = _entry(header, kind, size, start, extended, position)
        position = _after(start, entry.size if entry.type is EntryType.FILE else 0, len(tar))
        extended = {}
        yield entry
    if position < len(tar) or position == 0:
        raise SandboxError("The layer is not a tar archive, or it is cut off.")


def normal_path(raw: bytes, what: str = "entry") -> str:
    """A name as a normal relative path; refuses what could mean a place outside the layer."""
    text = raw.decode("utf-8", "surrogateescape")
    shown = ascii(text[:200])
    if "\0" in text:
        raise SandboxError(f"The layer has an {what} with a NUL byte in its name: {shown}.")
    if text.startswith("/"):
        raise SandboxError(f"The layer has an {what} with an absolute name: {shown}.")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise SandboxError(f"The layer has an {what} that leads out of it: {shown}.")
    if len(parts) > MAX_DEPTH:
        raise SandboxError(f"The layer has an {what} too many folders deep: {shown}.")
    if len(raw) > MAX_PATH or any(len(part.encode("utf-8", "surrogateescape")) > MAX_NAME for part in parts):
        raise SandboxError(f"The layer has an {what} with too long a name: {shown}.")
    return "/".join(parts)


def _entry(header: bytes, kind: bytes, size: int, start: int, extended: Mapping[str, bytes], position: int) -> TarEntry:
    raw = extended.get("path", _name(header))
    path = normal_path(raw)
    if any(key.startswith("GNU.sparse") for key in extended) or kind == b"S":
        raise SandboxError(f"The layer has a sparse file, which is not supported: {path!a}.")
    if kind not in _TYPES:
        raise SandboxError(f"The layer has an entry of an unknown kind {kind!r}: {path!a}.")
    type_ = _TYPES[kind]
    if type_ is EntryType.FILE and raw.endswith(b"/"):
        type_ = EntryType.DIRECTORY
    link = ""
    if type_ is EntryType.SYMLINK:
        target = extended.get("linkpath", header[157:257].split(b"\0", 1)[0])
        if not target or b"\0" in target or len(target) > MAX_PATH:
            raise SandboxError(f"The layer has a link whose target is empty, too long or holds NUL: {path!a}.")
        link = target.decode("utf-8", "surrogateescape")
    elif type_ is EntryType.HARDLINK:
        target = extended.get("linkpath", header[157:257].split(b"\0", 1)[0])
        link = normal_path(target, "entry (hard link)")
    device = (0, 0)
    if type_ in (EntryType.CHARACTER, EntryType.BLOCK):
        device = (_number(header[329:337], position), _number(header[337:345], position))
        if type_ is EntryType.CHARACTER and device == (0, 0):
            raise SandboxError(f"The layer has a device that would hide what lies below it: {path!a}.")
        if device[0] > 0xFFF or device[1] > 0xFFFFF:
            raise SandboxError(f"The layer has a device with impossible numbers: {path!a}.")
    owner = [
        _decimal(extended[key], position) if key in extended else _number(header[at : at + 8], position)
        for key, at in (("uid", 108), ("gid", 116))
    ]
    if max(owner) > 0xFFFFFFFE:
        raise SandboxError(f"The layer has an entry with an impossible owner: {path!a}.")
    if type_ is EntryType.FILE and start + size > (1 << 62):
        raise SandboxError(f"The layer has a file of impossible size: {path!a}.")
    return TarEntry(
        path=path,
        type=type_,
        mode=_number(header[100:108], position) & 0o7777,
        uid=owner[0],
        gid=owner[1],
        size=size if type_ is EntryType.FILE else 0,
        mtime=_mtime(extended.get("mtime"), header, position),
        link=link,
        device=device,
        offset=start,
        xattrs=_xattrs(extended, path),
    )


def _xattrs(extended: Mapping[str, bytes], path: str) -> Mapping[str, bytes]:
    """Capabilities and user attributes. Others mean something to an overlay or to the image's own host: left out."""
    kept = {
        key.removeprefix(_XATTR): value
        for key, value in extended.items()
        if key == f"{_XATTR}security.capability" or key.startswith(f"{_XATTR}user.")
    }
    if sum(len(key) + len(value) for key, value in kept.items()) > _MAX_XATTRS:
        raise SandboxError(f"The layer has an entry with too many attributes: {path!a}.")
    return kept


def _name(header: bytes) -> bytes:
    name = header[:100].split(b"\0", 1)[0]
    if header[257:263] == b"ustar\0" and (prefix := header[345:500].split(b"\0", 1)[0]):
        return prefix + b"/" + name
    return name


def _mtime(extended: bytes | None, header: bytes, position: int) -> int:
    seconds = _number(header[136:148], position, signed=True)
    if extended is not None:
        if not re.fullmatch(rb"-?\d{1,19}(\.\d*)?", extended):
            raise _damaged(position)
        seconds = int(extended.partition(b".")[0])
    return min(max(seconds, 0), 0xFFFFFFFF)


def _pax_records(content: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(content):
        space = content.find(b" ", at, at + 20)
        length = content[at:space] if space > 0 else b""
        if not length.isdigit() or len(length) > 8:
            raise SandboxError("The layer has a broken extended header.")
        end = at + int(length)
        key, equals, value = content[space + 1 : end - 1].partition(b"=")
        if end <= space or end > len(content) or not equals or content[end - 1 : end] != b"\n":
            raise SandboxError("The layer has a broken extended header.")
        yield key.decode("utf-8", "surrogateescape"), value
        at = end


def _verify_checksum(header: bytes, position: int) -> None:
    stated = header[148:156].split(b"\0", 1)[0].strip()
    if not re.fullmatch(rb"[0-7]{1,8}", stated):
        raise _damaged(position)
    if int(stated, 8) != sum(header) - sum(header[148:156]) + 8 * 32:
        raise _damaged(position)


def _number(field_: bytes, position: int, *, signed: bool = False) -> int:
    if field_[0] & 0x80:
        value = int.from_bytes(field_, "big", signed=False) & ((1 << (8 * len(field_) - 1)) - 1)
        if signed and field_[0] & 0x40:
            return int.from_bytes(field_, "big", signed=True)
        return value
    text = field_.split(b"\0", 1)[0].strip()
    if not text:
        return 0
    if not re.fullmatch(rb"[0-7]+", text):
        raise _damaged(position)
    return int(text, 8)


def _decimal(text: bytes, position: int) -> int:
    if not re.fullmatch(rb"\d{1,19}", text):
        raise _damaged(position)
    return int(text)


def _after(start: int, size: int, end: int) -> int:
    position = start + (size + BLOCK - 1) // BLOCK * BLOCK
    if start + size > end:
        raise SandboxError("The layer is cut off in the middle of an entry.")
    return position


def _damaged(position: int) -> SandboxError:
    return SandboxError(f"The layer is not a tar archive, or it is damaged at byte {position}.")
