"""Looking into connections: bounded hosts, credentials, WebSocket. Real TLS on both sides, over loopback."""

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kitstudio.runtime.hosts import Address, read_pattern
from kitstudio.runtime.policy import EgressPolicy, Phase, Rule
from kitstudio.runtime.proxy.authority import Authority
from kitstudio.runtime.proxy.log import DecisionLog
from kitstudio.runtime.proxy.presenter import Headers
from kitstudio.runtime.proxy.request import Unacceptable
from kitstudio.runtime.proxy.server import Limits, Proxy
from kitstudio.runtime.requests import Bound

READS = Bound(("GET",), ("/v1/**",))


class Key:
    """A presenter for one host."""

    def covers(self, phase: Phase, host: str, port: int) -> bool:
        return host == "key.test"

    def endpoint(self, phase: Phase, host: str, port: int, target: str = "") -> None:
        return None

    def present(self, phase: Phase, host: str, port: int, headers: Headers, *, secure: bool) -> Headers:
        if not self.covers(phase, host, port):
            return headers
        if not secure:
            raise Unacceptable("the secret is not sent without encryption")
        return [(n, v) for n, v in headers if n.lower() != b"x-key"] + [(b"X-Key", b"real")]


class Site:
    def __init__(self, *rules: Rule, **limits: float) -> None:
        self.origin = Authority.create("origin")
        self.issuer = Authority.create("sandbox")
        self.heads: list[str] = []
        trust = ssl.create_default_context(cadata=self.origin.pem)
        self.log = DecisionLog()
        self.port = self.proxy_port = 0
        self.proxy = Proxy(
            EgressPolicy(rules),
            self.log,
            resolver=self.resolve,
            connector=self.connect,
            limits=Limits(head_seconds=5, **limits),  # type: ignore[arg-type]
            presenter=Key(),
            authority=self.issuer,
            upstream=trust,
        )
        self.proxy.phase = Phase.RUNTIME

    async def resolve(self, name: str) -> tuple[Address, ...]:
        return (ipaddress.ip_address("93.184.216.34"),)

    async def connect(self, address: Address, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port if port == 443 else self.plain_port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            if "websocket" in head:
                writer.write(
                    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello"
                )
                writer.write((await reader.readexactly(4)).upper())
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
        writer.close()

    async def open(
        self, name: str, port: int = 443, *, sni: str = "", tls: bool = True
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy_port)
        writer.write(f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answer:
            raise ConnectionRefusedError(answer.decode() + (await reader.read()).decode())
        if tls:
            context = ssl.create_default_context(cadata=self.issuer.pem)
            context.set_alpn_protocols(["h2", "http/1.1"])
            await writer.start_tls(context, server_hostname=sni or name)
        return reader, writer

    async def ask(self, name: str, head: str, **how: object) -> str:
        """One request through a tunnel and the answer to the end."""
        reader, writer = await self.open(name, **how)  # type: ignore[arg-type]
        writer.write(head.encode() + b"\r\nConnection: close\r\n\r\n")
        answer = (await asyncio.wait_for(reader.read(), 10)).decode()
        writer.close()
        return answer

    def told(self) -> list[tuple[str, str | None, str | None, str]]:
        return [(d.host, d.method, d.url_path, d.verdict) for d in self.log.all()]


@asynccontextmanager
async def site(*rules: Rule, **limits: float) -> AsyncIterator[Site]:
    made = Site(*rules, **limits)
    secure = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=made.origin.context("api.test"))
    named = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=made.origin.context("key.test"))
    plain = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    proxy = await asyncio.start_server(made.proxy.serve, "127.0.0.1", 0)
    uses_key = any(rule.pattern.text == "key.test" for rule in rules)
    made.port = (named if uses_key else secure).sockets[0].getsockname()[1]
    made.plain_port = plain.sockets[0].getsockname()[1]
    made.proxy_port = proxy.sockets[0].getsockname()[1]
    async with secure, named, plain, proxy:
        yield made
        await made.proxy.switch(Phase.CLOSED)


def rule(host: str, bound: Bound | None = None, *, denies: bool = False) -> Rule:
    return Rule(Phase.RUNTIME, denies, read_pattern(host), "kit:1", "allow[0]", 9, bound)


async def test_a_bounded_host_lets_the_admitted_requests_through_and_answers_the_others_itself() -> None:
    async with site(rule("api.test", READS)) as s:
        assert (await s.ask("api.test", "GET /v1/x?q=1 HTTP/1.1\r\nHost: api.test")).endswith("ok")
        refused = await s.ask("api.test", "POST /v1/x HTTP/1.1\r\nHost: api.test\r\nContent-Length: 0")
        assert refused.startswith("HTTP/1.1 403 ")
        assert "GET /v1/** on api.test does not admit POST /v1/x (kit:1, allow[0], line 9)" in refused
        assert (await s.ask("api.test", "GET /v2 HTTP/1.1\r\nHost: api.test")).startswith("HTTP/1.1 403 ")
        assert [head.split("\r\n")[0] for head in s.heads] == ["GET /v1/x?q=1 HTTP/1.1"]
        assert s.told() == [
            ("api.test", "GET", "/v1/x", "allowed"),
            ("api.test", "POST", "/v1/x", "refused"),
            ("api.test", "GET", "/v2", "refused"),
        ]


