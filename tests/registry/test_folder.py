from __future__ import annotations

from pathlib import Path

import pytest

from kitstudio.registry.folder import read_folder
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import NotFound


async def test_folder_is_named_after_itself_and_a_file_after_its_stem(tmp_path: Path) -> None:
    (tmp_path / "gh").mkdir()
    (tmp_path / "gh" / "kit.yaml").write_text("a: 1")
    (tmp_path / "gh" / "other.yaml").write_text("b: 1")
    kit = await read_folder(tmp_path / "gh")
    assert (kit.name, kit.text, kit.path.name) == ("gh", "a: 1", "kit.yaml")
    other = await read_folder(tmp_path / "gh" / "other.yaml")
    assert (other.name, other.text) == ("other", "b: 1")


async def test_only_descriptor_of_a_folder_or_the_one_named_like_it_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "gh"
    folder.mkdir()
    (folder / "tool.yaml").write_text("x")
    assert (await read_folder(folder)).name == "tool"
    (folder / "gh.yaml").write_text("y")
    assert (await read_folder(folder)).name == "gh"
    (folder / "gh.yaml").rename(folder / "another.yaml")
    with pytest.raises(RegistryError, match="several") as refusal:
        await read_folder(folder)
    assert "another.yaml" in refusal.value.remedy


async def test_missing_oversized_and_binary_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await read_folder(tmp_path / "nothing.yaml")
    with pytest.raises(NotFound):
        await read_folder(tmp_path)
    (tmp_path / "big.yaml").write_bytes(b"a" * (8 * 1024 * 1024 + 1))
    with pytest.raises(RegistryError, match="8 MiB"):
        await read_folder(tmp_path / "big.yaml")
    (tmp_path / "raw.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RegistryError, match="UTF-8"):
        await read_folder(tmp_path / "raw.yaml")
    with pytest.raises(RegistryError):
        await read_folder(Path("/dev/null"))


async def test_companion_recipe_is_found_by_the_descriptors_stem(tmp_path: Path) -> None:
    (tmp_path / "gh.yaml").write_text("a: 1")
    assert (await read_folder(tmp_path / "gh.yaml")).companion is None
    (tmp_path / "gh.dockerfile").write_text("FROM scratch\n")
    (tmp_path / "other.dockerfile").write_text("FROM scratch\n")
    kit = await read_folder(tmp_path)
    assert (kit.companion, kit.in_comments) == (tmp_path / "gh.dockerfile", False)


async def test_dockerfile_with_a_kit_block_is_a_descriptor_and_one_without_is_told(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("# syntax=docker/sandbox-kit:3\n# kit:\n#   kind: mixin\n\nFROM scratch\n")
    kit = await read_folder(tmp_path)
    assert (kit.name, kit.path, kit.text.strip(), kit.in_comments) == (tmp_path.name, file, "kind: mixin", True)
    assert (await read_folder(file)).text == kit.text
    file.write_text("FROM scratch\n")
    with pytest.raises(NotFound, match="carries no descriptor"):
        await read_folder(file)
    with pytest.raises(NotFound, match="no descriptor in this folder"):
        await read_folder(tmp_path)
