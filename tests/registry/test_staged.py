"""The sources a Kit brings along, from the one layer that holds them."""

from __future__ import annotations

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from kitstudio.registry.blob_store import BlobStore, digest_of
from kitstudio.registry.demo import DemoCatalog
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.source import Artifact, Layer
from kitstudio.registry.staged import MAX_UNPACKED, STAGED, staged_sources
from tests.builders import kit_image, layer, layout

REFERENCE = parse("demo.invalid/a:1")


async def published(root: Path, *layers: dict[str, bytes]) -> tuple[LayoutSource, Artifact]:
    image = kit_image(layers=[layer(files) for files in layers])
    source = LayoutSource(layout(root, {str(REFERENCE): image}))
    return source, await source.artifact(REFERENCE)


async def with_layer(root: Path, data: bytes) -> tuple[LayoutSource, Artifact]:
    """A Kit whose one layer is these very bytes."""
    source, artifact = await published(root, {"x": b""})
    BlobStore(root).put(data)
    blob = Layer(digest_of(data), len(data), "application/vnd.oci.image.layer.v1.tar")
    return source, replace(artifact, manifest=replace(artifact.manifest, layers=(blob,)))


def tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


async def test_top_layer_with_sources_is_the_only_one_read(tmp_path: Path) -> None:
    source, artifact = await published(
        tmp_path,
        {f"{STAGED}/old/kit.yaml": b"old"},
        {f"{STAGED}/gh/kit.yaml": b"kind: mixin", f"{STAGED}/gh/kit.dockerfile": b"FROM scratch", "usr/bin/gh": b"x"},
        {"etc/empty": b""},
    )
    (tmp_path / "blobs" / "sha256" / artifact.manifest.layers[0].digest.removeprefix("sha256:")).unlink()
    found = await staged_sources(source, artifact)
    assert [(file.path, file.text) for file in found.files] == [
        ("gh/kit.dockerfile", "FROM scratch"), ("gh/kit.yaml", "kind: mixin")
    ]  # fmt: skip
    assert found.layer == artifact.manifest.layers[1].digest


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
async def test_every_packing_of_layers_is_read(tmp_path: Path, pack: object) -> None:
    data = pack(tar({f"./{STAGED}/a/kit.yaml": b"hi", f"{STAGED}/../../x": b"out"}))  # type: ignore[operator]
    found = await staged_sources(*await with_layer(tmp_path, data))
    assert [file.path for file in found.files] == ["a/kit.yaml"]


async def test_large_layers_are_left_where_they_are_and_counted(tmp_path: Path) -> None:
    source, artifact = await published(tmp_path, {f"{STAGED}/a/kit.yaml": b"hi"})
    found = await staged_sources(source, artifact, largest=10)
    assert (found.files, found.unread) == ((), 1)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (gzip.compress(tar({"big": bytes(MAX_UNPACKED + 1024)})), "more than 64 MiB"),
        (gzip.compress(tar({f"{STAGED}/a/kit.yaml": bytes(1024 * 1024 + 1)})), "more than sources"),
        (gzip.compress(tar({f"{STAGED}/a/kit.yaml": b"hi"}))[:-20], "cannot be read"),
        (b"\x28\xb5\x2f\xfdnonsense", "cannot be read"),
        (b"nonsense" * 100, "cannot be read"),
    ],
)
async def test_layer_that_is_a_bomb_or_damaged_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(RegistryError, match=says):
        await staged_sources(*await with_layer(tmp_path, data))


async def test_every_demo_kit_brings_its_descriptor(demo: DemoCatalog) -> None:
    read = 0
    for name in await demo.list():
        for tag in await demo.tags(name):
            artifact = await demo.artifact(parse(f"{name}:{tag}"))
            if artifact.descriptor_text:
                found = await staged_sources(demo, artifact)
                assert any(file.path.endswith("/kit.yaml") for file in found.files), name
                read += 1
    assert read
