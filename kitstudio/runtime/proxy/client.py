"""The guest's half of a proxied stream: a strict HTTP/1.1 server, bounded in bytes and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import h11

from kitstudio.runtime.proxy.dial import CHUNK
from kitstudio.runtime.proxy.request import end_to_end


class ByteReader(Protocol):
    """What the proxy needs of a stream's reading half."""

    async def read(self, n: int = ..., /) -> bytes: ...


class ByteWriter(Protocol):
    """What the proxy needs of a stream's writing half."""

    def write(self, data: bytes, /) -> None: ...
    async def drain(self) -> None: ...
    def write_eof(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on a hostile client. Seconds and bytes."""

    connections: int = 256
    head_bytes: int = 32768
    head_seconds: float = 20.0
    connect_seconds: float = 30.0
    idle_seconds: float = 3600.0


class Client:
    """The guest's half: an h11 server over a stream."""

    def __init__(self, reader: ByteReader, writer: ByteWriter, limits: Limits) -> None:
        self.reader = reader
        self.writer = writer
        self._limits = limits
        self.begun = False
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)

    async def head(self) -> h11.Request | None:
        """The next request's head; None at the end of the stream."""
        event = await self._next(self._limits.head_bytes)
        self.begun = True
        return event if isinstance(event, h11.Request) else None

    async def body(self) -> h11.Data | h11.EndOfMessage:
        async with asyncio.timeout(self._limits.idle_seconds):
            event = await self._next()
        if not isinstance(event, h11.Data | h11.EndOfMessage):
            raise EOFError
        return h11.EndOfMessage() if isinstance(event, h11.EndOfMessage) else event

    async def whole_body(self, limit: int) -> bytes:
        """The request's body to its end; ``h11.RemoteProtocolError`` beyond ``limit`` bytes."""
        found = b""
        while not isinstance(event := await self.body(), h11.EndOfMessage):
            found += bytes(event.data)
            if len(found) > limit:
                raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
        return found

    async def reply(self, status: int, document: bytes) -> None:
        """A whole answer in JSON."""
        headers = [
            (b"Content-Type", b"application/json"),
            (b"Cache-Control", b"no-store"),
            (b"Content-Length", str(len(document)).encode()),
        ]
        await self._send(h11.Response(status_code=status, headers=headers))
        await self._send(h11.Data(data=document))
        await self._send(h11.EndOfMessage())

    async def stream(
        self, status: int, headers: Sequence[tuple[str, str]], pieces: AsyncIterator[bytes], *, head: bool = False
    ) -> None:
        """An answer of a stated length, piece by piece; ``head``: only its head."""
        coded = [(name.encode(), value.encode()) for name, value in headers]
        await self._send(h11.Response(status_code=status, headers=coded))
        async for piece in pieces:
            if not head and piece:
                async with asyncio.timeout(self._limits.idle_seconds):
                    await self._send(h11.Data(data=piece))
        await self._send(h11.EndOfMessage())

    async def accept_tunnel(self) -> bytes:
        """Answer a CONNECT and give back bytes the client sent ahead."""
        await self._next()
        await self._send(h11.Response(status_code=200, reason=b"Connection established", headers=[]))
        return self._http.trailing_data[0]

    async def switch(self, event: h11.InformationalResponse) -> bytes:
        """Agree to go on with another protocol, and give back bytes the client sent ahead in it."""
        await self._send(event)
        return self._http.trailing_data[0]

    async def answer(self, event: object) -> None:
        if isinstance(event, h11.InformationalResponse):
            if event.status_code != 101:
                await self._send(event)
        elif isinstance(event, h11.Response):
            headers = end_to_end(event.headers)
            if any(name == b"transfer-encoding" for name, _ in event.headers):
                headers.append((b"Transfer-Encoding", b"chunked"))
            await self._send(h11.Response(status_code=event.status_code, reason=event.reason, headers=headers))
        elif isinstance(event, h11.Data):
            await self._send(h11.Data(data=event.data))
        elif isinstance(event, h11.EndOfMessage):
            await self._send(h11.EndOfMessage())

    def again(self) -> bool:
        """Ready for the next request on this stream, where both sides may continue."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def refuse(self, status: int, text: str) -> None:
        """A short answer, then the end; silent where an answer has begun or the client is gone."""
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        body = text.encode() + b"\n"
        headers = [
            (b"Content-Type", b"text/plain; charset=utf-8"),
            (b"Content-Length", str(len(body)).encode()),
            (b"Connection", b"close"),
            (b"X-Kit-Studio", b"refused"),
        ]
        try:
            await self._send(h11.Response(status_code=status, headers=headers))
            await self._send(h11.Data(data=body))
            await self._send(h11.EndOfMessage())
            self.writer.write_eof()
        except (OSError, h11.LocalProtocolError):
            return

    async def _next(self, piece: int = CHUNK) -> object:
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                data = await self.reader.read(piece)
                self._http.receive_data(data)
                continue
            return event

    async def _send(self, event: h11.Event) -> None:
        self.writer.write(self._http.send(event) or b"")
        await self.writer.drain()
