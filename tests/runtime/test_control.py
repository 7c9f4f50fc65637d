"""Asking a supervisor that ends meanwhile."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from kitstudio.runtime import control
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.control import Channel


async def test_a_supervisor_that_ends_before_it_hears_is_not_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(self: Channel, value: object) -> None:
        raise ConnectionResetError("Connection lost")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(serve, tmp_path / "control.sock")
    monkeypatch.setattr(Channel, "send_json", gone)
    async with server:
        with pytest.raises(SandboxError, match="is not running"):
            async with control.request(tmp_path, "status"):
                raise AssertionError("nobody is there to be asked")
