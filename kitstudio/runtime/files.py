"""Files of a running sandbox, seen from the host: list, read, fetch, put (§8, *agent working files*).

Everything that comes back is the guest's word: names are bytes that need not be text, sizes may lie, streams need not
end. All of it is bounded here. Nothing runs as more than the sandbox's own user, and a link is followed only in a
path that a person named.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, cast

import asyncssh

from kitstudio.runtime import control
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.control import DATA, Channel
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.lifecycle import account_of
from kitstudio.runtime.qemu.guest_session import GuestSession

MOST_ENTRIES = 10_000
"""Entries of one folder that are shown."""
MOST_LISTED = 16 << 20
MOST_PATH = 4095
BLOCK = 256 << 10
GROWTH = 64 << 20
"""Bytes a file may be longer than it said before a fetch gives up."""
_OPEN_SECONDS = 30.0
_WINDOW = 1 << 20
_FIELDS = 8

Progressing = Callable[[int, int], None]
"""Told (done, total) in bytes."""


class EntryKind(StrEnum):
    """What lies in a folder; the letters are the guest's."""

    FOLDER = "d"
    FILE = "f"
    LINK = "l"
    PIPE = "p"
    SOCKET = "s"
    CHARACTERS = "c"
    BLOCKS = "b"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a folder. ``name`` and ``target`` (a link's) are untrusted; bytes that are no text are escaped as
    ``surrogateescape`` does. ``modified``: Unix seconds."""

    name: str
    kind: EntryKind
    mode: int = 0
    size: int = 0
    modified: float = 0.0
    uid: int = 0
    gid: int = 0
    target: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder by its real path, folders first, then by name. ``cut``: there is more than is shown."""

    path: str
    entries: tuple[Entry, ...] = ()
    cut: bool = False


class Files(Protocol):
    """The files of one running sandbox. Paths are absolute; ``named``: a person wrote the path, so links in it are
    followed. All raise ``SandboxError``."""

    async def list(self, path: str, *, named: bool = False) -> Listing:
        """One folder; an empty path is where the sandbox's programs begin."""

    async def read(self, path: str, limit: int, *, named: bool = False) -> tuple[bytes, int]:
        """The first ``limit`` bytes of a file, and its size."""

    async def fetch(self, path: str, target: Path, progress: Progressing, *, named: bool = False) -> int:
        """Copy a file to this computer, whole or not at all; its size."""

    async def put(self, source: Path, path: str, progress: Progressing, *, replace: bool = False) -> int:
        """Copy a file of this computer into the sandbox, whole or not at all; its size."""


class SandboxFiles:
    """``Files`` over a supervisor's socket. ``folder``: the sandbox's own; ``user``: as whom, empty: its own user."""

    def __init__(self, folder: Path, user: str = "") -> None:
        self._folder = folder
        self._user = user

    async def list(self, path: str, *, named: bool = False) -> Listing:
        """One folder; an empty path is where the sandbox's programs begin."""
        found = bytearray()
        async with self._ask("list", path, MOST_ENTRIES + 1, named) as channel:
            async for data in _incoming(channel, path):
                found += data
                if len(found) > MOST_LISTED:
                    raise SandboxError("The folder's list is too long to be shown.", where=path)
        return await asyncio.to_thread(parse_listing, bytes(found))

    async def read(self, path: str, limit: int, *, named: bool = False) -> tuple[bytes, int]:
        """The first ``limit`` bytes of a file, and its size."""
        async with self._ask("get", path, 0, named) as channel:
            pieces = _incoming(channel, path)
            size, rest = await _size_of(pieces, path)
            kept = bytearray(rest)
            if len(kept) < limit:
                async for data in pieces:
                    kept += data
                    if len(kept) >= limit:
                        break
        return bytes(kept[:limit]), max(size, min(len(kept), limit))

    async def fetch(self, path: str, target: Path, progress: Progressing, *, named: bool = False) -> int:
        """Copy a file to this computer, whole or not at all; its size."""
        async with self._ask("get", path, 0, named) as channel:
            pieces = _incoming(channel, path)
            size, rest = await _size_of(pieces, path)
            with _HostErrors(target):
                handle, name = await asyncio.to_thread(tempfile.mkstemp, ".part", ".kit-", target.parent)
            try:
                with _HostErrors(target), os.fdopen(handle, "wb") as file:
                    done = await _keep(file, rest, 0, size, progress)
                    async for data in pieces:
                        done = await _keep(file, data, done, size, progress)
                        if done > max(size, 1) * 2 + GROWTH:
                            raise SandboxError(
                                "The file grows while it is read, without an end.",
                                where=path,
                                remedy="Nothing was kept.",
                            )
                    os.fchmod(file.fileno(), 0o644)
                with _HostErrors(target):
                    os.replace(name, target)
            except BaseException:
                with suppress(OSError):
                    os.unlink(name)
                raise
        return done

    async def put(self, source: Path, path: str, progress: Progressing, *, replace: bool = False) -> int:
        """Copy a file of this computer into the sandbox, whole or not at all; its size."""
        with _HostErrors(source):
            file = await asyncio.to_thread(_open_plain, source)
        with file:
            size = os.fstat(file.fileno()).st_size
            async with self._ask("put", path, size, replace) as channel:
                answer = asyncio.ensure_future(_drained(channel, path))
                try:
                    done = 0
                    while done < size and not answer.done():
                        with _HostErrors(source):
                            data = await asyncio.to_thread(file.read, min(BLOCK, size - done))
                        if not data:
                            raise SandboxError("The file became shorter while it was read.", where=str(source))
                        with suppress(ConnectionError):  # the guest gave up; its answer says why
                            await channel.send(DATA, data)
                        done += len(data)
                        progress(done, size)
                    await answer
                finally:
                    answer.cancel()
                    await asyncio.gather(answer, return_exceptions=True)
        return size

    @asynccontextmanager
    async def _ask(self, what: str, path: str, number: int, flag: bool) -> AsyncIterator[Channel]:
        asked = control.request(self._folder, "files", what=what, path=path, number=number, flag=flag, user=self._user)
        async with asked as channel:
            yield channel


def parse_listing(data: bytes) -> Listing:
    """A folder as the guest's ``files list`` prints it; ``SandboxError`` where it is no such thing."""
    fields = data.decode("utf-8", "surrogateescape").split("\0")
    if fields.pop() or not fields or (len(fields) - 1) % _FIELDS:
        raise SandboxError("The sandbox's list of files is not readable.")
    entries = []
    for at in range(1, len(fields), _FIELDS):
        kind, mode, size, modified, uid, gid, name, target = fields[at : at + _FIELDS]
        try:
            entry = Entry(
                name,
                EntryKind(kind),
                int(mode, 8) & 0o7777,
                int(size),
                float(int(modified)),
                int(uid),
                int(gid),
                target,
            )
        except (ValueError, OverflowError) as error:
            raise SandboxError("The sandbox's list of files is not readable.") from error
        if not name or "/" in name or name in (".", "..") or entry.size < 0:
            raise SandboxError("The sandbox's list of files holds a name that cannot be one.")
        entries.append(entry)
    cut = len(entries) > MOST_ENTRIES
    entries.sort(key=lambda entry: (entry.kind is not EntryKind.FOLDER, entry.name.casefold(), entry.name))
    return Listing(fields[0], tuple(entries[:MOST_ENTRIES]), cut)


async def serve_files(session: GuestSession, plan: LaunchPlan, request: dict[str, Any], channel: Channel) -> None:
    """The supervisor's side: one request, carried to the guest's ``files`` verb; the client's end ends it."""
    path = str(request["path"]) or plan.contract.workdir or "/"
    if not path.startswith("/") or "\0" in path or len(os.fsencode(path)) > MOST_PATH:
        raise SandboxError("A path in a sandbox begins with “/” and is at most 4095 bytes long.", where=path[:200])
    account = await account_of(session, str(request.get("user", "")), plan.contract.account)
    groups = ",".join(str(group) for group in account.groups[:64])
    named = request["what"] == "list" and not request["path"]
    words = (
        str(account.uid), str(account.gid), groups, str(request["what"]), path, str(int(request["number"])),
        "1" if request["flag"] or named else "0",
    )  # fmt: skip
    coded = base64.b64encode(b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)).decode()
    try:
        async with asyncio.timeout(_OPEN_SECONDS):
            stdin, stdout, stderr = await session.connection.open_session(
                f"files {coded}", encoding=None, window=_WINDOW
            )
    except (TimeoutError, asyncssh.Error, OSError) as error:
        raise SandboxError(
            "The sandbox does not take requests.", where=plan.name, remedy="Stop it and start it again."
        ) from error
    taking = asyncio.ensure_future(_carry_in(channel, stdin))
    giving = asyncio.ensure_future(_carry_out(stdout, channel))
    try:
        await asyncio.wait({taking, giving}, return_when=asyncio.FIRST_COMPLETED)
        if not giving.done():
            return
        giving.result()
        why = (await stderr.read(2000)).decode("utf-8", "replace")
        await stdin.channel.wait_closed()
        status = cast("asyncssh.SSHClientChannel[bytes]", stdin.channel).get_exit_status()
        await channel.send_json({"status": status, "why": why})
    finally:
        for task in (taking, giving):
            task.cancel()
        await asyncio.gather(taking, giving, return_exceptions=True)
        stdin.channel.close()


