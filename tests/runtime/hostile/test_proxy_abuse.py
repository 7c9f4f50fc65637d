"""The proxy against a guest that knows how proxies are tricked: look-alikes, data in names, slow heads."""

import asyncio
import contextlib
import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kitstudio.models.descriptor import JsonValue
from kitstudio.runtime.capabilities.credential import plan_credentials
from kitstudio.runtime.hosts import Address
from kitstudio.runtime.proxy.credentials import CredentialPresenter
from kitstudio.runtime.proxy.names import WildcardNames
from kitstudio.runtime.proxy.server import Limits
from tests.runtime.proxy.test_inspection import READS, Site, rule, site
from tests.runtime.proxy.test_proxy_server import rules, world
from tests.runtime.runtime_sets import approve, capability

PUBLIC = "93.184.216.34"


@asynccontextmanager
async def signed_in() -> AsyncIterator[Site]:
    """A site behind a proxy that presents ``s3cret`` to key.test, in a set that may reach every public host."""
    entry: dict[str, JsonValue] = {
        "service": "acme",
        "phase": "runtime",
        "apiKey": {"inject": [{"domain": "key.test", "header": "X-Key"}]},
    }
    plans, _ = plan_credentials(approve({"kit:1": [capability("credential@1", entry)]}), ["acme"], "box")
    async with site(rule("**"), rule("key.test")) as s:
        s.proxy._presenter = CredentialPresenter(plans, {"acme": "s3cret"})
        yield s


@pytest.mark.parametrize(
    "host",
    ["key.test.evil.test", "evilkey.test", "evil-key.test", "key.tests", "sub.key.test", "xn--ey-6kc.test"],
)  # fmt: skip
async def test_a_secret_is_not_presented_to_a_host_that_looks_alike(host: str) -> None:
    async with signed_in() as s:
        answer = await s.ask(host, f"GET / HTTP/1.1\r\nHost: {host}\r\nX-Key: mine", port=80, tls=False)
        assert answer.endswith("ok")
        assert "s3cret" not in s.heads[0]


@pytest.mark.parametrize(
    "headers",
    [
        "Host: evil.test",
        "Host: key.test\r\nHost: evil.test",
        "Host: key.test@evil.test",
        "Host: evil.test:443",
        "Host: key.test.evil.test",
        "Host: key.test\\evil.test",
        "Host:",
    ],
)
async def test_a_secret_is_not_presented_to_whom_the_tunnel_was_not_opened_for(headers: str) -> None:
    async with signed_in() as s:
        answer = await s.ask("key.test", f"GET /x HTTP/1.1\r\n{headers}")
        assert answer.startswith("HTTP/1.1 400 ")
        assert s.heads == []


async def test_a_secret_goes_out_under_every_spelling_of_its_own_host_and_never_twice() -> None:
    async with signed_in() as s:
        for name in ("key.test", "KEY.test", "key.test."):
            answer = await s.ask(name, "GET / HTTP/1.1\r\nHost: KEY.test\r\nx-key: a\r\nX-KEY: b", sni="key.test")
            assert answer.endswith("ok"), name
        for head in s.heads:
            assert head.lower().count("x-key") == 1 and "X-Key: s3cret" in head


async def test_a_connection_header_does_not_take_the_secret_away_or_send_the_stand_in() -> None:
    async with signed_in() as s:
        reader, writer = await s.open("key.test")
        writer.write(b"GET / HTTP/1.1\r\nHost: key.test\r\nConnection: close, X-Key\r\nX-Key: stand-in\r\n\r\n")
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert "X-Key: s3cret" in s.heads[0] and "stand-in" not in s.heads[0]


