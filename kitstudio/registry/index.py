"""The index of Kits seen: SQLite with full-text search, for searching without asking anybody and for working offline.

A cache: everything in it can be fetched again, and what it says is as old as it says. Any number of processes may use
one file at once (WAL, one writer at a time, a bounded wait); one that is killed leaves it whole. A damaged file is put
aside and begun anew.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kitstudio.registry.memory import Seen
from kitstudio.registry.reference import RegistryError

BUSY_SECONDS = 5.0
MAX_KITS = 100_000
MAX_BYTES = 512 * 1024 * 1024
MAX_BODY = 512 * 1024
MAX_MARK_VALUE = 1024 * 1024
MAX_FIELD = 4000
MAX_WORDS = 12
TRIM_EVERY = 256
"""Marks kept between two looks at the limits."""


class IndexUnusable(RegistryError):
    """The index cannot be used as it lies there."""


@dataclass(frozen=True, slots=True)
class SeenKit:
    """One Kit as a source showed it last. ``words``: whatever else a search should find (capability types, licences,
    names it provides); ``body``: the caller's own text, kept as it is; ``seen``: when, in seconds since the epoch
    (0: now)."""

    source: str
    repository: str
    title: str = ""
    publisher: str = ""
    description: str = ""
    words: str = ""
    digest: str = ""
    body: str = ""
    seen: float = 0.0


class KitIndex:
    """The file ``path``. All methods block; call them from a worker thread. Also a ``Memory`` for registries."""

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], float] = time.time,
        most: int = MAX_KITS,
        most_bytes: int = MAX_BYTES,
    ) -> None:
        self.path = path
        self._now = now
        self._most = most
        self._most_bytes = most_bytes
        self._local = threading.local()
        self._writing = threading.Lock()
        self._generation = 0
        self._marks = 0
        self._open: list[sqlite3.Connection] = []

    def put(self, kits: Iterable[SeenKit]) -> None:
        """Keep what was just seen; a Kit of the same source and repository is replaced. All or nothing."""
        rows = []
        for kit in kits:
            if len(kit.body) > MAX_BODY:
                raise RegistryError("What is kept about a Kit is larger than 512 KiB.", where=kit.repository)
            texts = (kit.title, kit.publisher, kit.description, kit.words, kit.digest)
            bounded = tuple(_plain(text) for text in texts)
            rows.append((kit.source, kit.repository, *bounded, kit.body, kit.seen or self._now()))
        with self._change() as connection:
            connection.executemany(_PUT, rows)
            self._trim(connection)

    def listed(self, source: str, repositories: Iterable[str], note: str = "") -> None:
        """A source was listed just now: what it no longer has is forgotten, its age starts anew."""
        with self._change() as connection:
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS current (repository TEXT PRIMARY KEY)")
            connection.execute("DELETE FROM temp.current")
            names = ((name,) for name in repositories)
            connection.executemany("INSERT OR IGNORE INTO temp.current VALUES (?)", names)
            connection.execute(
                "DELETE FROM kits WHERE source = ? AND repository NOT IN (SELECT repository FROM temp.current)",
                (source,),
            )
            connection.execute(
                "INSERT INTO sources (source, listed, note) VALUES (?, ?, ?) "
                "ON CONFLICT (source) DO UPDATE SET listed = excluded.listed, note = excluded.note",
                (source, self._now(), note[:MAX_FIELD]),
            )

    def age(self, source: str) -> float | None:
        """Seconds since a source was listed; None where it never was."""
        row = self._one("SELECT listed FROM sources WHERE source = ?", (source,))
        return None if row is None else max(0.0, self._now() - float(row[0]))

    def listed_at(self, source: str) -> float:
        """When a source was listed, in seconds since the epoch; 0 where it never was."""
        row = self._one("SELECT listed FROM sources WHERE source = ?", (source,))
        return 0.0 if row is None else float(row[0])

    def kits(self, source: str = "") -> tuple[SeenKit, ...]:
        """Everything kept of a source (of all where empty), by repository."""
        if source:
            return self._kits(f"{_SELECT} WHERE source = ? ORDER BY repository", (source,))
        return self._kits(f"{_SELECT} ORDER BY source, repository", ())

    def search(self, query: str, *, source: str = "", most: int = 500) -> tuple[SeenKit, ...]:
        """Kits that hold every word of ``query`` (the beginning of a word is enough), best first."""
        match = _match(query)
        if not match:
            return self.kits(source)[:most]
        return self._kits(_SEARCH, (match, source, source, most))

    def forget(self, source: str) -> None:
        """Drop everything of a source."""
        with self._change() as connection:
            connection.execute("DELETE FROM kits WHERE source = ?", (source,))
            connection.execute("DELETE FROM sources WHERE source = ?", (source,))

    def clear(self) -> None:
        """Drop everything and give the space back."""
        with self._change() as connection:
            for table in ("kits", "sources", "marks"):
                connection.execute(f"DELETE FROM {table}")
        with self._speaking():
            connection = self._connection()
            connection.executescript("PRAGMA incremental_vacuum")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def size(self) -> int:
        """Bytes on disk, the write-ahead log included."""
        total = 0
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                total += self.path.with_name(self.path.name + suffix).stat().st_size
        return total

    def recall(self, key: str) -> Seen | None:
        try:
            row = self._one("SELECT mark, value FROM marks WHERE key = ?", (key,))
        except RegistryError:
            # Without a memory a request is made in full; that is all.
            return None
        return None if row is None else Seen(str(row[0]), str(row[1]))

    def keep(self, key: str, seen: Seen) -> None:
        if len(seen.value) > MAX_MARK_VALUE or self.recall(key) == seen:
            return
        with contextlib.suppress(RegistryError), self._change() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO marks (key, mark, value, seen) VALUES (?, ?, ?, ?)",
                (key, seen.mark, seen.value, self._now()),
            )
            self._marks += 1
            if self._marks % TRIM_EVERY == 1:
                self._trim(connection)

    def close(self) -> None:
        """Close every connection of this object."""
        with self._writing:
            self._generation += 1
            for connection in self._open:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
            self._open.clear()

    def _trim(self, connection: sqlite3.Connection) -> None:
        for table, most in (("kits", self._most), ("marks", self._most * 2)):
            (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            if count > most:
                self._drop_oldest(connection, table, count - most)
        for _ in range(20):
            used = _used(connection)
            if used <= self._most_bytes:
                return
            for table in ("kits", "marks"):
                (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
                self._drop_oldest(connection, table, count // 4 + 1)

    @staticmethod
    def _drop_oldest(connection: sqlite3.Connection, table: str, count: int) -> None:
        connection.execute(
            f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY seen LIMIT ?)", (count,)
        )

    def _kits(self, statement: str, values: tuple[object, ...]) -> tuple[SeenKit, ...]:
        with self._speaking():
            return tuple(SeenKit(*row) for row in self._connection().execute(statement, values))

    def _one(self, statement: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        with self._speaking():
            row: tuple[Any, ...] | None = self._connection().execute(statement, values).fetchone()
            return row

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._speaking(), self._writing:
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if _is_damage(error):
                self._set_aside()
                raise IndexUnusable(
                    "The index of Kits was damaged and has been begun anew.",
                    where=str(self.path),
                    remedy="Open the sources again to fill it.",
                ) from error
            busy = "locked" in str(error) or "busy" in str(error)
            raise IndexUnusable(
                "The index of Kits is held by another program." if busy else f"The index of Kits fails: {error}.",
                where=str(self.path),
                remedy="Try again." if busy else "Check the free space of that folder.",
            ) from error

    def _connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        known: tuple[int, sqlite3.Connection] | None = getattr(self._local, "known", None)
        if known is not None and known[0] == self._generation:
            return known[1]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IndexUnusable(f"The folder cannot be made: {error.strerror}.", where=str(self.path)) from error
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=32
        )
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA temp_store = MEMORY")
            _migrate(connection, self.path)
        except BaseException:
            connection.close()
            raise
        self._local.known = (self._generation, connection)
        self._open.append(connection)
        return connection

    def _set_aside(self) -> None:
        self._generation += 1
        self._open.clear()
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + suffix).unlink()


_STEPS = (
    """
    CREATE TABLE kits (
        id INTEGER PRIMARY KEY,
        source TEXT NOT NULL,
        repository TEXT NOT NULL,
        title TEXT NOT NULL,
        publisher TEXT NOT NULL,
        description TEXT NOT NULL,
        words TEXT NOT NULL,
        digest TEXT NOT NULL,
        body TEXT NOT NULL,
        seen REAL NOT NULL,
        UNIQUE (source, repository)
    );
    CREATE INDEX kits_seen ON kits (seen);
    CREATE VIRTUAL TABLE kits_text USING fts5 (
        title, repository, publisher, description, words,
        content = 'kits', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
    );
    CREATE TRIGGER kits_added AFTER INSERT ON kits BEGIN
        INSERT INTO kits_text (rowid, title, repository, publisher, description, words)
        VALUES (new.id, new.title, new.repository, new.publisher, new.description, new.words);
    END;
    CREATE TRIGGER kits_removed AFTER DELETE ON kits BEGIN
        INSERT INTO kits_text (kits_text, rowid, title, repository, publisher, description, words)
        VALUES ('delete', old.id, old.title, old.repository, old.publisher, old.description, old.words);
    END;
    CREATE TRIGGER kits_changed AFTER UPDATE OF title, repository, publisher, description, words ON kits BEGIN
        INSERT INTO kits_text (kits_text, rowid, title, repository, publisher, description, words)
        VALUES ('delete', old.id, old.title, old.repository, old.publisher, old.description, old.words);
        INSERT INTO kits_text (rowid, title, repository, publisher, description, words)
        VALUES (new.id, new.title, new.repository, new.publisher, new.description, new.words);
    END;
    CREATE TABLE sources (source TEXT PRIMARY KEY, listed REAL NOT NULL, note TEXT NOT NULL);
    """,
    """
    CREATE TABLE marks (key TEXT PRIMARY KEY, mark TEXT NOT NULL, value TEXT NOT NULL, seen REAL NOT NULL);
    CREATE INDEX marks_seen ON marks (seen);
    """,
)
"""What turns version N into version N + 1; a released step is never changed."""

_COLUMNS = "source, repository, title, publisher, description, words, digest, body, seen"
_SELECT = f"SELECT {_COLUMNS} FROM kits"
_PUT = (
    f"INSERT INTO kits ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, repository) DO UPDATE SET "
    "title = excluded.title, publisher = excluded.publisher, description = excluded.description, "
    "words = excluded.words, digest = excluded.digest, body = excluded.body, seen = excluded.seen"
)
_SEARCH = (
    f"SELECT {', '.join(f'kits.{name}' for name in _COLUMNS.split(', '))} FROM kits_text "
    "JOIN kits ON kits.id = kits_text.rowid WHERE kits_text MATCH ? AND (? = '' OR kits.source = ?) "
    "ORDER BY bm25(kits_text, 10.0, 6.0, 4.0, 2.0, 1.0), kits.repository LIMIT ?"
)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file up to this version, step by step, each whole or not at all."""
    if _version(connection) == len(_STEPS):
        return
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = _version(connection)
            if version > len(_STEPS):
                raise IndexUnusable(
                    "The index of Kits was written by a newer Kit Studio.",
                    where=str(path),
                    remedy="Use the newer one, or clear the index there.",
                )
            if version == len(_STEPS):
                connection.execute("ROLLBACK")
                return
            for statement in _statements(_STEPS[version]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    current = ""
    for part in script.split(";"):
        current += f"{part};"
        if sqlite3.complete_statement(current):
            if current.strip(" \n;"):
                yield current
            current = ""


def _used(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _is_damage(error: sqlite3.Error) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and getattr(error, "sqlite_errorname", "") in (
        "SQLITE_CORRUPT",
        "SQLITE_CORRUPT_VTAB",
        "SQLITE_CORRUPT_INDEX",
        "SQLITE_NOTADB",
    )


def _match(query: str) -> str:
    """Every word quoted, so that no query is a program; each may be the beginning of a longer one."""
    words = re.findall(r"\w+", query, re.UNICODE)[:MAX_WORDS]
    return " ".join(f'"{word}"*' for word in words)


def _plain(text: str) -> str:
    return text[:MAX_FIELD].encode("utf-8", "replace").decode().replace("\0", " ")
