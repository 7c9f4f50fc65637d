from __future__ import annotations

from pathlib import Path

import pytest

from kitstudio.models.annotations import kit_annotations
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.manifest import host_platform
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.source import ArtifactKind, MissingPlatform, Platform
from kitstudio.registry.writer import Image, build_index
from tests.builders import AMD64, ARM64, BUILT_BY, descriptor, kit_image, kit_index, layout

REFERENCE = parse("demo.invalid/a:1")


async def read(root: Path, image: Image, platform: Platform | None = None):  # type: ignore[no-untyped-def]
    return await LayoutSource(layout(root, {str(REFERENCE): image})).artifact(REFERENCE, platform)


async def test_row_22_platform_is_chosen_in_an_index_and_the_index_is_what_a_set_pins(tmp_path: Path) -> None:
    index = kit_index(attested=True)
    artifact = await read(tmp_path, index, ARM64)
    assert artifact.digest == index.digest
    assert artifact.config is not None
    assert artifact.config.platform == ARM64
    assert artifact.platforms == (AMD64, ARM64)
    assert artifact.index is not None
    assert artifact.manifest.digest != index.digest
    native = await read(tmp_path, index)
    assert native.config is not None
    assert native.config.platform == host_platform()


async def test_row_17_index_without_annotations_falls_back_to_the_platform_manifest(tmp_path: Path) -> None:
    artifact = await read(tmp_path, kit_index(promoted=False))
    assert artifact.kind is ArtifactKind.KIT
    assert artifact.descriptor_text.startswith('{"schemaVersion":"3"')


async def test_row_19_attestation_is_never_taken_for_the_kit(tmp_path: Path) -> None:
    attested_only_amd64 = kit_index(platforms=(AMD64,), attested=True)
    artifact = await read(tmp_path, attested_only_amd64)
    assert artifact.platforms == (AMD64,)
    with pytest.raises(MissingPlatform, match="linux/arm64"):
        await read(tmp_path, attested_only_amd64, ARM64)


async def test_row_20_index_and_manifests_without_annotations_are_an_image(tmp_path: Path) -> None:
    bare = [(platform, kit_image(platform=platform, annotations={})) for platform in (AMD64, ARM64)]
    artifact = await read(tmp_path, build_index(bare))
    assert artifact.kind is ArtifactKind.IMAGE
    assert artifact.descriptor_text == ""
    assert artifact.platforms == (AMD64, ARM64)


async def test_index_that_contradicts_its_image_is_told(tmp_path: Path) -> None:
    image = kit_image(descriptor(display_name="One"))
    other = kit_annotations(descriptor(display_name="Other"), BUILT_BY)
    artifact = await read(tmp_path / "a", build_index([(AMD64, image)], other), AMD64)
    assert "contradict each other in vnd.docker.sandbox.kit.descriptor" in artifact.contradiction
    assert (await read(tmp_path / "b", build_index([(AMD64, image)]), AMD64)).contradiction == ""
    assert (await read(tmp_path / "c", kit_index())).contradiction == ""
    assert (await read(tmp_path / "d", image)).contradiction == ""


async def test_single_image_for_another_platform_is_refused_when_asked_for(tmp_path: Path) -> None:
    assert (await read(tmp_path, kit_image(platform=ARM64))).platforms == (ARM64,)
    with pytest.raises(MissingPlatform):
        await read(tmp_path, kit_image(platform=ARM64), AMD64)


async def test_index_of_nothing_runnable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="nothing that can run"):
        await read(tmp_path, kit_index(platforms=(), attested=True))


async def test_nested_indexes_are_walked_four_deep_and_no_deeper(tmp_path: Path) -> None:
    nested = kit_index()
    for _ in range(3):
        nested = build_index([(None, nested)])
    assert (await read(tmp_path / "four", nested)).platforms == (AMD64, ARM64)
    with pytest.raises(RegistryError, match="nested"):
        await read(tmp_path / "five", build_index([(None, nested)]))


async def test_entry_without_a_platform_is_usable(tmp_path: Path) -> None:
    artifact = await read(tmp_path, build_index([(None, kit_image(platform=AMD64))]))
    assert artifact.kind is ArtifactKind.KIT
    assert artifact.platforms == (AMD64,)
