"""The egress proxy against honest and hostile clients. Streams are real loopback sockets; names are injected."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kitstudio.runtime.hosts import Address, read_pattern
from kitstudio.runtime.policy import EgressPolicy, Phase, Rule
from kitstudio.runtime.proxy.log import DecisionLog, read_decisions
from kitstudio.runtime.proxy.server import Limits, Proxy

PUBLIC = "93.184.216.34"


def rules(*allow: str, deny: tuple[str, ...] = (), phase: Phase = Phase.RUNTIME) -> EgressPolicy:
    entries = [Rule(phase, False, read_pattern(text), "r/kit:1", f"allow[{i}]", i + 10) for i, text in enumerate(allow)]
    entries += [Rule(phase, True, read_pattern(text), "r/kit:1", f"deny[{i}]", i + 20) for i, text in enumerate(deny)]
    return EgressPolicy(tuple(entries))


class World:
    """A proxy, the upstream server every public address leads to, and what happened."""

    def __init__(self, policy: EgressPolicy, names: Mapping[str, str], limits: Limits, log: DecisionLog) -> None:
        self.log = log
        self.names = names
        self.looked_up: list[str] = []
        self.dialled: list[str] = []
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.upstream_port = 0
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\nhi"
        self.proxy = Proxy(policy, log, resolver=self.resolve, connector=self.connect, limits=limits)
        self.proxy_port = 0

    async def resolve(self, name: str) -> tuple[Address, ...]:
        self.looked_up.append(name)
        if name not in self.names:
            raise OSError("no such name")
        return tuple(ipaddress.ip_address(part) for part in self.names[name].split(","))

    async def connect(self, address: Address, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.dialled.append(f"{address}:{port}")
        return await asyncio.open_connection("127.0.0.1", self.upstream_port)

    async def upstream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if b"chunked" in head.lower():
            body = await reader.readuntil(b"0\r\n\r\n")
        elif b"content-length: 5" in head.lower():
            body = await reader.readexactly(5)
        else:
            body = b""
        self.bodies.append(body)
        if b"/echo" in head:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        else:
            writer.write(self.answer)
        await writer.drain()
        writer.close()

    async def ask(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy_port)
        writer.write(request)
        writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return answer


@asynccontextmanager
async def world(
    policy: EgressPolicy,
    names: Mapping[str, str] | None = None,
    *,
    limits: Limits | None = None,
    phase: Phase = Phase.RUNTIME,
    log: DecisionLog | None = None,
) -> AsyncIterator[World]:
    made = World(policy, names or {"a.test": PUBLIC}, limits or Limits(), log or DecisionLog())
    await made.proxy.switch(phase)
    upstream = await asyncio.start_server(made.upstream, "127.0.0.1", 0)
    proxy = await asyncio.start_server(made.proxy.serve, "127.0.0.1", 0)
    made.upstream_port = upstream.sockets[0].getsockname()[1]
    made.proxy_port = proxy.sockets[0].getsockname()[1]
    async with upstream, proxy:
        yield made
        await made.proxy.switch(Phase.CLOSED)


async def test_connect_tunnels_bytes_both_ways() -> None:
    async with world(rules("a.test")) as w:
        reader, writer = await asyncio.open_connection("127.0.0.1", w.proxy_port)
        writer.write(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\nearly /echo\r\n\r\n")
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        payload = bytes(range(256)) * 4096
        writer.write(payload)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 10) == payload
        writer.close()
        assert w.dialled == [f"{PUBLIC}:443"]
        (row,) = w.log.all()
        assert (row.verdict, row.host, row.port, row.kit, row.line, row.method) == (
            "allowed", "a.test", 443, "r/kit:1", 10, None,
        )  # fmt: skip


async def test_plain_requests_are_reframed_without_hop_by_hop_headers() -> None:
    async with world(rules("a.test:80")) as w:
        answer = await w.ask(
            b"POST http://a.test/p?q=1#f HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nProxy-Connection: x\r\n"
            b"Connection: X-Secret\r\nX-Secret: 1\r\nX-Kept: 2\r\n\r\nhello"
        )
        assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"hi")
        assert b"X-Hop" not in answer
        assert w.heads[0].startswith(b"POST /p?q=1 HTTP/1.1\r\n")
        assert b"X-Kept: 2" in w.heads[0]
        assert b"X-Secret" not in w.heads[0] and b"Proxy-Connection" not in w.heads[0]
        assert w.bodies == [b"hello"]
        row = w.log.all()[0]
        assert (row.method, row.url_path) == ("POST", "/p")


async def test_chunked_bodies_pass_reframed() -> None:
    async with world(rules("a.test")) as w:
        answer = await w.ask(
            b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        )
        assert b"200" in answer[:20]
        assert w.bodies == [b"5\r\nhello\r\n0\r\n\r\n"]


@pytest.mark.parametrize(
    ("method", "answer", "body"),
    [
        ("GET", b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (
            "GET",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            b"3\r\nabc\r\n0\r\n\r\n",
        ),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", b""),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b""),
        ("GET", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz", b"z"),
    ],
)
async def test_every_kind_of_answer_passes(method: str, answer: bytes, body: bytes) -> None:
    async with world(rules("a.test")) as w:
        w.answer = answer
        got = await w.ask(f"{method} http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n".encode())
        if answer.startswith(b"HTTP/1.0"):
            assert b"until the end" in got.replace(b"\r\n", b"")
        else:
            assert got.endswith(b"\r\n\r\n" + body)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70000 + b"\r\n\r\n",
        b"",
    ],
)
async def test_an_answer_that_is_none_is_a_502(answer: bytes) -> None:
    async with world(rules("a.test")) as w:
        w.answer = answer
        got = await w.ask(b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 502")


async def test_a_client_that_waits_for_100_continue_gets_the_servers_own() -> None:
    async with world(rules("a.test")) as w:
        w.answer = b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", w.proxy_port)
        writer.write(
            b"PUT http://a.test/ HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n"
        )
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)).startswith(b"HTTP/1.1 417")
        assert b"Expect: 100-continue" in w.heads[0]
        writer.close()


async def test_two_requests_on_one_stream_are_judged_each() -> None:
    async with world(rules("a.test"), {"a.test": PUBLIC, "b.test": PUBLIC}) as w:
        answer = await w.ask(
            b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\nGET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n"
        )
        assert answer.count(b"HTTP/1.1 200") == 1
        assert answer.count(b"HTTP/1.1 403") == 1
        assert [d.verdict for d in w.log.all()] == ["allowed", "refused"]


async def test_a_refusal_names_the_missing_entry_and_resolves_nothing() -> None:
    async with world(rules("a.test")) as w:
        answer = await w.ask(b"CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"no entry names b.test:443" in answer
        assert w.looked_up == [] and w.dialled == []


async def test_two_names_on_one_address_are_two_hosts_row_58() -> None:
    async with world(rules("a.test"), {"a.test": PUBLIC, "b.test": PUBLIC}) as w:
        for name, status in (("a.test", b"200"), ("b.test", b"403")):
            answer = await w.ask(f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}:443\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 " + status)
        assert w.dialled == [f"{PUBLIC}:443"] and w.looked_up == ["a.test"]


async def test_a_denied_host_names_the_line() -> None:
    async with world(rules("**", deny=("a.test",))) as w:
        answer = await w.ask(b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"denied by a.test (r/kit:1, deny[0], line 20)" in answer
        assert w.log.all()[0].line == 20


@pytest.mark.parametrize(
    "authority",
    ["127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]:80", "169.254.169.254:80", "10.0.0.1:80",
     "localhost:80", "LOCALHOST.:80", "in.test:443", "mixed.test:443", "mapped.test:443", "[64:ff9b::a00:1]:80"],
)  # fmt: skip
async def test_private_targets_are_refused_even_under_a_wildcard(authority: str) -> None:
    names = {"in.test": "10.0.0.9", "mixed.test": f"{PUBLIC},127.0.0.1", "mapped.test": "::ffff:10.0.0.1"}
    async with world(rules("**"), names) as w:
        answer = await w.ask(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403"), answer
        assert w.dialled == []
        assert w.log.all()[0].verdict == "refused"


@pytest.mark.parametrize("authority", ["A.Test:443", "a.test.:443", "A.TEST.:443"])
async def test_case_and_trailing_dot_do_not_count(authority: str) -> None:
    async with world(rules("a.test")) as w:
        answer = await w.ask(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert b"200" in answer[:20]
        assert w.looked_up == ["a.test"]


async def test_case_and_trailing_dot_do_not_dodge_a_deny() -> None:
    async with world(rules("**", deny=("a.test",))) as w:
        assert (await w.ask(b"CONNECT A.TEST.:443 HTTP/1.1\r\nHost: a.test\r\n\r\n")).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET http://a.test@b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
        b"CONNECT u:p@a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test:8080\r\n\r\n",
        b"CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
        b"CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"CONNECT a.test:99999 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"CONNECT a.test:+80 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"CONNECT [::1 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http://a.test\\@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http:///x HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: xchunked\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost : a.test\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n folded: 1\r\nX: \x00\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n",
        b"CONNECT a.test:443 HTTP/2.0\r\nHost: a.test\r\n\r\n",
    ],
)
async def test_what_two_parsers_might_read_differently_reaches_nobody(request_bytes: bytes) -> None:
    async with world(rules("a.test", "b.test"), {"a.test": PUBLIC, "b.test": PUBLIC}) as w:
        answer = await w.ask(request_bytes)
        assert answer[9:12] in (b"400", b"501", b"505"), answer
        assert w.heads == []


async def test_huge_headers_are_refused_without_reading_them_all() -> None:
    async with world(rules("a.test"), limits=Limits(head_bytes=4096)) as w:
        answer = await w.ask(b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: " + b"a" * 8192 + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 431")
        assert w.heads == []


async def test_a_client_that_never_finishes_its_head_is_dropped() -> None:
    async with world(rules("a.test"), limits=Limits(head_seconds=0.05)) as w:
        reader, writer = await asyncio.open_connection("127.0.0.1", w.proxy_port)
        writer.write(b"GET http://a.test/ HTTP/1.1\r\nX: ")
        assert (await asyncio.wait_for(reader.read(), 5)).startswith(b"HTTP/1.1 408")
        writer.close()
        assert w.proxy.connections == 0


async def test_an_idle_tunnel_ends() -> None:
    async with world(rules("a.test"), limits=Limits(idle_seconds=0.05)) as w:
        reader, writer = await asyncio.open_connection("127.0.0.1", w.proxy_port)
        writer.write(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


async def test_too_many_streams_are_refused() -> None:
    async with world(rules("a.test"), limits=Limits(connections=1)) as w:
        _, first = await asyncio.open_connection("127.0.0.1", w.proxy_port)
        while w.proxy.connections == 0:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert (await w.ask(b"CONNECT a.test:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 503")
        first.close()


async def test_a_phase_switch_cuts_open_tunnels() -> None:
    async with world(rules("a.test", phase=Phase.INSTALL), phase=Phase.INSTALL) as w:
        reader, writer = await asyncio.open_connection("127.0.0.1", w.proxy_port)
        writer.write(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await w.proxy.switch(Phase.RUNTIME)
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        answer = await w.ask(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403")


async def test_a_connection_being_made_does_not_outlive_its_phase() -> None:
    async with world(rules("a.test", phase=Phase.INSTALL), phase=Phase.INSTALL) as w:
        asked = asyncio.Event()

        async def never(name: str) -> tuple[Address, ...]:
            asked.set()
            await asyncio.Event().wait()
            return ()

        w.proxy._resolver = never
        reader, writer = await asyncio.open_connection("127.0.0.1", w.proxy_port)
        writer.write(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
        await asked.wait()
        await w.proxy.switch(Phase.RUNTIME)
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        assert w.dialled == []


async def test_the_name_is_resolved_once_and_the_checked_address_connected() -> None:
    answers = iter([PUBLIC, "127.0.0.1"])

    class Rebinding(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            return next(answers)

    async with world(rules("a.test"), Rebinding({"a.test": ""})) as w:
        await w.ask(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
        assert w.looked_up == ["a.test"]
        assert w.dialled == [f"{PUBLIC}:443"]


async def test_an_unresolvable_host_is_a_502_and_recorded_as_allowed_with_a_reason() -> None:
    async with world(rules("gone.test")) as w:
        answer = await w.ask(b"CONNECT gone.test:443 HTTP/1.1\r\nHost: gone.test\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 502")
        (row,) = w.log.all()
        assert row.verdict == "allowed" and "does not resolve" in row.reason


async def test_a_body_that_breaks_framing_never_becomes_a_second_request() -> None:
    async with world(rules("a.test")) as w:
        await w.ask(
            b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"zz\r\nGET /admin HTTP/1.1\r\nHost: a.test\r\n\r\n"
        )
        assert not any(b"/admin" in head for head in w.heads)
        assert not any(b"/admin" in body for body in w.bodies)


async def test_decisions_are_kept_on_disk_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    seen: list[int] = []
    changed: Callable[[], None] = lambda: seen.append(1)  # noqa: E731
    async with world(rules("a.test"), log=DecisionLog(file, changed)) as w:
        await w.ask(b"CONNECT b.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\n")
        assert read_decisions(file) == w.log.all()
    assert seen == [1]
    with file.open("a") as out:
        out.write('{"time": 1, "ho')
    again = DecisionLog(file)
    assert len(again.all()) == 1 and again.refused == 1


async def test_a_path_is_recorded_without_its_query() -> None:
    async with world(rules()) as w:
        await w.ask(b"GET http://a.test/x?token=s3cret HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert "s3cret" not in repr(w.log.all())
