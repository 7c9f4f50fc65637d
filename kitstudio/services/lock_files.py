"""Lock files, and what an exported lock or record holds: what of the gate touches the disk and decides nothing.

All of it blocks; ``approvals`` calls it in a thread.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kitstudio.models import lock as locks
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.lock import Lock
from kitstudio.services.home import alone_in, write_atomic
from kitstudio.services.records import GRANTING, Record, Records

MAX_FILE = 8 * 1024 * 1024
"""Bytes of a lock or record file that are read."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
RECORD_KIND = "kitstudio approval record"


class ApprovalError(KitStudioError):
    """The gate did not let something through, and why."""


class GateRefused(ApprovalError):
    """What was asked is more than was said yes to: refused by the gate, not failed."""


class LockFiles:
    """The lock files of one home. A file counts only if its SHA-256 is in the records under its name."""

    def __init__(self, folder: Path, records: Records) -> None:
        self._folder = folder
        self._records = records

    def lock(self, name: str) -> Lock | None:
        """The lock in force; None if there is none. A tampered file counts as none."""
        text = self._read(name)
        return None if text is None or self._fault(name, text) else locks.decode(text)

    def names(self) -> tuple[str, ...]:
        """Names with a lock file, sorted."""
        return tuple(sorted(path.stem for path in self._folder.glob("*.json") if _NAME.fullmatch(path.stem)))

    def tampered(self, name: str) -> str:
        """Why the lock file of that name does not count, empty if it does."""
        text = self._read(name)
        return "" if text is None else self._fault(name, text)

    def put(self, name: str, text: str) -> None:
        """Replace the lock in force: after a crash the file is the old or the new."""
        write_atomic(self._path(name), text.encode())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other window or command decides between the look at the lock in force and the new one."""
        with ExitStack() as held:
            try:
                held.enter_context(alone_in(self._folder))
            except OSError as error:
                raise ApprovalError(f"The locks cannot be used: {error.strerror}.", where=str(self._folder)) from error
            yield

    def _path(self, name: str) -> Path:
        return self._folder / f"{check_name(name)}.json"

    def _read(self, name: str) -> str | None:
        path = self._path(name)
        try:
            with path.open("rb") as stream:
                return stream.read(MAX_FILE + 1).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            return "\ufffd"
        except OSError as error:
            raise ApprovalError(f"The lock cannot be read: {error.strerror}.", where=str(path)) from error

    def _fault(self, name: str, text: str) -> str:
        if self._records.grants(name, sha256(text)):
            try:
                locks.decode(text)
            except DescriptorError as error:
                return f"The lock of {name} was approved here and cannot be read by this version: {error.what}"
            return ""
        return (
            f"The lock file of {name} is not one that was approved here: its SHA-256 is in no approval record. "
            "It was changed or brought from elsewhere, and counts as none."
        )


def check_name(name: str) -> str:
    """The name of a lock or sandbox, if it may be one. Raises ``ApprovalError``."""
    if not _NAME.fullmatch(name):
        raise ApprovalError(
            "This cannot be the name of a set.",
            where=name[:80],
            remedy="A name has up to 63 letters, digits, dots, hyphens and underscores, and starts with a letter or "
            "digit. Use --name or save the set under such a name.",
        )
    return name


def read_lock(file: Path) -> Lock:
    """The lock in an exported record or lock file. Raises ``ApprovalError``."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE + 1)
        document = json.loads(raw[:MAX_FILE])
        is_record = document.get("kind") == RECORD_KIND
        lock = locks.decode(json.dumps(document.get("lock") if is_record else document, ensure_ascii=False))
        if is_record and document.get("answer") not in GRANTING:
            raise ApprovalError("This record approves nothing: its answer was a refusal.", where=str(file))
        return lock
    except OSError as error:
        raise ApprovalError(f"The file cannot be read: {error.strerror}.", where=str(file)) from error
    except ApprovalError:
        raise
    except (ValueError, AttributeError, RecursionError, KitStudioError) as error:
        why = error.what if isinstance(error, KitStudioError) else str(error)
        raise ApprovalError(
            f"The file is neither a lock nor an approval record: {why.rstrip('.')}.",
            where=str(file),
            remedy="Export one with “kitstudio approve --export FILE” or “kitstudio history”.",
        ) from error


def record_json(record: Record) -> dict[str, object]:
    """A record as ``history`` prints and ``export`` writes it."""
    return {
        "kind": RECORD_KIND,
        "time": record.time,
        "user": record.user,
        "name": record.name,
        "answer": record.answer,
        "title": record.title,
        "lockSha256": record.lock_sha256,
        "previousSha256": record.previous_sha256,
        "findings": [dict(finding) for finding in record.findings],
        "lock": dict(record.lock),
    }


def sha256(text: str) -> str:
    """The identity of a lock's text."""
    return hashlib.sha256(text.encode()).hexdigest()
