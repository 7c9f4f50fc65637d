"""Decoding icons elsewhere: what comes back, and that whatever goes wrong there costs one icon."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kitstudio.registry.icon_format import IconRefused
from kitstudio.ui.icon_decoder import FORMATS, MAX_BYTES, IconDecoder
from tests.registry.pictures import svg
from tests.ui.pictures import encoded, two_frames


@pytest.fixture(scope="module")
def decoder() -> Iterator[IconDecoder]:
    made = IconDecoder()
    yield made
    made.close()


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
def test_pictures_come_back_as_pixels_in_their_proportions(decoder: IconDecoder, kind: str) -> None:
    found = decoder.decode(encoded(kind, 64, 32), kind, 40)
    assert (found.width, found.height, len(found.data)) == (40, 20, 40 * 20 * 4)
    red, green, blue, opaque = found.data[:4]
    assert abs(red - 0x33) < 8 and abs(green - 0x66) < 8 and abs(blue - 0xCC) < 8 and opaque == 255


def test_the_largest_picture_that_is_let_through_is_decoded(decoder: IconDecoder) -> None:
    assert decoder.decode(encoded("png", 2048, 2048), "png", 80).width == 80


def test_a_small_picture_is_not_blown_up(decoder: IconDecoder) -> None:
    assert decoder.decode(encoded("png", 8, 8), "png", 80).width == 8


def test_of_a_moving_picture_the_first_frame_is_shown(decoder: IconDecoder) -> None:
    assert decoder.decode(two_frames(), "gif", 16).data == b"\xff\0\0\xff"


def test_a_drawing_is_drawn_at_the_size_that_is_shown(decoder: IconDecoder) -> None:
    drawing = svg('<rect width="24" height="24" fill="#00f"/><text y="20" font-size="20">Kit</text>')
    found = decoder.decode(drawing, "svg", 96)
    assert (found.width, found.height) == (96, 96)
    assert found.data[:4] == b"\0\0\xff\xff"


def test_what_its_head_does_not_say_is_not_guessed(decoder: IconDecoder) -> None:
    with pytest.raises(IconRefused, match="damaged"):
        decoder.decode(encoded("png"), "jpeg", 16)


def test_one_process_serves_many_icons(decoder: IconDecoder) -> None:
    decoder.decode(encoded("png"), "png", 16)
    first = decoder.pid
    decoder.decode(encoded("jpeg"), "jpeg", 16)
    assert decoder.pid == first


@pytest.mark.parametrize(
    ("data", "kind", "side"),
    [
        (b"", "png", 8),
        (b"x" * (MAX_BYTES + 1), "png", 8),
        (b"x", "bmp", 8),
        (b"x", "png", 0),
        (b"x", "png", 5000),
    ],
)
def test_what_is_outside_the_limits_never_reaches_the_process(data: bytes, kind: str, side: int) -> None:
    fresh = IconDecoder()
    with pytest.raises(IconRefused):
        fresh.decode(data, kind, side)
    assert fresh.pid == 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(FORMATS), at=st.integers(0, 200), noise=st.binary(min_size=1, max_size=40))
def test_any_damage_is_refused_or_decoded_within_the_size(
    decoder: IconDecoder, kind: str, at: int, noise: bytes
) -> None:
    whole = two_frames() if kind == "gif" else svg() if kind == "svg" else encoded(kind)
    data = whole[:at] + noise + whole[at + len(noise) :]
    try:
        found = decoder.decode(data, kind, 24)
    except IconRefused:
        return
    assert 0 < found.width <= 24 and 0 < found.height <= 24


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_process_can_open_nothing_more(decoder: IconDecoder) -> None:
    decoder.decode(encoded("png"), "png", 16)
    status = Path(f"/proc/{decoder.pid}/status").read_text()
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status
    limits = Path(f"/proc/{decoder.pid}/limits").read_text()
    rows = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()[1:]}
    assert rows["Max file size"] == "0"
    assert rows["Max address space"] != "unlimited" and rows["Max cpu time"] != "unlimited"
    environment = Path(f"/proc/{decoder.pid}/environ").read_bytes()
    assert b"HOME=" not in environment and b"TOKEN" not in environment


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the filter is Linux's")
@pytest.mark.parametrize(
    "attempt",
    [
        "open('/etc/passwd')",
        "open('/tmp/left-behind', 'w')",
        "__import__('socket').socket()",
        "__import__('os').execv('/bin/true', ['true'])",
        "__import__('os').rename('/tmp/a', '/tmp/b')",
        "__import__('os').kill(1, 0)",
    ],
)
def test_code_that_came_to_run_in_confinement_reaches_nothing(attempt: str) -> None:
    program = (
        "import os, socket\nfrom kitstudio.ui.confinement import confine\nconfine(1 << 28)\n"
        f"try:\n    {attempt}\nexcept PermissionError:\n    os._exit(7)\nos._exit(1)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 7


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("import time; time.sleep(60)", "too long"),
        ("import sys; sys.exit(3)", "could not be decoded"),
        ("import sys; sys.stdin.buffer.read(4); sys.stdout.buffer.write(b'\\xff' * 9); sys.stdout.flush(); "
         "sys.stdin.read()", "could not be decoded"),
        ("import os; os.kill(os.getpid(), 11)", "could not be decoded"),
    ],
)  # fmt: skip
def test_a_process_that_misbehaves_is_ended(program: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kitstudio.ui.icon_decoder.STARTING", 0.5)
    bad = IconDecoder(seconds=0.5, command=(sys.executable, "-c", program))
    with pytest.raises(IconRefused, match=says):
        bad.decode(encoded("png"), "png", 16)
    assert bad.pid == 0


def test_after_a_process_was_ended_the_next_icon_gets_another() -> None:
    made = IconDecoder()
    made.decode(encoded("png"), "png", 16)
    first = made.pid
    os.kill(first, 9)
    found = 0
    for _ in range(2):
        try:
            found = made.decode(encoded("png"), "png", 16).width
        except IconRefused:
            continue
    assert found == 16 and made.pid != first
    made.close()
    assert made.pid == 0
