"""A guest whose own SSH server is the attacker's: root there may replace it, and speaks to our client as it likes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import asyncssh
import pytest
from asyncssh.channel import SSHTCPChannel

from kitstudio.runtime.qemu.command import CONTROL_SOCKET
from kitstudio.runtime.qemu.guest_session import GuestSession
from kitstudio.runtime.qemu.keys import create_keys
from kitstudio.runtime.qemu.machine import Machine


class Impostor(asyncssh.SSHServer):
    """Lets everybody in and agrees to every forward."""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn

    def begin_auth(self, username: str) -> bool:
        return False

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        return False


@asynccontextmanager
async def connected(tmp_path: Path, *, stolen_key: bool = True) -> AsyncIterator[tuple[Impostor, Any]]:
    """(the attacker's server, our client). ``stolen_key``: it has the machine's own host key, as root there does."""
    keys = create_keys()
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    pinned = keys if not stolen_key else SimpleNamespace(
        client=keys.client, guest_public=host_key.export_public_key().decode()
    )  # fmt: skip
    servers: list[Impostor] = []

    def made() -> Impostor:
        servers.append(Impostor())
        return servers[-1]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not (line := await reader.readline()).startswith(b"KIT-CONNECT"):
            assert line
        sock = writer.get_extra_info("socket").dup()
        writer.write(line.replace(b"CONNECT", b"OK"))
        await writer.drain()
        writer.transport.abort()
        with contextlib.suppress(asyncssh.Error, OSError):
            await asyncssh.run_server(sock, server_factory=made, server_host_keys=[host_key])

    machine = Machine()
    machine._spec = cast(Any, SimpleNamespace(folder=tmp_path, keys=pinned))
    async with await asyncio.start_unix_server(answer, tmp_path / CONTROL_SOCKET):
        async with asyncio.timeout(20):
            client = await machine._try_connect()
        try:
            yield servers[0], client
        finally:
            client.abort()


async def test_only_the_machines_own_key_is_spoken_to(tmp_path: Path) -> None:
    with pytest.raises(asyncssh.HostKeyNotVerifiable):
        async with connected(tmp_path, stolen_key=False):
            pass


@pytest.mark.parametrize(
    "kind", [b"forwarded-tcpip", b"direct-tcpip", b"auth-agent@openssh.com", b"x11", b"session", b"tun@openssh.com",
             b"forwarded-streamlocal@openssh.com", b"direct-streamlocal@openssh.com"],
)  # fmt: skip
async def test_no_channel_leads_anywhere_that_was_not_offered(tmp_path: Path, kind: bytes) -> None:
    reached: list[bytes] = []

    async def trap(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(await reader.read(1))
        writer.close()

    trap_server = await asyncio.start_server(trap, "127.0.0.1", 0)
    port = trap_server.sockets[0].getsockname()[1]
    async with trap_server, connected(tmp_path) as (server, _):
        channel: Any = SSHTCPChannel(server.connection, asyncio.get_running_loop(), None, "strict", 1 << 20, 1 << 15)
        session: Any = asyncssh.SSHTCPSession
        with pytest.raises(asyncssh.ChannelOpenError):
            await asyncio.wait_for(channel._open_tcp(session, kind, "127.0.0.1", port, "127.0.0.1", 1), 10)
        assert reached == []


async def test_a_flood_of_forwarded_connections_meets_one_handler_each_and_no_other_place(tmp_path: Path) -> None:
    async with connected(tmp_path) as (server, client):
        served: list[tuple[str, int]] = []

        async def out(reader: Any, writer: Any, host: str, port: int) -> None:
            served.append((host, port))
            writer.close()

        server.server_requested = lambda host, port: True  # type: ignore[method-assign]
        await GuestSession(client).forward(3128, out)
        session: Any = asyncssh.SSHTCPSession
        for number in range(300):
            await server.connection.create_connection(session, "127.0.0.1", 3128, "10.0.0.1", number)
        with pytest.raises(asyncssh.ChannelOpenError):
            await server.connection.create_connection(session, "127.0.0.1", 22, "10.0.0.1", 1)
        while len(served) < 300:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not client.is_closed()
