"""A local Kit and the folder it was made from."""

from __future__ import annotations

import os
from pathlib import Path

from kitstudio.registry.reference import FolderLocation
from kitstudio.services.app import Studio
from kitstudio.services.local_folders import LocalFolders

TEXT = 'schemaVersion: "3"\nkind: mixin\nversion: 1.0.0\nprovides: [mine]\n'


def folder(place: Path, text: str = TEXT) -> Path:
    root = place / "mine"
    root.mkdir()
    (root / "kit.yaml").write_text(text)
    return root


async def test_a_member_is_older_than_its_folder_once_the_content_differs(studio: Studio, tmp_path: Path) -> None:
    root = folder(tmp_path)
    reference, digest = await studio.places.import_local(FolderLocation(root))
    members, folders = {str(reference): digest}, studio.places.folders
    assert await folders.folders(list(members)) == {"local.invalid/mine:1.0.0": root}
    os.utime(root / "kit.yaml", (5, 5))
    assert await folders.changed(studio.places, members) == ()
    (root / "kit.yaml").write_text(TEXT + "description: more\n")
    (changed,) = await folders.changed(studio.places, members)
    assert changed.digest not in ("", digest) and changed.problem is None
    assert await folders.changed(studio.places, {str(reference): changed.digest}) == ()


async def test_a_folder_that_makes_no_kit_any_more_says_why(studio: Studio, tmp_path: Path) -> None:
    root = folder(tmp_path)
    reference, digest = await studio.places.import_local(FolderLocation(root))
    (root / "kit.yaml").write_text(TEXT + "build: |\n  FROM scratch\n  RUN id\n")
    (changed,) = await studio.places.folders.changed(studio.places, {str(reference): digest})
    assert changed.digest == "" and changed.problem is not None and "RUN" in changed.problem.what


async def test_using_the_changed_folder_is_one_step_and_undoes(studio: Studio, tmp_path: Path) -> None:
    root = folder(tmp_path)
    composer = studio.composer
    composer.add(str(root))
    before = (await composer.settled()).state
    (root / "kit.yaml").write_text(TEXT + "description: more\n")
    composer.add(str(root))
    after = await composer.settled()
    assert [member.reference for member in after.plan.members] == ["local.invalid/mine:1.0.0"]
    assert after.state.text != before.text
    assert (composer.apply(before)).state.text == before.text


async def test_writing_to_a_folder_is_noticed(studio: Studio, tmp_path: Path) -> None:
    root = folder(tmp_path)
    reference, _ = await studio.places.import_local(FolderLocation(root))

    async def pause(seconds: float) -> None:
        (root / "more").write_text("x")

    async for found in studio.places.folders.events([str(reference)], pause=pause):
        assert found == str(reference)
        break


async def test_a_damaged_memory_is_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "local-folders.json"
    file.write_text("[[[")
    folders = LocalFolders(file)
    assert await folders.folders(["local.invalid/a:1"]) == {}
    await folders.note("local.invalid/a:1", tmp_path)
    assert await folders.folders(["local.invalid/a:1"]) == {"local.invalid/a:1": tmp_path}


async def test_a_recipe_may_build_on_a_kit_of_the_demo_catalog(studio: Studio, tmp_path: Path) -> None:
    base = next(name for name in await studio.places.demo().source.list() if name.endswith("/base"))
    root = folder(tmp_path, TEXT.replace("mixin", "workload"))
    (root / "kit.dockerfile").write_text(f'FROM {base}:1.0.0\nCOPY kit.yaml /opt/mine\nCMD ["/bin/sh"]\n')
    reference, digest = await studio.places.import_local(FolderLocation(root))
    artifact = await studio.places.local.source.artifact(reference.with_digest(digest))
    assert artifact.config is not None and artifact.config.cmd == ("/bin/sh",)
    assert len(artifact.manifest.layers) >= 3
