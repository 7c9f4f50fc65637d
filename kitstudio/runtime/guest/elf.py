"""What an ELF program needs at run time: its interpreter and its shared libraries."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB = 1, 5


@dataclass(frozen=True, slots=True)
class Needs:
    """``interpreter`` is empty for libraries and static programs."""

    interpreter: str
    libraries: tuple[str, ...]


def needs(content: bytes) -> Needs:
    """Read the program headers and the dynamic section of a 64-bit little-endian ELF file."""
    if content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    table, entry_size, count = struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54)
    headers = [struct.unpack_from("<IIQQQQ", content, table + i * entry_size) for i in range(count)]
    interpreter = ""
    dynamic: list[tuple[int, int]] = []
    for kind, _flags, offset, _address, _physical, size in headers:
        if kind == _PT_INTERP:
            interpreter = content[offset : offset + size].rstrip(b"\0").decode()
        elif kind == _PT_DYNAMIC:
            dynamic = list(struct.iter_unpack("<QQ", content[offset : offset + size - size % 16]))
    strings = next((value for tag, value in dynamic if tag == _DT_STRTAB), 0)
    for kind, _flags, offset, address, _physical, size in headers:
        if kind == _PT_LOAD and address <= strings < address + size:
            strings += offset - address
            break
    names = [_text(content, strings + value) for tag, value in dynamic if tag == _DT_NEEDED]
    return Needs(interpreter, tuple(names))


def _text(content: bytes, start: int) -> str:
    return content[start : content.index(b"\0", start)].decode()
