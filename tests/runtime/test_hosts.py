"""Host patterns and addresses of the egress policy."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.runtime.hosts import read_address, read_host, read_pattern, why_not_public

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=5).map(".".join).map(lambda name: f"{name}.test")


def matches(pattern: str, host: str, port: int = 443) -> bool:
    return read_pattern(pattern).matches(read_host(host), port)


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("x.test", "x.test", True),
        ("x.test", "X.TEST.", True),
        ("X.Test.", "x.test", True),
        ("x.test", "a.x.test", False),
        ("*.x.test", "a.x.test", True),
        ("*.x.test", "x.test", False),
        ("*.x.test", "a.b.x.test", False),
        ("**.x.test", "a.b.x.test", True),
        ("**.x.test", "x.test", False),
        ("a.*.test", "a.b.test", True),
        ("a.**.test", "a.b.c.test", True),
        ("a.**.test", "a.test", False),
        ("api-*.x.test", "api-7.x.test", True),
        ("api-*.x.test", "api-7.b.x.test", False),
        ("*", "a.b.c", True),
        ("**", "93.184.216.34", True),
        ("*.example", "93.184.216.34", False),
        ("x.test", "x.test.evil.example", False),
        ("bücher.example", "xn--bcher-kva.example", True),
        ("[2001:db8::1]:443", "2001:DB8:0::1", True),
        ("1.2.3.4", "::ffff:1.2.3.4", True),
    ],
)
def test_a_pattern_names_a_host_row_52(pattern: str, host: str, expected: bool) -> None:
    assert matches(pattern, host) is expected


def test_a_port_is_exact_and_no_port_is_any() -> None:
    assert matches("x.test", "x.test", 9999)
    assert matches("x.test:443", "x.test", 443)
    assert not matches("x.test:443", "x.test", 9999)
    assert matches("*:443", "x.test", 443)
    assert not matches("*:443", "x.test", 80)


@pytest.mark.parametrize(
    "host",
    ["127.1", "0x7f000001", "2130706433", "0177.0.0.1", "a.0x1", "fe80::1%eth0", "a..b", "", ".", "a b", "a/b", "a@b",
     "-a.test", "x" * 64 + ".test", "1.2.3.4.5"],
)  # fmt: skip
def test_what_a_resolver_might_reinterpret_is_no_host(host: str) -> None:
    with pytest.raises(ValueError, match="host"):
        read_host(host)


@pytest.mark.parametrize(
    "text", ["", "https://x.test", "x.test:0", "x.test:70000", "x.test:", "a***.test", "[::1", "*.216.34"]
)
def test_a_malformed_entry_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        read_pattern(text)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "224.0.0.1",
     "239.1.1.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1",
     "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "168.63.129.16", "fec0::1"],
)  # fmt: skip
def test_an_address_off_the_public_internet_is_named(address: str) -> None:
    assert why_not_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::0101:0101"])
def test_a_public_address_passes(address: str) -> None:
    assert not why_not_public(ipaddress.ip_address(address))


@given(NAME, st.integers(1, 65535))
def test_a_name_matches_itself_and_every_wildcard_row_52(name: str, port: int) -> None:
    assert matches(name, name.upper() + ".", port)
    assert matches("**", name, port)
    assert matches(f"*.{name}", f"a.{name}", port)
    assert not matches(f"*.{name}", name, port)
    assert not matches(f"*.{name}", f"a.b.{name}", port)
    assert matches(f"**.{name}", f"a.b.{name}", port)


@given(NAME, NAME)
def test_a_literal_entry_matches_no_other_name(entry: str, other: str) -> None:
    assert matches(entry, other) == (entry == other)


@given(st.ip_addresses())
def test_an_address_reads_back(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    text = str(address)
    if "%" not in text:
        assert read_address(text) is not None
