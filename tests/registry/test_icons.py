"""Icons: what is shown, what is refused, and that nothing but a plain request ever leaves."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.util.connection import create_connection

from kitstudio.registry.icon_format import Head, IconFormat, IconRefused, inspect
from kitstudio.registry.icons import Icons
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.session import Clock
from kitstudio.registry.source import Offline
from kitstudio.registry.transport import Network
from kitstudio.registry.web import Limits
from tests.registry.pictures import gif, jpeg, png, svg, webp
from tests.registry.servers import Answer, Authority, Double, Request


@pytest.mark.parametrize(
    ("data", "head"),
    [
        (png(3, 5), Head(IconFormat.PNG, 3, 5)),
        (gif(3, 5), Head(IconFormat.GIF, 3, 5)),
        (jpeg(3, 5), Head(IconFormat.JPEG, 3, 5)),
        (webp(3, 5), Head(IconFormat.WEBP, 3, 5)),
        (webp(3, 5, b"VP8L"), Head(IconFormat.WEBP, 3, 5)),
        (webp(3, 5, b"VP8 "), Head(IconFormat.WEBP, 3, 5)),
        (svg(), Head(IconFormat.SVG, 24, 24)),
        (svg(attributes='viewBox="0 0 24 24" width="100%"'), Head(IconFormat.SVG, 256, 256)),
        (b"\xef\xbb\xbf<?xml version='1.0'?><!-- hi -->" + svg(), Head(IconFormat.SVG, 24, 24)),
    ],
)
def test_format_and_size_are_read_off_the_bytes(data: bytes, head: Head) -> None:
    assert inspect(data) == head


@pytest.mark.parametrize("make", [png, gif, jpeg, webp])
def test_picture_of_too_many_pixels_is_refused_by_its_head(make: Callable[[int, int], bytes]) -> None:
    for width, height in ((60_000, 60_000), (2049, 1), (1, 2049), (0, 4)):
        if width or make is not webp:
            with pytest.raises(IconRefused, match="pixels"):
                inspect(make(width, height))


@pytest.mark.parametrize("data", [b"", b"<html></html>", b"GIF8", b"BM" + bytes(60), png()[:18], jpeg()[:9], b"{}"])
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(IconRefused):
        inspect(data)


@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF1234WEBPVP8 ", b"<svg ", b"<?xml"]),
       st.binary(max_size=80))  # fmt: skip
def test_any_bytes_are_a_picture_or_refused(start: bytes, rest: bytes) -> None:
    with contextlib.suppress(IconRefused):
        inspect(start + rest)


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        '<rect onclick="x()"/>',
        '<image href="https://evil.example/x.png"/>',
        '<use href="https://evil.example/x.svg#a"/>',
        '<use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="other.svg#a"/>',
        '<rect fill="url(https://evil.example/x)"/>',
        "<rect style=\"fill:url( '//evil.example/x')\"/>",
        "<style>@import 'https://evil.example/x.css';</style>",
        "<style>@im<!-- -->port 'x';</style>",
        "<style>rect{fill:u\\72l(x)}</style>",
        "<foreignObject><iframe/></foreignObject>",
        '<animate attributeName="href" to="https://evil.example"/>',
        '<set attributeName="href" to="https://evil.example"/>',
        '<feImage href="https://evil.example/x.png"/>',
        '<g xmlns:h="http://www.w3.org/1999/xhtml"><h:script>x</h:script></g>',
        "<?xml-stylesheet href='https://evil.example/x.css'?>",
        "<g>" * 60 + "</g>" * 60,
        "<path/>" * 6000,
        '<use href="#a"/>' * 20,
    ],
)
def test_svg_that_runs_reaches_out_or_grows_is_refused(inner: str) -> None:
    with pytest.raises(IconRefused):
        inspect(svg(inner))


def test_svg_with_entities_is_refused() -> None:
    bomb = b'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + svg("<text>&b;</text>")
    with pytest.raises(IconRefused, match="document type"):
        inspect(b"<?xml version='1.0'?>" + bomb)


def test_svg_with_inner_references_and_an_editors_notes_is_shown() -> None:
    inner = (
        '<defs><linearGradient id="g"><stop offset="0" style="stop-color:#fff"/></linearGradient></defs>'
        '<metadata><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></metadata>'
        '<style>.a{fill:url(#g)}</style><rect class="a" filter="url(\'#f\')"/><use href="#x"/>'
    )
    assert inspect(svg(inner)).format is IconFormat.SVG


def public(host: str, port: int) -> tuple[str, ...]:
    return ("93.184.215.14",)


def here(address: tuple[str, int], *arguments: Any, **options: Any) -> socket.socket:
    """Connect to this machine instead of the public address a test pretends to have."""
    assert address[0] == "93.184.215.14"
    return create_connection(("127.0.0.1", address[1]), *arguments, **options)


@pytest.fixture
def server(doubles: Callable[..., Double], authority: Authority) -> Double:
    return doubles(authority.server())


@pytest.fixture
def icons(tmp_path: Path, authority: Authority) -> Icons:
    return Icons(tmp_path / "icons", network=Network(ca_files=(authority.path,)), resolve=public, connect=here)


def picture(data: bytes, kind: str = "image/png") -> Callable[[Request], Answer]:
    return lambda request: Answer(200, data, {"Content-Type": kind, "Set-Cookie": "a=b"})


async def test_icon_is_fetched_once_without_cookie_and_referrer_and_kept(server: Double, icons: Icons) -> None:
    hops = {"/a": "/b", "/b": "/c"}
    server.answer = lambda request: (
        Answer(302, b"", {"Location": hops[request.path], "Set-Cookie": "spy=1"})
        if request.path in hops
        else picture(png(8, 8))(request)
    )
    url = f"https://{server.host}/a"
    first, second = await asyncio.gather(icons.get(url), icons.get(url))
    assert first == second
    assert (first.format, first.width, first.data) == (IconFormat.PNG, 8, png(8, 8))
    assert [request.path for request in server.requests] == ["/a", "/b", "/c"]
    for request in server.requests:
        assert not {"Cookie", "Referer", "Authorization"} & set(request.headers)
    assert await Icons(icons.folder, offline=True).get(url) == first


async def test_redirect_to_http_is_not_followed(server: Double, double: Double, icons: Icons) -> None:
    server.answer = lambda request: Answer(302, b"", {"Location": f"http://{double.host}/x.png"})
    with pytest.raises(RegistryError, match="unencrypted"):
        await icons.get(f"https://{server.host}/x")
    assert double.requests == []


@pytest.mark.parametrize(
    "url",
    ["http://img.example/x.png", "file:///etc/passwd", "data:image/png;base64,aaaa", "javascript:1", "", "https://",
     "https://ada:secret@img.example/x", "https://[bad/x", "https://img.example/" + "x" * 3000],
)  # fmt: skip
async def test_address_that_is_none_sends_nothing(icons: Icons, url: str) -> None:
    with pytest.raises(RegistryError):
        await icons.get(url)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.5", "169.254.169.254", "192.168.1.1", "::1", "fe80::1", "::ffff:10.0.0.1", "0.0.0.0"],
)
async def test_address_inside_a_private_network_is_not_asked(
    server: Double, tmp_path: Path, authority: Authority, address: str
) -> None:
    mixed = Icons(
        tmp_path, network=Network(ca_files=(authority.path,)), resolve=lambda host, port: ("93.184.215.14", address)
    )
    with pytest.raises(RegistryError, match="private network"):
        await mixed.get(f"https://{server.host}/x")
    assert server.requests == []


async def test_name_that_changes_its_address_after_it_was_judged_gains_nothing(
    server: Double, tmp_path: Path, authority: Authority
) -> None:
    answers = iter([("93.184.215.14",), ("127.0.0.1",), ("93.184.215.14",)])
    asked: list[str] = []
    connected: list[str] = []

    def resolve(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return next(answers)

    def connect(address: tuple[str, int], *arguments: Any, **options: Any) -> socket.socket:
        connected.append(address[0])
        return here(address, *arguments, **options)

    server.answer = lambda request: Answer(200, png(), {"Content-Type": "image/png", "Connection": "close"})
    network = Network(ca_files=(authority.path,))
    for expected in ("", "private network", ""):
        fresh = Icons(tmp_path / "icons", network=network, resolve=resolve, connect=connect)
        await fresh.clear()
        if expected:
            with pytest.raises(RegistryError, match=expected):
                await fresh.get(f"https://{server.host}/x")
        else:
            await fresh.get(f"https://{server.host}/x")
    assert connected == ["93.184.215.14"] * 2
    assert len(asked) == 3


async def test_the_next_address_of_a_host_is_tried_where_the_first_does_not_answer(
    server: Double, tmp_path: Path, authority: Authority
) -> None:
    tried: list[str] = []

    def connect(address: tuple[str, int], *arguments: Any, **options: Any) -> socket.socket:
        tried.append(address[0])
        if len(tried) == 1:
            raise ConnectionRefusedError
        return create_connection(("127.0.0.1", address[1]), *arguments, **options)

    server.answer = picture(png())
    network = Network(ca_files=(authority.path,))
    icons = Icons(tmp_path, network=network, resolve=lambda host, port: ("93.1.1.1", "93.1.1.2"), connect=connect)
    await icons.get(f"https://{server.host}/x")
    assert tried == ["93.1.1.1", "93.1.1.2"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(404), "no such"),
        (Answer(200, bytes(20 * 1024 * 1024), {"Content-Type": "image/png"}), "larger than"),
        (Answer(200, png(), {"Content-Type": "text/html"}), "no picture"),
        (Answer(200, b"hello", {"Content-Type": "image/png"}), "no PNG"),
        (Answer(200, png(60_000, 60_000), {"Content-Type": "image/png"}), "pixels"),
        (Answer(200, svg("<script/>"), {"Content-Type": "image/svg+xml"}), "script"),
        (Answer(200, png(), {"Content-Encoding": "gzip"}), "compresses"),
        (Answer(200, png(), {"Content-Length": "99999"}, cut=20), "broke|breaks"),
    ],
)
async def test_icon_that_is_none_is_refused_and_not_asked_for_again(
    server: Double, icons: Icons, answer: Answer, says: str
) -> None:
    server.answer = lambda request: answer
    for _ in range(2):
        with pytest.raises(RegistryError, match=says):
            await icons.get(f"https://{server.host}/x")
    assert len(server.requests) == 1
    assert await icons.size() == 0


async def test_redirects_without_end_are_ended(server: Double, icons: Icons) -> None:
    server.answer = lambda request: Answer(302, b"", {"Location": f"{request.path}x"})
    with pytest.raises(RegistryError, match="circles"):
        await icons.get(f"https://{server.host}/x")
    assert len(server.requests) == 4


async def test_slow_host_is_given_up(server: Double, icons: Icons, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kitstudio.registry.icons.LIMITS", Limits(size=1000, seconds=0.3))
    release = threading.Event()

    def stall(request: Request) -> Answer:
        release.wait(20)
        return Answer(404)

    server.answer = stall
    try:
        with pytest.raises(RegistryError, match=r"in time|broke off"):
            await icons.get(f"https://{server.host}/x")
    finally:
        release.set()


async def test_cache_is_bounded_and_can_be_cleared_and_stale_icons_are_asked_for_again(
    server: Double, tmp_path: Path, authority: Authority
) -> None:
    now = [1000.0]
    icons = Icons(
        tmp_path,
        network=Network(ca_files=(authority.path,)),
        resolve=public,
        connect=here,
        most=3000,
        clock=Clock(now=lambda: now[0]),
    )
    server.answer = lambda request: picture(png(int(request.path[1:]), 4))(request)
    for number in range(1, 40):
        await icons.get(f"https://{server.host}/{number}")
    assert 0 < await icons.size() <= 3000
    before = len(server.requests)
    await icons.get(f"https://{server.host}/39")
    assert len(server.requests) == before
    now[0] += 30 * 86400
    await icons.get(f"https://{server.host}/39")
    assert len(server.requests) == before + 1
    await icons.clear()
    assert await icons.size() == 0


async def test_damaged_cache_is_fetched_again_and_offline_asks_nobody(server: Double, icons: Icons) -> None:
    server.answer = picture(png(4, 4))
    url = f"https://{server.host}/x"
    await icons.get(url)
    for path in (icons.folder / "icons").iterdir():
        path.write_bytes(b"damaged")
    assert (await icons.get(url)).data == png(4, 4)
    with pytest.raises(Offline):
        await Icons(icons.folder / "empty", offline=True).get(url)
