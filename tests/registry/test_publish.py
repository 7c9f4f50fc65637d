"""Sending a new image: what is shared, what is sent, and that nothing is seen before everything is there."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kitstudio.registry.blob_store import BlobStore, digest_of
from kitstudio.registry.copy import RegistryDestination, copy
from kitstudio.registry.credentials import Credential
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.manifest import LAYER_GZIP, OCI_CONFIG, OCI_MANIFEST, parse_manifest
from kitstudio.registry.merged_image import Part, merged_image, merged_index
from kitstudio.registry.publish import LayoutTarget, Origin, Parcel, Progress, RegistryTarget, send
from kitstudio.registry.reference import Reference, RegistryError, parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import ImageConfig, Layer, NotFound, SignInRequired
from kitstudio.registry.transport import Network
from kitstudio.registry.writer import Image, LayerBlob, build_image, build_manifest
from tests.builders import AMD64, ARM64, layer, layout
from tests.registry.servers import PASSWORD, USER, Answer, Authority, Double, Request, Server, TokenService

OWN = layer({"usr/share/sandbox/kit/team/kit.yaml": b"{}"})
KIT = "local.invalid/tool:1"


@dataclass(frozen=True)
class Known:
    """One sign-in for every host."""

    user: str = USER
    password: str = PASSWORD

    def lookup(self, registry: str, repository: str) -> Credential | None:
        return Credential(self.user, self.password)

    def fault(self, registry: str) -> str:
        return ""


def kit(data: bytes = b"tool", **config: object) -> Image:
    return build_image([layer({"opt/tool": data})], ImageConfig(platform=AMD64, **config))  # type: ignore[arg-type]


def part(image: Image, *, workload: bool = False) -> Part:
    manifest = parse_manifest(parse(KIT), image.raw)
    return Part(KIT, manifest, image.blobs[0], workload)


def parcel(image: Image, *origins: Origin) -> Parcel:
    made = merged_image([part(image)], OWN, AMD64, {"a": "b"})
    blobs = parse_manifest(parse(KIT), image.raw).layers
    return Parcel(made, (), {blob.digest: origins for blob in blobs})


async def placed(image: Image, folder: Path) -> LayoutSource:
    return LayoutSource(await asyncio.to_thread(layout, folder, {KIT: image}))


async def pushed(image: Image, folder: Path, source: RegistrySource, reference: Reference) -> Origin:
    await copy(await placed(image, folder), parse(KIT), RegistryDestination(source, reference))
    return Origin(source, reference)


@pytest.mark.registry
async def test_layers_of_the_same_registry_are_shared_and_not_fetched(
    registry: Server, store: BlobStore, tmp_path: Path
) -> None:
    source = RegistrySource(registry.host, store)
    image = kit(b"shared")
    origin = await pushed(image, tmp_path / "kit", source, parse(f"{registry.host}/kits/tool:1"))
    target = parse(f"{registry.host}/acme/shared:1")
    seen: list[Progress] = []
    kept = BlobStore(tmp_path / "kept")
    digest = await send(
        parcel(image, origin), RegistryTarget(RegistrySource(registry.host, kept), target), kept, seen.append
    )
    blob = parse_manifest(parse(KIT), image.raw).layers[0]
    assert kept.find(blob.digest) is None, "a layer that is shared is not downloaded"
    assert seen[-1].shared == blob.size and seen[-1].done == seen[-1].total
    found = await RegistrySource(registry.host, BlobStore(tmp_path / "fresh")).artifact(target)
    assert found.digest == digest and found.manifest.layers[0] == Layer(blob.digest, blob.size, LAYER_GZIP)


@pytest.mark.registry
async def test_what_is_there_is_not_sent_again(registry: Server, store: BlobStore, tmp_path: Path) -> None:
    image = kit(b"again")
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    target = RegistryTarget(RegistrySource(registry.host, store), parse(f"{registry.host}/acme/again:1"))
    seen: list[Progress] = []
    await send(parcel(image, origin), target, store, seen.append)
    assert seen[-1].sent == seen[-1].total > 0
    await send(parcel(image, origin), target, store, seen.append)
    assert seen[-1].sent == 0 and seen[-1].done == seen[-1].total


@pytest.mark.registry
async def test_several_platforms_become_one_index(registry: Server, store: BlobStore, tmp_path: Path) -> None:
    image = kit(b"many")
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    images = [(p, merged_image([part(image)], OWN, p, {"a": "b"})) for p in (AMD64, ARM64)]
    index = merged_index(images, {"org.opencontainers.image.title": "Team", "a": "b"})
    blobs = {blob.digest: (origin,) for blob in parse_manifest(parse(KIT), image.raw).layers}
    source = RegistrySource(registry.host, store)
    target = parse(f"{registry.host}/acme/many:1")
    await send(Parcel(index, tuple(i for _, i in images), blobs), RegistryTarget(source, target), store)
    for platform in (AMD64, ARM64):
        found = await source.artifact(target, platform)
        assert found.config is not None and found.config.platform == platform and found.index is not None
        assert found.index.annotations == {"org.opencontainers.image.title": "Team"}


@pytest.mark.registry
async def test_an_interrupted_run_names_nothing_and_the_next_one_goes_on(
    registry: Server, store: BlobStore, tmp_path: Path
) -> None:
    image = kit(b"interrupted")
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    source, reference = RegistrySource(registry.host, store), parse(f"{registry.host}/acme/halfway:1")

    class Breaking(RegistryTarget):
        async def put_manifest(self, image: Image, *, named: bool) -> None:
            raise RegistryError("The connection broke off.")

    with pytest.raises(RegistryError, match="broke off"):
        await send(parcel(image, origin), Breaking(source, reference), store)
    with pytest.raises(NotFound):
        await source.manifest(reference)
    seen: list[Progress] = []
    await send(parcel(image, origin), RegistryTarget(source, reference), store, seen.append)
    assert seen[-1].sent == 0


@pytest.mark.registry
async def test_a_cancelled_run_ends_and_names_nothing(registry: Server, store: BlobStore, tmp_path: Path) -> None:
    image = kit(b"cancelled")
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    source, reference = RegistrySource(registry.host, store), parse(f"{registry.host}/acme/cancelled:1")
    begun, never = asyncio.Event(), asyncio.Event()

    class Slow(RegistryTarget):
        async def put(self, blob: Layer, path: Path, heard: Callable[[int], None]) -> None:
            begun.set()
            await never.wait()

    task = asyncio.create_task(send(parcel(image, origin), Slow(source, reference), store))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(NotFound):
        await source.manifest(reference)


async def test_a_layout_takes_the_same_image(store: BlobStore, tmp_path: Path) -> None:
    image = kit(b"layout")
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    made = parcel(image, origin)
    digest = await send(made, LayoutTarget(tmp_path / "out", "1.0"), store)
    artifact = await LayoutSource(tmp_path / "out").artifact(parse("local.invalid/out:1.0"))
    assert artifact.digest == digest == made.top.digest


class Registry:
    """A registry in memory that mounts, or does not, and keeps uploads on another host where told."""

    def __init__(self, mount: int = 201, upload: str = "", spoil: bool = False) -> None:
        self.mount, self.upload, self.spoil = mount, upload, spoil
        self.blobs: set[str] = set()
        self.manifests: dict[str, bytes] = {}

    def __call__(self, request: Request) -> Answer:
        path, query = urlsplit(request.path).path, parse_qs(urlsplit(request.path).query)
        last = path.rpartition("/")[2]
        if request.method == "HEAD" and "/blobs/" in path:
            return Answer(200 if last in self.blobs else 404)
        if request.method == "POST" and "mount" in query:
            if self.mount == 201:
                self.blobs.add(query["mount"][0])
            headers = {"Location": f"{path}begun"} if self.mount == 202 else {}
            return Answer(self.mount, headers=headers)
        if request.method == "POST":
            return Answer(202, headers={"Location": f"{self.upload}/v2/acme/team/blobs/uploads/one?state=x"})
        if request.method == "PUT" and "/uploads/" in path:
            self.blobs.add(query["digest"][0])
            return Answer(201)
        if request.method == "PUT":
            self.manifests[last] = request.body
            return Answer(201)
        stored = self.manifests.get(last)
        return Answer(404) if stored is None else Answer(200, b"{}" if self.spoil else stored)


@pytest.mark.parametrize("status", [202, 401, 403, 404, 405, 500])
async def test_a_refused_mount_falls_back_to_an_upload(
    double: Double, store: BlobStore, tmp_path: Path, status: int
) -> None:
    double.answer = Registry(mount=status)
    image = kit()
    layout_source = await placed(image, tmp_path / "kit")
    # The same registry by name; what has to be fetched after all comes from a folder.
    origin = Origin(layout_source, parse(f"{double.host}/kits/tool:1"))
    target = RegistryTarget(RegistrySource(double.host, store), parse(f"{double.host}/acme/team:1"))
    await send(parcel(image, origin), target, store)
    asked = [r for r in double.requests if r.method == "POST" and "mount=" in r.path]
    assert len(asked) == 1 and "from=kits%2Ftool" in asked[0].path
    assert sum(r.method == "PUT" and "/uploads/" in r.path for r in double.requests) == 3


async def test_a_mounted_layer_is_not_uploaded(double: Double, store: BlobStore, tmp_path: Path) -> None:
    double.answer = Registry()
    image = kit()
    origin = Origin(await placed(image, tmp_path / "kit"), parse(f"{double.host}/kits/tool:1"))
    target = RegistryTarget(RegistrySource(double.host, store), parse(f"{double.host}/acme/team:1"))
    await send(parcel(image, origin), target, store)
    assert sum(r.method == "PUT" and "/uploads/" in r.path for r in double.requests) == 2


async def test_the_name_comes_last_and_only_after_the_manifest_was_read_back(
    double: Double, store: BlobStore, tmp_path: Path
) -> None:
    image = kit()
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    target = RegistryTarget(RegistrySource(double.host, store), parse(f"{double.host}/acme/team:1"))
    double.answer = Registry(spoil=True)
    with pytest.raises(RegistryError, match="not what was asked for"):
        await send(parcel(image, origin), target, store)
    assert not any(r.method == "PUT" and r.path.endswith("/manifests/1") for r in double.requests)
    double.answer = Registry()
    double.requests.clear()
    await send(parcel(image, origin), target, store)
    writes = [r.path for r in double.requests if r.method == "PUT"]
    assert writes[-1].endswith("/manifests/1") and "/manifests/sha256:" in writes[-2]


async def test_a_sign_in_does_not_follow_an_upload_to_another_host(
    doubles: Callable[[], Double], store: BlobStore, tmp_path: Path
) -> None:
    front, storage = doubles(), doubles()
    there = Registry()
    storage.answer = there
    here = Registry(upload=f"http://{storage.host}")

    def asking(request: Request) -> Answer:
        if "Authorization" not in request.headers:
            return Answer(401, headers={"WWW-Authenticate": 'Basic realm="r"'})
        answer = here(request)
        here.blobs |= there.blobs
        return answer

    front.answer = asking
    image = kit()
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    source = RegistrySource(front.host, store, credentials=Known())
    await send(parcel(image, origin), RegistryTarget(source, parse(f"{front.host}/acme/team:1")), store)
    assert [r.method for r in storage.requests] == ["PUT"] * 3
    assert not any("Authorization" in r.headers for r in storage.requests)


async def test_an_upload_is_never_sent_unencrypted_where_the_registry_is_not(
    authority: Authority, doubles: Callable[[ssl.SSLContext | None], Double], store: BlobStore, tmp_path: Path
) -> None:
    front = doubles(authority.server())
    front.answer = Registry(upload="http://127.0.0.1:9")
    image = kit()
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    network = Network(tls=frozenset((front.host,)), ca_files=(authority.path,))
    source = RegistrySource(front.host, store, network=network)
    with pytest.raises(RegistryError, match="unencrypted"):
        await send(parcel(image, origin), RegistryTarget(source, parse(f"{front.host}/acme/team:1")), store)


async def test_row_13_a_stale_sign_in_ends_a_push_with_one_sentence(
    double: Double, store: BlobStore, tmp_path: Path
) -> None:
    double.answer = lambda request: Answer(401, headers={"WWW-Authenticate": 'Basic realm="r"'})
    image = kit()
    origin = Origin(await placed(image, tmp_path / "kit"), parse(KIT))
    source = RegistrySource(double.host, store, credentials=Known())
    with pytest.raises(SignInRequired) as told:
        await send(parcel(image, origin), RegistryTarget(source, parse(f"{double.host}/acme/team:1")), store)
    assert "login" in told.value.remedy and not any(r.method == "POST" for r in double.requests)


@pytest.mark.registry
@pytest.mark.parametrize("readable", [True, False])
async def test_a_token_for_sharing_covers_both_repositories(
    token_service: tuple[TokenService, Double], token_registry: Server, store: BlobStore, tmp_path: Path, readable: bool
) -> None:
    service, tokens = token_service
    both = {"pull", "push"}
    service.may = {USER: {"kits": set(both), "acme": both}}
    known = Known(USER, PASSWORD)
    source = RegistrySource(token_registry.host, store, credentials=known)
    image = kit(b"token")
    origin = await pushed(image, tmp_path / "kit", source, parse(f"{token_registry.host}/kits/tool:1"))
    if not readable:
        service.may[USER]["kits"].clear()
        origin = Origin(LayoutSource(tmp_path / "kit"), origin.reference)
    seen: list[Progress] = []
    fresh = RegistrySource(token_registry.host, store, credentials=known)
    target = RegistryTarget(fresh, parse(f"{token_registry.host}/acme/team:1"))
    await send(parcel(image, origin), target, store, seen.append)
    assert (seen[-1].shared > 0) is readable and seen[-1].done == seen[-1].total
    scopes = [parse_qs(urlsplit(r.path).query).get("scope", []) for r in tokens.requests]
    assert ["acme/team", "kits/tool"] in [sorted(scope.split(":")[1] for scope in each) for each in scopes]


def test_docker_layers_are_passed_on_as_oci_and_strange_ones_are_refused() -> None:
    image = kit()
    manifest = parse_manifest(parse(KIT), image.raw)

    def typed(media_type: str) -> Part:
        layers = [Layer(blob.digest, blob.size, media_type) for blob in manifest.layers]
        assert manifest.config is not None
        raw = build_manifest(manifest.config, layers, ()).raw
        return Part(KIT, parse_manifest(parse(KIT), raw), image.blobs[0])

    made = merged_image([typed("application/vnd.docker.image.rootfs.diff.tar.gzip")], OWN, AMD64, {})
    document = parse_manifest(parse(KIT), made.raw)
    assert [blob.media_type for blob in document.layers] == [LAYER_GZIP, LAYER_GZIP]
    assert document.media_type == OCI_MANIFEST and document.config is not None
    assert document.config.media_type == OCI_CONFIG
    with pytest.raises(RegistryError, match="cannot be passed on"):
        merged_image([typed("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip")], OWN, AMD64, {})


def test_a_config_that_names_other_layers_is_refused() -> None:
    image = kit()
    other = build_image([layer(), layer({"b": b""})], ImageConfig(platform=AMD64))
    with pytest.raises(RegistryError, match="names 2 layers"):
        merged_image([Part(KIT, parse_manifest(parse(KIT), image.raw), other.blobs[0])], OWN, AMD64, {})


def test_what_the_workload_states_beyond_our_knowledge_survives() -> None:
    image = kit(entrypoint=("/bin/sh",))
    config = image.blobs[0].replace(b'"config":{', b'"config":{"Healthcheck":{"Test":["NONE"]},"StopSignal":"SIGINT",')
    manifest = build_manifest(
        Layer("sha256:" + "0" * 64, len(config), OCI_CONFIG), parse_manifest(parse(KIT), image.raw).layers, ()
    )
    made = merged_image([Part(KIT, parse_manifest(parse(KIT), manifest.raw), config, True)], OWN, AMD64, {})
    assert b'"Healthcheck":{"Test":["NONE"]}' in made.blobs[0] and b'"StopSignal":"SIGINT"' in made.blobs[0]


def test_an_own_layer_is_on_top() -> None:
    made = merged_image([part(kit())], OWN, AMD64, {})
    assert parse_manifest(parse(KIT), made.raw).layers[-1] == OWN.layer
    assert isinstance(OWN, LayerBlob)


@pytest.mark.registry
async def test_a_token_got_for_a_look_is_good_for_the_writes_beside_it(
    token_service: tuple[TokenService, Double], token_registry: Server, store: BlobStore, tmp_path: Path
) -> None:
    service, tokens = token_service
    service.may = {USER: {"acme": {"pull", "push"}}}
    source = RegistrySource(token_registry.host, store, credentials=Known(USER, PASSWORD))
    blob = tmp_path / "blob"
    blob.write_bytes(b"one")
    await source.push_blob(parse(f"{token_registry.host}/acme/team"), Layer(digest_of(b"one"), 3, LAYER_GZIP), blob)
    assert service.issued == 1, "the look before the upload asks for all the upload needs"
    assert "push" in tokens.requests[0].path


async def test_a_sign_in_that_runs_out_during_an_upload_is_renewed_and_counted_once(
    double: Double, store: BlobStore, tmp_path: Path
) -> None:
    registry, expired = Registry(), [True]

    def answer(request: Request) -> Answer:
        challenge = {"WWW-Authenticate": 'Basic realm="r"'}
        if "Authorization" not in request.headers:
            return Answer(401, headers=challenge)
        if request.method == "PUT" and "/uploads/" in request.path and expired:
            expired.clear()
            return Answer(401, headers=challenge)
        return registry(request)

    double.answer = answer
    blob = tmp_path / "blob"
    told: list[int] = []
    blob.write_bytes(b"x" * 3_000_000)
    digest = digest_of(blob.read_bytes())
    source = RegistrySource(double.host, store, credentials=Known())
    layer_blob = Layer(digest, 3_000_000, LAYER_GZIP)
    await source.push_blob(parse(f"{double.host}/acme/team"), layer_blob, blob, told.append)
    bodies = [r.body for r in double.requests if r.method == "PUT"]
    assert [len(body) for body in bodies] == [3_000_000] * 2 and sum(told) == 3_000_000
    assert len(told) < 12, "told now and then, not for every piece"
