"""Watched folders, with a clock of the test's own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.threads import Stop
from kitstudio.registry.watch import MAX_ENTRIES, tree_stamp, watch
from kitstudio.registry.writer import LayoutWriter
from tests.builders import descriptor, kit_image, layout


class Ticks:
    """A pause that ends when the test says so, and says when it is reached."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._reached = asyncio.Event()
        self._go = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        self.asked.append(seconds)
        self._reached.set()
        await self._go.wait()
        self._go.clear()

    async def looked(self) -> None:
        """Wait until the watcher has looked and rests."""
        await asyncio.wait_for(self._reached.wait(), 10)
        self._reached.clear()

    async def tick(self, times: int = 1) -> None:
        """Let it look again."""
        for _ in range(times):
            self._go.set()
            await self.looked()


Watched = Callable[[object], Awaitable[list[str]]]


async def collect(events: object, into: list[str]) -> None:
    async for name in events:  # type: ignore[attr-defined]
        into.append(name)


async def test_layout_tells_what_changed_came_and_went(tmp_path: Path) -> None:
    root = layout(tmp_path / "l", {"demo.invalid/a:1": kit_image(), "demo.invalid/b:1": kit_image()})
    ticks = Ticks()
    seen: list[str] = []
    task = asyncio.create_task(collect(LayoutSource(root, pause=ticks.pause).events(), seen))
    await ticks.looked()
    await ticks.tick()
    assert seen == [], "the first look only learns"
    LayoutWriter(root).add("demo.invalid/a:2", kit_image(descriptor(version="2")))
    await ticks.tick()
    assert seen == ["demo.invalid/a"]
    seen.clear()
    LayoutWriter(root).add("demo.invalid/c:1", kit_image())
    await ticks.tick(2)
    assert seen == ["demo.invalid/c"]
    seen.clear()
    (root / "index.json").write_text('{"schemaVersion": 2, "manifests": []}')
    await ticks.tick()
    assert seen == ["demo.invalid/a", "demo.invalid/b", "demo.invalid/c"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_index_written_just_now_is_no_change_but_one_that_stays_broken_is(tmp_path: Path) -> None:
    root = layout(tmp_path / "l", {"demo.invalid/a:1": kit_image()})
    whole = (root / "index.json").read_bytes()
    ticks = Ticks()
    seen: list[str] = []
    task = asyncio.create_task(collect(LayoutSource(root, pause=ticks.pause).events(), seen))
    await ticks.looked()
    (root / "index.json").write_bytes(whole[:20])
    await ticks.tick(2)
    assert seen == []
    (root / "index.json").write_bytes(whole)
    await ticks.tick(2)
    assert seen == []
    (root / "index.json").unlink()
    await ticks.tick(3)
    assert seen == ["demo.invalid/a"]
    (root / "index.json").write_bytes(whole)
    await ticks.tick()
    assert seen == ["demo.invalid/a"] * 2
    task.cancel()


async def test_slow_look_is_repeated_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("kitstudio.registry.watch.time.monotonic", lambda: now[0])
    ticks = Ticks()

    def look(stop: Stop) -> dict[str, int]:
        now[0] += 1.0
        return {}

    task = asyncio.create_task(collect(watch(look, every=2.0, pause=ticks.pause), []))
    await ticks.looked()
    assert ticks.asked == [20.0]
    task.cancel()


async def test_folder_that_is_not_there_yet_is_watched_for() -> None:
    ticks = Ticks()
    there = [False]
    seen: list[str] = []

    def look(stop: Stop) -> dict[str, int]:
        if not there[0]:
            raise RegistryError("not here")
        return {"a": 1}

    task = asyncio.create_task(collect(watch(look, pause=ticks.pause), seen))
    await ticks.looked()
    await ticks.tick(4)
    assert seen == []
    there[0] = True
    await ticks.tick()
    assert seen == ["a"]
    task.cancel()


def test_stamp_of_a_folder_changes_with_any_file_in_it_and_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    file = tmp_path / "deep" / "er" / "kit.yaml"
    file.write_text("a")
    stop = Stop()
    stamps = [tree_stamp(tmp_path, stop)]
    assert tree_stamp(tmp_path, stop) == stamps[0]
    file.write_text("bb")
    stamps.append(tree_stamp(tmp_path, stop))
    (tmp_path / "other").write_text("")
    stamps.append(tree_stamp(tmp_path, stop))
    (tmp_path / "loop").symlink_to(tmp_path)
    stamps.append(tree_stamp(tmp_path, stop))
    assert len(set(stamps)) == 4
    (tmp_path / ".git").mkdir()
    before = tree_stamp(tmp_path, stop)
    (tmp_path / ".git" / "HEAD").write_text("x")
    assert tree_stamp(tmp_path, stop) == before
    many = tmp_path / "many"
    many.mkdir()
    for number in range(MAX_ENTRIES + 50):
        os.mknod(many / str(number))
    stamp = tree_stamp(tmp_path, stop)
    assert isinstance(stamp, tuple)
    assert len(stamp) <= MAX_ENTRIES + 5
    assert tree_stamp(tmp_path / "missing", stop) == ()
