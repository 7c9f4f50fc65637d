"""Host names, host patterns and addresses of the egress policy (network-policy@1, parts 2 and 7). Pure functions.

A name matches names; an address matches addresses. ``*`` is one label in any position, ``**`` one or more labels, a
bare ``*`` or ``**`` every host. Case and one trailing dot do not count; a stated port is exact, none is any port.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

LOCAL_NAMES = frozenset({"localhost", "host.docker.internal"})
"""Names that mean the host's own loopback when, and only when, an entry spells them out."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PATTERN_LABEL = re.compile(r"[a-z0-9_*-]{1,63}")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
# Public by the registries, yet served by the cloud's own hypervisor: metadata and platform endpoints.
_PLATFORM = frozenset({ipaddress.ip_address("168.63.129.16")})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class HostPattern:
    """One entry of an allow or deny list, read. ``port`` 0 is any port; ``address`` is set for a literal address."""

    text: str
    labels: tuple[str, ...]
    port: int = 0
    address: Address | None = None

    @property
    def every(self) -> bool:
        """True for a bare ``*`` or ``**``."""
        return self.labels in (("*",), ("**",))

    @property
    def literal(self) -> bool:
        """True when the entry names exactly one host."""
        return self.address is not None or not any("*" in label for label in self.labels)

    def matches(self, host: str | Address, port: int) -> bool:
        """Whether this entry names ``host``, as ``read_host`` returned it, at ``port``."""
        if self.port and self.port != port:
            return False
        if self.every:
            return True
        if not isinstance(host, str):
            return self.address == host
        return self.address is None and _match(self.labels, tuple(host.split(".")))


def read_pattern(text: str) -> HostPattern:
    """Read one list entry; ``ValueError`` says why it names no host."""
    bare, port = _split_port(text.strip())
    bare = bare.strip("[]") if bare.startswith("[") and bare.endswith("]") else bare
    address = read_address(bare)
    if address is not None:
        return HostPattern(text, (), port, address)
    name = _ascii(bare)
    labels = tuple(name.split("."))
    for label in labels:
        if not _PATTERN_LABEL.fullmatch(label) or ("**" in label and label != "**"):
            raise ValueError(f"{text!r} is not a host name, address or pattern")
    if _NUMERIC.fullmatch(labels[-1]):
        raise ValueError(f"{text!r} is neither a whole address nor a name")
    return HostPattern(text, labels, port)


def read_host(text: str) -> str | Address:
    """A requested host as a canonical name or address; ``ValueError`` for anything a resolver might reinterpret.

    Shortened, octal and hexadecimal addresses (``127.1``, ``0x7f000001``) and scoped IPv6 are refused.
    """
    address = read_address(text)
    if address is not None:
        return address
    name = _ascii(text)
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels) or _NUMERIC.fullmatch(labels[-1]):
        raise ValueError("not a host name or address")
    return name


def read_address(text: str) -> Address | None:
    """A literal address, IPv4-mapped IPv6 taken as the IPv4 address it is; None when ``text`` is no address."""
    if "%" in text or "/" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return unmapped(address)


def unmapped(address: Address) -> Address:
    """The IPv4 address inside an IPv4-mapped IPv6 one, else the address itself."""
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return inner or address


def why_not_public(address: Address) -> str:
    """Why a connection to this address leaves the public internet, empty when it does not."""
    address = unmapped(address)
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return why_not_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.is_site_local:
            return "a private address"
    for inner in _embedded(address):
        reason = why_not_public(inner)
        if reason:
            return reason
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local:
        return "a link-local or metadata address"
    if address.is_multicast:
        return "a multicast address"
    if address in _PLATFORM:
        return "a cloud platform address"
    if address.is_unspecified or address.is_reserved:
        return "a reserved address"
    if not address.is_global:
        return "a private address"
    return ""


def _embedded(address: Address) -> tuple[Address, ...]:
    """IPv4 addresses that a translator on the way would really reach."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    found: list[Address] = []
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if address.teredo is not None:
        found.extend(address.teredo)
    return tuple(found)


def _split_port(text: str) -> tuple[str, int]:
    if text.startswith("["):
        bracket, colon, rest = text.partition("]")
        host, port = bracket + colon, rest
        if not port:
            return host, 0
        if not port.startswith(":"):
            raise ValueError(f"{text!r} is not a host name, address or pattern")
        return host, _port(text, port[1:])
    if text.count(":") != 1:
        return text, 0
    host, _, port = text.partition(":")
    return host, _port(text, port)


def _port(text: str, digits: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", digits, re.ASCII) or not 0 < int(digits) < 65536:
        raise ValueError(f"{text!r} has no usable port")
    return int(digits)


def _ascii(text: str) -> str:
    name = text.removesuffix(".").lower()
    if not name or name.isascii():
        if not name:
            raise ValueError("empty host")
        return name
    try:
        return ".".join(
            label if label.isascii() else label.encode("idna").decode("ascii").lower() for label in name.split(".")
        )
    except UnicodeError as error:
        raise ValueError("not a host name") from error


def _match(pattern: tuple[str, ...], labels: tuple[str, ...]) -> bool:
    """Label by label; a table, not recursion, so that no pattern costs more than pattern × labels."""
    reachable = [True] + [False] * len(labels)
    for wanted in pattern:
        following = [False] * (len(labels) + 1)
        for index, label in enumerate(labels):
            if wanted == "**":
                following[index + 1] = reachable[index] or following[index]
            else:
                following[index + 1] = reachable[index] and _match_label(wanted, label)
        reachable = following
    return reachable[-1]


def _match_label(wanted: str, label: str) -> bool:
    if "*" not in wanted:
        return wanted == label
    head, *middle, tail = wanted.split("*")
    if len(label) < len(head) + len(tail) or not label.startswith(head) or not label.endswith(tail):
        return False
    rest = label[len(head) : len(label) - len(tail)]
    for part in middle:
        at = rest.find(part)
        if at < 0:
            return False
        rest = rest[at + len(part) :]
    return True