async def test_requests_follow_one_another_in_one_tunnel_each_judged_anew() -> None:
    async with site(rule("api.test", READS)) as s:
        reader, writer = await s.open("api.test")
        for path in ("/v1/a", "/v1/b"):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: api.test\r\n\r\n".encode())
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"GET /v1/../admin HTTP/1.1\r\nHost: api.test\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 403 ")
        writer.close()


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "not an acceptable request"),
        (b"\x00\x01\x02\x03", "nothing that can be looked into"),
        (b"\x16\x03\x01\x00\x02hi", "cannot be looked into"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "not HTTP/1.x"),
    ],
)
async def test_what_cannot_be_looked_into_is_refused_and_reaches_nobody(first: bytes, why: str) -> None:
    async with site(rule("api.test", READS)) as s:
        reader, writer = await s.open("api.test", tls=False)
        writer.write(first)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert s.heads == []
        (decision,) = s.log.all()
        assert decision.verdict == "refused" and why in decision.reason


async def test_a_client_that_waits_to_be_spoken_to_is_refused_in_time() -> None:
    async with site(rule("api.test", READS)) as s:
        s.proxy._limits = Limits(head_seconds=0.05)
        reader, writer = await s.open("api.test", tls=False)
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
        assert s.log.all()[0].verdict == "refused"


async def test_another_name_in_the_greeting_or_the_host_header_is_refused() -> None:
    async with site(rule("api.test", READS)) as s:
        with pytest.raises(ssl.SSLError):
            await s.open("api.test", sni="other.test")
        for host in ("other.test", "api.test:8443", "api.test@other.test", "api.test\r\nHost: other.test"):
            answer = await s.ask("api.test", f"GET /v1/x HTTP/1.1\r\nHost: {host}")
            assert answer.startswith("HTTP/1.1 400 "), host
        assert (await s.ask("api.test", "GET https://other.test/v1/x HTTP/1.1\r\nHost: api.test")).startswith(
            "HTTP/1.1 400 "
        )
        assert (await s.ask("api.test", "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test")).startswith("HTTP/1.1 400 ")
        assert s.heads == []


async def test_plain_http_to_a_bounded_host_is_judged_alike_by_proxy_and_by_tunnel() -> None:
    async with site(rule("api.test", READS)) as s:
        assert (await s.ask("api.test", "GET /v1/x HTTP/1.1\r\nHost: api.test", port=80, tls=False)).endswith("ok")
        refused = await s.ask("api.test", "GET /x HTTP/1.1\r\nHost: api.test", port=80, tls=False)
        assert refused.startswith("HTTP/1.1 403 ")
        for target, status in (("/v1/y", "200"), ("/y", "403")):
            reader, writer = await asyncio.open_connection("127.0.0.1", s.proxy_port)
            writer.write(
                f"GET http://api.test{target} HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n".encode()
            )
            assert (await reader.read()).decode().split()[1] == status
            writer.close()


async def test_a_deny_entry_beats_a_host_that_is_open_to_everything() -> None:
    async with site(rule("api.test"), rule("*.test", Bound(("ANY",), ("/admin/**",)), denies=True)) as s:
        assert (await s.ask("api.test", "DELETE /x HTTP/1.1\r\nHost: api.test")).endswith("ok")
        assert (await s.ask("api.test", "GET /%61dmin/x HTTP/1.1\r\nHost: api.test")).startswith("HTTP/1.1 403 ")


async def test_a_host_open_to_everything_is_tunnelled_untouched() -> None:
    async with site(rule("api.test")) as s:
        reader, writer = await s.open("api.test", tls=False)
        context = ssl.create_default_context(cadata=s.origin.pem)
        await writer.start_tls(context, server_hostname="api.test")
        writer.write(b"GET /any HTTP/1.1\r\nHost: api.test\r\n\r\n")
        assert (await reader.read()).endswith(b"ok")
        writer.close()
        assert s.told() == [("api.test", None, None, "allowed")]


async def test_a_server_whose_certificate_is_not_trusted_is_not_spoken_to() -> None:
    async with site(rule("api.test", READS)) as s:
        s.proxy._upstream = ssl.create_default_context(cadata=Authority.create("stranger").pem)
        answer = await s.ask("api.test", "GET /v1/x HTTP/1.1\r\nHost: api.test")
        assert answer.startswith("HTTP/1.1 502 ") and "certificate is not trusted" in answer
        assert s.heads == []


async def test_websocket_goes_on_after_an_admitted_upgrade_only() -> None:
    async with site(rule("api.test", READS)) as s:
        upgrade = "Host: api.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        reader, writer = await s.open("api.test")
        writer.write(f"GET /v1/ws HTTP/1.1\r\n{upgrade}".encode())
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"ping")
        assert await asyncio.wait_for(reader.readexactly(9), 10) == b"helloPING"
        writer.close()
        reader, writer = await s.open("api.test")
        writer.write(f"GET /ws HTTP/1.1\r\n{upgrade}".encode())
        assert (await reader.read()).startswith(b"HTTP/1.1 403 ")
        writer.close()


async def test_a_credential_is_put_in_place_whatever_the_guest_sends_and_never_without_encryption() -> None:
    async with site(rule("key.test")) as s:
        assert (await s.ask("key.test", "GET /x HTTP/1.1\r\nHost: key.test\r\nX-Key: sentinel")).endswith("ok")
        assert "X-Key: real" in s.heads[0] and "sentinel" not in s.heads[0]
        answer = await s.ask("key.test", "GET /x HTTP/1.1\r\nHost: key.test", port=80, tls=False)
        assert answer.startswith("HTTP/1.1 403 ") and "not sent without encryption" in answer
        assert len(s.heads) == 1


async def test_switching_the_phase_cuts_what_is_being_looked_into() -> None:
    async with site(rule("api.test", READS)) as s:
        reader, writer = await s.open("api.test")
        writer.write(b"GET /v1/a HTTP/1.1\r\nHost: api.test\r\n\r\n")
        await reader.readuntil(b"ok")
        await s.proxy.switch(Phase.CLOSED)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
