"""Verified bytes on disk: an OCI image layout filled blob by blob, content-addressed.

A blob appears under its name only when it is whole: it is written elsewhere, bounded and hashed on the way,
flushed, renamed, and the directory flushed. Any number of processes may write at once; one that is killed leaves a
nameless file that the next one clears.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from kitstudio.registry.reference import RegistryError, is_digest
from kitstudio.registry.threads import Stop

CHUNK = 1 << 20
NOTED_EVERY = 300.0
"""Seconds between two notes that a blob is in use."""
STALE_AFTER = 600.0
"""Seconds before an unfinished file without a living writer is cleared."""

LAYOUT_FILE = b'{"imageLayoutVersion":"1.0.0"}'
EMPTY_INDEX = b'{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}'

_verified: dict[tuple[str, str], tuple[int, int, int]] = {}


class BlobStore:
    """The folder ``root``. All methods block and raise ``RegistryError``; call them from a worker thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._swept = False

    def path(self, digest: str) -> Path:
        """Where a blob stands or would stand."""
        if not is_digest(digest):
            raise RegistryError("This is not a digest.", where=digest[:80])
        algorithm, _, encoded = digest.partition(":")
        return self.root / "blobs" / algorithm / encoded

    def find(self, digest: str, size: int | None = None) -> Path | None:
        """The verified file, or None. A damaged one is removed and counts as absent."""
        path = self.path(digest)
        try:
            verify_file(path, digest, size)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RegistryError(f"The store cannot be read: {error.strerror}.", where=str(path)) from error
        except RegistryError:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        _note_use(path)
        return path

    def read(self, digest: str, limit: int) -> bytes | None:
        """A small blob's bytes, or None where it is not here or larger than ``limit``."""
        path = self.find(digest)
        if path is None or path.stat().st_size > limit:
            return None
        data = path.read_bytes()
        return data if digest_of(data, digest) == digest else None

    def write(
        self,
        chunks: Iterable[bytes],
        digest: str,
        size: int | None = None,
        *,
        where: str = "",
        stop: Stop | None = None,
        durable: bool = True,
    ) -> Path:
        """Store a stream that must be exactly ``digest`` (and ``size`` bytes, where stated). ``durable`` False: what
        can be fetched again in one request does not wait for the disk; a power cut may lose it, never change it."""
        target = self.path(digest)
        if (present := self.find(digest, size)) is not None:
            return present
        place = where or digest
        with _speaking_of(target):
            self.prepare()
            target.parent.mkdir(parents=True, exist_ok=True)
            with self._ingest() as (descriptor, temporary):
                self._fill(descriptor, chunks, digest, size, place, stop)
                if durable:
                    os.fsync(descriptor)
                temporary.replace(target)
            if durable:
                _sync_folder(target.parent)
        _remember(target, digest)
        return target

    def put(self, data: bytes) -> str:
        """Store bytes under their own digest, which is returned."""
        digest = digest_of(data)
        self.write((data,), digest, len(data))
        return digest

    def sweep(self) -> int:
        """Clear unfinished files of writers that no longer live; returns how many."""
        cleared = 0
        for leftover in self._folder("ingest").glob("*.part"):
            with contextlib.suppress(OSError):
                if time.time() - leftover.stat().st_mtime < STALE_AFTER:
                    continue
                descriptor = os.open(leftover, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    leftover.unlink()
                    cleared += 1
                finally:
                    os.close(descriptor)
        return cleared

    def _folder(self, name: str) -> Path:
        return self.root / name

    def prepare(self) -> None:
        """Make the empty layout where it is missing, and clear once what killed writers left."""
        self._folder("ingest").mkdir(parents=True, exist_ok=True)
        self._folder("blobs").mkdir(exist_ok=True)
        for name, content in (("oci-layout", LAYOUT_FILE), ("index.json", EMPTY_INDEX)):
            path = self.root / name
            if not path.exists():
                write_atomically(path, content)
        if not self._swept:
            self._swept = True
            self.sweep()

    @contextlib.contextmanager
    def _ingest(self) -> Iterator[tuple[int, Path]]:
        temporary = self._folder("ingest") / f"{os.getpid()}-{secrets.token_hex(8)}.part"
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor, temporary
        finally:
            os.close(descriptor)
            temporary.unlink(missing_ok=True)

    @staticmethod
    def _fill(
        descriptor: int, chunks: Iterable[bytes], digest: str, size: int | None, where: str, stop: Stop | None
    ) -> None:
        hasher = hashlib.new(digest.partition(":")[0])
        written = 0
        for chunk in chunks:
            if stop is not None:
                stop.check()
            written += len(chunk)
            if size is not None and written > size:
                raise RegistryError(
                    f"The content is larger than the {size:,} bytes its manifest states; nothing was kept.",
                    where=where,
                    remedy="The place that serves it is damaged or dishonest: fetch the Kit from another one.",
                )
            hasher.update(chunk)
            view = memoryview(chunk)
            while view:
                view = view[os.write(descriptor, view) :]
        if size is not None and written != size:
            raise RegistryError(
                f"The content ends after {written:,} of {size:,} bytes; nothing was kept.",
                where=where,
                remedy="Try again; if it happens again, the place that serves it holds a damaged copy.",
            )
        if f"{digest.partition(':')[0]}:{hasher.hexdigest()}" != digest:
            raise wrong_digest(digest, f"sha256:{hasher.hexdigest()}", where)


def verify_file(path: Path, digest: str, size: int | None = None) -> None:
    """Raise unless the file is exactly ``digest``; a file is hashed once as long as it does not change."""
    status = path.stat()
    state = (status.st_ino, status.st_size, status.st_mtime_ns)
    if size is not None and status.st_size != size:
        raise RegistryError(
            f"The file has {status.st_size:,} bytes where {size:,} are stated.",
            where=str(path),
            remedy="It is damaged: remove it and fetch it again.",
        )
    if _verified.get((str(path), digest)) == state:
        return
    algorithm = digest.partition(":")[0]
    with path.open("rb") as file:
        found = f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"
    if found != digest:
        raise wrong_digest(digest, found, str(path))
    _verified[(str(path), digest)] = state


def digest_of(data: bytes, like: str = "sha256:") -> str:
    """The digest of ``data`` in the algorithm of ``like``."""
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def wrong_digest(expected: str, found: str, where: str) -> RegistryError:
    """The refusal every place of this layer gives for content that is not what was named."""
    return RegistryError(
        f"The content is not what was asked for: expected {expected[:19]}…, got {found[:19]}…. Nothing was kept.",
        where=where,
        remedy="Do not use this copy. Ask the publisher, or fetch the Kit from another place.",
    )


def write_atomically(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Replace a file as a whole: temporary neighbour (``mode`` from its first moment on), flush, rename, flush the
    folder."""
    with _speaking_of(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)


def file_chunks(path: Path) -> Iterator[bytes]:
    """A file in pieces."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _remember(path: Path, digest: str) -> None:
    status = path.stat()
    _verified[(str(path), digest)] = (status.st_ino, status.st_size, status.st_mtime_ns)


def _note_use(path: Path) -> None:
    """Keep the time of last use where disks that do not keep it have it too; the content's own time stays."""
    with contextlib.suppress(OSError):
        status = path.stat()
        if time.time() - status.st_atime > NOTED_EVERY:
            os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_REASONS = {
    errno.ENOSPC: ("The disk is full; nothing was kept.", "Free some space there, or clear the caches in Settings."),
    errno.EDQUOT: ("The disk quota is used up; nothing was kept.", "Free some space, or ask for a larger quota."),
    errno.EFBIG: ("The file is larger than this disk or account allows; nothing was kept.", "Use another folder."),
    errno.EROFS: ("The disk is read-only.", "Choose another home with --home."),
    errno.EACCES: ("This folder may not be written.", "Change its owner or mode, or choose another home with --home."),
    errno.EPERM: ("This folder may not be written.", "Change its owner or mode, or choose another home with --home."),
}


@contextlib.contextmanager
def _speaking_of(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into what, where, remedy."""
    try:
        yield
    except OSError as error:
        what, remedy = _REASONS.get(error.errno or 0, (f"Writing failed: {error.strerror or error}.", ""))
        raise RegistryError(what, where=str(path.parent), remedy=remedy) from error
