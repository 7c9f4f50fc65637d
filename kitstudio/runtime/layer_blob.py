"""From a layer's compressed bytes to its tar on disk: bounded, and checked against the digest the image states."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import zstandard

from kitstudio.runtime.backend import SandboxError

MAX_TAR = 16 << 30
_CHUNK = 1 << 20


def decompress(
    blob: Path, target: IO[bytes], diff_id: str, progress: Callable[[int, int], None], limit: int = MAX_TAR
) -> None:
    """Write the tar inside ``blob`` (gzip, zstd or plain, by its first bytes) to ``target``.

    ``SandboxError`` when it grows beyond ``limit``, is damaged, or is not what ``diff_id`` says.
    """
    total = blob.stat().st_size
    digest = hashlib.sha256()
    written = 0
    with blob.open("rb") as stream:
        for piece in _pieces(stream, lambda: progress(min(stream.tell(), total), total)):
            written += len(piece)
            if written > limit:
                raise SandboxError(f"The layer is larger than {limit >> 20} MiB when unpacked.")
            digest.update(piece)
            target.write(piece)
    if diff_id and diff_id != f"sha256:{digest.hexdigest()}":
        raise SandboxError(
            f"The layer unpacks to sha256:{digest.hexdigest()}, but its image says {diff_id}.",
            remedy="The image is damaged or was changed: do not use it.",
        )


def _pieces(stream: IO[bytes], step: Callable[[], None]) -> Iterator[bytes]:
    magic = stream.read(4)
    stream.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        yield from _gunzip(stream, step)
    elif magic == b"\x28\xb5\x2f\xfd":
        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
                stream, read_across_frames=True
            ) as reader:
                while piece := reader.read(_CHUNK):
                    step()
                    yield piece
        except zstandard.ZstdError as error:
            raise SandboxError(f"The layer's zstd data is damaged: {error}.") from error
    else:
        while piece := stream.read(_CHUNK):
            step()
            yield piece


def _gunzip(stream: IO[bytes], step: Callable[[], None]) -> Iterator[bytes]:
    member = zlib.decompressobj(31)
    data = b""
    started = False
    try:
        while data or (data := stream.read(_CHUNK)):
            step()
            if member.eof:
                if not data.strip(b"\0"):
                    data = b""  # padding after the last member
                    continue
                member = zlib.decompressobj(31)
            started = True
            piece = member.decompress(data, _CHUNK)
            data = member.unused_data if member.eof else member.unconsumed_tail
            if piece:
                yield piece
    except zlib.error as error:
        raise SandboxError(f"The layer's gzip data is damaged: {error}.") from error
    if not started or not member.eof:
        raise SandboxError("The layer's gzip data is cut off.")
