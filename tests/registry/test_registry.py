"""RegistrySource against a real registry."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import requests

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.copy import LayoutDestination, RegistryDestination, copy
from kitstudio.registry.credentials import DockerCredentials
from kitstudio.registry.demo import DemoCatalog
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.manifest import ACCEPTED
from kitstudio.registry.memory import RunMemory
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import ArtifactKind, NotFound, Offline, SignInRequired, Unreachable
from kitstudio.registry.writer import build_image
from tests.builders import ImageConfig, descriptor, kit_image, kit_index, layer, layout
from tests.registry.servers import PASSWORD, USER, Server

pytestmark = pytest.mark.registry


def push(source: Path, name: str, server: Server, target: str, *more: str) -> None:
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    command = ["skopeo", "copy", "-q", "--all", "--dest-tls-verify=false", *more]
    subprocess.run([*command, f"oci:{source}:{name}", f"docker://{server.host}/{target}"], check=True)


def sign_in(folder: Path, server: Server, password: str = PASSWORD) -> DockerCredentials:
    path = folder / "config.json"
    encoded = base64.b64encode(f"{USER}:{password}".encode()).decode()
    path.write_text(json.dumps({"auths": {server.host: {"auth": encoded}}}))
    return DockerCredentials(path)


async def test_layout_pushed_by_skopeo_is_browsed_the_same(tmp_path: Path, registry: Server, store: BlobStore) -> None:
    images = {"1.0.0": kit_image(), "1.1.0": kit_index(attested=True), "2.0.0": kit_index(promoted=False)}
    images["image"] = build_image([layer()], ImageConfig())
    root = layout(tmp_path / "layout", {f"demo.invalid/team/kit:{tag}": image for tag, image in images.items()})
    for tag in images:
        push(root, f"demo.invalid/team/kit:{tag}", registry, f"browsed/kit:{tag}")
    source, local = RegistrySource(registry.host, store), LayoutSource(root)
    assert f"{registry.host}/browsed/kit" in await source.list()
    assert sorted(await source.tags(f"{registry.host}/browsed/kit")) == sorted(images)
    for tag, image in images.items():
        remote = await source.artifact(parse(f"{registry.host}/browsed/kit:{tag}"))
        here = await local.artifact(parse(f"demo.invalid/team/kit:{tag}"))
        assert remote.digest == here.digest == image.digest
        assert (remote.kind, remote.descriptor_text, remote.config) == (here.kind, here.descriptor_text, here.config)
        assert remote.platforms == here.platforms
        for blob in remote.manifest.layers:
            path = await source.blob(remote.reference, blob.digest, blob.size)
            assert path.read_bytes() == (await local.blob(here.reference, blob.digest, blob.size)).read_bytes()


async def test_demo_catalog_in_a_registry_is_the_demo_catalog(
    demo: DemoCatalog, registry: Server, store: BlobStore
) -> None:
    source = RegistrySource(registry.host, store, scope="demo")
    names = await demo.list()
    assert len(names) >= 10
    for name in names:
        for tag in await demo.tags(name):
            short = name.removeprefix("demo.invalid/")
            push(demo.root, f"{name}:{tag}", registry, f"demo/{short}:{tag}")
            here = await demo.artifact(parse(f"{name}:{tag}"))
            there = await source.artifact(parse(f"{registry.host}/demo/{short}:{tag}"))
            assert (there.digest, there.kind, there.descriptor_text) == (here.digest, here.kind, here.descriptor_text)
    assert len(await source.list()) == len(names)


async def test_copy_keeps_digests_from_layout_to_registry_and_back(
    tmp_path: Path, registry: Server, store: BlobStore
) -> None:
    image = kit_index(attested=True)
    first = LayoutSource(layout(tmp_path / "one", {"demo.invalid/a:1": image}))
    remote = RegistrySource(registry.host, store)
    target = parse(f"{registry.host}/copied/kit:1")
    assert await copy(first, parse("demo.invalid/a:1"), RegistryDestination(remote, target)) == image.digest
    assert await remote.head(target) == image.digest
    back = tmp_path / "two"
    assert await copy(remote, target, LayoutDestination(back, "demo.invalid/b:1")) == image.digest
    second = LayoutSource(back)
    artifact = await second.artifact(parse("demo.invalid/b:1"))
    assert artifact.digest == image.digest
    assert len(list((back / "blobs" / "sha256").iterdir())) == len({image.raw, *image.blobs})


async def test_what_has_a_digest_is_answered_from_the_store_offline(
    registry: Server, store: BlobStore, tmp_path: Path
) -> None:
    image = kit_image(descriptor(display_name="Stored"))
    online = RegistrySource(registry.host, store)
    target = parse(f"{registry.host}/offline/kit:1")
    await copy(
        LayoutSource(layout(tmp_path / "l", {"x.y/a:1": image})), parse("x.y/a:1"), RegistryDestination(online, target)
    )
    artifact = await online.artifact(target)
    offline = RegistrySource(registry.host, store, offline=True)
    again = await offline.artifact(target.with_digest(artifact.digest))
    assert again.descriptor_text == artifact.descriptor_text
    for question in (offline.artifact(target), offline.tags("offline/kit"), offline.list()):
        with pytest.raises(Offline, match="stay offline"):
            await question


async def test_real_registry_answers_a_known_tag_by_its_mark(
    tmp_path: Path, registry: Server, store: BlobStore
) -> None:
    local = LayoutSource(layout(tmp_path / "l", {"x.y/a:1": kit_image()}))
    memory = RunMemory()
    source = RegistrySource(registry.host, store, memory=memory)
    target = parse(f"{registry.host}/marked/kit:1")
    await copy(local, parse("x.y/a:1"), RegistryDestination(source, target))
    first = await source.artifact(target)
    seen = memory.recall(f"manifest {target.name}:1")
    assert seen is not None
    headers = {"If-None-Match": seen.mark, "Accept": ", ".join(ACCEPTED)}
    url = f"http://{registry.host}/v2/marked/kit/manifests/1"
    answer = await asyncio.to_thread(requests.get, url, headers=headers, timeout=10)
    assert answer.status_code == 304
    assert await source.artifact(target) == first
    newer = LayoutSource(layout(tmp_path / "m", {"x.y/a:1": kit_image(descriptor(version="2"))}))
    await copy(newer, parse("x.y/a:1"), RegistryDestination(source, target))
    assert (await source.artifact(target)).digest != first.digest


async def test_missing_repository_version_and_blob_are_told_apart(registry: Server, store: BlobStore) -> None:
    source = RegistrySource(registry.host, store)
    with pytest.raises(NotFound) as refusal:
        await source.artifact(parse(f"{registry.host}/nowhere/kit:1"))
    assert refusal.value.where == f"{registry.host}/nowhere/kit:1"
    assert refusal.value.remedy
    with pytest.raises(NotFound, match="no such repository"):
        await source.tags("nowhere/kit")
    with pytest.raises(NotFound):
        await source.blob(parse(f"{registry.host}/nowhere/kit"), "sha256:" + "0" * 64, 5)


async def test_row_2_registry_with_a_password_wants_a_sign_in_and_takes_dockers(
    tmp_path: Path, password_registry: Server, store: BlobStore
) -> None:
    server = password_registry
    root = layout(tmp_path / "l", {"x.y/a:1": kit_image()})
    push(root, "x.y/a:1", server, "private/kit:1", f"--dest-creds={USER}:{PASSWORD}")
    reference = parse(f"{server.host}/private/kit:1")
    with pytest.raises(SignInRequired, match="sign-in") as refusal:
        await RegistrySource(server.host, store).artifact(reference)
    assert f"kitstudio login {server.host}" in refusal.value.remedy
    signed_in = RegistrySource(server.host, store, credentials=sign_in(tmp_path, server))
    assert (await signed_in.artifact(reference)).kind is ArtifactKind.KIT
    assert await signed_in.tags("private/kit") == ("1",)


async def test_row_13_stale_password_is_told_once_and_never_shown(
    tmp_path: Path, password_registry: Server, store: BlobStore
) -> None:
    stale = sign_in(tmp_path, password_registry, "outdated-password")
    source = RegistrySource(password_registry.host, store, credentials=stale)
    with pytest.raises(SignInRequired, match="no longer accepts") as refusal:
        await source.artifact(parse(f"{password_registry.host}/private/kit:1"))
    assert "outdated-password" not in str(refusal.value)


async def test_catalog_that_may_not_be_listed_is_no_error(password_registry: Server, store: BlobStore) -> None:
    assert await RegistrySource(password_registry.host, store).list() == ()
    scoped = RegistrySource(password_registry.host, store, scope="private/kit")
    assert await scoped.list() == (f"{password_registry.host}/private/kit",)


async def test_unreachable_host_and_refused_connection_are_told(store: BlobStore) -> None:
    for host, says in (("127.0.0.1:1", "refuses connections"), ("nowhere.invalid", "no host named")):
        with pytest.raises(Unreachable, match=says) as refusal:
            await RegistrySource(host, store).artifact(parse(f"{host}/a/b:1"))
        assert refusal.value.remedy


async def test_full_disk_while_fetching_leaves_nothing(
    tmp_path: Path, registry: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = layout(tmp_path / "l", {"x.y/a:1": kit_image()})
    push(root, "x.y/a:1", registry, "full/kit:1")
    store = BlobStore(tmp_path / "store")
    source = RegistrySource(registry.host, store)
    artifact = await source.artifact(parse(f"{registry.host}/full/kit:1"))
    [blob] = artifact.manifest.layers

    def full(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kitstudio.registry.blob_store.os.write", full)
    with pytest.raises(RegistryError, match="disk is full"):
        await source.blob(artifact.reference, blob.digest, blob.size)
    assert not store.path(blob.digest).exists()
    assert list((store.root / "ingest").iterdir()) == []
