"""The person's SSH agent, relayed into a sandbox and bounded (ssh-agent@1, duties 2 to 9).

The sandbox speaks the agent protocol to us; only listing keys, admitted sign requests and session bindings reach the
backing agent. What a signature is for is read from the very bytes to be signed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh
from asyncssh.public_key import decode_ssh_public_key

from kitstudio.runtime.capabilities.ssh_agent import AgentGrant
from kitstudio.runtime.proxy.client import ByteReader, ByteWriter

MAX_MESSAGE = 256 * 1024
ANSWER_SECONDS = 120.0
"""The backing agent may ask the person first."""
MAX_BINDINGS = 16

FAILURE, SUCCESS = 5, 6
LIST, KEYS, SIGN, SIGNATURE, EXTENSION = 11, 12, 13, 14, 27
_BIND = b"session-bind@openssh.com"
_HOSTBOUND = b"publickey-hostbound-v00@openssh.com"
_LENGTH = struct.Struct(">I")

Note = Callable[[bool, str], None]
"""``note(relayed, text)``: one sign request, for the person to see (duty 17)."""
HostKeys = Callable[[str], Sequence[bytes]]
"""Host keys known for a server's name, from outside the sandbox (duty 7)."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A session whose server proved its host key."""

    host_key: bytes
    session: bytes
    forwarding: bool


