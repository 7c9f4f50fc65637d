"""What is done inside a guest over its control connection: commands, terminals, files, forwarded ports.

Commands run in the Kit's root with exactly the identity, environment and working directory given; nothing in the
Kit's image is relied on (no shell, no su). Argument vectors are never joined into text a shell would read: the
guest's ``enter`` takes them as one coded request.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import asyncssh
from asyncssh.constants import OPEN_REQUEST_PTY_FAILED, OPEN_REQUEST_SESSION_FAILED

from kitstudio.runtime.backend import ExecResult, SandboxError

Deliver = Callable[[bool, bytes], Awaitable[None]]
"""Takes one piece of output; True: of standard error. The guest waits while nobody takes what it prints."""

ForwardHandler = Callable[["asyncssh.SSHReader[bytes]", "asyncssh.SSHWriter[bytes]", str, int], Awaitable[None]]

_INLINE = 6000  # the SSH server takes commands of at most 9000 bytes
_LONGEST = 4 << 20
_WINDOW = 4 << 20
_CLOSED_EARLY = (OPEN_REQUEST_PTY_FAILED, OPEN_REQUEST_SESSION_FAILED)
_TRIES, _RETRY_SECONDS = 10, 0.05
_Session = TypeVar("_Session", bound="asyncssh.SSHClientSession[bytes]")
_SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "USR1": 10, "SEGV": 11}
_SIGNALS |= {"PIPE": 13, "ALRM": 14, "TERM": 15}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a command runs as."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


ROOT = Identity()


class GuestSession:
    """The verbs over one control connection. ``answer_within``: seconds a guest may take to accept a command."""

    def __init__(self, connection: asyncssh.SSHClientConnection, *, answer_within: float = 30.0) -> None:
        self.connection = connection
        self.answer_within = answer_within

    async def run(
        self,
        argv: Sequence[str],
        *,
        identity: Identity = ROOT,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        timeout: float | None = None,
        output_limit: int = 64 << 20,
        on_output: Callable[[bytes], None] | None = None,
        deliver: Deliver | None = None,
    ) -> ExecResult:
        """Run to the end. A program that cannot be started is status 126 or 127 with the reason on stderr.

        ``argv[0]`` without a slash is searched in ``env["PATH"]``. On timeout or cancellation the command and its
        process group are ended. ``on_output``: called with each piece of stdout and stderr as it comes. ``deliver``:
        takes the output in place of the result, whose own stays empty, without a limit.
        """
        verb = await self._run_verb(_run_request(False, argv, identity, env or {}, cwd))
        if deliver is not None:
            return await self._finish(verb, lambda: _Streamed(deliver), stdin, timeout)
        return await self._call(verb, stdin, timeout=timeout, limit=output_limit, on_output=on_output)

    async def open_pty(
        self,
        argv: Sequence[str],
        *,
        columns: int,
        rows: int,
        identity: Identity = ROOT,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
    ) -> PtyTerminal:
        """A command on a PTY that has its size before the first byte (``backend.Terminal``). TERM comes from env."""
        variables = dict(env or {})
        kind = variables.setdefault("TERM", "xterm-256color")
        verb = await self._run_verb(_run_request(True, argv, identity, variables, cwd))
        return await self._open(PtyTerminal, verb, kind, (columns, rows))

    async def write_file(self, path: str, content: bytes, *, uid: int = 0, gid: int = 0, mode: int = 0o644) -> None:
        """Replace one file of the Kit's root, atomically; missing folders are made, owned the same, mode 0755."""
        request = _coded(path, str(uid), str(gid), f"{mode:o}")
        result = await self._call(f"write {base64.b64encode(request).decode()}", content, timeout=300)
        if result.status != 0:
            raise SandboxError(f"The file was not written: {_reason(result)}", where=path)

    async def link(self, path: str, target: str, *, uid: int = 0, gid: int = 0) -> bool:
        """A link at ``path`` to ``target``, missing folders made as in ``write_file``. False: something else is there,
        and stays."""
        request = _coded(path, target, str(uid), str(gid))
        result = await self._call(f"link {base64.b64encode(request).decode()}", timeout=60)
        if result.status not in (0, 5):
            raise SandboxError(f"The link was not made: {_reason(result)}", where=path)
        return result.status == 0

    async def read_file(self, path: str, limit: int = 1 << 20) -> bytes | None:
        """A file of the Kit's root, None where there is none; ``SandboxError`` beyond ``limit``."""
        request = _coded(path, str(limit))
        result = await self._call(f"read {base64.b64encode(request).decode()}", timeout=300, limit=limit + 65536)
        if result.status == 3:
            return None
        if result.status == 4:
            raise SandboxError(f"The file is larger than {limit} bytes.", where=path)
        if result.status != 0:
            raise SandboxError(f"The file was not read: {_reason(result)}", where=path)
        return result.stdout

    async def forward(self, guest_port: int, handler: ForwardHandler) -> asyncssh.SSHListener:
        """Listen on the guest's 127.0.0.1:``guest_port``; ``handler(reader, writer, origin_host, origin_port)``."""

        def accept(host: str, port: int) -> Callable[..., Awaitable[None]]:
            async def serve(reader: asyncssh.SSHReader[bytes], writer: asyncssh.SSHWriter[bytes]) -> None:
                await handler(reader, writer, host, port)

            return serve

        try:
            return await self.connection.start_server(
                accept, "127.0.0.1", guest_port, encoding=None, window=_WINDOW, max_pktsize=32768
            )
        except asyncssh.Error as error:
            raise SandboxError(f"The guest's port {guest_port} cannot be forwarded: {error}.") from error

    async def open_socket(self, path: str, port: int, *, uid: int, gid: int) -> GuestSocket:
        """A Unix socket in the Kit's root that leads to the guest's 127.0.0.1:``port``, until it is closed."""
        request = base64.b64encode(_coded(path, str(port), str(uid), str(gid))).decode()
        listening = asyncio.Event()
        call = await self._open(lambda: _Call(65536, lambda _: listening.set()), f"socket {request}")
        ready, ended = asyncio.ensure_future(listening.wait()), asyncio.ensure_future(call.ended.wait())
        try:
            async with asyncio.timeout(self.answer_within):
                await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as error:
            raise SandboxError("The socket was not made in time.", where=path) from error
        finally:
            ready.cancel()
            ended.cancel()
        if call.stdout != b"+":
            why = call.stderr.decode("utf-8", "replace").strip().removeprefix("kit: ")[:400]
            raise SandboxError(f"The socket was not made: {why or 'the guest refused'}", where=path)
        return GuestSocket(call)

    async def connect_port(self, guest_port: int) -> tuple[asyncssh.SSHReader[bytes], asyncssh.SSHWriter[bytes]]:
        """A stream to the guest's 127.0.0.1:``guest_port``."""
        try:
            return await self.connection.open_connection("127.0.0.1", guest_port, encoding=None, window=_WINDOW)
        except asyncssh.Error as error:
            raise SandboxError(f"Nothing answers on the guest's port {guest_port}: {error}.") from error

    async def _run_verb(self, request: bytes) -> str:
        coded = base64.b64encode(request).decode()
        if len(coded) <= _INLINE:
            return f"run {coded}"
        if len(request) >= _LONGEST:
            raise SandboxError("The command and its environment are longer than 4 MiB.")
        name = secrets.token_hex(16)
        stored = await self._call(f"put {name}", request, timeout=60)
        if stored.status != 0:
            raise SandboxError(f"The command could not be sent: {_reason(stored)}")
        return f"run @{name}"

    async def _call(
        self,
        verb: str,
        stdin: bytes = b"",
        *,
        timeout: float | None = None,
        limit: int = 1 << 20,
        on_output: Callable[[bytes], None] | None = None,
    ) -> ExecResult:
        return await self._finish(verb, lambda: _Call(limit, on_output), stdin, timeout)

    async def _finish(self, verb: str, make: Callable[[], _Call], stdin: bytes, timeout: float | None) -> ExecResult:
        call = await self._open(make, verb)
        try:
            async with asyncio.timeout(timeout):
                await call.complete(stdin)
        except TimeoutError:
            await call.end_group()
            raise SandboxError(f"The command did not end within {timeout:g} seconds.") from None
        except (asyncio.CancelledError, ConnectionError):
            await asyncio.shield(call.end_group())
            raise
        if call.too_much:
            raise SandboxError(f"The command printed more than {call.limit} bytes.")
        if call.status is None:
            raise SandboxError("The connection to the guest was lost while a command ran.")
        return ExecResult(call.status, bytes(call.stdout), bytes(call.stderr))

    async def _open(
        self,
        make: Callable[[], _Session],
        verb: str,
        terminal: str | None = None,
        size: tuple[int, int] | None = None,
    ) -> _Session:
        """A channel on which ``verb`` was accepted.

        The guest's server may close a new channel when another command ends just then. A terminal is opened again: what
        was started in the first one was hung up with it. Other commands are not, as they may have begun.
        """
        try:
            async with asyncio.timeout(self.answer_within):
                for tries_left in reversed(range(_TRIES)):
                    session = make()
                    try:
                        await self.connection.create_session(
                            lambda session=session: session,  # type: ignore[misc]
                            verb,
                            encoding=None,
                            window=_WINDOW,
                            request_pty=terminal is not None,
                            term_type=terminal,
                            term_size=size,
                        )
                        return session
                    except asyncssh.ChannelOpenError as error:
                        if terminal is None or error.code not in _CLOSED_EARLY or not tries_left:
                            raise
                        await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError as error:
            raise SandboxError(
                f"The guest takes no command: it did not answer within {self.answer_within:g} seconds.",
                remedy="Stop the sandbox and start it again.",
            ) from error
        except (asyncssh.Error, OSError) as error:
            raise SandboxError(f"The guest does not take commands: {error}.") from error
        raise AssertionError("unreachable")


