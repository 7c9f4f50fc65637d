"""The way out: certificates, proxies, mirrors."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.credentials import Credential, OneCredential
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import NotFound, Unreachable
from kitstudio.registry.transport import Network
from tests.registry.servers import Answer, Authority, Double
from tests.registry.test_client import IMAGE, kit, serve


@pytest.fixture
def no_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat 127.0.0.1 as any other host."""
    monkeypatch.setattr("kitstudio.registry.transport._is_loopback", lambda name: False)


@pytest.mark.usefixtures("no_loopback")
async def test_own_certificate_authority_is_trusted_where_named(
    doubles: Callable[..., Double], authority: Authority, store: BlobStore
) -> None:
    server = doubles(authority.server())
    server.answer = serve
    with pytest.raises(Unreachable, match="not trusted") as refusal:
        await RegistrySource(server.host, store).artifact(kit(server))
    assert "Settings" in refusal.value.remedy
    trusting = RegistrySource(server.host, store, network=Network(ca_files=(authority.path,)))
    assert (await trusting.artifact(kit(server))).digest == IMAGE.digest


async def test_registry_with_tls_on_this_machine_is_told_and_spoken_to_where_named(
    doubles: Callable[..., Double], authority: Authority, double: Double, store: BlobStore
) -> None:
    server = doubles(authority.server())
    server.answer = serve
    network = Network(ca_files=(authority.path,), tls=frozenset({server.host}))
    assert (await RegistrySource(server.host, store, network=network).artifact(kit(server))).digest == IMAGE.digest
    double.answer = lambda request: Answer(400, b"Client sent an HTTP request to an HTTPS server.\n")
    with pytest.raises(Unreachable, match="speaks HTTPS"):
        await RegistrySource(double.host, store).tags("a/b")


async def test_redirect_from_https_to_http_is_not_followed(
    doubles: Callable[..., Double], authority: Authority, double: Double, store: BlobStore
) -> None:
    server = doubles(authority.server())
    server.answer = lambda request: Answer(307, b"", {"Location": f"http://{double.host}{request.path}"})
    network = Network(ca_files=(authority.path,), tls=frozenset({server.host}))
    with pytest.raises(Unreachable, match="unencrypted"):
        await RegistrySource(server.host, store, network=network).artifact(kit(server))
    assert double.requests == []


@pytest.mark.usefixtures("no_loopback")
async def test_certificate_out_of_its_time_names_the_clock(
    doubles: Callable[..., Double], authority: Authority, store: BlobStore
) -> None:
    server = doubles(authority.server(age=datetime.timedelta(days=1)))
    with pytest.raises(Unreachable, match="out of its time") as refusal:
        await RegistrySource(server.host, store, network=Network(ca_files=(authority.path,))).tags("a/b")
    assert "clock" in refusal.value.remedy


async def test_file_that_holds_no_authority_is_named(double: Double, store: BlobStore, tmp_path: Path) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("hello")
    for path in (wrong, tmp_path / "missing.pem"):
        with pytest.raises(RegistryError, match="no certificate authority") as refusal:
            await RegistrySource(double.host, store, network=Network(ca_files=(path,))).tags("a/b")
        assert refusal.value.where == str(path)


async def test_proxy_is_used_but_never_for_loopback_or_excepted_hosts(
    doubles: Callable[..., Double], store: BlobStore
) -> None:
    proxy, direct = doubles(), doubles()
    proxy.answer = direct.answer = serve
    network = Network(
        plain_http=frozenset({"reg.test", "inside.test"}),
        proxies={"http": f"http://{proxy.host}", "https": f"http://{proxy.host}"},
        no_proxy=("inside.test",),
    )
    await RegistrySource("reg.test", store, network=network).artifact(parse("reg.test/acme/kit:1"))
    assert proxy.requests[0].path.startswith("http://reg.test/v2/")
    before = len(proxy.requests)
    await RegistrySource(direct.host, store, network=network).artifact(kit(direct))
    with pytest.raises(Unreachable, match="no host named"):
        await RegistrySource("inside.test", store, network=network).artifact(parse("inside.test/acme/kit:1"))
    assert len(proxy.requests) == before


async def test_environments_proxy_is_used_but_never_for_loopback(
    doubles: Callable[..., Double], store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, direct = doubles(), doubles()
    proxy.answer = direct.answer = serve
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://{proxy.host}")
    await RegistrySource(direct.host, store).artifact(kit(direct))
    assert proxy.requests == []
    named = Network(plain_http=frozenset({"reg.test"}))
    await RegistrySource("reg.test", BlobStore(store.root / "2"), network=named).artifact(parse("reg.test/acme/kit:1"))
    assert proxy.requests


async def test_proxy_that_refuses_is_told_and_its_password_is_not(double: Double, store: BlobStore) -> None:
    network = Network(proxies={"https": f"http://ada:hunter2@{double.host}"})
    with pytest.raises(Unreachable, match="proxy") as refusal:
        await RegistrySource("reg.test", store, network=network).artifact(parse("reg.test/acme/kit:1"))
    assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in repr(network)


async def test_mirror_is_asked_first_without_the_registrys_sign_in_and_the_registry_for_the_rest(
    doubles: Callable[..., Double], store: BlobStore
) -> None:
    registry, mirror = doubles(), doubles()
    registry.answer = serve
    mirror.answer = lambda request: serve(request) if "/manifests/" in request.path else Answer(404)
    network = Network(mirrors={registry.host: (mirror.host, "127.0.0.1:1")})
    credential = OneCredential(registry.host, Credential("ada", "secret"))
    source = RegistrySource(registry.host, store, network=network, credentials=credential)
    artifact = await source.artifact(kit(registry))
    assert artifact.digest == IMAGE.digest
    assert artifact.reference.registry == registry.host
    assert [("/manifests/" in r.path, "/blobs/" in r.path) for r in registry.requests] == [(False, True)]
    assert all("Authorization" not in request.headers for request in mirror.requests)


async def test_mirror_that_spoils_content_is_passed_over(doubles: Callable[..., Double], store: BlobStore) -> None:
    registry, mirror = doubles(), doubles()
    registry.answer = serve
    mirror.answer = lambda request: Answer(200, b"{}")
    source = RegistrySource(registry.host, store, network=Network(mirrors={registry.host: (mirror.host,)}))
    assert (await source.artifact(kit(registry).with_digest(IMAGE.digest))).digest == IMAGE.digest
    registry.answer = lambda request: Answer(404)
    with pytest.raises(NotFound):
        await source.artifact(kit(registry, "acme/other:1"))


@pytest.mark.parametrize(
    ("host", "excepted"),
    [
        ("inside.test", True), ("a.inside.test", True), ("notinside.test", False), ("b.wild.test", True),
        ("10.1.2.3", True), ("11.1.2.3", False), ("port.test:5000", True), ("port.test:6000", False),
        ("[fd00::1]:5000", True), ("other.test", False),
    ],
)  # fmt: skip
def test_hosts_excepted_from_the_proxy(host: str, excepted: bool) -> None:
    network = Network(
        proxies={"https": "http://proxy.test"},
        no_proxy=("inside.test", ".wild.test", "10.0.0.0/8", "port.test:5000", "fd00::/8"),
    )
    assert (network.proxies_for(f"https://{host}/v2/") == {}) is excepted
    assert Network(proxies={"https": "http://p.test"}, no_proxy=("*",)).proxies_for(f"https://{host}/") == {}
