"""What is done inside a guest over its control connection: commands, terminals, files, forwarded ports.

Commands run in the Kit's root with exactly the identity, environment and working directory given; nothing in the
Kit's image is relied on (no shell, no su). Argument vectors are never joined into text a shell would read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import asyncssh

from kitstudio.runtime.backend import ExecResult

ForwardHandler = Callable[["asyncssh.SSHReader[bytes]", "asyncssh.SSHWriter[bytes]", str, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a command runs as."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


class GuestSession:
    """The verbs over one control connection."""

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self.connection = connection

    async def run(
        self,
        argv: Sequence[str],
        *,
        identity: Identity = Identity(),
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        timeout: float | None = None,
        output_limit: int = 64 << 20,
        on_output: Callable[[bytes], None] | None = None,
    ) -> ExecResult:
        """Run to the end. A program that cannot be started is status 126 or 127 with the reason on stderr.

        ``argv[0]`` without a slash is searched in ``env["PATH"]``. On timeout or cancellation the command and its
        process group are ended. ``on_output``: called with each piece of stdout and stderr as it comes.
        """
        raise NotImplementedError

    async def open_pty(
        self,
        argv: Sequence[str],
        *,
        columns: int,
        rows: int,
        identity: Identity = Identity(),
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
    ) -> PtyTerminal:
        """A command on a PTY that has its size before the first byte (``backend.Terminal``). TERM comes from env."""
        raise NotImplementedError

    async def write_file(self, path: str, content: bytes, *, uid: int = 0, gid: int = 0, mode: int = 0o644) -> None:
        """Replace one file of the Kit's root, atomically; missing folders are made, owned the same, mode 0755."""
        raise NotImplementedError

    async def read_file(self, path: str, limit: int = 1 << 20) -> bytes | None:
        """A file of the Kit's root, None where there is none; ``SandboxError`` beyond ``limit``."""
        raise NotImplementedError

    async def forward(self, guest_port: int, handler: ForwardHandler) -> asyncssh.SSHListener:
        """Listen on the guest's 127.0.0.1:``guest_port``; ``handler(reader, writer, origin_host, origin_port)``."""
        raise NotImplementedError

    async def connect_port(self, guest_port: int) -> tuple[asyncssh.SSHReader[bytes], asyncssh.SSHWriter[bytes]]:
        """A stream to the guest's 127.0.0.1:``guest_port``."""
        raise NotImplementedError


class PtyTerminal:
    """``backend.Terminal`` over one SSH channel."""

    async def read(self) -> bytes:
        raise NotImplementedError

    async def write(self, data: bytes) -> None:
        raise NotImplementedError

    async def resize(self, columns: int, rows: int) -> None:
        raise NotImplementedError

    async def wait(self) -> int:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError
