"""Commands and terminals of a running sandbox, carried between the control socket and the guest."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from kitstudio.runtime import control
from kitstudio.runtime.backend import ExecResult, SandboxError
from kitstudio.runtime.control import DATA, STDERR, STDIN, STDOUT, Channel
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.lifecycle import account_of, agent_env
from kitstudio.runtime.qemu.guest_session import GuestSession, Identity, PtyTerminal

RESIZE = b"R"
_SIZE = struct.Struct(">HH")
_OUTPUT_LIMIT = 64 << 20
# The guest ends a command that is out of time itself; this much later it is the guest that does not answer.
GRACE_SECONDS = 15.0


async def serve_exec(
    session: GuestSession,
    plan: LaunchPlan,
    request: dict[str, Any],
    channel: Channel,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run one command for a client; when the client goes, the command ends. ``variables``: of the credentials."""
    frame = await channel.receive()
    stdin = frame[1] if frame is not None and frame[0] == STDIN else b""
    account = await account_of(session, str(request.get("user", "")), plan.contract.account)
    command = tuple(str(part) for part in request["command"]) or plan.contract.argv(None, terminal=False)
    if not command:
        raise SandboxError("The image states no command to run.", where=plan.name)
    limit = request.get("timeout")

    async def deliver(error: bool, data: bytes) -> None:
        await channel.send(STDERR if error else STDOUT, data)

    work = asyncio.ensure_future(
        session.run(
            command,
            identity=Identity(account.uid, account.gid, account.groups),
            env=agent_env(plan, account, variables) | {str(k): str(v) for k, v in request.get("env", {}).items()},
            cwd=plan.contract.workdir,
            stdin=stdin,
            timeout=float(limit) if limit is not None else None,
            deliver=deliver,
        )
    )
    gone = asyncio.ensure_future(channel.receive())
    try:
        patience = None if limit is None else float(limit) + GRACE_SECONDS
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED, timeout=patience)
        if gone.done() and not work.done():
            return
        if not work.done():
            raise SandboxError("The sandbox does not answer.", where=plan.name, remedy="Stop it and start it again.")
        result = work.result()
    finally:
        gone.cancel()
        work.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)
    await channel.send_json({"status": result.status})


async def serve_terminal(
    session: GuestSession,
    plan: LaunchPlan,
    request: dict[str, Any],
    channel: Channel,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Join a client to a new PTY until one of them ends."""
    account = await account_of(session, str(request.get("user", "")), plan.contract.account)
    command = tuple(str(part) for part in request["command"])
    command = command or plan.contract.argv(plan.lifecycle.interactive, terminal=True)
    if not command and plan.contract.shell:
        command = (plan.contract.shell,)
    if not command:
        raise SandboxError("The image states no command to run and ships no shell.", where=plan.name)
    terminal = await session.open_pty(
        command,
        columns=int(request["columns"]),
        rows=int(request["rows"]),
        identity=Identity(account.uid, account.gid, account.groups),
        env=agent_env(plan, account, variables),
        cwd=plan.contract.workdir,
    )
    try:
        await channel.send_json({"open": True})
        output = asyncio.ensure_future(_output(terminal, channel))
        keys = asyncio.ensure_future(_input(terminal, channel))
        try:
            await asyncio.wait({output, keys}, return_when=asyncio.FIRST_COMPLETED)
            if output.done():
                output.result()
                await channel.send_json({"status": await terminal.wait()})
        finally:
            for task in (output, keys):
                task.cancel()
            await asyncio.gather(output, keys, return_exceptions=True)
    finally:
        await terminal.close()


async def execute(
    folder: Path,
    command: Sequence[str],
    *,
    stdin: bytes,
    user: str,
    env: Mapping[str, str],
    timeout: float | None,
    on_output: Callable[[bool, bytes], None] | None = None,
) -> ExecResult:
    """The client's side of ``serve_exec``. ``on_output``: as in ``Backend.execute``."""
    asked = control.request(folder, "exec", command=list(command), user=user, env=dict(env), timeout=timeout)
    async with asked as channel:
        await channel.send(STDIN, stdin)
        found = {STDOUT: bytearray(), STDERR: bytearray()}
        while True:
            frame = await channel.receive()
            if frame is None:
                raise SandboxError("The sandbox stopped while the command ran.", where=folder.name)
            kind, payload = frame
            if kind in found:
                if on_output is not None:
                    on_output(kind == STDERR, payload)
                    continue
                found[kind] += payload
                if sum(map(len, found.values())) > _OUTPUT_LIMIT:
                    raise SandboxError(
                        f"The command printed more than {_OUTPUT_LIMIT >> 20} MiB.",
                        where=folder.name,
                        remedy="Write the output to a file in the sandbox, or read it as it comes.",
                    )
                continue
            value = json.loads(payload)
            if "error" in value:
                raise control.error_from_json(value["error"])
            return ExecResult(int(value["status"]), bytes(found[STDOUT]), bytes(found[STDERR]))


class SocketTerminal:
    """``backend.Terminal`` over the control socket. Open with ``await SocketTerminal.open(…)``."""

    def __init__(self, stack: AsyncExitStack, channel: Channel) -> None:
        self._stack = stack
        self._channel = channel
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, folder: Path, command: Sequence[str], *, columns: int, rows: int, user: str) -> SocketTerminal:
        """Ask the supervisor for a PTY of this size."""
        async with AsyncExitStack() as stack:
            channel = await stack.enter_async_context(
                control.request(folder, "terminal", command=list(command), columns=columns, rows=rows, user=user)
            )
            await channel.receive_json()
            return cls(stack.pop_all(), channel)
        raise AssertionError("unreachable")

    async def read(self) -> bytes:
        """The next bytes; ``b""`` at the end."""
        if self._status.done():
            return b""
        frame = await self._channel.receive()
        if frame is None:
            self._end(255)
            return b""
        kind, payload = frame
        if kind == DATA:
            return payload
        value = json.loads(payload)
        self._end(int(value.get("status", 255)))
        return b""

    async def write(self, data: bytes) -> None:
        """Keyboard input; silent once the process has ended."""
        with suppress(ConnectionError):
            await self._channel.send(DATA, data)

    async def resize(self, columns: int, rows: int) -> None:
        """New size in cells."""
        with suppress(ConnectionError):
            await self._channel.send(RESIZE, _SIZE.pack(min(columns, 0xFFFF), min(rows, 0xFFFF)))

    async def wait(self) -> int:
        """Exit status; needs a reader that reads to the end."""
        return await asyncio.shield(self._status)

    async def close(self) -> None:
        """Hang up."""
        self._end(255)
        await self._stack.aclose()

    def _end(self, status: int) -> None:
        if not self._status.done():
            self._status.set_result(status)


async def _output(terminal: PtyTerminal, channel: Channel) -> None:
    while data := await terminal.read():
        await channel.send(DATA, data)


async def _input(terminal: PtyTerminal, channel: Channel) -> None:
    while (frame := await channel.receive()) is not None:
        kind, payload = frame
        if kind == DATA:
            with suppress(SandboxError):  # the program has just ended; its last output is still to come
                await terminal.write(payload)
        elif kind == RESIZE:
            columns, rows = _SIZE.unpack(payload)
            await terminal.resize(columns, rows)
