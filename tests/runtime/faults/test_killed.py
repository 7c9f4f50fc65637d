"""SIGKILL at changes all along create, start, stop, recreate and remove: the next look finds a sandbox that can be
used or mended, or none; nothing is left running and nothing half-made (rows 91 and 92 of the field reports)."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kitstudio.runtime import attendance
from kitstudio.runtime.backend import SandboxStatus, State
from kitstudio.runtime.state import SandboxFolder
from tests.runtime.bench import processes_of
from tests.runtime.faults import mortal


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Supervisors of this process do not die."""
    monkeypatch.setattr(attendance, "_spawn", attendance._spawn)
    mortal.fake_supervisors()


async def run(home: Path, operation: str, number: int, supervisor: int = 0) -> int:
    """The exit status of a program that dies at that change."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", mortal.MODULE, "program", str(home), operation, str(number), str(supervisor)),
        cwd=mortal.ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return await asyncio.wait_for(process.wait(), 60)


async def settled(home: Path) -> list[SandboxStatus]:
    """What the next program lists, once supervisors that lost their client have gone."""
    made = mortal.backend(home)
    async with asyncio.timeout(30):
        while True:
            found = list(await made.list())
            if all(status.state not in (State.STARTING, State.WAITING) for status in found):
                return found
            await asyncio.sleep(0.05)


async def usable_then_gone(home: Path) -> None:
    """Whatever is listed can be mended, started and removed; then nothing is left."""
    made = mortal.backend(home)
    for status in await settled(home):
        if status.state is State.BROKEN:
            assert status.broken and status.repair
            status = await made.repair(status.name)
        if status.state is State.STOPPED:
            status = await made.start(status.name, lambda step: None)
        assert status.state is State.RUNNING
        assert SandboxFolder(home / "sandboxes" / status.name).upper.stat().st_size > 0
        await made.remove(status.name)
    assert await made.list() == ()
    left = home / "sandboxes"
    assert not left.exists() or [p for p in left.iterdir() if not p.name.startswith(".new-")] == []
    async with asyncio.timeout(15):
        while processes_of(home):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def stopped_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one stopped sandbox and all layers, to be copied."""
    home = tmp_path_factory.mktemp("killed") / "home"
    home.mkdir()

    async def make() -> None:
        mortal.fake_supervisors()
        made, kits = mortal.backend(home), mortal.shelf(home)
        await made.create(kits.approved(), mortal.LaunchOptions("box", memory=256), kits, lambda step: None)
        await made.stop("box")

    before = attendance._spawn
    try:
        asyncio.run(make())
    finally:
        attendance._spawn = before
    return home


def fresh(stopped_home: Path, tmp_path: Path, number: int, *, empty: bool = False) -> Path:
    home = tmp_path / str(number)
    home.mkdir()
    for name in ("kits", "cache") if empty else ("kits", "cache", "sandboxes"):
        (home / name).mkdir()
        subprocess.run(["cp", "-a", "--sparse=always", f"{stopped_home / name}/.", str(home / name)], check=True)
    for plan in home.glob("sandboxes/*/launch.json"):
        plan.write_text(plan.read_text().replace(str(stopped_home), str(home)))
    return home


async def every_change(
    stopped_home: Path, tmp_path: Path, operation: str, first: int, step: int, *, supervisor: bool = False
) -> int:
    """Die at change ``first``, ``first + step`` and so on, until the operation ends alive; how often it died."""
    for died, number in enumerate(range(first, 1000, step)):
        home = fresh(stopped_home, tmp_path, number, empty=operation == "create")
        if operation in ("stop", "remove"):
            await mortal.backend(home).start("box", lambda step: None)
        status = await run(home, operation, *((0, number) if supervisor else (number, 0)))
        survived = status == mortal.EXHAUSTED
        if operation not in ("create", "remove"):
            assert [found.name for found in await settled(home)] == ["box"]
        await usable_then_gone(home)
        shutil.rmtree(home)
        if survived:
            return died
    raise AssertionError("the operation never ended")


@pytest.mark.parametrize("first", [1, 5])
async def test_a_program_killed_anywhere_in_create_row_91(stopped_home: Path, tmp_path: Path, first: int) -> None:
    assert await every_change(stopped_home, tmp_path, "create", first, 9) > 1


@pytest.mark.parametrize(("operation", "step"), [("start", 5), ("stop", 1), ("remove", 4)])
async def test_a_program_killed_anywhere_else_row_91(
    stopped_home: Path, tmp_path: Path, operation: str, step: int
) -> None:
    # a stop is asked of the supervisor: the program itself changes nothing
    assert await every_change(stopped_home, tmp_path, operation, 1, step) >= (operation != "stop")


async def test_a_program_killed_anywhere_in_recreate_row_91(stopped_home: Path, tmp_path: Path) -> None:
    assert await every_change(stopped_home, tmp_path, "recreate", 1, 7) > 1


@pytest.mark.parametrize("operation", ["create", "start", "recreate"])
async def test_a_supervisor_killed_anywhere_row_92(stopped_home: Path, tmp_path: Path, operation: str) -> None:
    assert await every_change(stopped_home, tmp_path, operation, 2, 13, supervisor=True) >= 1


async def test_a_recreate_that_died_gives_the_persons_files_back_row_91(stopped_home: Path, tmp_path: Path) -> None:
    home = fresh(stopped_home, tmp_path, 0)
    folder = SandboxFolder(home / "sandboxes" / "box")
    with folder.upper.open("r+b") as upper:
        upper.write(b"the person's work")
    os.rename(folder.upper, folder.previous_upper)
    await mortal.backend(home).start("box", lambda step: None)
    with folder.upper.open("rb") as upper:
        assert upper.read(17) == b"the person's work"
    await usable_then_gone(home)
