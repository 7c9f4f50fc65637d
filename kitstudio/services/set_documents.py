"""Set files on disk: reading, writing without losing what another program wrote, recent ones, and drafts.

A draft is unsaved work, kept while it is edited so that a crash loses nothing. A draft belongs to the process that
holds its lock; one whose process is gone is offered again. Secrets are in neither.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from kitstudio.models import set_file
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.services.composition import Composition, SetState
from kitstudio.services.home import Home, write_atomic

MAX_SET = 524_288
"""Bytes of a descriptor (§4)."""
RECENT = 12
_REMEMBERED = 64
_MAX_DRAFT = 4 * MAX_SET


class ChangedOnDisk(KitStudioError):
    """The file holds something that was never read here."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person decided about a set and its file does not hold: options in or out, values of its own args."""

    choices: Mapping[str, bool] = field(default_factory=dict)
    set_args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """Unsaved work. ``saved``: what its file held when it was last read; ``when``: seconds since the epoch."""

    text: str
    saved: str
    name: str
    path: Path | None
    when: float
    decided: Decided = field(default_factory=Decided)

    @property
    def state(self) -> SetState:
        """The state to go on with."""
        return SetState(self.text, choices=self.decided.choices, set_args=self.decided.set_args)


def read_set(path: Path) -> str:
    """The text of a set file. Raises ``DescriptorError`` where it is none, with file:line:column where known."""
    return set_file.parse(_read(path), str(path)).text


def changed_text(path: Path, saved: str) -> str | None:
    """What a file holds now, None where that is what was last read, or where there is no file."""
    if not path.is_file():
        return None
    text = read_set(path)
    return None if text == saved else text


def write_set(path: Path, text: str, expected: str | None) -> None:
    """Write a set file; a link stays one, and so does the file's mode.

    ``expected``: what the file must still hold, None where it may be replaced whatever it holds.
    """
    target = path.resolve()
    mode = 0o644
    if target.is_file():
        mode = target.stat().st_mode & 0o777
        if expected is not None and not _holds(target, expected):
            raise ChangedOnDisk(
                "Another program changed the file.",
                where=str(path),
                remedy="Reload it, or keep yours and save again.",
            )
    write_atomic(target, text.encode(), mode=mode)


