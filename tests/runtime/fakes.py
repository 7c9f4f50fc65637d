"""A machine and a guest without QEMU: what a supervisor asks of them is recorded and answered as told."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kitstudio.runtime.accounts import Account
from kitstudio.runtime.assemble import Contract
from kitstudio.runtime.backend import ExecResult, SandboxError, State
from kitstudio.runtime.capabilities.agent_context import Profile
from kitstudio.runtime.capabilities.lifecycle import Lifecycle
from kitstudio.runtime.codec import to_json
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.policy import RuleText
from kitstudio.runtime.qemu.guest_session import Identity
from kitstudio.runtime.qemu.machine import Exit, MachineExit, MachineSpec
from kitstudio.runtime.state import Record, SandboxFolder, write_json


class FakeTerminal:
    """Echoes input; ``exit`` ends it with status 7."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.sizes = [size]
        self._out: asyncio.Queue[bytes] = asyncio.Queue()
        self._ended = asyncio.Event()
        self.closed = False

    async def read(self) -> bytes:
        return await self._out.get()

    async def write(self, data: bytes) -> None:
        if data == b"exit\n":
            self._ended.set()
            await self._out.put(b"")
        else:
            await self._out.put(data)

    async def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))

    async def wait(self) -> int:
        await self._ended.wait()
        return 7

    async def close(self) -> None:
        self.closed = True


class FakeGuest:
    """Files in a dict; commands answered by ``answer``."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"/etc/passwd": b"agent:x:1000:1000::/home/agent:\ndb:x:70:70::/srv:\n"}
        self.modes: dict[str, tuple[int, int, int]] = {}
        self.links: dict[str, str] = {}
        self.ran: list[tuple[tuple[str, ...], Identity, Mapping[str, str], str]] = []
        self.answer: Callable[[tuple[str, ...]], ExecResult] = lambda argv: ExecResult(0, b"", b"")
        self.hold: dict[str, asyncio.Event] = {}
        self.terminals: list[FakeTerminal] = []
        self.ports: dict[int, Any] = {}
        self.cancelled: list[tuple[str, ...]] = []
        self.services: dict[int, int] = {}

    async def run(
        self,
        argv: Sequence[str],
        *,
        identity: Identity = Identity(),  # noqa: B008
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        timeout: float | None = None,
        output_limit: int = 0,
        on_output: Callable[[bytes], None] | None = None,
        deliver: Callable[[bool, bytes], Awaitable[None]] | None = None,
    ) -> ExecResult:
        if deliver is not None:
            result = await self.run(argv, identity=identity, env=env, cwd=cwd, stdin=stdin)
            await deliver(False, result.stdout)
            await deliver(True, result.stderr)
            return ExecResult(result.status, b"", b"")
        command = tuple(argv)
        self.ran.append((command, identity, dict(env or {}), cwd))
        if command[-1] in self.hold:
            try:
                await self.hold[command[-1]].wait()
            except asyncio.CancelledError:
                self.cancelled.append(command)
                raise
        if command == ("cat",):
            return ExecResult(0, stdin, b"")
        result = self.answer(command)
        if on_output and (result.stdout or result.stderr):
            on_output(result.stdout + result.stderr)
        return result

    async def write_file(self, path: str, content: bytes, *, uid: int = 0, gid: int = 0, mode: int = 0o644) -> None:
        self.files[path] = content
        self.modes[path] = (uid, gid, mode)

    async def link(self, path: str, target: str, *, uid: int = 0, gid: int = 0) -> bool:
        self.links.setdefault(path, target)
        return path not in self.files and self.links[path] == target

    async def read_file(self, path: str, limit: int = 1 << 20) -> bytes | None:
        found = self.files.get(path)
        if found is not None and len(found) > limit:
            raise SandboxError("too large")
        return found

    async def forward(self, guest_port: int, handler: Any) -> None:
        self.ports[guest_port] = handler

    async def connect_port(self, guest_port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if guest_port not in self.services:
            raise SandboxError(f"Nothing answers on the guest's port {guest_port}.")
        return await asyncio.open_connection("127.0.0.1", self.services[guest_port])

    async def open_pty(self, argv: Sequence[str], *, columns: int, rows: int, **more: Any) -> FakeTerminal:
        self.ran.append((tuple(argv), more["identity"], more["env"], more["cwd"]))
        self.terminals.append(FakeTerminal((columns, rows)))
        return self.terminals[-1]


class FakeConnection:
    def __init__(self) -> None:
        self.lost = asyncio.Event()

    def set_keepalive(self, interval: float, count_max: int) -> None:
        assert interval > 0 and count_max > 0

    async def wait_closed(self) -> None:
        await self.lost.wait()


class FakeMachine:
    """Ends when stopped or told to ``crash``."""

    def __init__(self) -> None:
        self.spec: MachineSpec | None = None
        self.ended: asyncio.Future[MachineExit] = asyncio.get_running_loop().create_future()
        self.connections: list[FakeConnection] = []
        self.answers = True
        self.stops = 0

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def command_line(self) -> tuple[str, ...]:
        return ("qemu", "-fake")

    async def start(self, spec: MachineSpec) -> None:
        self.spec = spec

    async def connect(self, timeout: float = 60.0) -> Any:
        if not self.answers:
            await asyncio.Event().wait()
        self.connections.append(FakeConnection())
        return self.connections[-1]

    async def stop(self, grace: float = 10.0) -> MachineExit:
        self.stops += 1
        self.crash(Exit.STOPPED, "The machine was stopped.")
        return await self.ended

    async def wait(self) -> MachineExit:
        return await asyncio.shield(self.ended)

    def crash(self, kind: Exit, text: str) -> None:
        if not self.ended.done():
            self.ended.set_result(MachineExit(kind, 1, text))


def make_folder(
    path: Path,
    *,
    lifecycle: Lifecycle | None = None,
    profile: Profile | None = None,
    rules: tuple[RuleText, ...] = (),
    hosts: Mapping[str, str] | None = None,
    created: bool = False,
    secrets: tuple[str, ...] = (),
    **more: Any,
) -> SandboxFolder:
    """A sandbox's folder, ready for its supervisor."""
    path.mkdir(parents=True, exist_ok=True)
    folder = SandboxFolder(path)
    contract = Contract(
        ("/agent",), ("--help",), Account("agent", 1000, 1000, (999,), "/home/agent"), "/work",
        {"PATH": "/bin", "SECRET": "s", "WANTED": "w"}, {}, False, "/bin/sh",
    )  # fmt: skip
    plan = LaunchPlan(
        "box", (), 512, 1, "tcg", contract, lifecycle or Lifecycle(), profile or Profile(), rules, None,
        dict(hosts or {}), frozenset(hosts or {}), secrets, **more,
    )  # fmt: skip
    write_json(folder.launch, to_json(plan))
    folder.write(Record("id", "box", "demo", "0" * 64, State.STOPPED if created else State.STARTING, created=created))
    return folder


def make_guest_image(folder: Path) -> Path:
    """A folder that passes for a guest image."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("vmlinux", "initramfs.cpio"):
        (folder / name).write_bytes(b"")
    (folder / "guest.json").write_text(json.dumps({"identity": "fake", "description": "fake"}))
    return folder
