"""One virtual machine: started from a ``MachineSpec``, spoken to over its one serial port, gone with its owner."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncssh
from qemu.qmp import QMPClient, QMPError

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.qemu import command
from kitstudio.runtime.qemu.console import ConsoleLog
from kitstudio.runtime.qemu.spec import Disk, Exit, MachineExit, MachineSpec, Share

__all__ = ["Disk", "Exit", "Machine", "MachineExit", "MachineSpec", "Share"]

CONSOLE = "console.log"
_LAUNCHER = Path(__file__).with_name("launch.py")
# fewest handshake computations in the guest, which software emulation makes slow
_ALGORITHMS = {
    "server_host_key_algs": ["ssh-ed25519"],
    "kex_algs": ["curve25519-sha256"],
    "compression_algs": None,
}

logging.getLogger("asyncssh").setLevel(logging.WARNING)
logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)


class Machine:
    """A running (or ended) machine. Create, ``await start(spec)``, ``await connect()``, ``await stop()``."""

    def __init__(self) -> None:
        self._spec: MachineSpec | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._command: tuple[str, ...] = ()
        self._log: ConsoleLog | None = None
        self._end: asyncio.Task[MachineExit] | None = None
        self._connection: asyncssh.SSHClientConnection | None = None
        self._connecting = asyncio.Lock()
        self._stopping = False

    @property
    def pid(self) -> int:
        """QEMU's process id, 0 before start."""
        return self._process.pid if self._process else 0

    @property
    def command_line(self) -> tuple[str, ...]:
        """QEMU's full command line."""
        return self._command

    @property
    def console(self) -> Path:
        """The console log: bounded (the first and the last part are kept); untrusted text."""
        return self._folder / CONSOLE

    @property
    def running(self) -> bool:
        """Whether QEMU lives."""
        return self._process is not None and self._process.returncode is None

    async def start(self, spec: MachineSpec) -> None:
        """Start QEMU. ``SandboxError`` when QEMU is missing or refuses; nothing is left running then."""
        if self._process is not None:
            raise SandboxError("This machine has been started before.")
        command.check(spec)
        arguments = command.machine_command(spec, command.find_qemu())
        identity = f"{spec.share_uid}:{spec.share_gid}" if spec.shares else "-"
        self._spec, self._command = spec, arguments
        _prepare_folder(spec)
        self._log = ConsoleLog(self.console)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), identity, *arguments),
            cwd=spec.folder,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._end = asyncio.create_task(self._watch(self._process), name=f"machine {self._process.pid}")
        try:
            await self._await_socket()
            await self._await_answer()
        except BaseException:
            await self.kill()
            raise

    async def connect(self, timeout: float = 60.0) -> asyncssh.SSHClientConnection:
        """The control connection, host key pinned. Calling again after a lost connection makes a new one.

        ``SandboxError`` when the guest does not answer in time or the machine has ended.
        """
        async with self._connecting:
            if self._connection is not None and not self._connection.is_closed():
                return self._connection
            end = self._ended
            attempt = asyncio.create_task(self._connect())
            try:
                done, _ = await asyncio.wait({end, attempt}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if attempt in done:
                    self._connection = attempt.result()
                    return self._connection
            finally:
                attempt.cancel()
                await asyncio.gather(attempt, return_exceptions=True)
            if end in done:
                raise SandboxError(f"The machine ended before it was ready. {end.result().text}", where="boot")
            raise SandboxError(
                f"The guest did not answer within {timeout:g} seconds.",
                where="boot",
                remedy=f"Its console says: {self._last_lines() or 'nothing'}",
            )

    async def qmp(self) -> QMPClient:
        """A new QMP client, connected; the caller disconnects it. One at a time."""
        client = QMPClient("kitstudio")
        try:
            with _short_path(self._folder) as place:
                await asyncio.wait_for(client.connect(f"{place}/{command.QMP_SOCKET}"), 5)
        except (OSError, QMPError, TimeoutError) as error:
            raise SandboxError(f"QEMU does not answer: {error}.", where="machine") from error
        return client

    async def stop(self, grace: float = 10.0) -> MachineExit:
        """Sync and power off from inside; then QMP quit; then kill. Never longer than ``grace`` plus a moment."""
        end = self._ended
        self._stopping = True
        if not end.done():
            with contextlib.suppress(TimeoutError, SandboxError, asyncssh.Error, OSError):
                async with asyncio.timeout(grace):
                    await (await self.connect(grace)).run("poweroff", check=False)
                    await asyncio.wait({end})
        if not end.done():
            with contextlib.suppress(TimeoutError, SandboxError, QMPError, EOFError, OSError):
                async with asyncio.timeout(2):
                    client = await self.qmp()
                    await client.execute("quit")
                    await asyncio.wait({end})
        await self.kill()
        return await end

    async def kill(self) -> None:
        """End QEMU at once."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        if self._end is not None:
            await asyncio.wait({self._end})

    async def wait(self) -> MachineExit:
        """Returns when the machine has ended, however it did."""
        return await asyncio.shield(self._ended)

    @property
    def _folder(self) -> Path:
        if self._spec is None:
            raise SandboxError("The machine has not been started.")
        return self._spec.folder

    @property
    def _ended(self) -> asyncio.Task[MachineExit]:
        if self._end is None:
            raise SandboxError("The machine has not been started.")
        return self._end

    def _last_lines(self) -> str:
        return self._log.last_lines() if self._log else ""

    async def _watch(self, process: asyncio.subprocess.Process) -> MachineExit:
        """Reads the console and QEMU's complaints to the end, then says how it ended."""
        assert process.stdout and process.stderr and self._log
        complaints = asyncio.create_task(_read_bounded(process.stderr))
        try:
            while data := await process.stdout.read(65536):
                self._log.write(data)
            status = await process.wait()
            text = await complaints
        except BaseException:
            complaints.cancel()
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise
        finally:
            self._log.close()
            if self._connection is not None:
                self._connection.abort()
            for name in (command.CONTROL_SOCKET, command.QMP_SOCKET, command.INITRD):
                (self._folder / name).unlink(missing_ok=True)
        return self._explain(status, text)

    def _explain(self, status: int, complaints: str) -> MachineExit:
        assert self._log
        if self._log.has("Kernel panic"):
            return MachineExit(Exit.PANIC, status, f"The guest crashed. Its last words: {self._last_lines()}")
        if self._log.has("kit: fatal:"):
            return MachineExit(Exit.FAILED, status, f"The guest could not start: {self._last_lines()}")
        if self._stopping or status == 0:
            return MachineExit(Exit.STOPPED, status, "The machine was stopped.")
        if status < 0:
            return MachineExit(Exit.KILLED, status, f"QEMU was killed by signal {-status}.")
        if status == 70:
            return MachineExit(Exit.FAILED, status, f"The folder cannot be shared: {complaints}.")
        return MachineExit(Exit.FAILED, status, f"QEMU failed: {complaints or f'status {status}'}")

    async def _await_socket(self) -> None:
        """Until QEMU listens, which it does before the guest runs."""
        for _ in range(1500):
            if self._ended.done():
                ended = self._ended.result()
                raise SandboxError(ended.text, where="boot")
            if (self._folder / command.QMP_SOCKET).exists():
                return
            await asyncio.sleep(0.01)
        raise SandboxError("QEMU does not start.", where="boot")

    async def _await_answer(self) -> None:
        """Until QEMU answers: it listens before it opens its disks, and answers when it has all it was given."""
        asking = asyncio.create_task(self.qmp())
        try:
            await asyncio.wait({asking, self._ended}, timeout=15, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and not asking.cancelled() and asking.exception() is None:
                await asking.result().disconnect()
                return
            # Its last words come with its end, which may be a moment behind a connection that broke.
            await asyncio.wait({self._ended}, timeout=2)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        if self._ended.done():
            raise SandboxError(self._ended.result().text, where="boot")
        raise SandboxError("QEMU does not answer.", where="boot")

    async def _connect(self) -> asyncssh.SSHClientConnection:
        """Tries until it is told to stop: a connection may meet the end of the one before it."""
        while True:
            try:
                return await self._try_connect()
            except (OSError, asyncssh.ConnectionLost, asyncssh.ProtocolError):
                await asyncio.sleep(0.1)
            except asyncssh.Error as error:
                raise SandboxError(f"The guest's control channel refuses: {error}.", where="boot") from error

    async def _try_connect(self) -> asyncssh.SSHClientConnection:
        assert self._spec
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            await _connect_unix(channel, self._folder / command.CONTROL_SOCKET)
            await _greet(channel)
            connection = await asyncssh.connect(
                sock=channel,
                username="root",
                client_keys=[self._spec.keys.client],
                known_hosts=([asyncssh.import_public_key(self._spec.keys.guest_public)], [], []),
                config=None,
                agent_path=None,
                preferred_auth="publickey",
                login_timeout=0,
                **_ALGORITHMS,
            )
        except BaseException:
            channel.close()
            raise
        (self._folder / command.INITRD).unlink(missing_ok=True)
        return connection


def _prepare_folder(spec: MachineSpec) -> None:
    try:
        spec.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (command.CONTROL_SOCKET, command.QMP_SOCKET, command.INITRD):
            (spec.folder / name).unlink(missing_ok=True)
        with open(os.open(spec.folder / command.INITRD, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(command.machine_initrd(spec))
    except OSError as error:
        raise SandboxError(f"The machine's folder cannot be used: {error.strerror}.", where=str(spec.folder)) from error


async def _connect_unix(channel: socket.socket, path: Path) -> None:
    with _short_path(path.parent) as place:
        await asyncio.get_running_loop().sock_connect(channel, f"{place}/{path.name}")


@contextlib.contextmanager
def _short_path(folder: Path) -> Iterator[str]:
    """The folder under a name in /proc: within the limit of socket addresses, however deep it lies."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


async def _greet(channel: socket.socket) -> None:
    """Say hello until the guest answers this very hello; what a dead connection left in the pipe is thrown away."""
    loop = asyncio.get_running_loop()
    nonce = secrets.token_hex(12)
    answer = f"KIT-OK {nonce}\n".encode()
    seen = b""
    while True:
        # the newline first ends whatever a dead connection left half-written
        await loop.sock_sendall(channel, f"\nKIT-CONNECT {nonce}\n".encode())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                while True:
                    await _readable(loop, channel)
                    data = channel.recv(65536, socket.MSG_PEEK)
                    if not data:
                        raise ConnectionResetError
                    end = (seen + data).find(answer)
                    if end < 0:
                        seen = (seen + channel.recv(len(data)))[-len(answer) :]
                        continue
                    channel.recv(end + len(answer) - len(seen))
                    return


async def _readable(loop: asyncio.AbstractEventLoop, channel: socket.socket) -> None:
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(channel, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(channel)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _read_bounded(stream: asyncio.StreamReader, limit: int = 4000) -> str:
    kept = b""
    while data := await stream.read(65536):
        kept = (kept + data)[-limit:]
    return kept.decode("utf-8", "replace").strip()