class _Call(asyncssh.SSHClientSession[bytes]):
    """One command without a terminal: collects, bounded, until the channel closes."""

    def __init__(self, limit: int, on_output: Callable[[bytes], None] | None) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.status: int | None = None
        self.too_much = False
        self.ended = asyncio.Event()
        self.limit = limit
        self._on_output = on_output
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        kept = self.stderr if datatype == asyncssh.EXTENDED_DATA_STDERR else self.stdout
        if len(self.stdout) + len(self.stderr) + len(data) > self.limit:
            if not self.too_much:
                self.too_much = True
                self._channel.send_signal("USR1")
            return
        kept += data
        if self._on_output:
            self._on_output(data)

    def exit_status_received(self, status: int) -> None:
        self.status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.status = 128 + _SIGNALS.get(signal, 0)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        self.ended.set()

    async def complete(self, stdin: bytes) -> None:
        """Until the command has ended."""
        await self.send(stdin)
        await self.ended.wait()

    async def send(self, data: bytes) -> None:
        """All of stdin, then its end. A command that ends early does not read the rest."""
        with contextlib.suppress(BrokenPipeError, OSError):
            for start in range(0, len(data), 65536):
                await self._writable.wait()
                if self.ended.is_set():
                    return
                self._channel.write(data[start : start + 65536])
            self._channel.write_eof()

    def end_input(self) -> None:
        """No more stdin."""
        if not self.ended.is_set():
            self._channel.write_eof()

    async def end_group(self) -> None:
        """TERM to the command's process group, KILL two seconds later."""
        for signal, patience in (("TERM", 2.0), ("USR1", 2.0)):
            if self.ended.is_set():
                return
            with contextlib.suppress(OSError):
                self._channel.send_signal(signal)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), patience)
        self._channel.close()


