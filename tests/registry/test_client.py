"""RegistrySource against servers that behave badly, each in its own way."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.credentials import DockerCredentials
from kitstudio.registry.manifest import ACCEPTED
from kitstudio.registry.reference import Reference, RegistryError, parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import Artifact, NotFound, RateLimited, SignInRequired, Unreachable
from kitstudio.registry.transport import is_plain
from tests.builders import kit_image
from tests.registry.servers import Answer, Double, Request

IMAGE = kit_image()
BLOBS = {f"sha256:{hashlib.sha256(blob).hexdigest()}": blob for blob in (IMAGE.raw, *IMAGE.blobs)}


def serve(request: Request) -> Answer:
    """A well-behaved registry with one Kit under every name."""
    tail = request.path.rpartition("/")[2]
    if "/manifests/" in request.path:
        return Answer(200, IMAGE.raw, {"Content-Type": IMAGE.media_type, "Docker-Content-Digest": IMAGE.digest})
    if "/blobs/" in request.path and tail in BLOBS:
        return Answer(200, BLOBS[tail])
    return Answer(404)


def source_of(server: Double, store: BlobStore, **options: object) -> RegistrySource:
    return RegistrySource(server.host, store, **options)  # type: ignore[arg-type]


def kit(server: Double, name: str = "acme/kit:1") -> Reference:
    return parse(f"{server.host}/{name}")


async def fetch(server: Double, store: BlobStore, **options: object) -> Artifact:
    return await source_of(server, store, **options).artifact(kit(server))


def logged_in(folder: Path, host: str) -> DockerCredentials:
    path = folder / "config.json"
    encoded = base64.b64encode(b"ada:secret").decode()
    path.write_text(json.dumps({"auths": {host: {"auth": encoded}, "other.example": {"auth": ""}}}))
    return DockerCredentials(path)


async def test_kit_takes_one_manifest_get_and_its_config_and_no_authorization(double: Double, store: BlobStore) -> None:
    double.answer = serve
    artifact = await fetch(double, store)
    assert artifact.digest == IMAGE.digest
    assert [request.method for request in double.requests] == ["GET", "GET"]
    assert "/manifests/1" in double.requests[0].path
    assert all("Authorization" not in request.headers for request in double.requests)


async def test_row_23_all_four_media_types_are_always_asked_for(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: (
        serve(request)
        if "/blobs/" in request.path or "manifest.list.v2+json" in request.headers.get("Accept", "")
        else Answer(404)
    )
    await fetch(double, store)
    accepted = double.requests[0].headers["Accept"]
    assert all(media_type in accepted for media_type in ACCEPTED)
    assert len(ACCEPTED) == 4


async def test_manifest_that_is_not_what_its_header_or_reference_says_is_refused_and_never_kept(
    double: Double, store: BlobStore
) -> None:
    wrong = "sha256:" + "0" * 64
    double.answer = lambda request: Answer(200, IMAGE.raw, {"Docker-Content-Digest": wrong})
    with pytest.raises(RegistryError, match="not what was asked for"):
        await fetch(double, store)
    with pytest.raises(RegistryError, match="not what was asked for"):
        await source_of(double, store).artifact(kit(double).with_digest(wrong))
    assert not (store.root / "blobs").exists()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda body: Answer(200, body[:-1] + b"\7"), "not what was asked for"),
        (lambda body: Answer(200, body + b"more"), "larger than"),
        (lambda body: Answer(200, body[:-3]), "ends after"),
        (lambda body: Answer(200, body, {"Content-Length": str(len(body))}, cut=5), "broke off|ends after"),
    ],
)
async def test_spoiled_blob_is_refused_and_never_kept(
    double: Double, store: BlobStore, spoil: Callable[[bytes], Answer], says: str
) -> None:
    double.answer = serve
    artifact = await fetch(double, store)
    [blob] = artifact.manifest.layers
    double.answer = lambda request: spoil(BLOBS[blob.digest])
    with pytest.raises(RegistryError, match=says) as refusal:
        await source_of(double, store).blob(artifact.reference, blob.digest, blob.size)
    assert blob.digest in refusal.value.where
    assert not store.path(blob.digest).exists()
    assert list((store.root / "ingest").iterdir()) == []


async def test_endless_manifest_is_cut_off(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(200, b" " * (8 * 1024 * 1024 + 1))
    with pytest.raises(RegistryError, match="larger than"):
        await fetch(double, store)


@pytest.mark.parametrize("body", [b"<html>please sign in</html>", b"", b"[]", b'{"schemaVersion": 1}'])
async def test_web_page_instead_of_a_manifest_is_told(double: Double, store: BlobStore, body: bytes) -> None:
    double.answer = lambda request: Answer(200, body, {"Content-Type": "text/html"})
    with pytest.raises(RegistryError) as refusal:
        await fetch(double, store)
    assert refusal.value.where == str(kit(double))


async def test_rate_limit_says_when_to_come_back(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(429, b"slow down\n", {"Retry-After": "60", "Content-Type": "text/plain"})
    with pytest.raises(RateLimited, match="too many requests") as refusal:
        await fetch(double, store)
    assert refusal.value.retry_after == 60
    assert "60 s" in refusal.value.remedy
    assert len(double.requests) == 1, "a long limit is not waited out"
    double.answer = lambda request: Answer(429, b"", {"RateLimit-Remaining": "0;w=21600"})
    with pytest.raises(RateLimited, match="pull quota"):
        await fetch(double, store)


async def test_short_trouble_is_overcome_and_lasting_trouble_is_told(double: Double, store: BlobStore) -> None:
    def shaky(request: Request) -> Answer:
        return Answer(503) if len(double.requests) < 3 else serve(request)

    double.answer = shaky
    assert (await fetch(double, store)).digest == IMAGE.digest
    double.requests.clear()
    body = json.dumps({"errors": [{"code": "UNKNOWN", "message": "disk\x1b[31m on fire"}]}).encode()
    double.answer = lambda request: Answer(500, body)
    with pytest.raises(RegistryError, match="in trouble") as refusal:
        await fetch(double, BlobStore(store.root / "fresh"))
    assert "on fire" in refusal.value.what
    assert "\x1b" not in refusal.value.what


async def test_long_tag_list_is_followed_by_link_with_an_opaque_cursor(double: Double, store: BlobStore) -> None:
    pages = {"": ["1.0", "1.1"], "zzz": ["2.0"], "aaa": ["3.0", "sha256-abc.sig", "not a tag", 7]}
    following = {"": "zzz", "zzz": "aaa"}

    def answer(request: Request) -> Answer:
        cursor = request.path.partition("last=")[2]
        headers = {"Link": f'<?last={following[cursor]}>; rel="next"'} if cursor in following else {}
        return Answer(200, json.dumps({"name": "x", "tags": pages[cursor]}).encode(), headers)

    double.answer = answer
    tags = await source_of(double, store).tags(f"{double.host}/acme/kit")
    assert tags == ("1.0", "1.1", "2.0", "3.0", "sha256-abc.sig")


async def test_list_that_runs_in_circles_or_leaves_for_another_host_is_ended(
    double: Double, doubles: Callable[[], Double], store: BlobStore
) -> None:
    body = b'{"tags": ["1"]}'
    double.answer = lambda request: Answer(200, body, {"Link": f'<{request.path}>; rel="next"'})
    assert await source_of(double, store).tags("acme/kit") == ("1",)
    stranger = doubles()
    double.answer = lambda request: Answer(200, body, {"Link": f'<http://{stranger.host}/v2/x>; rel="next"'})
    with pytest.raises(RegistryError, match="another host"):
        await source_of(double, store).tags("acme/kit")
    assert stranger.requests == []


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_registry_without_a_catalog_lists_nothing(double: Double, store: BlobStore, status: int) -> None:
    double.answer = lambda request: Answer(status)
    assert await source_of(double, store).list() == ()
    assert await source_of(double, store, scope="acme/kit").list() == (f"{double.host}/acme/kit",)


async def test_scope_narrows_the_catalog(double: Double, store: BlobStore) -> None:
    names = json.dumps({"repositories": ["acme/a", "acme/b", "acmeother", "x"]}).encode()
    double.answer = lambda request: Answer(200, names)
    assert await source_of(double, store, scope="acme").list() == (f"{double.host}/acme/a", f"{double.host}/acme/b")
    double.answer = lambda request: Answer(200, b'{"repositories": null}')
    assert await source_of(double, store).list() == ()


def token_registry(registry: Double, tokens: Double, *, anonymous: bool) -> None:
    """``registry`` wants a bearer token that ``tokens`` gives by GET, with or without a sign-in."""

    def answer(request: Request) -> Answer:
        if request.headers.get("Authorization") == "Bearer good":
            return serve(request)
        realm = f'Bearer realm="http://{tokens.host}/token",service="reg",scope="repository:acme/kit:pull"'
        return Answer(401, b"", {"WWW-Authenticate": realm})

    def token(request: Request) -> Answer:
        if request.method != "GET":
            return Answer(405)
        if not anonymous and request.headers.get("Authorization") != "Basic YWRhOnNlY3JldA==":
            return Answer(401)
        return Answer(200, b'{"token": "good", "expires_in": 300}')

    registry.answer, tokens.answer = answer, token


async def test_anonymous_token_is_fetched_by_get_and_used_again(
    doubles: Callable[[], Double], store: BlobStore
) -> None:
    registry, tokens = doubles(), doubles()
    token_registry(registry, tokens, anonymous=True)
    source = source_of(registry, store)
    await source.artifact(kit(registry))
    await source.artifact(kit(registry, "acme/kit:2"))
    assert [request.method for request in tokens.requests] == ["GET"]
    assert "scope=repository%3Aacme%2Fkit%3Apull" in tokens.requests[0].path
    assert "Authorization" not in tokens.requests[0].headers
    assert "Authorization" not in registry.requests[0].headers


async def test_token_service_on_another_host_gets_the_registrys_sign_in(
    doubles: Callable[[], Double], store: BlobStore, tmp_path: Path
) -> None:
    registry, tokens = doubles(), doubles()
    token_registry(registry, tokens, anonymous=False)
    with pytest.raises(SignInRequired):
        await fetch(registry, store)
    artifact = await fetch(registry, store, credentials=logged_in(tmp_path, registry.host))
    assert artifact.digest == IMAGE.digest
    sent = {request.headers.get("Authorization", "") for request in registry.requests}
    assert sent == {"", "Bearer good"}, "the password goes to the token service alone"


async def test_sign_in_is_not_sent_unencrypted_to_a_foreign_token_service(
    double: Double, store: BlobStore, tmp_path: Path
) -> None:
    realm = 'Bearer realm="http://auth.example/token"'
    double.answer = lambda request: Answer(401, b"", {"WWW-Authenticate": realm})
    with pytest.raises(SignInRequired, match="unencrypted"):
        await fetch(double, store, credentials=logged_in(tmp_path, double.host))


async def test_rate_limit_at_the_token_service_is_a_rate_limit(doubles: Callable[[], Double], store: BlobStore) -> None:
    registry, tokens = doubles(), doubles()
    token_registry(registry, tokens, anonymous=True)
    tokens.answer = lambda request: Answer(429, b"", {"Retry-After": "30"})
    with pytest.raises(RateLimited):
        await fetch(registry, store)


@pytest.mark.parametrize("body", [b"{}", b"[]", b"nope", b'{"token": 5}', b'{"token": "a\\r\\nX-Evil: 1"}'])
async def test_token_that_is_none_is_refused(doubles: Callable[[], Double], store: BlobStore, body: bytes) -> None:
    registry, tokens = doubles(), doubles()
    token_registry(registry, tokens, anonymous=True)
    tokens.answer = lambda request: Answer(200, body)
    with pytest.raises(RegistryError):
        await fetch(registry, store)


async def test_outdated_token_is_replaced_once(doubles: Callable[[], Double], store: BlobStore) -> None:
    registry, tokens = doubles(), doubles()
    token_registry(registry, tokens, anonymous=True)
    source = source_of(registry, store)
    await source.artifact(kit(registry))
    good = registry.answer
    registry.answer = lambda request: Answer(401, b"", {"WWW-Authenticate": 'Bearer realm="/token"'})
    with pytest.raises(SignInRequired):
        await source.artifact(kit(registry, "acme/kit:2"))
    registry.answer = good
    await source.artifact(kit(registry, "acme/kit:3"))


async def test_authorization_does_not_follow_a_redirect_to_another_host(
    doubles: Callable[[], Double], store: BlobStore, tmp_path: Path
) -> None:
    registry, storage = doubles(), doubles()
    storage.answer = serve

    def answer(request: Request) -> Answer:
        if "Authorization" not in request.headers:
            return Answer(401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
        if "/blobs/" in request.path:
            return Answer(307, b"", {"Location": f"http://{storage.host}{request.path}"})
        return serve(request)

    registry.answer = answer
    artifact = await fetch(registry, store, credentials=logged_in(tmp_path, registry.host))
    assert artifact.config is not None
    assert storage.requests
    assert all("Authorization" not in request.headers for request in storage.requests)


async def test_circle_of_redirects_is_ended(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(302, b"", {"Location": request.path})
    with pytest.raises(Unreachable, match="circles"):
        await fetch(double, store)


async def test_plain_http_host_asked_for_https_names_the_flag(
    double: Double, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kitstudio.registry.transport.is_plain", lambda host, named: host in named)
    double.answer = serve
    with pytest.raises(Unreachable, match="does not speak HTTPS") as refusal:
        await fetch(double, store)
    assert f"--plain-http {double.host}" in refusal.value.remedy
    assert (await fetch(double, store, plain_http=(double.host,))).digest == IMAGE.digest


async def test_cancelled_fetch_ends_and_keeps_nothing(double: Double, store: BlobStore) -> None:
    double.answer = serve
    source = source_of(double, store)
    artifact = await source.artifact(kit(double))
    [blob] = artifact.manifest.layers
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stalled(request: Request) -> Answer:
        loop.call_soon_threadsafe(begun.set)
        return Answer(503, b"", {"Retry-After": "3"})

    double.answer = stalled
    task = asyncio.create_task(source.blob(artifact.reference, blob.digest, blob.size))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store.find(blob.digest) is None


async def test_missing_blob_is_told(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(404, b'{"errors": [{"code": "BLOB_UNKNOWN"}]}')
    with pytest.raises(NotFound, match="no such content"):
        await source_of(double, store).blob(kit(double), "sha256:" + "1" * 64, 3)


@pytest.mark.parametrize(
    ("host", "plain"),
    [
        ("localhost", True), ("localhost:5000", True), ("127.0.0.1:5000", True), ("127.9.9.9", True),
        ("[::1]:5000", True), ("reg.localhost", True), ("named.example:5000", True), ("named.example", False),
        ("whole.example:80", True), ("localhost.example", False),
        ("127.0.0.1.example", False), ("10.0.0.1", False), ("[::2]:5000", False),
    ],
)  # fmt: skip
def test_plain_http_is_for_loopback_and_named_hosts_only(host: str, plain: bool) -> None:
    assert is_plain(host, ("named.example:5000", "whole.example")) is plain
