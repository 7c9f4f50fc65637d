"""The keys a person's SSH agent holds, as they choose among them: asked over its socket, never the private halves."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.ssh_relay import fingerprint

MOST_KEYS = 500
MAX_ANSWER = 256 * 1024
SECONDS = 5.0

_LIST, _KEYS = 11, 12
_LENGTH = struct.Struct(">I")


class AgentKeysError(KitStudioError):
    """The agent cannot be asked."""


@dataclass(frozen=True, slots=True)
class AgentKey:
    """One key: ``fingerprint`` as ``ssh-add -l`` shows it, ``kind`` (``ssh-ed25519``), and its comment: free text."""

    fingerprint: str
    kind: str
    comment: str


async def agent_keys(socket: str) -> tuple[AgentKey, ...]:
    """What the agent at ``socket`` lists. Raises ``AgentKeysError`` where nobody answers there."""
    if not socket:
        raise AgentKeysError(
            "There is no SSH agent.",
            remedy="Start one (ssh-agent, ssh-add) before Kit Studio, or name its socket.",
        )
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(_LENGTH.pack(1) + bytes([_LIST]))
                await writer.drain()
                size = _LENGTH.unpack(await reader.readexactly(4))[0]
                if not 0 < size <= MAX_ANSWER:
                    raise ValueError
                answer = await reader.readexactly(size)
            finally:
                writer.close()
        return _listed(answer)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
        why = getattr(error, "strerror", "") or "it does not answer as an agent does"
        raise AgentKeysError(
            f"The SSH agent cannot be asked: {why}.",
            where=socket[:200],
            remedy="Start it again, or name another socket.",
        ) from error


def _listed(answer: bytes) -> tuple[AgentKey, ...]:
    if answer[:1] != bytes([_KEYS]) or len(answer) < 5:
        raise ValueError
    count, rest = _LENGTH.unpack_from(answer, 1)[0], answer[5:]
    if count > MOST_KEYS:
        raise ValueError
    found: list[AgentKey] = []
    for _ in range(count):
        blob, rest = _text(rest)
        comment, rest = _text(rest)
        kind, _ = _text(blob)
        found.append(AgentKey(fingerprint(blob), kind.decode("ascii", "replace")[:80], _words(comment)))
    return tuple(found)


def _words(comment: bytes) -> str:
    return comment.decode("utf-8", "replace")[:200]


def _text(data: bytes) -> tuple[bytes, bytes]:
    if len(data) < 4:
        raise ValueError
    size = _LENGTH.unpack_from(data)[0]
    if size > len(data) - 4:
        raise ValueError
    return data[4 : 4 + size], data[4 + size :]
