"""What the settings of the network and the catalog take: each check returns the value as kept or raises ``ValueError``
with half a sentence that says what is wrong."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from kitstudio.models.policy import RuleKind, parse

MAX_ITEMS = 1000

_HOST = re.compile(r"(?=.{1,253}(?::|$))[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*(?::\d{1,5})?")


def texts(value: object) -> tuple[str, ...]:
    """A list of text; what is there twice is kept once."""
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) and 0 < len(v) <= 4096 for v in value):
        raise ValueError("must be a list of text")
    if len(value) > MAX_ITEMS:
        raise ValueError(f"must not hold more than {MAX_ITEMS} items")
    return tuple(dict.fromkeys(value))


def hosts(value: object) -> tuple[str, ...]:
    """Hosts, each with a port where it is not the usual one."""
    found = texts(value)
    for item in found:
        _host(item)
    return found


def exceptions(value: object) -> tuple[str, ...]:
    """What no proxy is used for: hosts, domains (``.example.org``), networks (``10.0.0.0/8``), or ``*``."""
    found = texts(value)
    for item in found:
        if item != "*" and not _is_network(item):
            _host(item.removeprefix("*").lstrip("."))
    return found


def files(value: object) -> tuple[str, ...]:
    """Files by their whole path."""
    found = texts(value)
    for item in found:
        if not Path(item).expanduser().is_absolute():
            raise ValueError(f"“{item}” must be the whole path of a file")
    return found


def proxies(value: object) -> tuple[str, ...]:
    """``https=http://proxy.example:3128``: the scheme of what is asked, and the proxy."""
    found = texts(value)
    for item in found:
        scheme, mark, url = item.partition("=")
        if not mark or scheme not in ("http", "https"):
            raise ValueError(f"“{_hidden(item)}” must be http=ADDRESS or https=ADDRESS")
        address(url)
    if len({item.partition("=")[0] for item in found}) < len(found):
        raise ValueError("must not name two proxies for one scheme")
    return found


def mirrors(value: object) -> tuple[str, ...]:
    """``docker.io=mirror.example``: a registry, and the host that is asked before it."""
    found = texts(value)
    for item in found:
        host, mark, mirror = item.partition("=")
        if not mark:
            raise ValueError(f"“{item}” must be HOST=MIRROR")
        if _host(host) == _host(mirror):
            raise ValueError(f"“{item}” names a host as its own mirror")
    return found


def address(value: object) -> str:
    """A web address without sign-in, query or fragment."""
    text = value if isinstance(value, str) else ""
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and _host(parts.netloc.rpartition("@")[2]) != ""
    except ValueError:
        known = False
    if not known or len(text) > 2048 or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"“{_hidden(text)}” must be an address such as https://proxy.example:3128")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user name or password: settings are no place for secrets")
    if parts.query or parts.fragment:
        raise ValueError(f"“{text}” must end before “?” and “#”")
    return text.rstrip("/")


def author(value: object) -> str:
    """A name for commits, as Git keeps it: empty, or text with a letter or digit and without its own brackets."""
    text = _line(value)
    if "<" in text or ">" in text:
        raise ValueError("must not hold < or >, which Git takes out")
    if text and not any(letter.isalnum() for letter in text):
        raise ValueError("must hold a letter or a digit")
    return text


def author_address(value: object) -> str:
    """An e-mail address for commits, empty or ``somebody@somewhere``."""
    text = _line(value)
    if text and not re.fullmatch(r"[^\s<>@]+@[^\s<>@]+", text):
        raise ValueError("must be an address such as ada@example.com")
    return text


def agent(value: object) -> str:
    """An SSH agent: ``system``, the whole path of a socket, or empty for none."""
    text = _line(value)
    if text not in ("", "system") and not Path(text).is_absolute():
        raise ValueError("must be system, the whole path of a socket, or empty")
    return text


def agent_keys(value: object) -> tuple[str, ...]:
    """Keys of an SSH agent by fingerprint, or ``all`` of them; none where the list is empty."""
    found = texts(value)
    for item in found:
        if item != "all" and not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", item):
            raise ValueError(f"“{item[:80]}” must be a fingerprint as ssh-add -l shows it, or all")
    if "all" in found and len(found) > 1:
        raise ValueError("must be all or fingerprints, not both")
    return found


def folder(value: object) -> str:
    """A folder by its whole path, which is not the whole computer; empty for none."""
    text = _line(value)
    if not text:
        return ""
    path = Path(text).expanduser()
    if not path.is_absolute() or path == Path("/") or ".." in path.parts:
        raise ValueError("must be the whole path of a folder")
    return text


def optional(check: Callable[[object], str]) -> Callable[[object], str]:
    """``check``, or nothing stated."""
    return lambda value: "" if value == "" else check(value)


def _line(value: object) -> str:
    if not isinstance(value, str) or len(value) > 4096 or not value.isprintable():
        raise ValueError("must be one line of text")
    return value.strip()


def _host(text: str) -> str:
    if text.startswith("["):
        name, _, port = text.partition("]")
        try:
            ipaddress.IPv6Address(name.removeprefix("["))
        except ValueError as error:
            raise ValueError(f"“{text}” is not a host") from error
        if port and not re.fullmatch(r":\d{1,5}", port):
            raise ValueError(f"“{text}” is not a host")
    elif not _HOST.fullmatch(text):
        raise ValueError(f"“{_hidden(text)}” is not a host (name, or name:port)")
    return text


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _hidden(text: str) -> str:
    """``text`` for a message, without what may be a password."""
    before, mark, after = text[:200].rpartition("@")
    return f"…@{after}" if mark and before else text[:200]


def rules(kind: RuleKind) -> Callable[[object], object]:
    """Rules of one kind of the approval policy, each in the form ``models.policy.parse`` reads."""

    def check(value: object) -> tuple[str, ...]:
        return tuple(parse(kind, item).text for item in texts(value))

    return check
