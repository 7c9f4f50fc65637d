"""The agent's socket inside a sandbox, there for one granted phase and gone with it (ssh-agent@1, duties 1, 9–11)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from kitstudio.runtime.accounts import Account
from kitstudio.runtime.capabilities.ssh_agent import AGENT_PORT, SOCKET, VARIABLE, AgentGrant
from kitstudio.runtime.policy import Phase
from kitstudio.runtime.qemu.guest_session import ForwardHandler
from kitstudio.runtime.ssh_relay import AgentRelay, Note, known_host_keys


class Closable(Protocol):
    """What ends when it is closed."""

    def close(self) -> Any: ...


class Guest(Protocol):
    """The verbs of ``GuestSession`` used here."""

    async def forward(self, guest_port: int, handler: ForwardHandler) -> Closable: ...
    async def open_socket(self, path: str, port: int, *, uid: int, gid: int) -> Closable: ...


class AgentSocket:
    """``backing``: the agent's socket on the host, empty for none; ``keys``: fingerprints that may be used, None for
    all. Both count from the next phase on."""

    def __init__(
        self,
        grants: Sequence[AgentGrant],
        owner: Account,
        known_hosts: Path,
        note: Note,
    ) -> None:
        self.backing = ""
        self.keys: frozenset[str] | None = None
        self._grants = {grant.phase: grant for grant in grants}
        self._owner = owner
        self._known_hosts = known_hosts
        self._note = note
        self._open: list[Closable] = []
        self._serving: set[asyncio.Task[None]] = set()

    def variables(self, phase: Phase) -> dict[str, str]:
        """``SSH_AUTH_SOCK`` where the phase is granted."""
        return {VARIABLE: SOCKET} if phase in self._grants else {}

    async def enter(self, guest: Guest, phase: Phase) -> None:
        """Leave the phase before and offer the agent if this one is granted."""
        self.leave()
        grant = self._grants.get(phase)
        if grant is None:
            return
        relay = AgentRelay(Path(self.backing), grant, known_host_keys(self._known_hosts), self._note, keys=self.keys)

        async def serve(reader: Any, writer: Any, host: str, port: int) -> None:
            task = asyncio.ensure_future(relay.serve(reader, writer))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
            await asyncio.gather(task, return_exceptions=True)

        self._open.append(await guest.forward(AGENT_PORT, serve))
        owner = self._owner
        self._open.append(await guest.open_socket(SOCKET, AGENT_PORT, uid=owner.uid, gid=owner.gid))

    def leave(self) -> None:
        """Close the socket and cut what goes through it."""
        for each in self._open:
            each.close()
        self._open.clear()
        for task in tuple(self._serving):
            task.cancel()