class SetDocuments:
    """Recent files with what was decided about them, and the draft of this process. Blocking work runs in threads."""

    def __init__(self, home: Home) -> None:
        self._recent_file = home.data / "recent-sets.json"
        self._drafts = home.data / "drafts"
        self._lock: BinaryIO | None = None
        self._draft: Path | None = None
        self._order = asyncio.Lock()

    async def recent(self) -> tuple[Path, ...]:
        """Files opened or saved before that are still there, the last one first."""
        return await asyncio.to_thread(self._existing)

    async def decided(self, path: Path) -> Decided:
        """What was decided about a set when it was last here."""
        entries = await asyncio.to_thread(self._entries)
        return next((decided for known, decided in entries if known == path.absolute()), Decided())

    async def remember(self, path: Path, state: SetState) -> None:
        """Put a file first among the recent ones, with what is decided about it now."""
        decided = Decided(dict(state.choices), dict(state.set_args))
        async with self._order:
            await asyncio.to_thread(self._remember, path.absolute(), decided)

    async def forget_recent(self) -> None:
        """Empty the list of recent files."""
        async with self._order:
            await asyncio.to_thread(self._recent_file.unlink, missing_ok=True)

    async def follow_draft(self, current: Callable[[], tuple[Composition, str]]) -> None:
        """The draft becomes what there is to keep, if anything: asked once it is this call's turn, so that a save in
        the meantime leaves no draft of what was before it."""
        async with self._order:
            composition, saved = current()
            if composition.dirty:
                await asyncio.to_thread(self._keep, composition, saved)
            elif self._draft is not None:
                await asyncio.to_thread(self._draft.unlink, missing_ok=True)

    async def keep_draft(self, composition: Composition, saved: str) -> None:
        """Keep unsaved work."""
        async with self._order:
            await asyncio.to_thread(self._keep, composition, saved)

    def follow_now(self, composition: Composition, saved: str) -> None:
        """``follow_draft`` and ``remember`` before the program ends: at once, since no loop runs any more."""
        if composition.path is not None:
            state = composition.state
            self._remember(composition.path, Decided(dict(state.choices), dict(state.set_args)))
        if composition.dirty and (self._draft is not None or not self._order.locked()):
            self._keep(composition, saved)
        elif not composition.dirty and self._draft is not None:
            self._draft.unlink(missing_ok=True)

    async def drop_draft(self) -> None:
        """The work is saved, or not wanted any more."""
        async with self._order:
            if self._draft is not None:
                await asyncio.to_thread(self._draft.unlink, missing_ok=True)

    async def recover(self) -> Draft | None:
        """The newest draft whose process is gone; it becomes this process's own."""
        async with self._order:
            return await asyncio.to_thread(self._adopt)

    async def close(self) -> None:
        """Give the draft's lock back: what is unsaved is offered at the next start."""
        async with self._order:
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    def _existing(self) -> tuple[Path, ...]:
        return tuple(path for path, _ in self._entries() if path.is_file())[:RECENT]

    def _entries(self) -> list[tuple[Path, Decided]]:
        try:
            found = json.loads(_bounded(self._recent_file))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError):
            return []  # a damaged list is a list that is not there: nothing but convenience is lost
        entries = found if isinstance(found, list) else []
        return [
            (Path(e["path"]), _decided(e)) for e in entries if isinstance(e, dict) and isinstance(e.get("path"), str)
        ]

    def _remember(self, path: Path, decided: Decided) -> None:
        entries = [(path, decided), *((known, other) for known, other in self._entries() if known != path)]
        value = [
            {"path": str(known), "choices": dict(d.choices), "setArgs": dict(d.set_args)}
            for known, d in entries[:_REMEMBERED]
        ]
        write_atomic(self._recent_file, json.dumps(value).encode())

    def _keep(self, composition: Composition, saved: str) -> None:
        if self._draft is None:
            self._drafts.mkdir(mode=0o700, exist_ok=True)
            self._claim(self._drafts / f"{secrets.token_hex(8)}.json")
        assert self._draft is not None
        state = composition.state
        value = {
            "text": state.text,
            "saved": saved,
            "name": composition.name,
            "path": str(composition.path) if composition.path is not None else "",
            "when": time.time(),
            "choices": dict(state.choices),
            "setArgs": dict(state.set_args),
        }
        write_atomic(self._draft, json.dumps(value).encode())

    def _claim(self, draft: Path) -> bool:
        """Take a draft's lock for as long as this process lives; False where another process has it."""
        lock = draft.with_suffix(".lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return False
        self._lock, self._draft = lock, draft
        return True

    def _adopt(self) -> Draft | None:
        if self._draft is not None or not self._drafts.is_dir():
            return None
        dated = []
        for path in self._drafts.glob("*.json"):
            try:
                dated.append((path.stat().st_mtime, path))
            except FileNotFoundError:
                continue
        for _, path in sorted(dated, reverse=True):
            if not self._claim(path):
                continue
            draft = _draft(path)
            if draft is not None:
                return draft
            # Not readable as a draft: put aside under another name, never thrown away.
            os.replace(path, path.with_suffix(".damaged"))
            self._draft = None
            if self._lock is not None:
                self._lock.close()
                self._lock = None
        for lock in self._drafts.glob("*.lock"):
            if not lock.with_suffix(".json").exists() and lock.with_suffix(".json") != self._draft:
                lock.unlink(missing_ok=True)
        return None


def _holds(path: Path, expected: str) -> bool:
    if _read(path) == expected.encode():
        return True
    try:
        return read_set(path) == expected
    except DescriptorError:
        return False


def _draft(path: Path) -> Draft | None:
    try:
        value = json.loads(_bounded(path))
        text, saved, name = value["text"], value["saved"], value["name"]
        where = str(value["path"])
        when = float(value["when"])
        f"{text}{saved}{name}{where}".encode()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(isinstance(each, str) for each in (text, saved, name)):
        return None
    return Draft(text, saved, name, Path(where) if where else None, when, _decided(value))


def _decided(value: Mapping[str, object]) -> Decided:
    choices, args = value.get("choices"), value.get("setArgs")
    return Decided(
        {str(k): v for k, v in choices.items() if isinstance(v, bool)} if isinstance(choices, dict) else {},
        {str(k): v for k, v in args.items() if isinstance(v, str)} if isinstance(args, dict) else {},
    )


def _bounded(path: Path) -> bytes:
    with path.open("rb") as stream:
        raw = stream.read(_MAX_DRAFT + 1)
    if len(raw) > _MAX_DRAFT:
        raise ValueError("larger than Kit Studio writes it")
    return raw


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_SET + 1)
    except OSError as error:
        raise DescriptorError(f"The file cannot be read: {error.strerror or error}.", where=str(path)) from error
    if len(raw) > MAX_SET:
        raise DescriptorError("The file is larger than a descriptor may be (512 KiB).", where=str(path))
    return raw
