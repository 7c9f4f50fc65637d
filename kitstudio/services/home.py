"""The home: where this person's settings, records, locks, sandboxes and caches lie (``design.md``, Data on disk).

Owns the folder layout and the atomic write every service uses. Folders are private to the user (0700).
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.errors import KitStudioError


class HomeError(KitStudioError):
    """The home cannot be used as it is."""


@dataclass(frozen=True, slots=True)
class Home:
    """Three roots and the places below them. Make one with ``open_home``."""

    config: Path
    data: Path
    cache: Path

    @property
    def settings(self) -> Path:
        return self.config / "settings.toml"

    @property
    def database(self) -> Path:
        return self.data / "studio.db"

    @property
    def locks(self) -> Path:
        return self.data / "locks"

    @property
    def sandboxes(self) -> Path:
        return self.data / "sandboxes"

    @property
    def blobs(self) -> Path:
        return self.cache / "blobs"

    @property
    def layers(self) -> Path:
        return self.cache / "layers"

    @property
    def icons(self) -> Path:
        return self.cache / "icons"

    @property
    def guest(self) -> Path:
        return self.cache / "guest"


def open_home(root: Path | None = None) -> Home:
    """The home below ``root``, else ``KITSTUDIO_HOME``, else where the platform keeps such things; made if missing."""
    chosen = root or (Path(os.environ["KITSTUDIO_HOME"]) if os.environ.get("KITSTUDIO_HOME") else None)
    if chosen is not None:
        base = chosen.expanduser().absolute()
        home = Home(base / "config", base / "data", base / "cache")
    else:
        import platformdirs

        dirs = platformdirs.PlatformDirs("kitstudio", appauthor=False)
        home = Home(dirs.user_config_path, dirs.user_data_path, dirs.user_cache_path)
    for folder in (home.config, home.data, home.cache, home.locks, home.sandboxes, home.blobs, home.layers):
        _private_folder(folder)
    return home


def write_atomic(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replace ``path`` by ``content``: after a crash it holds the old or the new, never a mixture.

    Raises ``HomeError`` where the disk refuses; nothing is left behind then.
    """
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        temporary = ""
        _sync_folder(path.parent)
    except OSError as error:
        raise HomeError(
            f"The file could not be written: {error.strerror or error}.",
            where=str(path),
            remedy="Check that the folder exists, that you may write to it and that the disk is not full.",
        ) from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """No other window or command that asks likewise is in ``folder`` meanwhile. Blocks; raises ``OSError``."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _private_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise HomeError(
            f"The folder for Kit Studio's files cannot be used: {error.strerror or error}.",
            where=str(folder),
            remedy="Make it a folder that you own, or choose another one with --home DIR.",
        ) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