async def _carry_in(channel: Channel, stdin: asyncssh.SSHWriter[bytes]) -> None:
    while (frame := await channel.receive()) is not None:
        if frame[0] == DATA:
            with suppress(BrokenPipeError):  # the program has ended; what it said is still to come
                stdin.write(frame[1])
                await stdin.drain()


async def _carry_out(stdout: asyncssh.SSHReader[bytes], channel: Channel) -> None:
    while data := await stdout.read(BLOCK):
        await channel.send(DATA, data)


async def _incoming(channel: Channel, path: str) -> AsyncIterator[bytes]:
    """The guest's bytes, until it says that it has ended well."""
    while (frame := await channel.receive()) is not None:
        kind, payload = frame
        if kind == DATA:
            yield payload
            continue
        value = json.loads(payload)
        if "error" in value:
            raise control.error_from_json(value["error"])
        _judge(value.get("status"), str(value.get("why", "")), path)
        return
    raise SandboxError("The sandbox stopped before it had answered.", where=path)


async def _drained(channel: Channel, path: str) -> None:
    async for _ in _incoming(channel, path):
        pass


async def _size_of(pieces: AsyncIterator[bytes], path: str) -> tuple[int, bytes]:
    """The size that a file begins with, and what came with it."""
    head = b""
    async for data in pieces:
        head += data
        text, mark, rest = head.partition(b"\0")
        if mark and text.isdigit() and len(text) < 20:
            return int(text), rest
        if mark or len(head) > 32:
            break
    raise SandboxError("The sandbox's answer is not readable.", where=path)


