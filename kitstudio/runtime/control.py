"""How a window or command talks to a sandbox's supervisor: frames over a Unix socket in the sandbox's own folder.

A frame is one kind byte, a length and a payload. ``J`` carries JSON, the others raw bytes. A request is one ``J``
frame; what follows depends on its ``op``.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import SandboxError

JSON = b"J"
DATA = b"D"
STDIN = b"I"
STDOUT = b"O"
STDERR = b"E"

FRAME_LIMIT = 96 << 20
_HEAD = struct.Struct(">cI")
_SOCKET = "control.sock"


class Channel:
    """One connection, either side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> tuple[bytes, bytes] | None:
        """The next (kind, payload), None at the end of the connection."""
        try:
            kind, length = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
            if length > FRAME_LIMIT:
                raise SandboxError("The sandbox's supervisor sent too much at once.")
            return kind, await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def send(self, kind: bytes, payload: bytes) -> None:
        """Send one frame; ``ConnectionError`` when nobody is there."""
        self._writer.write(_HEAD.pack(kind, len(payload)) + payload)
        await self._writer.drain()

    async def send_json(self, value: Any) -> None:
        await self.send(JSON, json.dumps(value).encode())

    async def receive_json(self) -> dict[str, Any]:
        """The next frame as a JSON object; raises the ``SandboxError`` the other side answered with."""
        frame = await self.receive()
        if frame is None:
            raise SandboxError("The sandbox's supervisor ended the conversation.", remedy="Look at the sandbox's log.")
        kind, payload = frame
        value = json.loads(payload) if kind == JSON else None
        if not isinstance(value, dict):
            raise SandboxError("The sandbox's supervisor answered something unreadable.")
        if "error" in value:
            raise error_from_json(value["error"])
        return value

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


Handler = Callable[[dict[str, Any], Channel], Awaitable[None]]


class ControlServer:
    """Listens in a sandbox's folder; each connection is one request."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self, folder: Path) -> None:
        """Listen; a socket that a dead process left behind is replaced."""
        with _ShortPath(folder) as place:
            (folder / _SOCKET).unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._connected, path=f"{place}/{_SOCKET}", limit=1 << 20)
            os.chmod(folder / _SOCKET, 0o600)

    async def close(self) -> None:
        """Stop listening and end the conversations that are still open."""
        if self._server is not None:
            self._server.close()
        conversations = list(self._open)
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._converse(Channel(reader, writer)))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _converse(self, channel: Channel) -> None:
        """One request; an error becomes the answer."""
        try:
            frame = await channel.receive()
            if frame is None or frame[0] != JSON:
                return
            request = json.loads(frame[1])
            if isinstance(request, dict):
                await self._handler(request, channel)
        except KitStudioError as error:
            with suppress(ConnectionError):
                await channel.send_json({"error": error_to_json(error)})
        except (ConnectionError, ValueError):
            return
        finally:
            with suppress(ConnectionError):
                await channel.close()


@asynccontextmanager
async def request(folder: Path, op: str, **arguments: Any) -> AsyncIterator[Channel]:
    """Connect, ask ``op``, and talk. ``SandboxError`` when no supervisor listens."""
    try:
        with _ShortPath(folder) as place:
            reader, writer = await asyncio.open_unix_connection(f"{place}/{_SOCKET}", limit=1 << 20)
    except OSError as error:
        raise SandboxError("The sandbox is not running.", where=folder.name, remedy="Start it first.") from error
    channel = Channel(reader, writer)
    try:
        try:
            await channel.send_json({"op": op, **arguments})
        except ConnectionError as error:  # it listened, and ended before it heard
            raise SandboxError("The sandbox is not running.", where=folder.name, remedy="Start it first.") from error
        yield channel
    finally:
        await channel.close()


def error_to_json(error: KitStudioError) -> dict[str, str]:
    return {"what": error.what, "where": error.where, "remedy": error.remedy}


def error_from_json(value: Any) -> SandboxError:
    if not isinstance(value, dict):
        return SandboxError("The sandbox's supervisor failed.")
    return SandboxError(
        str(value.get("what", "")), where=str(value.get("where", "")), remedy=str(value.get("remedy", ""))
    )


class _ShortPath:
    """A path to a folder that fits a socket address (108 bytes) however long the folder's own path is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> str:
        self._handle = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._handle}"

    def __exit__(self, *error: object) -> None:
        os.close(self._handle)
