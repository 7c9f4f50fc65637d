"""The sources a Kit brings along (§10): ``kit.yaml`` and ``kit.dockerfile`` below ``/usr/share/sandbox/kit``.

They lie in one layer, nearly always the last and a small one. Layers are looked at from the top, lazily, one at a
time, and only those of bounded size; nothing is unpacked to disk.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import Artifact, Source
from kitstudio.registry.threads import Stop, in_thread

STAGED = "usr/share/sandbox/kit"
MAX_LAYER = 4 * 1024 * 1024
"""Compressed bytes of a layer that is fetched for its sources."""
MAX_UNPACKED = 64 * 1024 * 1024
MAX_MEMBERS = 20_000
MAX_FILES = 500
MAX_FILE = 1024 * 1024
MAX_LAYERS = 8
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file. ``path``: below ``/usr/share/sandbox/kit`` (``stem/kit.yaml``)."""

    path: str
    data: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The file as text; what is none is replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class StagedSources:
    """What was found, by path. ``layer``: the digest it came from, empty where none held any; ``unread``: layers too
    large to be looked at, so that nothing found there does not mean nothing there."""

    files: tuple[StagedFile, ...] = ()
    layer: str = ""
    unread: int = 0


async def staged_sources(source: Source, artifact: Artifact, *, largest: int = MAX_LAYER) -> StagedSources:
    """Fetch the one layer that holds the sources, and read them."""
    unread = looked = 0
    for layer in reversed(artifact.manifest.layers):
        if layer.size > largest or looked >= MAX_LAYERS:
            unread += 1
            continue
        looked += 1
        path = await source.blob(artifact.reference, layer.digest, layer.size)
        files = await in_thread(_read, path, f"{artifact.reference.name}@{layer.digest}")
        if files:
            return StagedSources(files, layer.digest, unread)
    return StagedSources(unread=unread)


def _read(stop: Stop, path: Path, where: str) -> tuple[StagedFile, ...]:
    found: dict[str, StagedFile] = {}
    try:
        with path.open("rb") as file, _unpacked(file) as stream:
            bounded = _Bounded(stream, where, stop)
            with tarfile.open(fileobj=cast(IO[bytes], bounded), mode="r|") as tar:
                for count, member in enumerate(tar):
                    if count >= MAX_MEMBERS:
                        break
                    name = member.name.removeprefix("./").strip("/")
                    inner = name.removeprefix(f"{STAGED}/")
                    if inner == name or not member.isreg() or ".." in inner.split("/"):
                        continue
                    if member.size > MAX_FILE or len(found) >= MAX_FILES:
                        raise RegistryError("The layer stages more than sources.", where=where)
                    content = tar.extractfile(member)
                    found[inner] = StagedFile(inner, content.read(MAX_FILE) if content else b"")
    except (tarfile.TarError, zlib.error, zstandard.ZstdError, EOFError, OSError, ValueError, OverflowError) as error:
        raise RegistryError(
            "The layer cannot be read.", where=where, remedy="The Kit's publisher must publish it again."
        ) from error
    return tuple(found[name] for name in sorted(found))


@contextmanager
def _unpacked(file: Any) -> Iterator[Any]:
    head = file.read(4)
    file.seek(0)
    if head.startswith(_GZIP):
        with gzip.GzipFile(fileobj=file) as stream:
            yield stream
    elif head.startswith(_ZSTD):
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as stream:
            yield stream
    else:
        yield file


class _Bounded:
    """Reads on until the limit: a small layer may unpack to anything."""

    def __init__(self, stream: Any, where: str, stop: Stop) -> None:
        self._stream = stream
        self._where = where
        self._stop = stop
        self._left = MAX_UNPACKED

    def read(self, size: int) -> bytes:
        self._stop.check()
        data: bytes = self._stream.read(min(size, 1 << 20))
        self._left -= len(data)
        if self._left < 0:
            raise RegistryError("The layer unpacks to more than 64 MiB.", where=self._where)
        return data
