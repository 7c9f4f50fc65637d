"""A bench for tests of whole sandboxes: a backend over a fresh home, busybox Kits, a web server on the host."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kitstudio.models.descriptor import Capability
from kitstudio.runtime import state
from kitstudio.runtime.backend import LaunchOptions, Progress, SandboxError
from kitstudio.runtime.guest.image import find_guest_image
from kitstudio.runtime.qemu_backend import QemuBackend
from kitstudio.runtime.state import SandboxFolder
from tests.runtime.busybox_kits import FOLDER, Entry, Shelf, floor


def unable() -> str:
    try:
        find_guest_image()
    except SandboxError as error:
        return str(error)
    return "" if shutil.which("qemu-system-x86_64") else "QEMU is not installed"


vm = [pytest.mark.vm, pytest.mark.skipif(bool(unable()), reason=unable() or "-")]
"""Marks of a module whose tests start machines: ``pytestmark = vm``."""

BASE, MIXIN = "kits.test/base:1.0.0", "kits.test/tool:2.0.0"


class Bench:
    """A backend over a fresh home, the Kits, a web server on the host's loopback."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.secrets: dict[str, str] = {}
        self.backend = QemuBackend(home, shared_layers(), probe=emulated, secrets=self.held)
        self.shelf = Shelf(home / "kits")
        self.steps: list[Progress] = []
        self.asked: list[str] = []
        self.headers: list[str] = []
        self.port = 0

    def kits(self, *workload: Capability, mixin: tuple[Capability, ...] = (), **config: Any) -> None:
        """A workload with these requests and a mixin with those; ``files`` are added to the workload, ``tool_files``
        to the mixin."""
        more: dict[str, Entry] = config.pop("files", {})
        tool_files: dict[str, Entry] = config.pop("tool_files", {})
        settings: dict[str, Any] = {"user": "agent", "workdir": "/work", "env": ("PATH=/bin", "COLOUR=red")} | config
        settings.setdefault("cmd", ("/bin/sh",))
        self.shelf.add(BASE, "workload", floor() | more, *workload, **settings)
        staged = "usr/share/sandbox/kit/tool"
        files = (
            {"opt": FOLDER, "opt/tool": Entry(b"#!/bin/sh\necho tool\n", 0o755)}
            | {f"{staged}/notes.md": Entry(b"Use tool.\n")}
            | tool_files
        )
        self.shelf.add(MIXIN, "mixin", files, *mixin, env=("PATH=/opt",))

    async def create(self, name: str = "box", **options: Any) -> Any:
        names = {"pkgs.test": "127.0.0.1", "run.test": "127.0.0.1", "other.test": "127.0.0.1"}
        return await self.backend.create(
            self.shelf.approved(),
            LaunchOptions(name, memory=256, private_names=names, **options),
            self.shelf,
            self.steps.append,
        )

    async def sh(self, script: str, name: str = "box", **more: Any) -> str:
        result = await self.backend.execute(name, ["sh", "-c", script], timeout=60, **more)
        return (result.stdout + result.stderr).decode()

    async def held(self, services: Collection[str]) -> Mapping[str, str]:
        return {name: self.secrets[name] for name in services if name in self.secrets}

    def record(self, name: str = "box") -> state.Record:
        return SandboxFolder(self.home / "sandboxes" / name).read()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readline()).decode().strip())
        while line := (await reader.readline()).decode().strip():
            self.headers.append(line)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()


async def emulated() -> tuple[str, str]:
    return "tcg", "the tests ask for software emulation"


@cache
def shared_layers() -> Path:
    """Converted layers, kept for the whole run: the Kits of these tests are mostly the same."""
    folder = Path(tempfile.mkdtemp(prefix="kitstudio-layers-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@asynccontextmanager
async def bench(home: Path) -> AsyncIterator[Bench]:
    made = Bench(home)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            yield made
        finally:
            for status in await made.backend.list():
                await made.backend.remove(status.name)
    assert list((home / "sandboxes").iterdir()) == []
    assert processes_of(home) == []


def processes_of(home: Path) -> list[str]:
    """Command lines of living processes that name this home."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(home) in line and int(path.name) != os.getpid() and state.identify(int(path.name)):
            found.append(line)
    return found
