"""Icons end to end: asked of a real https server, decoded in the other process, painted or left a monogram."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QColor
from urllib3.util.connection import create_connection

from kitstudio.registry.icons import Icons
from kitstudio.registry.transport import Network
from kitstudio.registry.web import Limits
from kitstudio.services.app import Options, Studio
from kitstudio.ui.icon_decoder import IconDecoder
from kitstudio.ui.kit_icons import KitIcons
from tests.registry.pictures import png, svg
from tests.registry.servers import Answer, Authority, Double, Request, run_double
from tests.ui.pictures import encoded, two_frames

Run = Callable[[Coroutine[Any, Any, Any]], Any]
Act = Callable[[KitIcons], Coroutine[Any, Any, None]]
PNG = {"Content-Type": "image/png", "Set-Cookie": "spy=1"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def server(authority: Authority) -> Iterator[Double]:
    with run_double(authority.server()) as made:
        yield made


def here(address: tuple[str, int], *arguments: Any, **options: Any) -> socket.socket:
    """This machine in the place of the public address the test pretends to have."""
    return create_connection(("127.0.0.1", address[1]), *arguments, **options)


@pytest.fixture
def with_icons(run: Run, tmp_path: Path, backend: object, authority: Authority) -> Callable[[Act], None]:
    def go(act: Act) -> None:
        async def work() -> None:
            studio = await Studio.open(Options(home=tmp_path), backend)  # type: ignore[arg-type]
            studio._icons = Icons(
                studio.home.icons,
                network=Network(ca_files=(authority.path,)),
                resolve=lambda host, port: ("93.184.215.14",),
                connect=here,
            )
            decoder = IconDecoder()
            icons = KitIcons(studio, decoder=decoder)
            try:
                await act(icons)
            finally:
                decoder.close()
                icons.deleteLater()
                await studio.close()

        run(work())

    return go


async def settled(icons: KitIcons, url: str, size: int = 40) -> QColor | None:
    """Paint until the icon is there or is known not to come: the colour of its middle."""
    async with asyncio.timeout(30):
        while True:
            found = icons.icon(url, True, size)
            if found is not None:
                return found.toImage().pixelColor(found.width() // 2, found.height() // 2)
            if icons.problem(url) is not None:
                return None
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("data", "colour"),
    [
        (encoded("png"), "#3366cc"),
        (encoded("jpeg"), "#3366cc"),
        (encoded("webp"), "#3366cc"),
        (two_frames(), "#ff0000"),
        (svg('<rect width="24" height="24" fill="#3366cc"/>'), "#3366cc"),
    ],
    ids=["png", "jpeg", "webp", "gif", "svg"],
)
def test_an_icon_of_every_format_is_painted(
    with_icons: Callable[[Act], None], server: Double, data: bytes, colour: str
) -> None:
    server.answer = lambda request: Answer(200, data, PNG)

    async def act(icons: KitIcons) -> None:
        told: list[str] = []
        icons.arrived.connect(told.append)
        url = f"https://{server.host}/icon"
        found = await settled(icons, url)
        wanted = QColor(colour)
        assert found is not None
        near = zip(found.getRgb()[:3], wanted.getRgb()[:3], strict=True)  # type: ignore[arg-type]
        assert all(abs(a - b) < 8 for a, b in near)
        assert told == [url]
        assert len(server.requests) == 1
        for request in server.requests:
            assert not {"Cookie", "Referer", "Authorization"} & set(request.headers)

    with_icons(act)


def bomb() -> bytes:
    """A PNG with a modest head whose data unpacks to far more than it states."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 2000, 2000, 16, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(400_000_000), 9))


@pytest.mark.parametrize(
    "answer",
    [
        Answer(404),
        Answer(302, b"", {"Location": "http://plain.example/x.png"}),
        Answer(200, bytes(20 * 1024 * 1024), PNG),
        Answer(200, svg("<script>alert(1)</script>"), {"Content-Type": "image/svg+xml"}),
        Answer(200, svg('<image href="https://evil.example/x.png"/>'), {"Content-Type": "image/svg+xml"}),
        Answer(200, bomb(), PNG),
        Answer(200, png(60_000, 60_000), PNG),
        Answer(200, encoded("png"), {"Content-Type": "text/html"}),
        Answer(200, encoded("png")[:60], PNG),
        Answer(200, b"<html></html>", PNG),
    ],
    ids=["404", "to-http", "20MB", "script", "external", "bomb", "pixels", "type", "damaged", "no-picture"],
)
def test_an_icon_that_may_not_be_shown_stays_a_monogram(
    with_icons: Callable[[Act], None], server: Double, answer: Answer
) -> None:
    painted = threading.Event()
    waited: list[bool] = []

    def answer_once_painted(request: Request) -> Answer:
        waited.append(painted.wait(30))
        return answer

    server.answer = answer_once_painted

    async def act(icons: KitIcons) -> None:
        url = f"https://{server.host}/icon"
        assert icons.icon(url, True, 40) is None
        painted.set()
        assert await settled(icons, url) is None
        assert icons.icon(url, True, 40) is None
        assert len(server.requests) == 1, "it is not asked for again at every painting"
        assert waited == [True], "painting waits for no answer"

    with_icons(act)


def test_a_slow_host_blocks_nothing(
    with_icons: Callable[[Act], None], server: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("kitstudio.registry.icons.LIMITS", Limits(size=512 * 1024, seconds=0.3, redirects=3))

    def answer(request: Any) -> Answer:
        gate.wait(30)
        return Answer(200, encoded("png"), PNG)

    server.answer = answer

    async def act(icons: KitIcons) -> None:
        assert await settled(icons, f"https://{server.host}/icon") is None
        gate.set()

    with_icons(act)


def test_nothing_leaves_for_a_source_that_is_not_trusted(with_icons: Callable[[Act], None], server: Double) -> None:
    server.answer = lambda request: Answer(200, encoded("png"), PNG)

    async def act(icons: KitIcons) -> None:
        url = f"https://{server.host}/icon"
        assert icons.icon(url, False, 40) is None
        assert icons._wanted == {} and server.requests == []
        await settled(icons, url)
        assert icons.icon(url, True, 40) is not None
        assert icons.icon(url, False, 40) is None, "what was fetched while it was trusted is not shown either"

    with_icons(act)


def test_only_the_newest_of_many_wanted_icons_wait(with_icons: Callable[[Act], None], server: Double) -> None:
    server.answer = lambda request: Answer(404)

    async def act(icons: KitIcons) -> None:
        for number in range(5000):
            icons.icon(f"https://{server.host}/{number}", True, 40)
        assert len(icons._wanted) <= 256
        last = f"https://{server.host}/4999"
        assert await settled(icons, last) is None

    with_icons(act)


def test_pixmaps_have_a_bound(with_icons: Callable[[Act], None], server: Double, monkeypatch: Any) -> None:
    monkeypatch.setattr("kitstudio.ui.kit_icons.KEPT", 3)
    server.answer = lambda request: Answer(200, encoded("png"), PNG)

    async def act(icons: KitIcons) -> None:
        for number in range(5):
            assert await settled(icons, f"https://{server.host}/{number}") is not None
        assert len(icons._kept) == 3
        assert icons.icon(f"https://{server.host}/4", True, 40) is not None

    with_icons(act)