class _Streamed(_Call):
    """One command whose output is handed on piece by piece; at most a window of it is held."""

    def __init__(self, deliver: Deliver) -> None:
        super().__init__(0, None)
        self._deliver = deliver
        self._pieces: list[tuple[bool, bytes]] = []
        self._held = 0
        self._arrived = asyncio.Event()

    def data_received(self, data: bytes, datatype: int | None) -> None:
        self._pieces.append((datatype == asyncssh.EXTENDED_DATA_STDERR, data))
        self._held += len(data)
        self._arrived.set()
        if self._held > _WINDOW:
            self._channel.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._arrived.set()

    async def complete(self, stdin: bytes) -> None:
        """Until the command has ended and all it printed was taken."""
        sending = asyncio.ensure_future(self.send(stdin))
        try:
            while True:
                await self._arrived.wait()
                if not self._pieces:
                    return
                pieces, paused = self._pieces, self._held > _WINDOW
                self._pieces, self._held = [], 0
                if not self.ended.is_set():
                    self._arrived.clear()
                for piece in pieces:
                    await self._deliver(*piece)
                if paused:
                    self._channel.resume_reading()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


class GuestSocket:
    """A socket made by ``open_socket``."""

    def __init__(self, call: _Call) -> None:
        self._call = call

    def close(self) -> None:
        """Take the socket and every connection through it away."""
        with contextlib.suppress(OSError):
            self._call.end_input()


