"""What is known about a sandbox on disk: one folder each, written whole or not at all, and who is at work on it.

``state.json`` has one writer at a time: the supervisor while it lives, else whoever holds the folder's lock.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kitstudio.runtime.backend import SandboxError, State
from kitstudio.runtime.codec import from_json, to_json

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Process:
    """A process found again: pid numbers are reused, pid with start time and boot is one process."""

    pid: int
    start: int
    boot: str


@dataclass(frozen=True, slots=True)
class Record:
    """``state.json``. ``created`` False: the sandbox never became ready, so it does not exist yet.

    ``repair``: label of what mends a broken one. ``renewed``: tokens to be come for. ``ports``,
    ``idle_stop``, ``note``: as in ``SandboxStatus``.
    """

    id: str
    name: str
    set_name: str
    lock_sha256: str
    state: State
    created: bool = False
    phase: str = ""
    started_at: float = 0.0
    accel: str = ""
    memory_limit: int = 0
    workspace: str = ""
    skipped: tuple[str, ...] = ()
    broken: str = ""
    repair: str = ""
    renewed: int = 0
    supervisor: Process | None = None
    machine: Process | None = None
    ports: tuple[str, ...] = ()
    idle_stop: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class SandboxFolder:
    """Names of everything in one sandbox's folder."""

    path: Path

    @property
    def record(self) -> Path:
        return self.path / "state.json"

    @property
    def launch(self) -> Path:
        return self.path / "launch.json"

    @property
    def lock(self) -> Path:
        return self.path / "lock.json"

    @property
    def effective(self) -> Path:
        return self.path / "effective.yaml"

    @property
    def selection(self) -> Path:
        """What of the optional requests was selected when it was created, as JSON (§7.1.1)."""
        return self.path / "selection.json"

    @property
    def decisions(self) -> Path:
        return self.path / "decisions.jsonl"

    @property
    def hooks(self) -> Path:
        return self.path / "hooks.json"

    @property
    def command_line(self) -> Path:
        return self.path / "qemu-command.txt"

    @property
    def log(self) -> Path:
        return self.path / "supervisor.log"

    @property
    def crash(self) -> Path:
        """What the supervisor's interpreter wrote to standard error, if anything."""
        return self.path / "supervisor.err"

    @property
    def upper(self) -> Path:
        return self.path / "upper.ext4"

    @property
    def previous_upper(self) -> Path:
        """The writable layer a recreate sets aside until the new one is ready."""
        return self.path / "upper.previous"

    @property
    def authority(self) -> Path:
        """Key and certificate of the authority that only this sandbox trusts (0600)."""
        return self.path / "authority.pem"

    @property
    def keys(self) -> Path:
        return self.path / "keys"

    @property
    def machine(self) -> Path:
        return self.path / "machine"

    def read(self) -> Record:
        """The record; ``SandboxError`` when it cannot be read."""
        return read_json(Record, self.record)

    def write(self, record: Record) -> None:
        """Replace the record atomically."""
        write_json(self.record, to_json(record))

    @asynccontextmanager
    async def operating(self, what: str) -> AsyncIterator[None]:
        """Hold the folder's lock across processes; the kernel drops it when its holder dies, however it dies."""
        for _ in range(10):
            handle = self.try_lock()
            if handle is not None:
                break
            await asyncio.sleep(0.03)  # somebody may only be looking whether the folder is at rest
        else:
            raise SandboxError(
                f"Cannot {what} the sandbox now: another operation on it is under way.", where=self.path.name
            )
        try:
            yield
        finally:
            os.close(handle)

    def try_lock(self) -> int | None:
        """A descriptor that holds the lock until closed; None while somebody else holds it."""
        handle = os.open(self.path / "operation.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle


def check_name(name: str) -> str:
    """``name``, if it can name a sandbox everywhere it will be used."""
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise SandboxError(
            f"{name[:80]!r} cannot name a sandbox.",
            where="name",
            remedy="Use 1 to 63 of a-z, 0-9, dot, underscore and hyphen; begin with a letter or digit.",
        )
    return name


def identify(pid: int) -> Process | None:
    """The process now running under ``pid``; None when there is none, or only its remains."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        return None
    return Process(pid, int(fields[19]), boot)


def of_an_earlier_boot(process: Process | None) -> bool:
    """Whether the computer has started anew since that process was noted."""
    here = identify(os.getpid())
    return process is not None and here is not None and process.boot != here.boot


def is_alive(process: Process | None) -> bool:
    """Whether that very process still runs."""
    return process is not None and identify(process.pid) == process


def terminate(process: Process | None) -> None:
    """Ask that very process to end; nothing if it has."""
    _signal(process, signal.SIGTERM)


def kill(process: Process | None) -> None:
    """End that very process at once; nothing if it has ended."""
    _signal(process, signal.SIGKILL)


def resident_memory(process: Process | None) -> int:
    """MiB of host memory the process occupies, 0 when it does not run."""
    if process is None or not is_alive(process):
        return 0
    try:
        pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def read_json(shape: type[T], path: Path) -> T:
    """A file written by ``write_json`` as ``shape``; ``SandboxError`` says why not."""
    try:
        return from_json(shape, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise SandboxError(
            f"{path.name} cannot be read: {error}.",
            where=str(path),
            remedy="Remove the sandbox and create it again.",
        ) from error


def read_or_none(folder: SandboxFolder) -> Record | None:
    """The record, None where there is none to read."""
    try:
        return folder.read()
    except SandboxError:
        return None


def write_json(path: Path, value: Any) -> None:
    """Write beside, sync, rename: readers see the old text or the new one."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """The same for any text."""
    with disk_full_is_told(path.parent):
        _replace(path, text)


@contextmanager
def disk_full_is_told(place: Path) -> Iterator[None]:
    """A full disk as a ``SandboxError`` that names the place."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise SandboxError("The disk is full.", where=str(place), remedy="Free some space, then try again.") from error


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _signal(process: Process | None, number: signal.Signals) -> None:
    if process is not None and is_alive(process):
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
