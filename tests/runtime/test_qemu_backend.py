"""The backend's bookkeeping: names, races, what a crash leaves. No machine is started here."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime import state
from kitstudio.runtime.backend import ImageLayer, ImageProvider, KitImage, LaunchOptions, SandboxError, State
from kitstudio.runtime.qemu_backend import QemuBackend
from kitstudio.runtime.state import Record, SandboxFolder
from tests.runtime.fakes import make_folder
from tests.runtime.runtime_sets import approve, capability


def process(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)


def ended() -> state.Process:
    """A process of this boot that has ended."""
    here = state.identify(os.getpid())
    assert here is not None
    return state.Process(2**22 - 1, 1, here.boot)


class NoImages:
    """Fails, or waits, at the first image."""

    def __init__(self, *, wait: bool = False, layers: tuple[ImageLayer, ...] = ()) -> None:
        self.asked = asyncio.Event()
        self._wait = wait
        self._layers = layers

    async def image(self, reference: str, digest: str) -> KitImage:
        self.asked.set()
        if self._wait:
            await asyncio.Event().wait()
        return KitImage(reference, digest, "workload", self._layers)


async def emulated() -> tuple[str, str]:
    return "tcg", "test"


def backend(home: Path) -> QemuBackend:
    return QemuBackend(home, home / "cache", probe=emulated)


def images(**more: Any) -> ImageProvider:
    return cast(ImageProvider, NoImages(**more))


def demo() -> ApprovedLock:
    return approve({"r/base:1": []})


async def create(made: QemuBackend, name: str = "box", approved: ApprovedLock | None = None, **more: Any) -> object:
    return await made.create(approved or demo(), LaunchOptions(name), more.get("images") or images(), lambda step: None)


def left(home: Path) -> list[str]:
    return sorted(p.name for p in (home / "sandboxes").iterdir()) if (home / "sandboxes").exists() else []


@pytest.mark.parametrize("name", ["a.b", "a_b", "7", "a" * 63, "x-1"])
async def test_good_names_get_past_the_door(tmp_path: Path, name: str) -> None:
    with pytest.raises(SandboxError, match="no layer"):
        await create(backend(tmp_path), name)


@pytest.mark.parametrize(
    "name", ["", "A", ".a", "-a", "a/b", "..", "a" * 64, "bücher", "a b", "a\n", "a.", "../x", "\0"]
)
async def test_bad_names_are_refused_at_entry(tmp_path: Path, name: str) -> None:
    for call in (create(backend(tmp_path), name), backend(tmp_path).status(name), backend(tmp_path).remove(name)):
        with pytest.raises(SandboxError, match="cannot name a sandbox"):
            await call
    assert left(tmp_path) == []


async def test_a_failed_create_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="no layer"):
        await create(backend(tmp_path))
    assert left(tmp_path) == []


async def test_a_cancelled_create_leaves_nothing(tmp_path: Path) -> None:
    waiting = NoImages(wait=True)
    made = backend(tmp_path)
    work = asyncio.create_task(create(made, images=waiting))
    await waiting.asked.wait()
    assert [s.state for s in await made.list()] == [State.STARTING]
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert left(tmp_path) == []


async def test_of_two_creates_with_one_name_one_is_refused_and_the_other_untouched(tmp_path: Path) -> None:
    waiting = NoImages(wait=True)
    made, other = backend(tmp_path), backend(tmp_path)
    work = asyncio.create_task(create(made, images=waiting))
    await waiting.asked.wait()
    with pytest.raises(SandboxError, match="exists already"):
        await create(other)
    assert left(tmp_path) == ["box"]
    with pytest.raises(SandboxError, match="under way"):
        await other.remove("box")
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def test_a_required_type_that_is_not_enforced_is_refused_by_name(tmp_path: Path) -> None:
    approved = approve({"r/base:1": [capability("usb-device@1", {}), capability("port@1", {}, optional=True)]})
    with pytest.raises(SandboxError, match="usb-device@1") as caught:
        await create(backend(tmp_path), approved=approved)
    assert "port@1" not in caught.value.what
    assert left(tmp_path) == []


@pytest.mark.parametrize("place", ["", ".", "sandboxes", "sandboxes/other", "locks", "cache/layers", "link"])
async def test_a_workspace_among_our_own_files_is_refused_before_anything(tmp_path: Path, place: str) -> None:
    home = tmp_path / "home"
    for folder in ("sandboxes/other", "locks", "cache/layers"):
        (home / folder).mkdir(parents=True)
    (home / "link").symlink_to(home / "locks")
    options = LaunchOptions("box", home / place if place else tmp_path)
    with pytest.raises(SandboxError, match="own files"):
        await backend(home).create(demo(), options, images(), lambda step: None)
    assert left(home) == ["other"]


@pytest.mark.parametrize("make", ["missing", "file"])
async def test_a_workspace_that_is_no_folder_is_refused_before_anything(tmp_path: Path, make: str) -> None:
    place = tmp_path / "ws"
    if make == "file":
        place.write_text("")
    with pytest.raises(SandboxError, match="workspace"):
        await backend(tmp_path).create(demo(), LaunchOptions("box", place), images(), lambda step: None)
    assert left(tmp_path) == []


def crashed(home: Path, *, created: bool, supervisor: state.Process | None = None) -> SandboxFolder:
    folder = SandboxFolder(home / "sandboxes" / "box")
    folder.path.mkdir(parents=True)
    folder.write(
        Record("id", "box", "demo", "0" * 64, State.RUNNING, created=created, supervisor=supervisor, started_at=5.0)
    )
    return folder


async def test_a_half_made_sandbox_of_a_dead_maker_is_taken_away(tmp_path: Path) -> None:
    crashed(tmp_path, created=False)
    assert await backend(tmp_path).list() == ()
    assert left(tmp_path) == []


async def test_a_supervisor_that_died_leaves_a_broken_sandbox_that_can_be_mended(tmp_path: Path) -> None:
    crashed(tmp_path, created=True, supervisor=ended())
    made = backend(tmp_path)
    (status,) = await made.list()
    assert status.state is State.BROKEN and status.repair == "Clean up" and "supervisor" in status.broken
    mended = await made.repair("box")
    assert mended.state is State.STOPPED and mended.started_at == 0
    await made.remove("box")
    assert left(tmp_path) == []


async def test_a_supervisor_that_died_does_not_keep_start_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[State] = []

    async def launch(folder: SandboxFolder, *_: object, **__: object) -> None:
        started.append(folder.read().state)

    monkeypatch.setattr("kitstudio.runtime.qemu_backend.launch", launch)
    folder = make_folder(tmp_path / "sandboxes" / "box", created=True)
    folder.write(replace(folder.read(), state=State.RUNNING, supervisor=ended()))
    await backend(tmp_path).start("box", lambda step: None)
    assert started == [State.STOPPED]


async def test_a_pid_that_now_belongs_to_somebody_else_is_left_alone(tmp_path: Path) -> None:
    bystander = process("input()")
    try:
        mine = state.identify(bystander.pid)
        assert mine is not None
        crashed(tmp_path, created=True, supervisor=state.Process(mine.pid, mine.start - 1, mine.boot))
        assert (await backend(tmp_path).repair("box")).state is State.STOPPED
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_a_supervisor_that_hangs_is_broken_and_repair_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kitstudio.runtime.attendance.STOP_SECONDS", 0.2)
    monkeypatch.setattr("kitstudio.runtime.attendance.ANSWER_SECONDS", 0.2)
    stuck = process("import signal; signal.signal(15, signal.SIG_IGN); input()")
    os.kill(stuck.pid, signal.SIGSTOP)
    try:
        crashed(tmp_path, created=True, supervisor=state.identify(stuck.pid))
        made = backend(tmp_path)
        status = await made.status("box")
        assert status.state is State.BROKEN and "does not answer" in status.broken
        repairing = asyncio.create_task(made.repair("box"))
        assert (await repairing).state is State.STOPPED
        assert stuck.wait() == -signal.SIGKILL
    finally:
        stuck.kill()
        stuck.wait()


async def test_an_unreadable_record_is_shown_as_broken_and_can_be_removed(tmp_path: Path) -> None:
    folder = crashed(tmp_path, created=True)
    folder.record.write_text("{")
    made = backend(tmp_path)
    (status,) = await made.list()
    assert status.state is State.BROKEN and status.name == "box"
    await made.remove("box")
    assert left(tmp_path) == []


async def test_a_computer_that_was_restarted_leaves_a_stopped_sandbox(tmp_path: Path) -> None:
    crashed(tmp_path, created=True, supervisor=state.Process(os.getpid(), 1, "the boot before"))
    status = await backend(tmp_path).status("box")
    assert status.state is State.STOPPED and not status.broken and status.started_at == 0


async def test_an_unreadable_record_is_rebuilt_by_the_repair(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "sandboxes" / "box", created=True)
    state.write_json(folder.lock, {"name": "demo", "sha256": "5" * 64, "text": "{}"})
    folder.record.write_text("{")
    made = backend(tmp_path)
    assert (await made.status("box")).repair == "Clean up"
    status = await made.repair("box")
    assert (status.state, status.set_name, status.lock_sha256) == (State.STOPPED, "demo", "5" * 64)


async def test_an_interrupted_recreate_gets_its_writable_layer_back(tmp_path: Path) -> None:
    folder = crashed(tmp_path, created=True)
    folder.upper.write_text("half-made")
    folder.previous_upper.write_text("the person's work")
    await backend(tmp_path).repair("box")
    assert folder.upper.read_text() == "the person's work" and not folder.previous_upper.exists()


async def test_recreate_takes_the_sandboxs_own_lock_only(tmp_path: Path) -> None:
    crashed(tmp_path, created=True)
    with pytest.raises(SandboxError, match="not the one"):
        await backend(tmp_path).recreate("box", demo(), images(), lambda step: None)


async def test_recreate_never_takes_the_secrets_of_another_sandbox_of_its_lock(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "sandboxes" / "box", created=True, secrets=("its own",))
    folder.upper.write_text("the person's work")
    folder.write(replace(folder.read(), lock_sha256=demo().sha256))
    before = folder.launch.read_text()
    with pytest.raises(SandboxError, match="other secrets") as told:
        other = replace(demo(), secrets=("somebody else's",))
        await backend(tmp_path).recreate("box", other, images(), lambda step: None)
    assert "its own" not in str(told.value) and "somebody" not in str(told.value)
    assert folder.launch.read_text() == before and folder.upper.read_text() == "the person's work"
    with pytest.raises(SandboxError, match="no layer"):
        same = replace(demo(), secrets=("its own",))
        await backend(tmp_path).recreate("box", same, images(), lambda step: None)


async def test_a_missing_sandbox_is_named(tmp_path: Path) -> None:
    made = backend(tmp_path)
    for call in (made.status("nope"), made.stop("nope"), made.start("nope", lambda step: None), made.log("nope")):
        with pytest.raises(SandboxError, match="no sandbox named nope"):
            await call


async def test_events_name_what_changed_whoever_changed_it(tmp_path: Path) -> None:
    folder = crashed(tmp_path, created=True)
    events = backend(tmp_path).events()
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    while not waiting.done():
        folder.write(Record("id", "box", "demo", "0" * 64, State.STOPPED, created=True))
        await asyncio.wait({waiting}, timeout=0.6)
    assert await waiting == "box"
    await cast(Any, events).aclose()


async def test_logs_come_without_control_characters(tmp_path: Path) -> None:
    folder = crashed(tmp_path, created=True)
    folder.machine.mkdir()
    (folder.machine / "console.log").write_bytes(b"boot\x1b]52;c;AAAA\x07 \xff ok\r\n")
    text = await backend(tmp_path).log("box")
    assert "\x1b" not in text and "\x07" not in text and "ok\n" in text
