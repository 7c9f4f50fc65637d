"""A trap on the host: whoever reaches it from a sandbox has got out."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Tripwire(asyncio.DatagramProtocol):
    """Listens on every address of this computer, TCP and UDP, at one port. ``hits``: what arrived."""

    def __init__(self) -> None:
        self.port = 0
        self.hits: list[str] = []

    def datagram_received(self, data: bytes, addr: object) -> None:
        """A datagram got out."""
        self.hits.append(f"udp {addr} {data[:40]!r}")

    async def accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection got out."""
        self.hits.append(f"tcp {writer.get_extra_info('peername')}")
        writer.close()


@asynccontextmanager
async def tripwire() -> AsyncIterator[Tripwire]:
    """A trap for as long as the block lasts."""
    made = Tripwire()
    server = await asyncio.start_server(made.accepted, "0.0.0.0", 0)
    made.port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    datagrams, _ = await loop.create_datagram_endpoint(lambda: made, local_addr=("0.0.0.0", made.port))
    more = None
    with contextlib.suppress(OSError):  # a computer without IPv6
        more = await asyncio.start_server(made.accepted, "::", made.port, family=socket.AF_INET6)
    try:
        yield made
    finally:
        datagrams.close()
        server.close()
        if more is not None:
            more.close()


def own_address() -> str:
    """An address of this computer that other computers use; loopback where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
