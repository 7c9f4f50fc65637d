from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.manifest import (
    DOCKER_CONFIG,
    DOCKER_LIST,
    DOCKER_MANIFEST,
    OCI_INDEX,
    V2_ARTIFACT,
    classify,
    parse_config,
    parse_manifest,
    parse_platform,
    satisfies,
)
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.source import ArtifactKind, ImageConfig, Platform
from kitstudio.registry.writer import build_image
from tests.builders import AMD64, ARM64, kit_image, kit_index, layer

REFERENCE = parse("hub.example/acme/kit:1")


def test_kit_manifest_keeps_its_bytes_and_digest() -> None:
    image = kit_image()
    manifest = parse_manifest(REFERENCE, image.raw)
    assert manifest.raw == image.raw
    assert manifest.digest == digest_of(image.raw)
    assert manifest.config is not None
    assert len(manifest.layers) == 1
    assert not manifest.is_index
    assert classify(manifest, "{}") is ArtifactKind.KIT


def test_plain_image_v2_artifact_and_something_else_are_told_apart() -> None:
    image = build_image([layer()], ImageConfig())
    assert classify(parse_manifest(REFERENCE, image.raw), "") is ArtifactKind.IMAGE
    v2 = build_image([layer()], ImageConfig(), artifact_type=V2_ARTIFACT)
    assert classify(parse_manifest(REFERENCE, v2.raw), "") is ArtifactKind.V2_KIT
    by_config = build_image([layer()], ImageConfig(), config_type=f"{V2_ARTIFACT}.config+json")
    assert classify(parse_manifest(REFERENCE, by_config.raw), "") is ArtifactKind.V2_KIT
    chart = build_image([layer()], ImageConfig(), config_type="application/vnd.cncf.helm.config.v1+json")
    assert classify(parse_manifest(REFERENCE, chart.raw), "") is ArtifactKind.OTHER
    docker = build_image([layer()], ImageConfig(), config_type=DOCKER_CONFIG)
    assert classify(parse_manifest(REFERENCE, docker.raw), "{}") is ArtifactKind.KIT


def test_artifact_with_a_descriptor_but_a_foreign_artifact_type_is_no_kit() -> None:
    image = build_image([layer()], ImageConfig(), {"vnd.docker.sandbox.kit.descriptor": "{}"}, artifact_type="a/b")
    assert classify(parse_manifest(REFERENCE, image.raw), "{}") is ArtifactKind.OTHER


def test_index_lists_runnable_platforms_without_attestations() -> None:
    index = parse_manifest(REFERENCE, kit_index(attested=True).raw)
    assert index.is_index
    assert [platform for platform, _ in index.platforms] == [AMD64, ARM64]
    assert index.entries is not None
    assert len(index.entries) == 3


def test_index_of_attestations_alone_is_still_an_index() -> None:
    index = parse_manifest(REFERENCE, kit_index(platforms=(), attested=True).raw)
    assert index.is_index
    assert index.platforms == ()


def test_docker_media_types_are_understood() -> None:
    raw = kit_image().raw
    docker = json.loads(raw)
    docker["mediaType"] = DOCKER_MANIFEST
    assert parse_manifest(REFERENCE, json.dumps(docker).encode()).media_type == DOCKER_MANIFEST
    del docker["mediaType"]
    assert parse_manifest(REFERENCE, json.dumps(docker).encode(), DOCKER_MANIFEST).media_type == DOCKER_MANIFEST
    listed = {"schemaVersion": 2, "mediaType": DOCKER_LIST, "manifests": []}
    assert parse_manifest(REFERENCE, json.dumps(listed).encode()).is_index


def test_media_type_is_read_off_the_shape_where_nobody_states_it() -> None:
    assert parse_manifest(REFERENCE, b'{"schemaVersion":2,"manifests":[]}', "text/plain").media_type == OCI_INDEX


def test_wrong_digest_is_refused() -> None:
    with pytest.raises(RegistryError, match="not what was asked for"):
        parse_manifest(REFERENCE, kit_image().raw, expected="sha256:" + "0" * 64)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>sign in</html>",
        b"[]",
        b"null",
        b'{"schemaVersion":1}',
        b'{"schemaVersion":2}',
        b'{"schemaVersion":2,"config":{"digest":"x","size":1}}',
        b'{"schemaVersion":2,"config":{"digest":"sha256:%s","size":-1}}' % (b"a" * 64),
        b'{"schemaVersion":2,"config":{"digest":"sha256:%s","size":true}}' % (b"a" * 64),
        b'{"schemaVersion":2,"manifests":"many"}',
        b'{"schemaVersion":2,"manifests":[1]}',
        b"[" * 100_000,
        b'{"schemaVersion":2,"manifests":[%s]}' % b",".join([b"1"] * 5000),
        b"\xff\xfe",
    ],
)
def test_what_is_no_manifest_is_refused_in_plain_words(raw: bytes) -> None:
    with pytest.raises(RegistryError) as refusal:
        parse_manifest(REFERENCE, raw)
    assert refusal.value.where == str(REFERENCE)


def test_oversized_manifest_is_refused() -> None:
    with pytest.raises(RegistryError, match="larger than 8 MiB"):
        parse_manifest(REFERENCE, b" " * (8 * 1024 * 1024 + 1))


KEYS = st.sampled_from("schemaVersion config layers manifests digest size annotations Env platform os".split())  # noqa: SIM905
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(ANY_JSON)
def test_any_json_parses_or_is_refused(document: object) -> None:
    raw = json.dumps(document).encode()
    with contextlib.suppress(RegistryError):
        parse_manifest(REFERENCE, raw)
    with contextlib.suppress(RegistryError):
        parse_config(raw, "x")


def test_config_is_read_as_the_image_states_it() -> None:
    config = ImageConfig(
        entrypoint=("/bin/a", "b"),
        cmd=("c",),
        env=("A=1",),
        user="agent",
        workdir="/workspace",
        labels={"k": "v"},
        exposed_ports=("80/tcp",),
        volumes=("/data",),
        platform=Platform("linux", "arm64", "v8"),
    )
    image = build_image([layer()], config)
    read = parse_config(image.blobs[0], "x")
    assert read.diff_ids
    for name in ("entrypoint", "cmd", "env", "user", "workdir", "labels", "exposed_ports", "volumes", "platform"):
        assert getattr(read, name) == getattr(config, name)


def test_platform_matches_leniently_on_variants_only() -> None:
    assert satisfies(Platform("linux", "arm64", "v8"), ARM64)
    assert not satisfies(Platform("linux", "arm", "v6"), Platform("linux", "arm", "v7"))
    assert not satisfies(AMD64, ARM64)
    assert parse_platform("linux/arm64/v8") == Platform("linux", "arm64", "v8")
    with pytest.raises(RegistryError):
        parse_platform("arm64")
