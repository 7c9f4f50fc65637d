"""Layers: what is kept, what is refused, and that nothing half-made stays."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import subprocess
import tarfile
from pathlib import Path

import pytest
import zstandard

from kitstudio.runtime import layer_blob
from kitstudio.runtime.backend import ImageLayer, SandboxError
from kitstudio.runtime.inventory import EntryType, Inventory, lookup, read_small_file, top_names
from kitstudio.runtime.layers import ConvertedLayer, LayerCache
from tests.runtime.machines import convert, folder, member, tar_of

LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


async def ensure(place: Path, content: bytes, *, diff_id: str = "") -> ConvertedLayer:
    blob = place / "blob"
    blob.write_bytes(content)
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    return await LayerCache(place / "cache").ensure(ImageLayer(digest, len(content), "", diff_id), blob)


def command(arguments: list[str | Path], *, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(arguments, capture_output=True, check=check)


def leftovers(place: Path) -> list[str]:
    return [path.name for path in (place / "cache").iterdir() if not path.name.endswith(".lock")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
async def test_plain_gzip_and_zstd_give_the_same_image(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    tar = tar_of(folder("a"), member("a/f", b"hello"))
    done = await ensure(tmp_path, pack(tar), diff_id="sha256:" + hashlib.sha256(tar).hexdigest())
    said = command(["rdsquashfs", "-c", "a/f", done.path])
    assert said.stdout == b"hello"


async def test_a_wrong_diff_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="its image says"):
        await ensure(tmp_path, tar_of(member("f")), diff_id="sha256:" + "0" * 64)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([member("/etc/x")], "absolute"),
        ([member("a/../../x")], "leads out"),
        ([member("a" * 300)], "too long"),
        ([member("/".join("ab" * 600))], "too many folders deep"),
        ([member("x", kind=tarfile.CHRTYPE)], "hide what lies below"),
        ([member("x", kind=tarfile.GNUTYPE_SPARSE)], "sparse"),
        ([member("x", kind=b"V")], "unknown kind"),
        ([member("h", kind=HARD, linkname="nowhere")], "hard link"),
        ([member("h", kind=HARD, linkname="../etc/passwd")], "leads out"),
        ([folder("d"), member("h", kind=HARD, linkname="d")], "hard link"),
        ([member("s", kind=LINK, linkname="/etc"), member("s/passwd")], "not a folder"),
        ([member("f"), member("f/.wh.x")], "not a folder"),
        ([member(".wh.")], "names nothing"),
        ([member("a/.wh...")], "names nothing"),
        ([member("x", uid=2**33)], "impossible owner"),
    ],
)
async def test_hostile_entries_are_refused_by_name(tmp_path: Path, members, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SandboxError, match=words):
        await ensure(tmp_path, tar_of(*members))
    assert leftovers(tmp_path) == []


async def test_a_name_with_nul_is_refused(tmp_path: Path) -> None:
    info, _ = member("x")
    info.pax_headers = {"path": "etc/pass\0wd"}
    with pytest.raises(SandboxError, match="NUL"):
        await ensure(tmp_path, tar_of((info, b"")))


@pytest.mark.parametrize("content", [b"", b"not a tar at all" * 100, tar_of(member("f", b"x" * 2000))[:1500]])
async def test_what_is_no_tar_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SandboxError):
        await ensure(tmp_path, content)
    assert leftovers(tmp_path) == []


async def test_cut_off_gzip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cut off"):
        await ensure(tmp_path, gzip.compress(tar_of(member("f", bytes(100_000))))[:-20])


def test_a_decompression_bomb_stops_at_the_limit(tmp_path: Path) -> None:
    blob = tmp_path / "bomb"
    blob.write_bytes(gzip.compress(bytes(64 << 20)))
    with (tmp_path / "out").open("wb") as out, pytest.raises(SandboxError, match="larger than 8 MiB"):
        layer_blob.decompress(blob, out, "", lambda done, total: None, limit=8 << 20)
    assert (tmp_path / "out").stat().st_size <= 8 << 20


async def test_overlay_attributes_of_a_layer_are_not_believed(tmp_path: Path) -> None:
    info, _ = folder("d")
    info.pax_headers = {
        "SCHILY.xattr.trusted.overlay.redirect": "/etc",
        "SCHILY.xattr.user.kept": "yes",
        "SCHILY.xattr.security.selinux": "no",
    }
    done = await ensure(tmp_path, tar_of((info, b"")))
    said = command(["rdsquashfs", "-x", "d", done.path])
    assert said.stdout == b"user.kept=yes\n"


async def test_the_last_entry_of_a_name_wins_and_links_keep_what_they_meant(tmp_path: Path) -> None:
    done = await ensure(
        tmp_path,
        tar_of(
            *(member("f", b"old"), member("h", kind=HARD, linkname="f"), member("f", b"new")),
            *(folder("d"), member("d/x"), member("d", b"now a file")),
            *(member("e"), folder("e"), member("e/y")),
        ),
    )
    entries = Inventory.load(done.inventory).entries
    assert {path for path in entries if path} == {"f", "h", "d", "e", "e/y"}
    for path, content in (("f", b"new"), ("h", b"old"), ("d", b"now a file")):
        said = command(["rdsquashfs", "-c", path, done.path])
        assert said.stdout == content


async def test_unlisted_folders_keep_what_they_have_below(tmp_path: Path) -> None:
    lower = tar_of(folder("tmp", mode=0o1777), folder("home"), folder("home/agent", uid=1000, gid=1000, mode=0o700))
    layers = await convert(tmp_path, {"low": lower, "high": tar_of(member("tmp/x"), member("home/agent/.rc"))})
    stack = [Inventory.load(layer.inventory) for layer in layers]
    for path, mode, uid in (("tmp", 0o1777, 0), ("home/agent", 0o700, 1000)):
        found = lookup(stack, path)
        assert found and (found.mode, found.uid, found.implied) == (mode, uid, True)


async def test_a_cached_layer_is_used_again_only_over_layers_that_say_the_same(tmp_path: Path) -> None:
    high = tar_of(member("tmp/x"))
    one = await convert(tmp_path, {"low1": tar_of(folder("tmp", mode=0o1777)), "high": high})
    same = await convert(tmp_path, {"low2": tar_of(folder("tmp", mode=0o1777), member("y")), "high": high})
    other = await convert(tmp_path, {"low3": tar_of(folder("tmp", mode=0o700)), "high": high})
    assert one[1] == same[1]
    assert other[1].path != one[1].path
    assert Inventory.load(other[1].inventory).entries["tmp"].mode == 0o700


async def test_a_damaged_cache_entry_is_made_again(tmp_path: Path) -> None:
    done = await ensure(tmp_path, tar_of(member("f", b"x")))
    done.path.chmod(0o644)
    done.path.write_bytes(b"cut")
    again = await ensure(tmp_path, tar_of(member("f", b"x")))
    assert again.path.stat().st_size > 3


async def test_an_opaque_root_hides_everything_below(tmp_path: Path) -> None:
    lower = tar_of(member("a"), folder("d"), member("d/x"), member("f"))
    upper = tar_of(member("d/y"), member(".wh..wh..opq"), member("f", b"mine"))
    layers = await convert(tmp_path, {"low": lower, "high": upper})
    stack = [Inventory.load(layer.inventory) for layer in layers]
    assert top_names(stack) == ("d", "f")
    assert lookup(stack, "d/x") is None and lookup(stack, "d/y") is not None


async def test_small_files_are_read_as_the_stack_shows_them(tmp_path: Path) -> None:
    layers = await convert(
        tmp_path,
        {
            "low": tar_of(member("etc/passwd", b"low")),
            "mid": tar_of(member("x")),
            "up": tar_of(member("etc/.wh.passwd")),
        },
    )
    stack = [Inventory.load(layer.inventory) for layer in layers]
    assert read_small_file(stack[:2], "etc/passwd") == b"low"
    assert read_small_file(stack, "etc/passwd") is None


async def test_two_at_once_convert_once(tmp_path: Path) -> None:
    content = tar_of(*(member(f"f{number}", b"x" * 5000) for number in range(500)))
    one, two = await asyncio.gather(ensure(tmp_path, content), ensure(tmp_path, content))
    assert one == two and len(leftovers(tmp_path)) == 2


async def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    started = asyncio.Event()
    blob = tmp_path / "blob"
    blob.write_bytes(tar_of(member("big", bytes(200 << 20))))
    layer = ImageLayer("sha256:big", 1, "")
    work = asyncio.create_task(LayerCache(tmp_path / "cache").ensure(layer, blob, (), lambda *_: started.set()))
    await started.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert leftovers(tmp_path) == []


async def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = command(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        blob = tmp_path / "blob"
        blob.write_bytes(gzip.compress(tar_of(member("big", bytes(16 << 20)))))
        with pytest.raises(SandboxError, match="disk is full") as caught:
            await LayerCache(small).ensure(ImageLayer("sha256:big", 1, ""), blob)
        assert caught.value.remedy
        assert [path.name for path in small.iterdir()] == ["sha256-big.lock"]
    finally:
        command(["umount", small])


async def test_missing_converter_is_told_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError) as caught:
        await ensure(tmp_path, tar_of(member("f")))
    assert "squashfs-tools-ng" in caught.value.remedy


def test_every_kind_of_entry_has_a_letter() -> None:
    assert len({kind.value for kind in EntryType}) == len(EntryType)