class PtyTerminal(asyncssh.SSHClientSession[bytes]):
    """``backend.Terminal`` over one SSH channel."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._arrived = asyncio.Event()
        self._ended = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._held = 0
        self._status: int | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        self._pieces.append(data)
        self._held += len(data)
        self._arrived.set()
        if self._held > _WINDOW:
            self._channel.pause_reading()

    def exit_status_received(self, status: int) -> None:
        self._status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self._status = 128 + _SIGNALS.get(signal, 0)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        self._arrived.set()
        self._ended.set()

    async def read(self) -> bytes:
        """The next bytes; ``b""`` at the end."""
        await self._arrived.wait()
        if not self._pieces:
            return b""
        data = b"".join(self._pieces)
        self._pieces.clear()
        if self._held > _WINDOW:
            self._channel.resume_reading()
        self._held = 0
        if not self._ended.is_set():
            self._arrived.clear()
        return data

    async def write(self, data: bytes) -> None:
        """Keyboard input; returns when accepted."""
        await self._writable.wait()
        if self._ended.is_set():
            raise SandboxError("The terminal's program has ended.")
        self._channel.write(data)

    async def resize(self, columns: int, rows: int) -> None:
        """New size in cells."""
        if not self._ended.is_set():
            self._channel.change_terminal_size(columns, rows)

    async def wait(self) -> int:
        """Exit status once the process ended; 255 when the connection was lost before it did."""
        await self._ended.wait()
        return 255 if self._status is None else self._status

    async def close(self) -> None:
        """Hang up: the program gets HUP, and KILL two seconds later."""
        for signal in ("HUP", "KILL"):
            if self._ended.is_set():
                return
            # the server keeps the terminal until its program ends
            with contextlib.suppress(OSError):
                self._channel.send_signal(signal)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), 2)
        self._channel.close()


def _run_request(terminal: bool, argv: Sequence[str], who: Identity, env: Mapping[str, str], cwd: str) -> bytes:
    if not argv or not argv[0]:
        raise SandboxError("There is no command to run.")
    variables = [f"{name}={value}" for name, value in env.items()]
    groups = ",".join(str(group) for group in who.groups[:64])
    head = ("p" if terminal else "-", str(who.uid), str(who.gid), groups, cwd)
    return _coded(*head, str(len(argv)), *argv, str(len(variables)), *variables)


def _coded(*fields: str) -> bytes:
    parts = [field.encode("utf-8", "surrogateescape") for field in fields]
    if any(b"\0" in part for part in parts):
        raise SandboxError("A command, variable or path holds a NUL byte.")
    return b"".join(part + b"\0" for part in parts)


def _reason(result: ExecResult) -> str:
    return result.stderr.decode("utf-8", "replace").strip().removeprefix("kit: ")[:400] or f"status {result.status}"
