"""Files that two Kits ship: what counts, what does not, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kitstudio.registry.writer import Entry, LayerBlob, build_layer, folder, symlink
from kitstudio.services.collisions import SHOWN, Shipped, collisions

FIRST, SECOND, THIRD = "r.example/first:1", "r.example/second:1", "r.example/third:1"


def shipped(reference: str, home: Path, *layers: LayerBlob | Sequence[Entry]) -> Shipped:
    rows = []
    for made in (each if isinstance(each, LayerBlob) else build_layer(each) for each in layers):
        path = home / made.layer.digest.replace(":", "-")
        path.write_bytes(made.data)
        rows.append((made.layer.digest, path, made.diff_id))
    return Shipped(reference, tuple(rows))


async def found(*kits: Shipped) -> list[tuple[tuple[str, ...], str]]:
    return [(problem.kits, problem.detail) for problem in await collisions(kits)]


async def test_a_file_two_kits_ship_is_named_with_both(tmp_path: Path) -> None:
    one = shipped(FIRST, tmp_path, [Entry("opt/a", data=b"1"), Entry("opt/b", data=b"1")])
    two = shipped(SECOND, tmp_path, [Entry("opt/a", data=b"2"), Entry("opt/c", data=b"2")])
    three = shipped(THIRD, tmp_path, [Entry("opt/c", data=b"3")])
    assert await found(one, two, three) == [((FIRST, SECOND), "/opt/a"), ((SECOND, THIRD), "/opt/c")]


async def test_equal_content_in_another_layer_is_a_collision_too(tmp_path: Path) -> None:
    one = shipped(FIRST, tmp_path, [Entry("opt/a", data=b"1")])
    two = shipped(SECOND, tmp_path, [Entry("opt/a", data=b"1"), Entry("opt/b")])
    assert [kits for kits, _ in await found(one, two)] == [(FIRST, SECOND)]


async def test_folders_same_links_and_shared_layers_are_none(tmp_path: Path) -> None:
    base = build_layer([Entry("opt/shared", data=b"s")])
    one = shipped(FIRST, tmp_path, base, [folder("opt"), folder("opt/x"), symlink("opt/l", "x")])
    two = shipped(SECOND, tmp_path, base, [folder("opt"), folder("opt/x", 0o700), symlink("opt/l", "x"), Entry("o")])
    assert await found(one, two) == []
    other = shipped(THIRD, tmp_path, [symlink("opt/l", "y"), Entry("opt/x")])
    assert await found(one, other) == [((FIRST, THIRD), "/opt/l\n/opt/x")]


async def test_what_a_kit_takes_away_again_is_not_shipped(tmp_path: Path) -> None:
    below = [Entry("opt/a"), Entry("etc/x/b"), Entry("etc/keep")]
    above = [Entry("opt/.wh.a"), Entry("etc/x/.wh..wh..opq"), Entry("etc/x/c")]
    one = shipped(FIRST, tmp_path, below, above)
    two = shipped(
        SECOND, tmp_path, [Entry("opt/a", data=b"2"), Entry("etc/x/b", data=b"2"), Entry("etc/keep", data=b"2")]
    )
    assert await found(one, two) == [((FIRST, SECOND), "/etc/keep")]


async def test_staged_sources_are_judged_by_their_folders_elsewhere(tmp_path: Path) -> None:
    staged = "usr/share/sandbox/kit/one/kit.yaml"
    one, two = (shipped(kit, tmp_path, [Entry(staged, data=kit.encode())]) for kit in (FIRST, SECOND))
    assert await found(one, two) == []


async def test_many_files_are_counted_and_strange_names_are_harmless(tmp_path: Path) -> None:
    names = [f"opt/{number:02}" for number in range(SHOWN + 3)]
    one = shipped(FIRST, tmp_path, [Entry(name, data=b"1") for name in (*names, "opt/\x1b[31m")])
    two = shipped(SECOND, tmp_path, [Entry(name, data=b"2") for name in (*names, "opt/\x1b[31m")])
    (problem,) = await collisions([one, two])
    assert problem.message.endswith("and 4 more.") and "\x1b" not in problem.message + problem.detail
    assert [remedy.kit for remedy in problem.remedies] == [FIRST, SECOND]
