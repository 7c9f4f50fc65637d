from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from kitstudio.models.annotations import BuiltBy
from kitstudio.models.decode import decode
from kitstudio.models.errors import KitStudioError
from kitstudio.models.validate import Form, validate
from kitstudio.registry.kit_image import publish, read_recipe, read_versions
from kitstudio.registry.manifest import V2_ARTIFACT, parse_manifest
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.writer import Image, build_layer
from tests.builders import AMD64

KIT = """
schemaVersion: "3"
kind: mixin
displayName: Small
description: a small Kit
version: "1.0.0"
licenses: [MIT, Apache-2.0]
provides: [small]
capabilities:
  - type: com.docker.sandbox/agent-context@1
    config: {contentFile: ./about.md}
  - type: com.docker.sandbox/network-policy@1
    config: {runtime: {allow: [a.example]}}
"""
STATUS = "Package: bash\nStatus: install ok installed\nVersion: 5.2.15-2+b13\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    (folder / "content" / "usr" / "local" / "bin").mkdir(parents=True)
    (folder / "content" / "home" / "agent" / ".config").mkdir(parents=True)
    (folder / "content" / "usr" / "local" / "bin" / "small").write_text("#!/bin/sh\n")
    (folder / "content" / "home" / "agent" / ".config" / "small").write_text("x")
    (folder / "about.md").write_text("# About\n")
    (folder / "kit.toml").write_text('[files]\n"usr/local/bin/small" = { mode = "0755" }\n')
    (folder / "1.0.0.yaml").write_text(KIT)
    return folder


def make(source: Path, version: str = "1.0.0", **more: object) -> Image:
    options = {"built_by": BuiltBy("test", "1"), "epoch": 0, "default_platform": AMD64, **more}
    return publish(read_recipe(source / "kit.toml", version), source, **options)  # type: ignore[arg-type]


def files(image: Image) -> dict[str, tuple[int, int, bytes]]:
    """Path → mode, owner, content, of all layers."""
    found = {}
    for blob in image.blobs:
        if blob.startswith(b"\x1f\x8b"):
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob))) as archive:
                for member in archive:
                    content = archive.extractfile(member)
                    found[member.name] = (member.mode, member.uid, content.read() if content else b"")
    return found


def annotations(image: Image) -> dict[str, str]:
    return dict(parse_manifest(parse("x.y/a:1"), image.raw).annotations)


def test_published_form_has_every_annotation_and_its_staged_sources(source: Path) -> None:
    image = make(source)
    stated = annotations(image)
    prefix = "org.opencontainers.image."
    assert {key: stated[prefix + key] for key in ("title", "description", "version", "licenses")} == {
        "title": "Small",
        "description": "a small Kit",
        "version": "1.0.0",
        "licenses": "MIT,Apache-2.0",
    }
    prefix = "vnd.docker.sandbox.kit."
    assert stated[prefix + "schema-version"] == "3"
    assert stated[prefix + "capabilities"] == "com.docker.sandbox/agent-context@1,com.docker.sandbox/network-policy@1"
    assert json.loads(stated[prefix + "built-by"]) == {"name": "test", "version": "1"}
    text = stated[prefix + "descriptor"]
    assert validate(decode(text), Form.PUBLISHED).valid
    assert '"contentFile":"/usr/share/sandbox/kit/small/about.md"' in text
    placed = files(image)
    assert placed["usr/share/sandbox/kit/small/about.md"][2] == b"# About\n"
    staged = decode(placed["usr/share/sandbox/kit/small/kit.yaml"][2])
    assert staged.descriptor == decode(text).descriptor
    assert b"COPY content/ /" in placed["usr/share/sandbox/kit/small/kit.dockerfile"][2]


def test_mixin_leaves_the_homes_owners_alone_and_owns_its_files(source: Path) -> None:
    placed = files(make(source))
    assert placed["usr/local/bin/small"][:2] == (0o755, 0)
    assert placed["home/agent/.config/small"][:2] == (0o644, 1000)
    assert placed["home/agent/.config"][:2] == (0o755, 1000)
    assert not {"home", "home/agent", "usr", "usr/local/bin", "usr/share"} & set(placed)


def test_same_sources_give_the_same_digest(source: Path) -> None:
    assert make(source).digest == make(source).digest


def test_packages_become_derived_provides_of_workloads_only(source: Path) -> None:
    base = [build_layer([])]
    assert "deb/" not in make(source, base=base, dpkg_status=STATUS).raw.decode()
    workload = KIT.replace("kind: mixin", "kind: workload")
    (source / "1.0.0.yaml").write_text(workload)
    image = make(source, base=base, dpkg_status=STATUS, installed=["bash 5.2.15-2+b13"])
    assert "deb/bash@5.2.15" in image.raw.decode()
    recipe = files(image)["usr/share/sandbox/kit/small/kit.dockerfile"][2]
    assert b"bash 5.2.15-2+b13" in recipe


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: mixin", "kind: gadget"),
        ("displayName", "displayname"),
        ("allow: [a.example]", "permit: [a.example]"),
        ('version: "1.0.0"\n', ""),
        ("./about.md", "../../etc/passwd"),
        ("./about.md", "./missing.md"),
        ("./about.md", "./content"),
    ],
)
def test_invalid_descriptor_fails_the_build(source: Path, old: str, new: str) -> None:
    assert old in KIT
    (source / "1.0.0.yaml").write_text(KIT.replace(old, new))
    with pytest.raises(KitStudioError):
        make(source)


def test_several_platforms_become_an_index_with_promoted_annotations(source: Path) -> None:
    recipe = source / "kit.toml"
    recipe.write_text(
        'platforms = ["linux/amd64", "linux/arm64"]\nattested = true\n[version."2.0.0"]\npromoted = false\n'
    )
    (source / "2.0.0.yaml").write_text(KIT.replace("1.0.0", "2.0.0"))
    index = parse_manifest(parse("x.y/a:1"), make(source).raw)
    assert [str(platform) for platform, _ in index.platforms] == ["linux/amd64", "linux/arm64"]
    assert index.entries is not None
    assert len(index.entries) == 3
    assert "vnd.docker.sandbox.kit.descriptor" in index.annotations
    assert parse_manifest(parse("x.y/a:1"), make(source, "2.0.0").raw).annotations == {}


def test_plain_images_and_v2_artifacts_carry_no_descriptor(source: Path) -> None:
    (source / "kit.toml").write_text('publish = "image"\nversions = ["1.0.0", "3.0.0"]\n')
    assert read_versions(source) == ("1.0.0", "3.0.0")
    assert not any("sandbox.kit" in key for key in annotations(make(source, "3.0.0")))
    (source / "kit.toml").write_text('publish = "v2"\n')
    manifest = parse_manifest(parse("x.y/a:1"), make(source).raw)
    assert manifest.artifact_type == V2_ARTIFACT


@pytest.mark.parametrize("text", ["not toml", "surprise = 1", '[files]\n"not/there" = { mode = "0755" }'])
def test_recipe_that_says_nonsense_is_refused(source: Path, text: str) -> None:
    (source / "kit.toml").write_text(text)
    with pytest.raises(RegistryError):
        make(source)
