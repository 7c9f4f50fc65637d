"""Reading Debian packages without dpkg: an ``ar`` archive that holds a compressed tar."""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

import zstandard

from kitstudio.runtime.backend import SandboxError

_LIMIT = 256 << 20


def read_members(package: Path, wanted: Callable[[str], bool]) -> dict[str, bytes | str]:
    """The wanted files of a package by path (no leading ``./``): contents, or the target (str) of a symbolic link."""
    found: dict[str, bytes | str] = {}
    with package.open("rb") as stream, tarfile.open(fileobj=_data(package, stream), mode="r|") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if not wanted(name):
                continue
            if member.issym():
                found[name] = member.linkname
            elif member.islnk():
                found[name] = found[member.linkname.removeprefix("./")]
            elif member.isfile():
                content = archive.extractfile(member)
                if content is None or member.size > _LIMIT:
                    raise SandboxError(f"{name} cannot be read from the package.", where=str(package))
                found[name] = content.read()
    return found


def _data(package: Path, stream: IO[bytes]) -> IO[bytes]:
    for name, size in _ar_members(package, stream):
        if name == "data.tar.xz":
            return lzma.open(stream)
        if name == "data.tar.zst":
            return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(stream))
        if name == "data.tar":
            return io.BytesIO(stream.read(size))
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise SandboxError("This is not a Debian package that can be read here.", where=str(package))


def _ar_members(package: Path, stream: IO[bytes]) -> Iterator[tuple[str, int]]:
    if stream.read(8) != b"!<arch>\n":
        raise SandboxError("This is not a Debian package.", where=str(package))
    while len(head := stream.read(60)) == 60:
        yield head[:16].decode("ascii", "replace").strip().rstrip("/"), int(head[48:58])
