"""Caches within their limits: what goes, and what never does."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.writer import LayoutWriter
from kitstudio.services.app import Studio
from kitstudio.services.cache_limits import MIB, CacheLimits, InUseUnknown
from kitstudio.services.home import Home, open_home
from kitstudio.services.settings import Settings
from tests.builders import kit_image, layer

OLD = 1_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


def blob(home: Home, fill: bytes, size: int = MIB) -> Path:
    """A downloaded blob, last used long ago."""
    content = fill * size
    path = home.blobs / "blobs" / "sha256" / digest_of(content).removeprefix("sha256:")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (OLD, OLD))
    return path


def converted(home: Home, digest: str, size: int = MIB, used: float = OLD) -> Path:
    """A converted layer with its inventory."""
    image = home.layers / f"{digest.replace(':', '-')}.1.0123456789ab.sqfs"
    image.write_bytes(b"x" * size)
    for path in (image, image.with_suffix(".inventory")):
        path.touch()
        os.utime(path, (used, used))
    return image


def limits(home: Home, blobs: int = 1, layers: int = 1, opened: frozenset[str] = frozenset()) -> CacheLimits:
    settings = Settings()
    settings.set("cache.blobs_limit", blobs)
    settings.set("cache.layers_limit", layers)
    return CacheLimits(home, settings, lambda: opened)


def sandbox(home: Home, name: str, **files: str) -> Path:
    folder = home.sandboxes / name
    folder.mkdir()
    for stem, text in files.items():
        (folder / f"{stem}.json").write_text(text)
    return folder


async def test_what_was_not_used_for_longest_goes_until_the_limit_holds(home: Home) -> None:
    paths = [blob(home, letter) for letter in (b"a", b"b", b"c")]
    for number, path in enumerate(paths):
        os.utime(path, (OLD + number, OLD + number))
    freed = await limits(home).keep()
    assert [path.exists() for path in paths] == [False, False, True]
    assert freed.blobs == 2 * MIB


async def test_no_limit_keeps_everything(home: Home) -> None:
    paths = [blob(home, letter) for letter in (b"a", b"b")] + [converted(home, f"sha256:{1:064x}", 3 * MIB)]
    await limits(home, blobs=0, layers=0).keep()
    assert all(path.exists() for path in paths)


async def test_what_a_lock_a_sandbox_or_the_open_set_names_stays(home: Home) -> None:
    paths = [blob(home, letter) for letter in (b"a", b"b", b"c", b"d")]
    names = [f"sha256:{path.name}" for path in paths]
    (home.locks / "team.json").write_text(json.dumps({"kits": [{"digest": names[0]}]}))
    sandbox(home, "one", lock=json.dumps({"text": json.dumps({"kits": [{"digest": names[1]}]})}))
    freed = await limits(home, opened=frozenset((names[2],))).keep()
    assert [path.exists() for path in paths] == [True, True, True, False]
    assert freed.over == 2 * MIB


async def test_layers_of_a_locked_kit_stay_with_everything_below_it(home: Home) -> None:
    image = kit_image(layers=[layer({"big": os.urandom(2 * MIB)})])
    LayoutWriter(home.blobs).add("acme.example/kit:1.0", image)
    (home.blobs / "index.json").write_text('{"schemaVersion": 2, "manifests": []}')
    below = json.loads(image.raw)["layers"][0]["digest"]
    kept, gone = converted(home, below), converted(home, f"sha256:{1:064x}")
    for path in (home.blobs / "blobs" / "sha256").iterdir():
        os.utime(path, (OLD, OLD))
    (home.locks / "team.json").write_text(json.dumps({"kits": [{"digest": image.digest}]}))
    await limits(home).keep()
    assert kept.exists() and not gone.exists()
    assert (home.blobs / "blobs" / "sha256" / below.removeprefix("sha256:")).exists()
    (home.locks / "team.json").unlink()
    await limits(home).keep()
    assert not (home.blobs / "blobs" / "sha256" / below.removeprefix("sha256:")).exists()


async def test_a_layer_a_sandbox_is_made_of_stays_and_goes_with_its_inventory_otherwise(home: Home) -> None:
    used, unused = (converted(home, f"sha256:{n:064x}") for n in (1, 2))
    sandbox(home, "one", launch=json.dumps({"layers": [str(used)]}))
    freed = await limits(home).keep()
    assert used.exists() and used.with_suffix(".inventory").exists()
    assert not unused.exists() and not unused.with_suffix(".inventory").exists()
    assert freed.layers == MIB


async def test_while_a_sandbox_is_being_made_no_layer_goes(home: Home) -> None:
    layers = [converted(home, f"sha256:{n:064x}") for n in (1, 2)]
    state = sandbox(home, "one", state='{"state": "starting"}')
    await limits(home).keep()
    assert all(path.exists() for path in layers)
    (state / "state.json").write_text('{"state": "stopped"}')
    await limits(home).keep()
    assert [path.exists() for path in layers].count(True) == 1


async def test_what_was_used_a_moment_ago_stays(home: Home) -> None:
    recent = converted(home, f"sha256:{1:064x}", 2 * MIB)
    os.utime(recent)
    await limits(home).keep()
    assert recent.exists()


async def test_where_it_cannot_be_told_what_is_in_use_nothing_goes(home: Home) -> None:
    path = blob(home, b"a", 2 * MIB)
    (home.locks / "strange.json").mkdir()
    keeper = limits(home)
    with pytest.raises(InUseUnknown, match="no cache is trimmed"):
        await keeper.keep()
    assert path.exists()


async def test_a_running_program_trims_when_a_limit_changes_and_keeps_its_fault(studio: Studio, tmp_path: Path) -> None:
    home = studio.home
    paths = [blob(home, letter) for letter in (b"a", b"b")]
    looked = asyncio.Event()
    studio.cache_limits.looked.subscribe(lambda _: looked.set())

    async def look() -> None:
        looked.clear()
        async with asyncio.timeout(20):
            await looked.wait()

    task = asyncio.create_task(studio.cache_limits.run(settle=0))
    try:
        await look()
        assert all(path.exists() for path in paths)
        studio.settings.set("cache.blobs_limit", 1)
        await look()
        assert [path.exists() for path in paths].count(True) == 1
        (home.locks / "strange.json").mkdir()
        studio.settings.set("cache.blobs_limit", 2)
        await look()
        assert studio.cache_limits.problem is not None
    finally:
        task.cancel()


async def test_a_studio_that_stays_ends_what_it_started(studio: Studio) -> None:
    await studio.start()
    await studio.start()
    assert len([t for t in asyncio.all_tasks() if t.get_name().startswith("keep the caches")]) == 1
    await studio.close()
    assert not [t for t in asyncio.all_tasks() if t.get_name().startswith("keep the caches")]
