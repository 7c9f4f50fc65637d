"""An SSH agent of the tests' own, and the messages a client sends it."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncssh


def text(data: bytes | str) -> bytes:
    """A string of the protocol."""
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def framed(message: bytes) -> bytes:
    return text(message)


LIST = bytes([11])


def sign(key: asyncssh.SSHKey, data: bytes) -> bytes:
    return bytes([13]) + text(key.public_data) + text(data) + struct.pack(">I", 0)


def named(namespace: str) -> bytes:
    """What ssh-keygen -Y sign has signed."""
    return b"SSHSIG" + text(namespace) + text("") + text("sha512") + text(b"\0" * 64)


def login(session: bytes, user: str, key: asyncssh.SSHKey, host_key: bytes | None = None) -> bytes:
    method = "publickey" if host_key is None else "publickey-hostbound-v00@openssh.com"
    data = text(session) + b"\x32" + text(user) + text("ssh-connection") + text(method) + b"\1"
    data += text("ssh-ed25519") + text(key.public_data)
    return data if host_key is None else data + text(host_key)


def bind(
    host: asyncssh.SSHKey, session: bytes, *, forwarding: bool = False, signer: asyncssh.SSHKey | None = None
) -> bytes:
    proof = (signer or host).sign(session, b"ssh-ed25519")
    return (
        bytes([27])
        + text("session-bind@openssh.com")
        + text(host.public_data)
        + text(session)
        + text(proof)
        + bytes([forwarding])
    )


class Agent:
    """Holds keys, remembers what reached it."""

    def __init__(self, *keys: asyncssh.SSHKey) -> None:
        self.keys = keys
        self.asked: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = struct.unpack(">I", await reader.readexactly(4))[0]
                message = await reader.readexactly(size)
                self.asked.append(message)
                writer.write(framed(self.answer(message)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(self, message: bytes) -> bytes:
        if message[0] == 11:
            shown = b"".join(text(key.public_data) + text("a key") for key in self.keys)
            return bytes([12]) + struct.pack(">I", len(self.keys)) + shown
        if message[0] == 13:
            size = struct.unpack_from(">I", message, 1)[0]
            blob, rest = message[5 : 5 + size], message[5 + size :]
            data = rest[4 : 4 + struct.unpack_from(">I", rest)[0]]
            key = next(key for key in self.keys if key.public_data == blob)
            return bytes([14]) + text(key.sign(data, b"ssh-ed25519"))
        return bytes([5])


@asynccontextmanager
async def listening(agent: Agent, path: Path) -> AsyncIterator[Path]:
    server = await asyncio.start_unix_server(agent.serve, path)
    async with server:
        yield path


def new_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")
