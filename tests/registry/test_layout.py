from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import LayoutLocation, RegistryError, parse
from kitstudio.registry.source import ArtifactKind, NotFound
from tests.builders import descriptor, kit_image, kit_index, layout


async def test_full_names_and_bare_tags_are_listed_as_repositories(tmp_path: Path) -> None:
    root = layout(
        tmp_path / "My Kits", {"demo.invalid/a:1.0": kit_image(), "2.0": kit_image(), "x.y/a/b:1": kit_image()}
    )
    source = LayoutSource(root)
    assert await source.list() == ("demo.invalid/a", "local.invalid/my-kits", "x.y/a/b")
    assert await source.tags("demo.invalid/a") == ("1.0",)
    assert await source.tags("local.invalid/my-kits") == ("2.0",)


async def test_kit_is_read_by_tag_and_by_digest(tmp_path: Path) -> None:
    image = kit_image(descriptor(display_name="Mine"))
    source = LayoutSource(layout(tmp_path, {"demo.invalid/a:1.0": image}))
    artifact = await source.artifact(parse("demo.invalid/a:1.0"))
    assert artifact.kind is ArtifactKind.KIT
    assert '"displayName":"Mine"' in artifact.descriptor_text
    assert artifact.digest == image.digest
    again = await source.artifact(parse(f"demo.invalid/a@{image.digest}"))
    assert again.manifest.raw == image.raw


async def test_reference_without_tag_means_the_newest_version(tmp_path: Path) -> None:
    images = {f"demo.invalid/a:{tag}": kit_image(descriptor(version=tag)) for tag in ("1.9", "1.10", "1.2")}
    source = LayoutSource(layout(tmp_path, images))
    artifact = await source.artifact(parse("demo.invalid/a"))
    assert artifact.digest == images["demo.invalid/a:1.10"].digest
    assert str(artifact.reference) == "demo.invalid/a"


async def test_location_of_the_command_line_is_resolved(tmp_path: Path) -> None:
    image, other = kit_image(), kit_index()
    source = LayoutSource(layout(tmp_path / "lay", {"1.0": image, "2.0": other}))
    assert str(await source.reference(LayoutLocation(tmp_path, "1.0"))) == "local.invalid/lay:1.0"
    assert str(await source.reference(LayoutLocation(tmp_path))) == "local.invalid/lay:2.0"
    pinned = await source.reference(LayoutLocation(tmp_path, digest=image.digest))
    assert (await source.artifact(pinned)).digest == image.digest
    with pytest.raises(NotFound, match="no tag"):
        await source.reference(LayoutLocation(tmp_path, "3.0"))


async def test_a_tag_of_several_kits_means_none_of_them(tmp_path: Path) -> None:
    image, other = kit_image(), kit_image(descriptor(display_name="Other"))
    source = LayoutSource(layout(tmp_path, {"demo.invalid/a:1.0": image, "demo.invalid/b:1.0": other}))
    with pytest.raises(RegistryError, match="several Kits with the tag") as caught:
        await source.reference(LayoutLocation(tmp_path, "1.0"))
    assert f"demo.invalid/b is @{other.digest}" in caught.value.remedy
    pinned = await source.reference(LayoutLocation(tmp_path, digest=other.digest))
    assert (await source.artifact(pinned)).digest == other.digest


async def test_blob_is_used_where_it_lies_once_verified(tmp_path: Path) -> None:
    image = kit_image()
    source = LayoutSource(layout(tmp_path, {"1.0": image}))
    artifact = await source.artifact(await source.reference(LayoutLocation(tmp_path, "1.0")))
    [blob] = artifact.manifest.layers
    path = await source.blob(artifact.reference, blob.digest, blob.size)
    assert path == tmp_path / "blobs" / "sha256" / blob.digest[7:]


async def test_damaged_missing_and_wrong_sized_blobs_are_refused(tmp_path: Path) -> None:
    image = kit_image()
    source = LayoutSource(layout(tmp_path, {"demo.invalid/a:1": image}))
    artifact = await source.artifact(parse("demo.invalid/a:1"))
    [blob] = artifact.manifest.layers
    with pytest.raises(RegistryError, match="bytes where"):
        await source.blob(artifact.reference, blob.digest, blob.size + 1)
    path = tmp_path / "blobs" / "sha256" / blob.digest[7:]
    path.write_bytes(b"\0" * blob.size)
    with pytest.raises(RegistryError, match="not what was asked for"):
        await source.blob(artifact.reference, blob.digest, blob.size)
    path.unlink()
    with pytest.raises(NotFound, match="lacks the blob"):
        await source.blob(artifact.reference, blob.digest, blob.size)


async def test_damaged_manifest_is_never_shown(tmp_path: Path) -> None:
    image = kit_image()
    source = LayoutSource(layout(tmp_path, {"demo.invalid/a:1": image}))
    path = tmp_path / "blobs" / "sha256" / image.digest[7:]
    path.write_bytes(image.raw.replace(b"Test Kit", b"Nice Kit"))
    with pytest.raises(RegistryError, match="not what was asked for"):
        await source.artifact(parse("demo.invalid/a:1"))


async def test_what_is_no_layout_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="not an OCI image layout") as refusal:
        await LayoutSource(tmp_path).list()
    assert refusal.value.where == str(tmp_path)
    (tmp_path / "index.json").write_text("not json")
    with pytest.raises(RegistryError, match="not JSON"):
        await LayoutSource(tmp_path).list()


async def test_unknown_repository_and_tag_are_told_with_what_there_is(tmp_path: Path) -> None:
    source = LayoutSource(layout(tmp_path, {"demo.invalid/a:1.0": kit_image()}))
    with pytest.raises(NotFound, match=r"demo\.invalid/b is not"):
        await source.manifest(parse("demo.invalid/b:1.0"))
    with pytest.raises(NotFound) as refusal:
        await source.manifest(parse("demo.invalid/a:9"))
    assert "1.0" in refusal.value.remedy
    with pytest.raises(NotFound):
        await source.tags("demo.invalid/b")


async def test_layout_may_change_underneath(tmp_path: Path) -> None:
    source = LayoutSource(layout(tmp_path, {"demo.invalid/a:1.0": kit_image()}))
    assert await source.list() == ("demo.invalid/a",)
    layout(tmp_path, {"demo.invalid/b:1.0": kit_image()})
    assert await source.list() == ("demo.invalid/a", "demo.invalid/b")
    shutil.rmtree(tmp_path)
    with pytest.raises(NotFound):
        await source.list()
