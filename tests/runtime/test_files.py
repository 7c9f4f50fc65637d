"""Files of a sandbox seen from the host: a real guest's, and answers no honest guest gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.runtime import files
from kitstudio.runtime.accounts import Account
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.control import DATA, Channel, ControlServer
from kitstudio.runtime.files import EntryKind, SandboxFiles, parse_listing, serve_files
from kitstudio.runtime.qemu.guest_session import GuestSession
from tests.runtime.machines import machine_spec, running, sh

AGENT = Account("agent", 1000, 1000)
PLAN = cast(Any, SimpleNamespace(name="box", contract=SimpleNamespace(workdir="/home/agent", account=AGENT)))
ODD = "a b\n\x1b[31m\u202etxt"


def untold(done: int, total: int) -> None:
    return None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GuestSession]:
    async with running(await machine_spec(tmp_path_factory.mktemp("machine"))) as (_, session):
        await sh(session, "mkdir -p /home/agent/sub /home/secret; chmod 700 /home/secret; echo hidden >/home/secret/x")
        await sh(session, "cd /home/agent; echo hello >plain; ln -s /etc out; ln -s plain near; mkfifo pipe")
        await sh(session, f"cd /home/agent; printf x >'{ODD}'; chown -R 1000:1000 /home/agent")
        yield session


@asynccontextmanager
async def serving(folder: Path, handler: Any) -> AsyncIterator[SandboxFiles]:
    folder.mkdir(exist_ok=True)
    server = ControlServer(handler)
    await server.start(folder)
    try:
        yield SandboxFiles(folder)
    finally:
        await server.close()


@pytest_asyncio.fixture(loop_scope="module")
async def box(session: GuestSession, tmp_path: Path) -> AsyncIterator[SandboxFiles]:
    async def answer(request: dict[str, Any], channel: Channel) -> None:
        await serve_files(session, PLAN, request, channel)

    async with serving(tmp_path / "box", answer) as box:
        yield box


@pytest.mark.vm
@pytest.mark.asyncio(loop_scope="module")
class TestGuest:
    async def test_a_folder_is_listed_with_kinds_modes_owners_and_names_as_they_are(self, box: SandboxFiles) -> None:
        listing = await box.list("")
        assert listing.path == "/home/agent" and not listing.cut
        by_name = {entry.name: entry for entry in listing.entries}
        assert by_name["sub"].kind is EntryKind.FOLDER and listing.entries[0].name == "sub"
        plain = by_name["plain"]
        assert (plain.kind, plain.size, plain.mode, plain.uid, plain.gid) == (EntryKind.FILE, 6, 0o644, 1000, 1000)
        assert (by_name["out"].kind, by_name["out"].target) == (EntryKind.LINK, "/etc")
        assert by_name["pipe"].kind is EntryKind.PIPE and by_name[ODD].size == 1

    async def test_links_are_followed_only_where_a_person_named_the_path(self, box: SandboxFiles) -> None:
        for path in ("/home/agent/out", "/home/agent/out/passwd"):
            with pytest.raises(SandboxError, match="link is in the way"):
                await (box.read(path, 10) if path.endswith("passwd") else box.list(path))
        assert (await box.list("/home/agent/out", named=True)).path == "/etc"
        assert (await box.read("/home/agent/near", 10, named=True))[0] == b"hello\n"

    async def test_nothing_is_seen_that_the_sandboxs_user_may_not_see(self, box: SandboxFiles) -> None:
        with pytest.raises(SandboxError, match="Permission denied"):
            await box.list("/home/secret")
        with pytest.raises(SandboxError, match="nothing there"):
            await box.list("/no/such")
        with pytest.raises(SandboxError, match="not a plain file"):
            await box.read("/home/agent/pipe", 10)

    async def test_a_file_goes_in_and_comes_out_as_it_is(self, box: SandboxFiles, tmp_path: Path) -> None:
        source, target = tmp_path / "in", tmp_path / "out"
        content = bytes(range(256)) * 12_000
        source.write_bytes(content)
        told: list[tuple[int, int]] = []
        await box.put(source, "/home/agent/sub/big", lambda done, total: told.append((done, total)))
        assert told[-1] == (len(content), len(content)) and len(told) > 2
        await box.fetch("/home/agent/sub/big", target, untold)
        assert target.read_bytes() == content and target.stat().st_mode & 0o777 == 0o644
        assert sorted(path.name for path in tmp_path.iterdir()) == ["box", "in", "out"]

    async def test_nothing_is_replaced_unasked_and_only_plain_files_ever(
        self, box: SandboxFiles, tmp_path: Path
    ) -> None:
        source = tmp_path / "in"
        source.write_bytes(b"new")
        with pytest.raises(SandboxError, match="there already"):
            await box.put(source, "/home/agent/plain", untold)
        with pytest.raises(SandboxError, match="there already"):
            await box.put(source, "/home/agent/near", untold, replace=True)
        await box.put(source, "/home/agent/fresh", untold)
        source.write_bytes(b"newer")
        await box.put(source, "/home/agent/fresh", untold, replace=True)
        assert (await box.read("/home/agent/fresh", 100)) == (b"newer", 5)

    async def test_an_upload_that_is_cancelled_leaves_nothing(
        self, box: SandboxFiles, tmp_path: Path, session: GuestSession
    ) -> None:
        source = tmp_path / "in"
        source.write_bytes(bytes(64 << 20))
        begun = asyncio.Event()
        work = asyncio.ensure_future(box.put(source, "/home/agent/sub/half", lambda done, total: begun.set()))
        await begun.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        script = "while ls -a /home/agent/sub | grep -q kit-upload; do :; done; ls -a /home/agent/sub"
        assert "half" not in await sh(session, script)

    async def test_a_fetch_that_fails_keeps_the_file_that_was_there(self, box: SandboxFiles, tmp_path: Path) -> None:
        target = tmp_path / "kept"
        target.write_bytes(b"mine")

        def refuse(done: int, total: int) -> None:
            raise SandboxError("enough")

        with pytest.raises(SandboxError, match="enough"):
            await box.fetch("/home/agent/plain", target, refuse)
        assert target.read_bytes() == b"mine" and len(list(tmp_path.iterdir())) == 2

    async def test_a_file_without_an_end_is_read_only_as_far_as_asked(self, box: SandboxFiles) -> None:
        assert len((await box.read("/proc/cpuinfo", 20))[0]) == 20


async def _saying(*pieces: bytes, then: dict[str, Any] | None = None) -> Any:
    async def answer(request: dict[str, Any], channel: Channel) -> None:
        for piece in pieces:
            await channel.send(DATA, piece)
        if then is not None:
            await channel.send_json(then)

    return answer


@pytest.mark.parametrize(
    "piece",
    [
        b"f\x00644\x00",
        b"/\x00f\x00644\x001\x001\x000\x000\x00../../etc\x00\x00",
        b"/\x00q\x00644\x001\x001\x000\x000\x00n\x00\x00",
    ],
)
async def test_a_list_that_lies_is_refused(piece: bytes, tmp_path: Path) -> None:
    async with serving(tmp_path / "b", await _saying(piece, then={"status": 0})) as box:
        with pytest.raises(SandboxError, match="list of files"):
            await box.list("/")


async def test_a_list_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_LISTED", 1000)
    async with serving(tmp_path / "b", await _saying(bytes(2000))) as box:
        with pytest.raises(SandboxError, match="too long"):
            await box.list("/")


async def test_a_file_that_grows_for_ever_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GROWTH", 1000)
    async with serving(tmp_path / "b", await _saying(b"10\0", *[bytes(500)] * 5)) as box:
        with pytest.raises(SandboxError, match="grows"):
            await box.fetch("/x", tmp_path / "target", untold)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


async def test_a_sandbox_that_stops_in_between_says_so(tmp_path: Path) -> None:
    async with serving(tmp_path / "b", await _saying(b"10\0half")) as box:
        with pytest.raises(SandboxError, match="stopped"):
            await box.fetch("/x", tmp_path / "target", untold)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_refused(data: bytes) -> None:
    try:
        parse_listing(data)
    except SandboxError:
        return
