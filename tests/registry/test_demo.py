from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from kitstudio.models.annotations import CAPABILITIES, capability_types
from kitstudio.models.decode import decode
from kitstudio.models.validate import Form, validate
from kitstudio.registry.demo import DemoCatalog, find_demo
from kitstudio.registry.demo_build import build_demo, main, read_lock
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.source import Artifact, ArtifactKind, NotFound

SOURCES = Path(__file__).parents[2] / "resources" / "demo"
SMALL = ("house-rules", "notes", "legacy-notes", "release-notes", "badge-reader")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Some of the demo's own sources: those without Debian packages."""
    for name in SMALL:
        shutil.copytree(SOURCES / name, tmp_path / "sources" / name)
    return tmp_path / "sources"


def test_same_sources_give_the_same_digests(small: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert build_demo(small, tmp_path / name, tmp_path / "packages", lambda _: None)
    kits = [json.loads((tmp_path / name / "build.json").read_bytes())["kits"] for name in ("one", "two")]
    assert kits[0] == kits[1]
    assert len(kits[0]) == 10


def test_second_build_does_nothing_until_an_input_changes(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert build_demo(small, out, tmp_path / "packages", lambda _: None)
    before = (out / "index.json").stat().st_ino
    assert not build_demo(small, out, tmp_path / "packages", lambda _: None)
    assert (out / "index.json").stat().st_ino == before
    (small / "house-rules" / "rules-1.0.0.md").write_text("Other rules.\n")
    assert build_demo(small, out, tmp_path / "packages", lambda _: None)


async def test_failing_build_leaves_the_old_catalog_in_place(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build_demo(small, out, tmp_path / "packages", lambda _: None)
    (small / "notes" / "1.0.0.yaml").write_text('schemaVersion: "3"\nkind: nonsense\n')
    with pytest.raises(RegistryError, match="not valid"):
        build_demo(small, out, tmp_path / "packages", lambda _: None)
    assert await LayoutSource(out).tags("demo.invalid/notes") == ("1.0.0", "1.1.0")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "sources"]


def test_command_says_what_is_wrong_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "out"), "--sources", str(tmp_path / "nothing")]) == 1
    assert "no Kits to build" in capsys.readouterr().err


def test_lock_pins_name_version_and_hash() -> None:
    pins = read_lock(SOURCES / "packages.lock")
    assert "debian-12/amd64/workbench" in pins
    assert {"bash", "git", "curl", "ca-certificates"} <= {pin.name for pin in pins["debian-12/amd64/workbench"]}
    assert all(len(pin.sha256) == 64 for rows in pins.values() for pin in rows)


def test_absent_catalog_is_told_with_the_way_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound) as refusal:
        find_demo({"KITSTUDIO_DEMO": str(tmp_path)})
    assert refusal.value.where == str(tmp_path)
    monkeypatch.setattr("kitstudio.registry.demo._places", lambda: [tmp_path])
    with pytest.raises(NotFound) as refusal:
        find_demo({})
    assert "./studio setup" in refusal.value.remedy
    (tmp_path / "index.json").write_text("{}")
    assert find_demo({}) == tmp_path


async def test_every_kit_of_the_catalog_is_valid_in_published_form(demo: DemoCatalog) -> None:
    kinds: dict[ArtifactKind, set[str]] = {}
    for name in await demo.list():
        tags = await demo.tags(name)
        assert len(tags) >= 2
        for tag in tags:
            artifact = await demo.artifact(parse(f"{name}:{tag}"))
            kinds.setdefault(artifact.kind, set()).add(name)
            if artifact.kind is ArtifactKind.KIT:
                assert validate(decode(artifact.descriptor_text), Form.PUBLISHED).errors == ()
    assert len(kinds[ArtifactKind.KIT]) >= 10
    assert kinds[ArtifactKind.V2_KIT] == {"demo.invalid/legacy-notes"}
    assert kinds[ArtifactKind.IMAGE] == {"demo.invalid/plain-tools"}


async def test_workbench_states_the_packages_it_is_made_of(demo: DemoCatalog) -> None:
    artifact = await demo.artifact(parse("demo.invalid/workbench:1.0.0"))
    provides = decode(artifact.descriptor_text).descriptor.provides
    names = {entry.partition("@")[0] for entry in provides}
    assert {"workbench", "deb/bash", "deb/git", "deb/curl"} <= names
    assert artifact.config is not None
    assert (artifact.config.user, artifact.config.workdir) == ("agent", "/workspace")


async def test_every_kit_stages_its_descriptor_and_keeps_the_homes_owners(demo: DemoCatalog) -> None:
    for name in await demo.list():
        for tag in await demo.tags(name):
            artifact = await demo.artifact(parse(f"{name}:{tag}"))
            if artifact.kind is not ArtifactKind.KIT:
                continue
            descriptor = decode(artifact.descriptor_text).descriptor
            stated = artifact.manifest.annotations
            assert stated[CAPABILITIES] == capability_types(descriptor) if descriptor.capabilities else True
            assert (CAPABILITIES in stated) == bool(descriptor.capabilities)
            placed = await members(demo, artifact)
            stem = name.rpartition("/")[2]
            assert decode(placed[f"usr/share/sandbox/kit/{stem}/kit.yaml"][1]).descriptor == descriptor
            for entry in descriptor.entries():
                body = (entry.config or {}).get("contentFile")
                assert not isinstance(body, str) or body.removeprefix("/") in placed
            for path, owner in (("home", 0), ("home/agent", 1000)):
                assert placed.get(path, (owner, b""))[0] == owner


async def members(demo: DemoCatalog, artifact: Artifact) -> dict[str, tuple[int, bytes]]:
    """Path → owner and content, of all layers small enough to matter."""
    found: dict[str, tuple[int, bytes]] = {}
    for blob in artifact.manifest.layers:
        path = await demo.blob(artifact.reference, blob.digest, blob.size)
        if blob.size < 1_000_000:
            with tarfile.open(path) as archive:
                for member in archive:
                    content = archive.extractfile(member) if member.isreg() else None
                    found[member.name] = (member.uid, content.read() if content else b"")
    return found
