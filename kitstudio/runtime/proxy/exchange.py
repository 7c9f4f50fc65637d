"""Carrying what was allowed: one request and its answer, re-framed, or bytes both ways."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import h11

from kitstudio.runtime.proxy.client import ByteReader, ByteWriter, Client, Limits
from kitstudio.runtime.proxy.dial import CHUNK


async def exchange(
    client: Client,
    request: h11.Request,
    target: bytes,
    headers: Sequence[tuple[bytes, bytes]],
    upstream: tuple[ByteReader, ByteWriter],
    limits: Limits,
    *,
    upgrade: bool = False,
) -> bool:
    """Re-frame one request and its answer; nothing the client sent reaches the server unparsed.

    ``headers``: end-to-end ones. ``upgrade``: the client wants to go on with WebSocket, and does when the server
    agrees. True when another request may follow on the client's stream.
    """
    reader, writer = upstream
    server = h11.Connection(h11.CLIENT, max_incomplete_event_size=limits.head_bytes)
    ends = [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")] if upgrade else [(b"Connection", b"close")]
    if any(name == b"transfer-encoding" for name, _ in request.headers):
        ends.append((b"Transfer-Encoding", b"chunked"))
    sent = h11.Request(method=request.method, target=target, headers=[*headers, *ends])
    writer.write(server.send(sent) or b"")
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
                async with asyncio.timeout(limits.idle_seconds):
                    in_head = server.their_state is h11.SEND_RESPONSE
                    server.receive_data(await reader.read(limits.head_bytes if in_head else CHUNK))
                continue
            if upgrade and isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                await uploading
                ahead = await client.switch(event)
                await carry(client, upstream, limits, to_server=ahead, to_client=server.trailing_data[0])
                return False
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


async def post_once(
    reader: ByteReader, writer: ByteWriter, host: str, target: bytes, content_type: str, body: bytes
) -> tuple[int, bytes]:
    """One POST of ours, and the answer's status and body (at most 1 MiB)."""
    server = h11.Connection(h11.CLIENT, max_incomplete_event_size=65536)
    headers = [
        ("Host", host),
        ("Content-Type", content_type or "application/x-www-form-urlencoded"),
        ("Content-Length", str(len(body))),
        ("Accept", "application/json"),
        ("Connection", "close"),
    ]
    request = h11.Request(method="POST", target=target, headers=headers)
    for sent in (request, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(server.send(sent) or b"")
    await writer.drain()
    status, found = 0, b""
    while True:
        event = server.next_event()
        if event is h11.NEED_DATA:
            server.receive_data(await reader.read(CHUNK))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            found += bytes(event.data)
            if len(found) > 1 << 20:
                raise h11.RemoteProtocolError("the answer is too large")
        elif isinstance(event, h11.EndOfMessage):
            return status, found
        elif isinstance(event, h11.ConnectionClosed):
            raise EOFError("the answer ends early")


async def carry(
    client: Client,
    upstream: tuple[ByteReader, ByteWriter],
    limits: Limits,
    *,
    to_server: bytes = b"",
    to_client: bytes = b"",
) -> None:
    """Bytes both ways until both ended, or neither moved for too long. What was read ahead goes first."""
    reader, writer = upstream
    for data, end in ((to_server, writer), (to_client, client.writer)):
        if data:
            end.write(data)
            await end.drain()
    activity = [asyncio.get_running_loop().time()]
    pumps = [
        asyncio.create_task(_pump(client.reader, writer, activity)),
        asyncio.create_task(_pump(reader, client.writer, activity)),
    ]
    try:
        await _until_done_or_idle(pumps, activity, limits.idle_seconds)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


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
