"""Who is told what while a registry finds out who asks: hosts, scopes, tokens that run out, clocks, limits.

Hosts named ``….test`` are reached through a double that plays the proxy, so that several hosts are really different.
"""

from __future__ import annotations

import base64
import email.utils
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.copy import RegistryDestination, copy
from kitstudio.registry.credentials import Credential, DockerCredentials, OneCredential
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.session import Clock
from kitstudio.registry.source import ArtifactKind, NotFound, RateLimited, SignInRequired
from kitstudio.registry.transport import Network
from tests.builders import kit_image, layout
from tests.registry.servers import PASSWORD, USER, Answer, Double, Request, Server, TokenService
from tests.registry.test_client import IMAGE, kit, serve

ADA = Credential("ada", "secret")
BASIC = "Basic YWRhOnNlY3JldA=="
HOSTS = frozenset({"reg.test", "auth.test", "cdn.test"})


def through(proxy: Double) -> Network:
    return Network(plain_http=HOSTS, proxies={"http": f"http://{proxy.host}"})


def asked(proxy: Double) -> list[tuple[str, str]]:
    """Every request as host and what stood in ``Authorization``."""
    return [(urlsplit(r.path).netloc, r.headers.get("Authorization", "")) for r in proxy.requests]


def wants(realm: str, scope: str = "repository:acme/kit:pull") -> Answer:
    header = f'Bearer realm="{realm}",service="reg",scope="{scope}"'
    return Answer(401, b"", {"WWW-Authenticate": header})


async def test_row_1_sign_in_goes_to_the_realm_on_another_host_and_to_no_third_one(
    double: Double, store: BlobStore
) -> None:
    def answer(request: Request) -> Answer:
        host = urlsplit(request.path).netloc
        if host == "auth.test":
            good = request.headers.get("Authorization") == BASIC
            return Answer(200, b'{"token": "good"}') if good else Answer(401)
        if host == "cdn.test":
            return serve(request)
        if request.headers.get("Authorization") != "Bearer good":
            return wants("http://auth.test/token")
        if "/blobs/" in request.path:
            return Answer(307, b"", {"Location": f"http://cdn.test{urlsplit(request.path).path}"})
        return serve(request)

    double.answer = answer
    source = RegistrySource("reg.test", store, credentials=OneCredential("reg.test", ADA), network=through(double))
    assert (await source.artifact(parse("reg.test/acme/kit:1"))).kind is ArtifactKind.KIT
    seen = asked(double)
    assert {value for host, value in seen if host == "auth.test"} == {BASIC}
    assert {value for host, value in seen if host == "reg.test"} == {"", "Bearer good"}
    assert [value for host, value in seen if host == "cdn.test"] == [""]


async def test_token_service_that_redirects_elsewhere_takes_no_sign_in_along(double: Double, store: BlobStore) -> None:
    def answer(request: Request) -> Answer:
        host = urlsplit(request.path).netloc
        if host == "reg.test":
            return wants("http://auth.test/token")
        return Answer(307, b"", {"Location": "http://cdn.test/steal"}) if host == "auth.test" else Answer(401)

    double.answer = answer
    source = RegistrySource("reg.test", store, credentials=OneCredential("reg.test", ADA), network=through(double))
    with pytest.raises(SignInRequired):
        await source.artifact(parse("reg.test/acme/kit:1"))
    assert [value for host, value in asked(double) if host == "cdn.test"] == [""]


async def test_storage_host_that_asks_who_we_are_is_not_told(double: Double, store: BlobStore) -> None:
    def answer(request: Request) -> Answer:
        host = urlsplit(request.path).netloc
        if host != "reg.test":
            return wants("http://cdn.test/token")
        if "/blobs/" in request.path:
            return Answer(307, b"", {"Location": f"http://cdn.test{urlsplit(request.path).path}"})
        return serve(request)

    double.answer = answer
    source = RegistrySource("reg.test", store, credentials=OneCredential("reg.test", ADA), network=through(double))
    with pytest.raises(SignInRequired):
        await source.artifact(parse("reg.test/acme/kit:1"))
    assert BASIC not in {value for _, value in asked(double)}
    assert not any("/token" in request.path for request in double.requests)


