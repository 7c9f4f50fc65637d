"""Resolving once and connecting to exactly the address that was judged (no second look-up, so no DNS rebinding)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from kitstudio.runtime.hosts import LOCAL_NAMES, Address, read_address
from kitstudio.runtime.policy import EgressPolicy, Ruling

Resolver: TypeAlias = Callable[[str], Awaitable[tuple[Address, ...]]]
Connector: TypeAlias = Callable[[Address, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]

LOOPBACK: tuple[Address, ...] = (ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1"))
CHUNK = 1 << 18


class Unreachable(Exception):
    """Allowed, but the host could not be resolved or connected."""


class Forbidden(Exception):
    """Allowed by name, refused for the address behind it."""


async def resolve(name: str) -> tuple[Address, ...]:
    """All addresses of a name, from the host's own resolver."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    found = (read_address(str(info[4][0]).partition("%")[0]) for info in infos)
    return tuple(dict.fromkeys(address for address in found if address is not None))


def resolver_with(hosts: Mapping[str, str], after: Resolver = resolve) -> Resolver:
    """``after`` with fixed addresses for the names the person settled."""
    fixed = {name: address for name, text in hosts.items() if (address := read_address(text)) is not None}

    async def look_up(name: str) -> tuple[Address, ...]:
        return (fixed[name],) if name in fixed else await after(name)

    return look_up


async def connect(address: Address, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A TCP connection to an address, never to a name."""
    return await asyncio.open_connection(str(address), port, limit=CHUNK)


async def dial(
    policy: EgressPolicy, ruling: Ruling, resolver: Resolver, connector: Connector
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect an allowed ruling. One forbidden address among several forbids the name: names do not mix realms."""
    literal = read_address(ruling.host)
    if literal is not None:
        addresses: tuple[Address, ...] = (literal,)
    elif ruling.host in LOCAL_NAMES:
        addresses = LOOPBACK
    else:
        try:
            addresses = await resolver(ruling.host)
        except OSError as error:
            raise Unreachable(f"{ruling.host} does not resolve: {error.strerror or error}") from error
    if not addresses:
        raise Unreachable(f"{ruling.host} has no address")
    for address in addresses:
        reason = policy.check_address(ruling, address)
        if reason:
            raise Forbidden(reason)
    failure = ""
    for address in addresses:
        try:
            return await connector(address, ruling.port)
        except OSError as error:
            failure = f"{ruling.host}:{ruling.port} at {address}: {error.strerror or error}"
    raise Unreachable(failure)
