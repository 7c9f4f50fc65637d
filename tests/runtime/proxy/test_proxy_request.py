"""Request heads: read strictly or not at all."""

import contextlib

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.runtime.proxy.request import Unacceptable, destination, path_only

_WORDS = [
    "http://",
    "HTTP://",
    "http:/",
    "[",
    "]",
    "::1",
    "a.test",
    "b.test",
    ":",
    "@",
    "/",
    "//",
    "?",
    "#",
    "\\",
    "%2f",
    "80",
    "0",
    "99999",
    "-1",
    "+8",
    ".",
    "..",
    "x",
    "é",
    ";",
]
PIECES = st.lists(st.sampled_from([*_WORDS, " ", "\x7f"]), max_size=8).map("".join)


def request(method: bytes, target: str, host: str = "a.test") -> h11.Request | None:
    with contextlib.suppress(h11.LocalProtocolError):
        return h11.Request(method=method, target=target.encode(), headers=[(b"Host", host.encode())])
    return None


@given(st.sampled_from([b"GET", b"CONNECT", b"POST"]), PIECES, st.sampled_from(["a.test", "b.test", "a.test:80", ""]))
def test_any_target_is_read_wholly_or_refused(method: bytes, target: str, host: str) -> None:
    made = request(method, target, host)
    if made is None:
        return
    assert len(path_only(made.target)) <= 512
    try:
        name, port, path = destination(made)
    except Unacceptable:
        return
    assert 0 < port < 65536
    assert not set("@/?#\\ ") & set(name)
    assert name.lower().removesuffix(".") == host.partition(":")[0].lower()
    assert method == b"CONNECT" or (path.startswith(b"/") and b"#" not in path)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("http://a.test", ("a.test", 80, b"/")),
        ("http://a.test?x=1", ("a.test", 80, b"/?x=1")),
        ("HTTP://a.test/p//q/../r?x#f", ("a.test", 80, b"/p//q/../r?x")),
    ],
)
def test_the_path_is_passed_on_as_written(target: str, expected: tuple[str, int, bytes]) -> None:
    made = request(b"GET", target)
    assert made is not None and destination(made) == expected


def test_an_unclosed_bracket_is_refused_not_a_fault() -> None:
    made = request(b"GET", "http://[::1/")
    assert made is not None
    with pytest.raises(Unacceptable):
        destination(made)


def test_a_logged_path_has_no_query() -> None:
    assert path_only(b"http://a.test/p?token=1") == "/p"
    assert path_only(b"/p?token=1") == "/p"
