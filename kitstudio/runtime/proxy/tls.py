"""TLS ended on the host over any stream: the guest's half of a connection the policy makes us look into."""

from __future__ import annotations

import contextlib
import ssl

from kitstudio.runtime.proxy.client import ByteReader, ByteWriter
from kitstudio.runtime.proxy.dial import CHUNK


class Prefixed:
    """A reader that gives back what was read ahead, first."""

    def __init__(self, first: bytes, rest: ByteReader) -> None:
        self._first = first
        self._rest = rest

    async def read(self, n: int = CHUNK, /) -> bytes:
        """The next bytes; ``b""`` at the end."""
        if self._first:
            data, self._first = self._first[:n], self._first[n:]
            return data
        return await self._rest.read(n)


class TlsStream:
    """The decrypted stream: ``ByteReader`` and ``ByteWriter`` in one. ``await handshake()`` first."""

    def __init__(self, reader: ByteReader, writer: ByteWriter, context: ssl.SSLContext) -> None:
        self._reader = reader
        self._writer = writer
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)

    async def handshake(self) -> None:
        """Raises ``ssl.SSLError`` when the guest does not agree."""
        while True:
            try:
                self._tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                await self.drain()
                await self._fill()
            finally:
                with contextlib.suppress(OSError):  # an alert, where there is anybody to read it
                    await self.drain()

    async def read(self, n: int = CHUNK, /) -> bytes:
        """The next bytes; ``b""`` at the end, also at one cut short: HTTP's own framing tells the difference."""
        while True:
            try:
                return self._tls.read(n)
            except ssl.SSLWantReadError:
                await self.drain()
                await self._fill()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def write(self, data: bytes, /) -> None:
        """Encrypt; sent by ``drain``."""
        if data:
            self._tls.write(data)

    async def drain(self) -> None:
        """Send what is encrypted."""
        data = self._out.read()
        if data:
            self._writer.write(data)
            await self._writer.drain()

    def write_eof(self) -> None:
        """Say goodbye."""
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        data = self._out.read()
        if data:
            self._writer.write(data)
        self._writer.write_eof()

    def close(self) -> None:
        """Close what is below."""
        self._writer.close()

    async def _fill(self) -> None:
        data = await self._reader.read(CHUNK)
        if data:
            self._in.write(data)
        else:
            self._in.write_eof()