@pytest.mark.parametrize(
    "realm", ["http://[bad", "", "test", "ftp://auth.test/x", "http://ada:x@auth.test/token", "//", "http://"]
)
async def test_realm_that_is_no_address_is_a_sentence(double: Double, store: BlobStore, realm: str) -> None:
    double.answer = lambda request: wants(realm) if "token" not in request.path else Answer(404)
    with pytest.raises(RegistryError) as refusal:
        await RegistrySource(double.host, store, credentials=OneCredential(double.host, ADA)).tags("acme/kit")
    assert refusal.value.where


async def test_row_4_several_entries_one_of_them_empty_are_no_traceback(
    doubles: Callable[..., Double], store: BlobStore, tmp_path: Path
) -> None:
    registry, tokens = doubles(), doubles()
    tokens.answer = lambda request: Answer(200, b'{"token": "anonymous"}')
    realm = f"http://{tokens.host}/token"
    registry.answer = lambda request: serve(request) if "Authorization" in request.headers else wants(realm)
    file = tmp_path / "config.json"
    encoded = base64.b64encode(b"bob:x").decode()
    file.write_text(
        json.dumps({"auths": {registry.host: {"auth": ""}, "b.example": {"auth": encoded}, "c.example": {}}})
    )
    source = RegistrySource(registry.host, store, credentials=DockerCredentials(file))
    assert (await source.artifact(kit(registry))).kind is ArtifactKind.KIT
    assert "Authorization" not in tokens.requests[0].headers


async def test_row_5_first_request_carries_no_authorization_and_400_with_one_is_overcome(
    double: Double, store: BlobStore
) -> None:
    """The registry answers 400 to any ``Authorization`` it does not like, and says nothing about what it wants."""

    def answer(request: Request) -> Answer:
        if "/token" in request.path:
            return Answer(200, b'{"token": "good", "expires_in": 300}')
        given = request.headers.get("Authorization")
        if given is None:
            return wants(f"http://{double.host}/token") if picky else serve(request)
        return serve(request) if picky and given == "Bearer good" else Answer(400)

    picky = False
    double.answer = answer
    source = RegistrySource(double.host, store)
    await source.artifact(kit(double))
    assert all("Authorization" not in request.headers for request in double.requests)
    picky = True
    await source.artifact(kit(double, "acme/kit:2"))
    picky = False
    await source.artifact(kit(double, "acme/kit:3"))


async def test_400_with_a_challenge_is_taken_for_401(double: Double, store: BlobStore) -> None:
    def answer(request: Request) -> Answer:
        if "Authorization" in request.headers:
            return serve(request)
        return Answer(400, b"", {"WWW-Authenticate": 'Basic realm="not an address"'})

    double.answer = answer
    source = RegistrySource(double.host, store, credentials=OneCredential(double.host, ADA))
    assert (await source.artifact(kit(double))).kind is ArtifactKind.KIT


async def test_row_7_only_get_is_asked_of_a_token_service_identity_tokens_try_post_first(
    double: Double, store: BlobStore
) -> None:
    def answer(request: Request) -> Answer:
        if "/token" in request.path:
            return Answer(200, b'{"access_token": "good"}') if request.method == "GET" else Answer(405)
        return serve(request) if "Authorization" in request.headers else wants(f"http://{double.host}/token")

    double.answer = answer
    await RegistrySource(double.host, store, credentials=OneCredential(double.host, ADA)).artifact(kit(double))
    assert "POST" not in {request.method for request in double.requests}
    double.requests.clear()
    token = Credential("<token>", "identity", is_token=True)
    source = RegistrySource(double.host, BlobStore(store.root / "2"), credentials=OneCredential(double.host, token))
    await source.artifact(kit(double))
    assert [r.method for r in double.requests if "/token" in r.path] == ["POST", "GET"]


@pytest.mark.parametrize(("hours", "word"), [(5, "5 hours ahead"), (-3, "3 hours behind")])
async def test_row_10_refusal_by_a_server_with_another_time_names_the_clock(
    double: Double, store: BlobStore, hours: int, word: str
) -> None:
    now = 1_790_000_000.0
    double.date = email.utils.formatdate(now + hours * 3600, usegmt=True)
    double.answer = lambda request: (
        Answer(200, b'{"token": "good"}')
        if "/token" in request.path
        else Answer(401, b'{"errors":[{"message": "token is expired"}]}', wants(f"http://{double.host}/token").headers)
    )
    source = RegistrySource(double.host, store, clock=Clock(now=lambda: now))
    with pytest.raises(SignInRequired, match=word) as refusal:
        await source.artifact(kit(double))
    assert "clock" in refusal.value.remedy
    assert "token is expired" in refusal.value.what


