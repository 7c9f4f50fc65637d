"""Reading a proxied request's head, strictly: whatever two parsers might read differently is no request."""

from __future__ import annotations

import re

import h11

_HOP_BY_HOP = frozenset(
    [
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"upgrade",
        b"proxy-authorization",
        b"proxy-authenticate",
        b"transfer-encoding",
    ]
)


class Unacceptable(Exception):
    """Why a request is refused before any policy is asked; ``host`` where one could be read."""

    def __init__(self, reason: str, host: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.host = host


def destination(request: h11.Request) -> tuple[str, int, bytes]:
    """(host, port, origin-form target); ``Unacceptable`` for anything two parsers might read differently."""
    lengths = [value for name, value in request.headers if name == b"content-length"]
    if lengths and any(name == b"transfer-encoding" for name, _ in request.headers):
        raise Unacceptable("both Content-Length and Transfer-Encoding")
    if request.http_version not in (b"1.1", b"1.0"):
        raise Unacceptable("not HTTP/1.x")
    try:
        target = request.target.decode("ascii")
    except UnicodeDecodeError as error:
        raise Unacceptable("the target is not ASCII") from error
    if any(ord(c) <= 32 or c in "\\\x7f" for c in target):
        raise Unacceptable("the target holds blanks, controls or backslashes")
    if request.method == b"CONNECT":
        host, port = _authority(target, 0)
        path = b""
    else:
        if not target.lower().startswith("http://"):
            raise Unacceptable("only http:// in absolute form and CONNECT pass here")
        host, port = _authority(authority_of(target), 80)
        path = origin_form(request.target)
    hosts = [value for name, value in request.headers if name == b"host"]
    for value in hosts:
        try:
            stated = _authority(value.decode("ascii"), 443 if request.method == b"CONNECT" else 80)
        except (UnicodeDecodeError, Unacceptable) as error:
            raise Unacceptable("the Host header cannot be read", host) from error
        # For CONNECT many clients leave the port out of Host; the name must agree in any case.
        if _same(stated[0]) != _same(host) or (request.method != b"CONNECT" and stated[1] != port):
            raise Unacceptable("the Host header names another host than the request", host)
    return host, port, path


def inner_target(request: h11.Request, host: str, port: int, *, secure: bool) -> bytes:
    """The origin-form target of a request read inside a tunnel to ``host``; ``Unacceptable`` where it means another.

    The Host header must name the very host and port the tunnel was opened for.
    """
    if request.http_version not in (b"1.1", b"1.0"):
        raise Unacceptable("not HTTP/1.x", host)
    if request.method == b"CONNECT":
        raise Unacceptable("a tunnel inside a tunnel", host)
    scheme = "https://" if secure else "http://"
    target = request.target.decode("ascii", "replace")
    if any(ord(c) <= 32 or c in "\\\x7f\ufffd" for c in target):
        raise Unacceptable("the target holds blanks, controls or backslashes", host)
    lengths = [name for name, _ in request.headers if name == b"content-length"]
    if lengths and any(name == b"transfer-encoding" for name, _ in request.headers):
        raise Unacceptable("both Content-Length and Transfer-Encoding", host)
    stated = [value.decode("ascii", "replace") for name, value in request.headers if name == b"host"]
    if target.lower().startswith(scheme):
        authority = re.split(r"[/?#]", target[len(scheme) :], maxsplit=1)[0]
        stated.append(authority)
        rest = target[len(scheme) + len(authority) :].partition("#")[0]
        target = rest if rest.startswith("/") else "/" + rest
    elif not target.startswith("/") and (target, request.method) != ("*", b"OPTIONS"):
        raise Unacceptable("the target is no path", host)
    if not stated:
        raise Unacceptable("no Host header", host)
    for value in stated:
        name, number = _authority(value, 443 if secure else 80)
        if _same(name) != host or (number != port and ":" in value.rpartition("]")[2]):
            raise Unacceptable("the Host header names another host than the connection", host)
    return target.encode("ascii")


def wants_websocket(request: h11.Request) -> bool:
    """Whether the client asks to go on with WebSocket: the one upgrade that is carried."""
    return request.method == b"GET" and any(
        name == b"upgrade" and value.strip().lower() == b"websocket" for name, value in request.headers
    )


def _authority(text: str, default_port: int) -> tuple[str, int]:
    if "@" in text:
        raise Unacceptable("user information in the authority")
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or ":" not in host or (rest and not rest.startswith(":")):
            raise Unacceptable("the authority cannot be read")
        port_text = rest[1:]
    else:
        host, _, port_text = text.partition(":")
        rest = ":" if ":" in text else ""
    if not host or (rest and not port_text) or (not rest and not default_port):
        raise Unacceptable("the authority needs a host and a port")
    if not port_text:
        return host, default_port
    if not (port_text.isascii() and port_text.isdigit() and len(port_text) <= 5 and 0 < int(port_text) < 65536):
        raise Unacceptable("not a port")
    return host, int(port_text)


def _same(host: str) -> str:
    return host.lower().removesuffix(".")


def end_to_end(headers: h11._headers.Headers) -> list[tuple[bytes, bytes]]:
    """Headers without hop-by-hop ones, those a Connection header names included."""
    dropped = set(_HOP_BY_HOP)
    for name, value in headers:
        if name == b"connection":
            dropped |= {token.strip().lower() for token in value.split(b",")} - {b"host", b"content-length"}
    return [(name, value) for name, value in headers.raw_items() if name.lower() not in dropped]


def path_only(target: bytes) -> str:
    """The path for the log: a query may carry a secret, so it is left out."""
    form = origin_form(target) if target[:7].lower() == b"http://" else target
    return form.partition(b"?")[0].decode("ascii", "replace")[:512]


def authority_of(target: str) -> str:
    """The authority of an ``http://`` target, exactly as written."""
    return re.split(r"[/?#]", target[len("http://") :], maxsplit=1)[0]


def origin_form(target: bytes) -> bytes:
    """Path and query of an ``http://`` target, without a fragment."""
    path = target[len("http://") + len(authority_of(target.decode("latin-1"))) :].partition(b"#")[0]
    return path if path.startswith(b"/") else b"/" + path