@dataclass(slots=True)
class _Connection:
    bindings: list[Binding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Login:
    """What a login's signature is over (RFC 4252, section 7)."""

    session: bytes
    user: str
    host_key: bytes | None


class AgentRelay:
    """One granted phase. ``backing``: the agent's socket on the host; ``keys``: fingerprints that may be used, None
    for all (duty 14)."""

    def __init__(
        self,
        backing: Path,
        grant: AgentGrant,
        host_keys: HostKeys,
        note: Note,
        *,
        keys: frozenset[str] | None = None,
    ) -> None:
        self._backing = backing
        self._grant = grant
        self._host_keys = host_keys
        self._note = note
        self._keys = keys

    async def serve(self, reader: ByteReader, writer: ByteWriter) -> None:
        """One connection from the sandbox until it ends."""
        connection = _Connection()
        backing: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            while (message := await _receive(reader)) is not None:
                if backing is None:
                    backing = await asyncio.open_unix_connection(str(self._backing))
                writer.write(_framed(await self._answer(connection, message, backing)))
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError, TimeoutError):
            return
        finally:
            writer.close()
            if backing is not None:
                backing[1].close()

    async def _answer(
        self,
        connection: _Connection,
        message: bytes,
        backing: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> bytes:
        failure = bytes([FAILURE])
        try:
            match message[0]:
                case 11 if len(message) == 1:
                    return self._shown(await _ask(backing, message))
                case 13:
                    key, data, _ = _sign_request(message)
                    why = self._refused(connection, key, data)
                    self._note(not why, f"{purpose(data)} with {fingerprint(key)}" + (f": {why}" if why else ""))
                    return failure if why else await _ask(backing, message)
                case 27:
                    return await self._bind(connection, message, backing)
                case _:
                    return failure
        except (ValueError, struct.error):
            return failure

    def _refused(self, connection: _Connection, key: bytes, data: bytes) -> str:
        """Why a sign request is not relayed, empty when it is (duties 4 and 5)."""
        if self._keys is not None and fingerprint(key) not in self._keys:
            return "the key may not be used"
        if self._grant.free:
            return ""
        namespace = namespace_of(data)
        if namespace is not None:
            return "" if namespace in self._grant.sign else "the namespace is not granted"
        login = login_of(data)
        if login is None:
            return "it is neither a named signature nor a login"
        bound = [b for b in connection.bindings if b.session == login.session]
        if not bound:
            return "no server proved itself for this session"
        binding = bound[-1]
        if binding.forwarding:
            return "the session is a forwarded one"
        if login.host_key is not None and login.host_key != binding.host_key:
            return "it names another server than the session's"
        for entry in self._grant.authenticate:
            user, at, host = entry.rpartition("@")
            if at and user != login.user:
                continue
            if binding.host_key in self._host_keys(host):
                return ""
        return "the server is not granted"

    async def _bind(
        self,
        connection: _Connection,
        message: bytes,
        backing: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> bytes:
        """Verify a session binding before it counts (duty 6)."""
        name, rest = _text(message[1:])
        if name != _BIND:
            return bytes([FAILURE])
        host_key, rest = _text(rest)
        session, rest = _text(rest)
        signature, rest = _text(rest)
        if len(rest) != 1 or len(connection.bindings) >= MAX_BINDINGS:
            return bytes([FAILURE])
        try:
            verified = decode_ssh_public_key(host_key).verify(session, signature)
        except (asyncssh.KeyImportError, ValueError):
            verified = False
        if not verified:
            return bytes([FAILURE])
        connection.bindings.append(Binding(host_key, session, rest != b"\0"))
        await _ask(backing, message)  # an agent that knows no bindings refuses; ours counts all the same
        return bytes([SUCCESS])

    def _shown(self, answer: bytes) -> bytes:
        """A list of keys with only those that may be used."""
        if answer[:1] != bytes([KEYS]) or self._keys is None:
            return answer if answer[:1] == bytes([KEYS]) else bytes([FAILURE])
        count, rest = _LENGTH.unpack_from(answer, 1)[0], answer[5:]
        kept: list[bytes] = []
        for _ in range(count):
            key, rest = _text(rest)
            comment, rest = _text(rest)
            if fingerprint(key) in self._keys:
                kept.append(_LENGTH.pack(len(key)) + key + _LENGTH.pack(len(comment)) + comment)
        return bytes([KEYS]) + _LENGTH.pack(len(kept)) + b"".join(kept)


def known_host_keys(file: Path) -> HostKeys:
    """Host keys by name from a file in OpenSSH's format, read at each look so that what is added counts at once."""

    def look(host: str) -> Sequence[bytes]:
        try:
            found = asyncssh.read_known_hosts(str(file)).match(host, "", None)
        except (OSError, ValueError, asyncssh.Error):
            return ()
        trusted, _, revoked = found[0], found[1], found[2]
        gone = {key.public_data for key in revoked}
        return tuple(key.public_data for key in trusted if key.public_data not in gone)

    return look


def namespace_of(data: bytes) -> str | None:
    """The namespace of a named signature (SSHSIG), None where it is none."""
    if not data.startswith(b"SSHSIG"):
        return None
    try:
        namespace, _ = _text(data[6:])
        return namespace.decode("ascii")
    except ValueError:
        return ""


def login_of(data: bytes) -> Login | None:
    """The login a signature is for, None where it is none."""
    try:
        session, rest = _text(data)
        if rest[:1] != b"\x32":
            return None
        user, rest = _text(rest[1:])
        service, rest = _text(rest)
        method, rest = _text(rest)
        if rest[:1] != b"\1" or service != b"ssh-connection" or method not in (b"publickey", _HOSTBOUND):
            return None
        _, rest = _text(rest[1:])
        _, rest = _text(rest)
        host_key = None
        if method == _HOSTBOUND:
            host_key, rest = _text(rest)
        return None if rest else Login(session, user.decode("utf-8"), host_key)
    except (ValueError, struct.error):
        return None


def purpose(data: bytes) -> str:
    """What a signature is for, in words."""
    namespace = namespace_of(data)
    if namespace is not None:
        return f"signature for {namespace[:80]!r}"
    login = login_of(data)
    return f"login as {login.user[:80]!r}" if login else "signature of unknown purpose"


def fingerprint(key: bytes) -> str:
    """As ssh-add shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _sign_request(message: bytes) -> tuple[bytes, bytes, int]:
    key, rest = _text(message[1:])
    data, rest = _text(rest)
    if len(rest) != 4:
        raise ValueError("not a sign request")
    return key, data, _LENGTH.unpack(rest)[0]


def _text(data: bytes) -> tuple[bytes, bytes]:
    """One length-prefixed string and what follows it; ``ValueError`` where it is cut."""
    if len(data) < 4:
        raise ValueError("cut short")
    size = _LENGTH.unpack_from(data)[0]
    if size > len(data) - 4:
        raise ValueError("cut short")
    return data[4 : 4 + size], data[4 + size :]


def _framed(message: bytes) -> bytes:
    return _LENGTH.pack(len(message)) + message


async def _receive(reader: ByteReader) -> bytes | None:
    """The sandbox's next message, None at the end."""
    head = await _exactly(reader, 4, first=True)
    if head is None:
        return None
    size = _LENGTH.unpack(head)[0]
    if not 0 < size <= MAX_MESSAGE:
        raise EOFError("a message of that size is none")
    body = await _exactly(reader, size)
    assert body is not None
    return body


async def _exactly(reader: ByteReader, size: int, *, first: bool = False) -> bytes | None:
    found = b""
    while len(found) < size:
        piece = await reader.read(size - len(found))
        if not piece:
            if first and not found:
                return None
            raise EOFError("cut short")
        found += piece
    return found


async def _ask(backing: tuple[asyncio.StreamReader, asyncio.StreamWriter], message: bytes) -> bytes:
    reader, writer = backing
    writer.write(_framed(message))
    await writer.drain()
    async with asyncio.timeout(ANSWER_SECONDS):
        size = _LENGTH.unpack(await reader.readexactly(4))[0]
        if not 0 < size <= MAX_MESSAGE:
            raise EOFError("the agent's answer is too large")
        return await reader.readexactly(size)
