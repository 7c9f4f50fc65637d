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
from urllib.parse import urlsplit

import h11

from kitstudio.runtime.backend import Decision
from kitstudio.runtime.policy import EgressPolicy, Phase, Ruling
from kitstudio.runtime.proxy.dial import CHUNK, Connector, Forbidden, Resolver, Unreachable, connect, dial, resolve
from kitstudio.runtime.proxy.log import DecisionLog

_HOP_BY_HOP = frozenset(
    [
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"upgrade",
        b"proxy-authorization",
        b"proxy-authenticate",
        b"transfer-encoding",
    ]
)


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
            host, port, target = _destination(request)
        except _Bad as bad:
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
        headers = [*_end_to_end(request.headers), (b"Connection", b"close")]
        if not any(name.lower() == b"host" for name, _ in headers):
            headers.append((b"Host", urlsplit(request.target).netloc))
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
                url_path=_path_only(request.target) if inspected else None,
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


class _Bad(Exception):
    def __init__(self, reason: str, host: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.host = host


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
            headers = _end_to_end(event.headers)
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


def _destination(request: h11.Request) -> tuple[str, int, bytes]:
    """(host, port, origin-form target); ``_Bad`` for anything two parsers might read differently."""
    lengths = [value for name, value in request.headers if name == b"content-length"]
    if lengths and any(name == b"transfer-encoding" for name, _ in request.headers):
        raise _Bad("both Content-Length and Transfer-Encoding")
    if request.http_version not in (b"1.1", b"1.0"):
        raise _Bad("not HTTP/1.x")
    try:
        target = request.target.decode("ascii")
    except UnicodeDecodeError as error:
        raise _Bad("the target is not ASCII") from error
    if any(ord(c) <= 32 or c in "\\\x7f" for c in target):
        raise _Bad("the target holds blanks, controls or backslashes")
    if request.method == b"CONNECT":
        host, port = _authority(target, 0)
        path = b""
    else:
        if not target.lower().startswith("http://"):
            raise _Bad("only http:// in absolute form and CONNECT pass here")
        parts = urlsplit(target)
        host, port = _authority(parts.netloc, 80)
        path = request.target[len("http://") + len(parts.netloc) :].partition(b"#")[0]
        path = path if path.startswith(b"/") else b"/" + path
    hosts = [value for name, value in request.headers if name == b"host"]
    for value in hosts:
        try:
            stated = _authority(value.decode("ascii"), 443 if request.method == b"CONNECT" else 80)
        except (UnicodeDecodeError, _Bad) as error:
            raise _Bad("the Host header cannot be read", host) from error
        # For CONNECT many clients leave the port out of Host; the name must agree in any case.
        if _same(stated[0]) != _same(host) or (request.method != b"CONNECT" and stated[1] != port):
            raise _Bad("the Host header names another host than the request", host)
    return host, port, path


def _authority(text: str, default_port: int) -> tuple[str, int]:
    if "@" in text:
        raise _Bad("user information in the authority")
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _Bad("the authority cannot be read")
        port_text = rest[1:]
    else:
        host, _, port_text = text.partition(":")
        rest = ":" if ":" in text else ""
    if not host or (rest and not port_text) or (not rest and not default_port):
        raise _Bad("the authority needs a host and a port")
    if not port_text:
        return host, default_port
    if not (port_text.isascii() and port_text.isdigit() and len(port_text) <= 5 and 0 < int(port_text) < 65536):
        raise _Bad("not a port")
    return host, int(port_text)


def _same(host: str) -> str:
    return host.lower().removesuffix(".")


def _end_to_end(headers: h11._headers.Headers) -> list[tuple[bytes, bytes]]:
    """Headers without hop-by-hop ones, those a Connection header names included."""
    dropped = set(_HOP_BY_HOP)
    for name, value in headers:
        if name == b"connection":
            dropped |= {token.strip().lower() for token in value.split(b",")} - {b"host", b"content-length"}
    return [(name, value) for name, value in headers.raw_items() if name.lower() not in dropped]


def _path_only(target: bytes) -> str:
    """The path for the log: a query may carry a secret, so it is left out."""
    return (urlsplit(target.decode("ascii", "replace")).path or "/")[:512]


def _refusal(ruling: Ruling) -> str:
    if ruling.rule is None:
        return f"Refused: {ruling.reason}."
    rule = ruling.rule
    line = f", line {rule.line}" if rule.line else ""
    return f"Refused: {ruling.reason} ({rule.kit or 'the set'}, {rule.path}{line})."