async def test_row_13_stale_sign_in_is_tried_once_more_and_then_told(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(401, b"", {"WWW-Authenticate": "Basic realm=x"})
    source = RegistrySource(double.host, store, credentials=OneCredential(double.host, ADA))
    with pytest.raises(SignInRequired, match="no longer accepts") as refusal:
        await source.artifact(kit(double))
    assert f"Sign in again: kitstudio login {double.host}" in refusal.value.remedy
    assert [r.headers.get("Authorization", "") for r in double.requests] == ["", BASIC]


async def test_row_41_rate_limit_at_the_token_service_is_never_missing_or_denied(
    doubles: Callable[..., Double], store: BlobStore
) -> None:
    registry, tokens = doubles(), doubles()
    registry.answer = lambda request: wants(f"http://{tokens.host}/token")
    tokens.answer = lambda request: Answer(429, b"too many", {"Content-Type": "text/plain"})
    with pytest.raises(RateLimited, match="too many requests from here"):
        await RegistrySource(registry.host, store).artifact(kit(registry))


async def test_token_that_ran_out_is_fetched_anew_and_each_repository_has_its_own(
    double: Double, store: BlobStore
) -> None:
    valid = {"acme/kit": "1", "acme/other": "1"}

    def answer(request: Request) -> Answer:
        name = next((name for name in valid if name in request.path.replace("%2F", "/")), "")
        if "/token" in request.path:
            return Answer(200, json.dumps({"token": f"{name}-{valid[name]}", "expires_in": 300}).encode())
        if request.headers.get("Authorization") == f"Bearer {name}-{valid[name]}":
            return serve(request)
        return wants(f"http://{double.host}/token", f"repository:{name}:pull")

    double.answer = answer
    source = RegistrySource(double.host, store)
    await source.artifact(kit(double))
    await source.artifact(kit(double, "acme/other:1"))
    valid["acme/kit"] = "2"
    await source.artifact(kit(double, "acme/kit:2"))
    tokens = [r.path for r in double.requests if "/token" in r.path]
    assert ["other" in path for path in tokens] == [False, True, False]


async def test_sign_ins_are_looked_up_only_when_somebody_asks(double: Double, store: BlobStore) -> None:
    looked: list[str] = []

    class Counting(OneCredential):
        def lookup(self, registry: str, repository: str) -> Credential | None:
            looked.append(repository)
            return super().lookup(registry, repository)

    double.answer = lambda request: Answer(404)
    source = RegistrySource(double.host, store, credentials=Counting(double.host, ADA))
    with pytest.raises(NotFound):
        await source.artifact(kit(double))
    assert looked == []


@pytest.mark.registry
async def test_real_registry_with_a_token_service_gives_each_account_its_scopes(
    tmp_path: Path, token_registry: Server, token_service: tuple[TokenService, Double], store: BlobStore
) -> None:
    service, tokens = token_service
    service.may = {"": {"open": {"pull"}}, USER: {"open": {"pull", "push"}, "team": {"pull", "push"}}}
    host = token_registry.host
    local = LayoutSource(layout(tmp_path / "l", {"x.y/a:1": kit_image()}))
    mine = RegistrySource(host, store, credentials=OneCredential(host, Credential(USER, PASSWORD)))
    for name in ("open/kit", "team/kit"):
        target = RegistryDestination(mine, parse(f"{host}/{name}:1"))
        assert await copy(local, parse("x.y/a:1"), target) == IMAGE.digest
    assert await mine.tags("team/kit") == ("1",)
    stranger = RegistrySource(host, BlobStore(tmp_path / "s"))
    assert (await stranger.artifact(parse(f"{host}/open/kit:1"))).kind is ArtifactKind.KIT
    with pytest.raises(SignInRequired, match="without a sign-in"):
        await stranger.artifact(parse(f"{host}/team/kit:1"))
    wrong = RegistrySource(
        host, BlobStore(tmp_path / "w"), credentials=OneCredential(host, Credential(USER, "outdated"))
    )
    with pytest.raises(SignInRequired, match="no longer accepts") as refusal:
        await wrong.artifact(parse(f"{host}/team/kit:1"))
    assert "outdated" not in str(refusal.value)
    assert {request.method for request in tokens.requests} == {"GET"}
    with pytest.raises(NotFound):
        await mine.artifact(parse(f"{host}/team/kit:2"))
    assert (await stranger.listing()).names == ()