@pytest.mark.parametrize(
    ("authority", "status"),
    [
        ("xn--bcher-kva.test:443", "200"),
        ("XN--BCHER-KVA.test:443", "200"),
        ("xn--bcher-kvb.test:443", "403"),
        ("bucher.test:443", "403"),
        ("xn--bcher-kva.test.:443", "200"),
        ("xn--bcher-kva.test..:443", "403"),
        ("b%C3%BCcher.test:443", "403"),
        ("a.test%2e:443", "403"),
        ("a.test%00.evil.test:443", "403"),
        (".a.test:443", "403"),
        ("a..test:443", "403"),
        ("*.test:443", "403"),
        ("**:443", "403"),
        ("a.test:0443", "200"),
        ("a.test:65979", "400"),
        ("a.test:443:443", "400"),
        ("a.test:443/x", "400"),
        ("a.test,evil.test:443", "403"),
        ("a.test;evil.test:443", "403"),
        ("a.test#evil.test:443", "403"),
        ("0x5d.0xb8.0xd8.0x22:443", "403"),
        ("1572395042:443", "403"),
        ("093.184.216.34:443", "403"),
        ("93.184.55330:443", "403"),
        ("[::ffff:93.184.216.34]:443", "403"),
        ("[a.test]:443", "400"),
    ],
)
async def test_a_name_is_what_was_approved_or_it_is_nothing(authority: str, status: str) -> None:
    names = {"xn--bcher-kva.test": PUBLIC, "a.test": PUBLIC}
    async with world(rules("bücher.test", "a.test"), names) as w:
        answer = await w.ask(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert answer[9:12].decode() == status, answer
        assert w.dialled == ([f"{PUBLIC}:443"] if status == "200" else [])


async def test_names_under_a_wildcard_are_limited_and_logged_row_59() -> None:
    class Anything(dict[str, str]):
        def __contains__(self, name: object) -> bool:
            return True

        def __missing__(self, name: str) -> str:
            return PUBLIC

    now = [0.0]
    async with world(rules("*.x.test", "api.x.test", "**"), Anything({"x.test": PUBLIC})) as w:
        w.proxy._names = WildcardNames(128, 1.0, lambda: now[0])

        async def ask(name: str) -> bytes:
            return (await w.ask(f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()))[9:12]

        answers = [await ask(f"secret{number}.x.test") for number in range(500)]
        assert answers == [b"200"] * 128 + [b"403"] * 372
        assert len(w.looked_up) == 128
        refused = [d for d in w.log.all() if d.verdict == "refused"]
        assert len(refused) == 372 and "too many different names under *.x.test" in refused[0].reason
        assert await ask("secret5.x.test") == b"200", "a name seen before costs nothing"
        assert await ask("api.x.test") == b"200", "an entry of its own has no limit"
        assert await ask("another.org") == b"403", "the widest entry is no way around"
        assert await ask("93.184.216.34") == b"200", "an address looks nothing up"
        now[0] = 2.0
        assert [await ask(f"late{number}.x.test") for number in range(3)] == [b"200", b"200", b"403"]


async def test_a_slow_head_inside_a_tunnel_is_cut_off() -> None:
    async with site(rule("api.test", READS)) as s:
        s.proxy._limits = Limits(head_seconds=0.3)
        reader, writer = await s.open("api.test")
        writer.write(b"GET /v1/x HTTP/1.1\r\nHost: ")
        with contextlib.suppress(ConnectionError):
            assert (await asyncio.wait_for(reader.read(), 10)).startswith(b"HTTP/1.1 408")
        writer.close()
        assert s.heads == []


async def test_an_address_that_changes_between_two_requests_is_judged_each_time() -> None:
    async with site(rule("api.test", READS)) as s:
        answers = iter([PUBLIC, "169.254.169.254", "::ffff:10.0.0.1"])

        async def rebinding(name: str) -> tuple[Address, ...]:
            return (ipaddress.ip_address(next(answers)),)

        s.proxy._resolver = rebinding
        head = "GET /v1/x HTTP/1.1\r\nHost: api.test"
        assert (await s.ask("api.test", head)).endswith("ok")
        for where in ("link-local or metadata", "private address"):
            answer = await s.ask("api.test", head)
            assert answer.startswith("HTTP/1.1 403 ") and where in answer
        assert len(s.heads) == 1


async def test_a_request_hidden_in_a_body_stays_a_body() -> None:
    async with world(rules("a.test")) as w:
        hidden = b"GET /admin HTTP/1.1\r\nHost: a.test\r\n\r\n"
        chunk = f"{len(hidden):x}".encode() + b"\r\n" + hidden + b"\r\n0\r\n\r\n"
        await w.ask(
            b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            + chunk
        )
        assert len(w.heads) == 1 and w.heads[0].startswith(b"POST / HTTP/1.1\r\n")
        assert hidden in w.bodies[0]