async def _keep(file: Any, data: bytes, done: int, size: int, progress: Progressing) -> int:
    await asyncio.to_thread(file.write, data)
    progress(done + len(data), size)
    return done + len(data)


def _open_plain(source: Path) -> Any:
    if not source.is_file():
        raise SandboxError("Only plain files are copied.", where=str(source), remedy="Pack a folder first.")
    return open(source, "rb")


class _HostErrors:
    """What the host's file system says, as an error with the path."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, ConnectionError):
            raise SandboxError(f"{error.strerror or error}.", where=str(self._path)) from error


def _judge(status: object, why: str, path: str) -> None:
    said = why.strip().removeprefix("kit: ")[:300]
    match status:
        case 0:
            return
        case 3:
            raise SandboxError("There is nothing there.", where=path)
        case 4:
            raise SandboxError("A link is in the way.", where=path, remedy="Go to where it leads by writing that path.")
        case 5:
            raise SandboxError("This is not a plain file.", where=path)
        case 6:
            raise SandboxError("Something of that name is there already.", where=path, remedy="Choose another name.")
        case 120:
            raise SandboxError(
                "This sandbox was started with an older guest that shows no files.",
                remedy="Stop it and start it again.",
            )
        case None:
            raise SandboxError("The connection to the sandbox was lost.", where=path)
    raise SandboxError(said or "The sandbox did not do it.", where=path)
