"""Approval records: append-only rows in the home's database. Owns ``studio.db`` and its migrations.

The database refuses to change or delete a row itself (triggers), so "append-only" does not rest on good manners.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kitstudio.models.errors import KitStudioError

GRANTING = ("approved", "approved-without-optional", "silent")
"""Answers that put a lock in force."""

_MIGRATIONS = (
    """
    CREATE TABLE approval (
        id INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        user TEXT NOT NULL,
        name TEXT NOT NULL,
        answer TEXT NOT NULL CHECK (answer IN ('approved', 'approved-without-optional', 'kept', 'silent')),
        title TEXT NOT NULL,
        lock_sha256 TEXT NOT NULL,
        previous_sha256 TEXT NOT NULL,
        findings TEXT NOT NULL,
        lock TEXT NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX approval_lock ON approval (lock_sha256);
    CREATE TRIGGER approval_kept BEFORE UPDATE ON approval
        BEGIN SELECT RAISE(ABORT, 'approval records are append-only'); END;
    CREATE TRIGGER approval_stays BEFORE DELETE ON approval
        BEGIN SELECT RAISE(ABORT, 'approval records are append-only'); END;
    """,
    """
    CREATE TABLE waiting (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        time REAL NOT NULL,
        lock TEXT NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    """,
)


class RecordError(KitStudioError):
    """The approval records cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Record:
    """One decision. ``answer``: approved, approved-without-optional, kept, silent (within the surface).

    ``lock_sha256``: the lock put in force, or for ``kept`` the one that was refused; ``lock`` is that lock,
    ``document`` the set file's text as it was then (secrets are never in it).
    """

    time: float
    user: str
    name: str
    answer: str
    title: str
    lock_sha256: str
    previous_sha256: str
    findings: tuple[Mapping[str, object], ...]
    lock: Mapping[str, object] = field(default_factory=dict)
    document: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """A request set aside, as it is kept over a restart: the lock it asks for and the set's text; no secret is in
    either. ``why``: why it cannot be judged again now, empty if it can.
    """

    id: str
    name: str
    title: str
    time: float
    lock: str = field(repr=False)
    document: str = field(default="", repr=False)
    why: str = ""


class Records:
    """The table of decisions. One connection per call: windows and commands share the file.

    All of it blocks. The file is opened on the first call, never when the program is being put together. Opening and
    reading write nothing: with a full disk, sandboxes can still be listed and removed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[int, tuple[Record, ...]] = (0, ())
        self._opening = threading.Lock()
        self._current = False

    def append(self, record: Record, lock_text: str) -> None:
        """Keep one decision; on return it is on the disk."""
        row = (
            record.time,
            record.user,
            record.name,
            record.answer,
            record.title,
            record.lock_sha256,
            record.previous_sha256,
            json.dumps(list(record.findings), ensure_ascii=False, sort_keys=True),
            lock_text,
            record.document,
        )
        try:
            with closing(self._connect()) as connection, connection:
                connection.execute(
                    "INSERT INTO approval"
                    " (time, user, name, answer, title, lock_sha256, previous_sha256, findings, lock, document)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
        except sqlite3.Error as error:
            raise _failed(self._path, error) from error

    def grants(self, name: str, lock_sha256: str) -> bool:
        """Whether a person (or a movement within the surface) put exactly this lock in force under this name."""
        marks = ", ".join("?" for _ in GRANTING)
        query = f"SELECT 1 FROM approval WHERE lock_sha256 = ? AND name = ? AND answer IN ({marks}) LIMIT 1"
        return bool(self._rows(query, (lock_sha256, name, *GRANTING)))

    def granted(self, lock_sha256: str) -> tuple[str, str] | None:
        """The text of a lock that some record put in force, and the set's text then; the newest such record."""
        marks = ", ".join("?" for _ in GRANTING)
        where = f"lock_sha256 = ? AND answer IN ({marks})"
        query = f"SELECT lock, document FROM approval WHERE {where} ORDER BY id DESC LIMIT 1"
        rows = self._rows(query, (lock_sha256, *GRANTING))
        return (str(rows[0][0]), str(rows[0][1])) if rows else None

    def all(self) -> tuple[Record, ...]:
        """Every decision, newest first. Read again only when there are more: rows never change."""
        newest = self._rows("SELECT coalesce(max(id), 0) FROM approval", ())[0][0]
        if self._known[0] == newest:
            return self._known[1]
        query = (
            "SELECT time, user, name, answer, title, lock_sha256, previous_sha256, findings, lock, document"
            " FROM approval ORDER BY id DESC"
        )
        self._known = (newest, tuple(_record(row) for row in self._rows(query, ())))
        return self._known[1]

    def hold(self, kept: Kept) -> None:
        """Keep a request that waits, in place of an older one of the same name."""
        row = (kept.id, kept.name, kept.title, kept.time, kept.lock, kept.document)
        self._write(
            ("DELETE FROM waiting WHERE name = ? OR id = ?", (kept.name, kept.id)),
            ("INSERT INTO waiting (id, name, title, time, lock, document) VALUES (?, ?, ?, ?, ?, ?)", row),
        )

    def settle(self, request_id: str) -> None:
        """A request that waited was answered. Nothing is written where it did not wait."""
        if self._rows("SELECT 1 FROM waiting WHERE id = ?", (request_id,)):
            self._write(("DELETE FROM waiting WHERE id = ?", (request_id,)))

    def waiting(self) -> tuple[Kept, ...]:
        """What waits, oldest first."""
        query = "SELECT id, name, title, time, lock, document FROM waiting ORDER BY time, id"
        return tuple(Kept(*row) for row in self._rows(query, ()))

    def _write(self, *steps: tuple[str, tuple[object, ...]]) -> None:
        try:
            with closing(self._connect()) as connection, connection:
                for statement, values in steps:
                    connection.execute(statement, values)
        except sqlite3.Error as error:
            raise _failed(self._path, error) from error

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            with closing(self._connect()) as connection:
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _failed(self._path, error) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self._path, timeout=5.0)
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = FULL")
            with self._opening:
                if not self._current:
                    _migrate(connection, self._path)
                    connection.isolation_level = "DEFERRED"
                    self._current = True
        except sqlite3.Error as error:
            raise _failed(self._path, error) from error
        return connection


def _record(row: tuple[Any, ...]) -> Record:
    when, user, name, answer, title, lock_sha256, previous, findings, lock, document = row
    return Record(
        when, user, name, answer, title, lock_sha256, previous, tuple(json.loads(findings)), json.loads(lock), document
    )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the schema to this version, in one transaction; a newer file is refused, never guessed at."""
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == len(_MIGRATIONS):
            return
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(_MIGRATIONS):
            raise RecordError(
                "The approval records were written by a newer Kit Studio.",
                where=str(path),
                remedy="Update Kit Studio, or choose another home with --home DIR.",
            )
        for script in _MIGRATIONS[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        connection.execute("COMMIT")
        path.chmod(0o600)
    except sqlite3.Error as error:
        raise _failed(path, error) from error


def _statements(script: str) -> list[str]:
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found


def _failed(path: Path, error: sqlite3.Error) -> RecordError:
    return RecordError(
        f"The approval records cannot be used: {error}.",
        where=str(path),
        remedy="Check the disk and the file's permissions. If it is damaged, move it away: every lock then needs a new "
        "approval.",
    )
