"""The only way out of a sandbox: an HTTP/1.1 proxy on the host, spoken to over streams the guest cannot bypass.

``CONNECT host:port`` tunnels bytes; absolute-form requests are re-framed one by one. Every request is judged by
name, port and phase before anything is resolved; every judgement is recorded with the line that decided.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import h11

from kitstudio.runtime.backend import Decision
from kitstudio.runtime.policy import EgressPolicy, Phase, Ruling
from kitstudio.runtime.proxy.dial import CHUNK, Connector, Forbidden, Resolver, Unreachable, connect, dial, resolve
from kitstudio.runtime.proxy.log import DecisionLog
from kitstudio.runtime.proxy.request import Unacceptable, authority_of, destination, end_to_end, path_only


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


class Proxy:
    """One sandbox's proxy. ``phase`` starts closed; ``switch`` changes it and cuts what is open."""

    def __init__(
        self,
        policy: EgressPolicy,
        log: DecisionLog,
        *,
        resolver: Resolver = resolve,
        connector: Connector = connect,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.phase = Phase.CLOSED
        self._policy = policy
        self._log = log
        self._resolver = resolver
        self._connector = connector
        self._limits = limits or Limits()
        self._clock = clock
        self._open: set[asyncio.Task[None]] = set()

    @property
    def connections(self) -> int:
        """Streams being served now."""
        return len(self._open)

    async def switch(self, phase: Phase) -> None:
        """Enter a phase: every open stream was granted under the old one, so it ends."""
        self.phase = phase
        open_now = [task for task in self._open if task is not asyncio.current_task()]
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)

    async def serve(self, reader: ByteReader, writer: ByteWriter) -> None:
        """Serve one stream from the guest until it ends."""
        task = asyncio.ensure_future(self._guarded(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        try:
            # Shielded so that a switch, which cancels the inner task, does not look like our caller's cancellation.
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                task.cancel()
                raise
        finally:
            writer.close()

    async def _guarded(self, reader: ByteReader, writer: ByteWriter) -> None:
        client = _Client(reader, writer, self._limits)
        try:
            if len(self._open) > self._limits.connections:
                await client.refuse(503, "Too many connections from this sandbox.")
                return
            while await self._one(client):
                pass
        except h11.RemoteProtocolError as error:
            await client.refuse(error.error_status_hint, f"Not an acceptable request: {error}.")
        except TimeoutError:
            await client.refuse(408, "Too slow.")
        except (OSError, EOFError, h11.LocalProtocolError):
            return

    async def _one(self, client: _Client) -> bool:
        """One request; True when another may follow on the same stream."""
        async with asyncio.timeout(self._limits.head_seconds):
            request = await client.head()
        if request is None:
            return False
        try:
            host, port, target = destination(request)
        except Unacceptable as bad:
            self._record(Ruling(False, self.phase, bad.host, 0, reason=bad.reason), request)
            await client.refuse(400, f"Refused: {bad.reason}.")
            return False
        ruling = self._policy.decide(self.phase, host, port)
        if not ruling.allowed:
            self._record(ruling, request)
            await client.refuse(403, _refusal(ruling))
            return False
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                upstream = await dial(self._policy, ruling, self._resolver, self._connector)
        except Forbidden as forbidden:
            refused = Ruling(False, ruling.phase, ruling.host, ruling.port, ruling.rule, str(forbidden))
            self._record(refused, request)
            await client.refuse(403, _refusal(refused))
            return False
        except (Unreachable, TimeoutError) as error:
            self._record(ruling, request, str(error) or "no answer in time")
            await client.refuse(502, f"Allowed, but unreachable: {error or 'no answer in time'}.")
            return False
        self._record(ruling, request)
        try:
            if request.method == b"CONNECT":
                await self._tunnel(client, *upstream)
                return False
            return await self._exchange(client, request, target, *upstream)
        finally:
            upstream[1].close()

    async def _tunnel(self, client: _Client, reader: ByteReader, writer: ByteWriter) -> None:
        early = await client.accept_tunnel()
        if early:
            writer.write(early)
        activity = [asyncio.get_running_loop().time()]
        pumps = [
            asyncio.create_task(_pump(client.reader, writer, activity)),
            asyncio.create_task(_pump(reader, client.writer, activity)),
        ]
        try:
            await _until_done_or_idle(pumps, activity, self._limits.idle_seconds)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _exchange(
        self, client: _Client, request: h11.Request, target: bytes, reader: ByteReader, writer: ByteWriter
    ) -> bool:
        """Re-frame one request and its answer; nothing the client sent reaches the server unparsed."""
        server = h11.Connection(h11.CLIENT, max_incomplete_event_size=self._limits.head_bytes)
        headers = [*end_to_end(request.headers), (b"Connection", b"close")]
        if not any(name.lower() == b"host" for name, _ in headers):
            headers.append((b"Host", authority_of(request.target.decode("ascii")).encode()))
        if any(name == b"transfer-encoding" for name, _ in request.headers):
            headers.append((b"Transfer-Encoding", b"chunked"))
        writer.write(server.send(h11.Request(method=request.method, target=target, headers=headers)) or b"")
        await writer.drain()

        async def upload() -> None:
            try:
                while True:
                    event = await client.body()
                    writer.write(server.send(event) or b"")
                    await writer.drain()
                    if isinstance(event, h11.EndOfMessage):
                        return
            except Exception:
                writer.close()  # ends the answer's reader, which then reports what happened here
                raise

        uploading = asyncio.ensure_future(upload())
        try:
            while True:
                event = server.next_event()
                if event is h11.NEED_DATA:
                    async with asyncio.timeout(self._limits.idle_seconds):
                        in_head = server.their_state is h11.SEND_RESPONSE
                        server.receive_data(await reader.read(self._limits.head_bytes if in_head else CHUNK))
                    continue
                await client.answer(event)
                if isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                    break
            return uploading.done() and uploading.exception() is None and client.again()
        except h11.RemoteProtocolError as error:
            if uploading.done():
                uploading.result()
            await client.refuse(502, f"The server's answer is not acceptable: {error}.")
            return False
        finally:
            uploading.cancel()
            await asyncio.gather(uploading, return_exceptions=True)

    def _record(self, ruling: Ruling, request: h11.Request, reason: str = "") -> None:
        rule = ruling.rule
        inspected = request.method != b"CONNECT"
        self._log.add(
            Decision(
                time=self._clock(),
                phase=ruling.phase.value,
                host=ruling.host[:253],
                port=ruling.port,
                verdict="allowed" if ruling.allowed else "refused",
                kit=rule.kit if rule else "",
                path=rule.path if rule else "",
                line=rule.line if rule else 0,
                method=request.method.decode("ascii")[:32] if inspected else None,
                url_path=path_only(request.target) if inspected else None,
                reason=reason or ruling.reason,
            )
        )


async def _pump(reader: ByteReader, writer: ByteWriter, activity: list[float]) -> None:
    while data := await reader.read(CHUNK):
        activity[0] = asyncio.get_running_loop().time()
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def _until_done_or_idle(pumps: list[asyncio.Task[None]], activity: list[float], idle: float) -> None:
    """Return when both directions ended; raise what one of them raised, or ``TimeoutError`` when neither moves."""
    waiting = set(pumps)
    while waiting:
        left = activity[0] + idle - asyncio.get_running_loop().time()
        if left <= 0:
            raise TimeoutError
        done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for pump in done:
            pump.result()


class _Client:
    """The guest's half: an h11 server over a stream."""

    def __init__(self, reader: ByteReader, writer: ByteWriter, limits: Limits) -> None:
        self.reader = reader
        self.writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)

    async def head(self) -> h11.Request | None:
        event = await self._next(self._limits.head_bytes)
        return event if isinstance(event, h11.Request) else None

    async def body(self) -> h11.Data | h11.EndOfMessage:
        async with asyncio.timeout(self._limits.idle_seconds):
            event = await self._next()
        if not isinstance(event, h11.Data | h11.EndOfMessage):
            raise EOFError
        return h11.EndOfMessage() if isinstance(event, h11.EndOfMessage) else event

    async def accept_tunnel(self) -> bytes:
        """Answer a CONNECT and give back bytes the client sent ahead."""
        await self._next()
        await self._send(h11.Response(status_code=200, reason=b"Connection established", headers=[]))
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


def _refusal(ruling: Ruling) -> str:
    if ruling.rule is None:
        return f"Refused: {ruling.reason}."
    rule = ruling.rule
    line = f", line {rule.line}" if rule.line else ""
    return f"Refused: {ruling.reason} ({rule.kit or 'the set'}, {rule.path}{line})."
