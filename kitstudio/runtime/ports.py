"""The host side of ``port@1``: a listener on this computer's loopback for each published port, for one supervisor.

A connection is carried into the guest over whatever control connection there is at that moment, so a published port
outlives a lost one. Choices and last ports are kept in ``ports.json``, so that a sandbox comes back where it was.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

from kitstudio.runtime import state
from kitstudio.runtime.backend import PublishedPort, SandboxError
from kitstudio.runtime.capabilities import PORT
from kitstudio.runtime.capabilities.long_running import Sessions
from kitstudio.runtime.capabilities.port import PlannedPort
from kitstudio.runtime.codec import to_json
from kitstudio.runtime.qemu.guest_session import GuestSession

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 256
"""To all ports of one sandbox at once; more are closed at once."""
_BLOCK = 65536


@dataclass(frozen=True, slots=True)
class PortChoices:
    """``ports.json``, by ``8080/tcp``. ``fixed``: what a person chose; ``last``: where it was."""

    fixed: Mapping[str, int] = field(default_factory=dict)
    last: Mapping[str, int] = field(default_factory=dict)


def read_choices(folder: Path) -> PortChoices:
    """What is kept about the ports of a sandbox."""
    path = folder / "ports.json"
    return state.read_json(PortChoices, path) if path.exists() else PortChoices()


def write_choices(folder: Path, choices: PortChoices) -> None:
    state.write_json(folder / "ports.json", to_json(choices))


def check_choice(planned: tuple[PlannedPort, ...], container: str, host_port: int) -> None:
    """Refuse a port that is not published, and one no program can have."""
    if container not in {port.key for port in planned}:
        shown = ", ".join(port.key for port in planned) or "none"
        raise SandboxError(f"The sandbox publishes no port {container}.", where=PORT, remedy=f"It publishes: {shown}.")
    if not 0 <= host_port <= 65535:
        raise SandboxError(f"{host_port} is no port.", where=PORT, remedy="Choose 1 to 65535, or 0 for any free one.")


def described(
    planned: tuple[PlannedPort, ...], choices: PortChoices, bound: Mapping[str, int]
) -> tuple[PublishedPort, ...]:
    """Every port as lists show it. ``bound``: host ports that are listened on now."""
    return tuple(
        PublishedPort(port.key, port.name, LOOPBACK, bound.get(port.key, 0), choices.fixed.get(port.key, 0))
        for port in planned
    )


class Publisher:
    """The listeners of one running sandbox. ``session``: the guest, None while there is no connection to it."""

    def __init__(
        self,
        folder: Path,
        planned: tuple[PlannedPort, ...],
        session: Callable[[], GuestSession | None],
        sessions: Sessions,
    ) -> None:
        self._folder = folder
        self._planned = planned
        self._session = session
        self._sessions = sessions
        self._servers: dict[str, asyncio.Server] = {}
        self._open: set[asyncio.Task[None]] = set()

    @property
    def bound(self) -> dict[str, int]:
        """Host port by container port, of those that are listened on."""
        return {key: int(server.sockets[0].getsockname()[1]) for key, server in self._servers.items() if server.sockets}

    async def publish(self) -> None:
        """Listen for every port: where a person wants it, else where it was, else anywhere free.

        ``SandboxError`` names the port that a person fixed and somebody else has.
        """
        choices = await asyncio.to_thread(read_choices, self._folder)
        for port in self._planned:
            await self._listen(port, choices)
        await self._remember(choices)

    async def move(self, container: str, host_port: int) -> None:
        """Publish a port elsewhere; if that cannot be, it stays where it is."""
        check_choice(self._planned, container, host_port)
        choices = await asyncio.to_thread(read_choices, self._folder)
        fixed = {key: value for key, value in choices.fixed.items() if key != container}
        wanted = PortChoices(fixed | ({container: host_port} if host_port else {}), choices.last)
        before = self._servers.get(container)
        if host_port and self.bound.get(container) != host_port:
            port = next(port for port in self._planned if port.key == container)
            await self._listen(port, wanted)
            if before is not None:
                before.close()
        await self._remember(wanted)

    async def close(self) -> None:
        """Stop listening and cut what is open."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, port: PlannedPort, choices: PortChoices) -> None:
        fixed = choices.fixed.get(port.key, 0)
        tried = (fixed,) if fixed else tuple(dict.fromkeys((choices.last.get(port.key, 0), 0)))
        for number in tried:
            try:
                self._servers[port.key] = await asyncio.start_server(
                    lambda reader, writer: self._accept(port.container, reader, writer), LOOPBACK, number
                )
                return
            except OSError as error:
                if fixed or error.errno not in (errno.EADDRINUSE, errno.EACCES) or not number:
                    why = (
                        "is taken by another program"
                        if error.errno == errno.EADDRINUSE
                        else f"is not to be had: {error.strerror}"
                    )
                    raise SandboxError(
                        f"Port {number} of this computer, where {port.key} of the sandbox is to be published, {why}.",
                        where=PORT,
                        remedy="Choose another one, or 0 for any free one: "
                        f"kitstudio ports {self._folder.name} --set {port.key}=0",
                    ) from error

    async def _remember(self, choices: PortChoices) -> None:
        await asyncio.to_thread(write_choices, self._folder, PortChoices(choices.fixed, {**choices.last, **self.bound}))

    async def _accept(self, container: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= MOST_CONNECTIONS:
            writer.close()
            return
        self._open.add(task)
        self._sessions.begin()
        try:
            session = self._session()
            if session is None:
                return
            inner, outer = await session.connect_port(container)
            try:
                await _join(reader, writer, inner, outer)
            finally:
                outer.close()
        except (SandboxError, OSError, asyncssh.Error):
            pass  # nothing listens there, or one side has gone: the caller's connection closes, as with any such port
        finally:
            self._sessions.end()
            self._open.discard(task)
            writer.close()


async def _join(reader: Any, writer: Any, inner: Any, outer: Any) -> None:
    """Both directions; each end is passed on, so that half-closed connections work."""
    both = (asyncio.ensure_future(_copy(reader, outer)), asyncio.ensure_future(_copy(inner, writer)))
    try:
        await asyncio.gather(*both)
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)


async def _copy(source: Any, target: Any) -> None:
    while data := await source.read(_BLOCK):
        target.write(data)
        await target.drain()
    with suppress(OSError):
        target.write_eof()
