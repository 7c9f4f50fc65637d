"""What fails around a sandbox: a full disk, a damaged cache, a clock that jumps, a trap in its folder, two windows."""

import asyncio
import ctypes
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kitstudio.runtime import attendance, state
from kitstudio.runtime.backend import Decision, LaunchOptions, SandboxError, State
from kitstudio.runtime.capabilities.long_running import Sessions
from kitstudio.runtime.proxy.log import DecisionLog, read_decisions
from kitstudio.runtime.state import SandboxFolder
from kitstudio.runtime.supervisor import Supervisor
from tests.runtime.bench import processes_of
from tests.runtime.fakes import make_folder
from tests.runtime.faults import mortal

MIB = 1 << 20


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Machines are not real; the processes are."""
    monkeypatch.setattr(attendance, "_spawn", attendance._spawn)
    mortal.fake_supervisors()
    yield


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MiB; needs the right to mount."""
    place = tmp_path / "small"
    place.mkdir()
    library = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() or library.mount(b"tmpfs", str(place).encode(), b"tmpfs", 0, b"size=6m"):
        pytest.skip("file systems cannot be mounted here")
    yield place
    library.umount2(str(place).encode(), 2)


async def create(home: Path, name: str = "box") -> None:
    kits = mortal.shelf(home)
    await mortal.backend(home).create(kits.approved(), LaunchOptions(name, memory=256), kits, lambda step: None)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Path]:
    place = tmp_path / "home"
    place.mkdir()
    yield place
    for status in await mortal.backend(place).list():
        await mortal.backend(place).remove(status.name)
    assert processes_of(place) == []


@pytest.mark.parametrize("free", [0, 1, 3, 4])
async def test_a_full_disk_is_told_and_leaves_no_half_made_sandbox(small_disk: Path, free: int) -> None:
    mortal.shelf(small_disk)
    filler = small_disk / "filler"
    room = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    filler.write_bytes(bytes(max(0, room - free * MIB // 2)))
    with pytest.raises(SandboxError) as caught:
        await create(small_disk)
    assert any(word in str(caught.value).lower() for word in ("disk is full", "no space")), caught.value
    filler.unlink()
    assert await mortal.backend(small_disk).list() == ()
    sandboxes = small_disk / "sandboxes"
    assert not sandboxes.exists() or list(sandboxes.iterdir()) == []
    assert processes_of(small_disk) == []


def test_a_full_disk_takes_no_decision_away(small_disk: Path) -> None:
    log = DecisionLog(small_disk / "decisions.jsonl")
    log.add(Decision(1.0, "runtime", "a.test", 443, "refused"))
    (small_disk / "filler").write_bytes(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize))
    for number in range(200):
        log.add(Decision(2.0 + number, "runtime", "b.test", 443, "refused", reason="x" * 200))
    assert len(log.all()) == log.refused == 201
    assert read_decisions(small_disk / "decisions.jsonl")[0].host == "a.test"


async def test_a_full_disk_ends_no_sandbox_that_runs(
    home: Path, small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_folder(small_disk / "box", created=True)
    supervisor = Supervisor(folder.path)
    supervisor._note(state=State.RUNNING)
    (small_disk / "filler").write_bytes(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize))
    supervisor._note(idle_stop=5.0)
    assert "The disk is full" in caplog.text
    with pytest.raises(SandboxError, match="disk is full"):
        supervisor._note(state=State.STOPPED)


async def test_a_layer_that_left_the_cache_or_was_cut_short_is_told_and_made_again(home: Path) -> None:
    await create(home)
    made = mortal.backend(home)
    await made.stop("box")
    for image in (home / "cache" / "layers").glob("*.sqfs"):
        image.unlink()
    with pytest.raises(SandboxError, match="left the cache") as caught:
        await made.start("box", lambda step: None)
    assert "Recreate" in caught.value.remedy
    assert (await made.status("box")).state is State.STOPPED
    kits = mortal.shelf(home)
    assert (await made.recreate("box", kits.approved(), kits, lambda step: None)).state is State.RUNNING
    await made.stop("box")
    for image in (home / "cache" / "layers").glob("*.sqfs"):
        image.chmod(0o600)
        os.truncate(image, 4096)
    assert (await made.recreate("box", kits.approved(), kits, lambda step: None)).state is State.RUNNING
    assert all(image.stat().st_size > 4096 for image in (home / "cache" / "layers").glob("*.sqfs"))


async def test_two_windows_on_one_sandbox_never_both_change_it(home: Path) -> None:
    await create(home)
    one, two = mortal.backend(home), mortal.backend(home)
    await one.stop("box")
    outcomes = await asyncio.gather(
        one.start("box", lambda step: None), two.start("box", lambda step: None), return_exceptions=True
    )
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert len(refused) <= 1 and all("under way" in str(each) for each in refused)
    assert [(await each.status("box")).state for each in (one, two)] == [State.RUNNING, State.RUNNING]
    record = SandboxFolder(home / "sandboxes" / "box").read()
    assert len([line for line in processes_of(home) if "supervisor" in line]) == 1, record
    gone = await asyncio.gather(one.remove("box"), two.stop("box"), return_exceptions=True)
    assert all(each is None or isinstance(each, SandboxError | FileNotFoundError) for each in gone), gone
    assert await two.list() == ()


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
async def test_a_clock_that_jumps_ends_no_sandbox_row_86(
    home: Path, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(home)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    made = mortal.backend(home)
    assert (await made.status("box")).state is State.RUNNING
    sessions = Sessions(60.0, time.monotonic)
    sessions.ready()
    left = sessions.left()
    assert left is not None and 59 < left <= 60
    await made.stop("box")
    assert (await made.start("box", lambda step: None)).state is State.RUNNING


async def test_a_module_in_the_sandboxs_folder_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    folder = make_folder(tmp_path / "box")
    trap = folder.path / "kitstudio"
    trap.mkdir()
    for name in (trap / "__init__.py", folder.path / "asyncio.py", folder.path / "logging.py"):
        name.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    folder.launch.unlink()
    child = attendance._spawn(folder)
    assert await asyncio.to_thread(child.wait, 30) != 0
    assert not (tmp_path / "sprung").exists()
    assert "launch.json" in folder.crash.read_text()


def test_a_process_is_found_again_by_more_than_its_number_row_92() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        found = state.identify(child.pid)
        assert found is not None and state.is_alive(found)
        assert not state.is_alive(state.Process(found.pid, found.start + 1, found.boot))
    finally:
        child.kill()
        child.wait()
    assert not state.is_alive(found)
