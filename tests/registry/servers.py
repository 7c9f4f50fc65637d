"""The registries of the test kit: real ones, and one that misbehaves as a test says (``docs/registries.md``).

- ``run_registry``: a real ``docker-registry`` on a loopback port: open, with a password, or with a token service.
- ``TokenService``: that service: GET only, scopes judged per account, real RS256 tokens.
- ``run_double``: the awkward registry. The test gives a function from ``Request`` to ``Answer``; every request is kept.
  ``raw`` answers byte for byte (bad line ends, broken heads), ``cut`` ends a body early, TLS comes with ``Authority``.
"""

from __future__ import annotations

import base64
import datetime
import http.server
import ipaddress
import json
import secrets
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

USER, PASSWORD = "ada", "correct horse"
HASHED = "$2y$05$ezV..jFoIOhjXcJo9ZUyN.nEf4sgTbTjiaN4PcNbi4pOwGYOd5VV."
"""bcrypt of ``PASSWORD``, as the registry's password file holds it."""


@dataclass
class Server:
    """A running registry. ``root``: its storage."""

    host: str
    root: Path


@contextmanager
def run_registry(folder: Path, *, password: bool = False, auth: dict[str, object] | None = None) -> Iterator[Server]:
    """Start ``docker-registry`` in ``folder``, wait until it answers, and end it afterwards."""
    if shutil.which("docker-registry") is None:
        pytest.skip("docker-registry is not installed")
    port = _free_port()
    config: dict[str, object] = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "storage")}, "delete": {"enabled": True}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    if password:
        htpasswd = folder / "htpasswd"
        htpasswd.write_text(f"{USER}:{HASHED}\n")
        config["auth"] = {"htpasswd": {"realm": "test", "path": str(htpasswd)}}
    if auth is not None:
        config["auth"] = auth
    path = folder / "config.yml"
    path.write_text(json.dumps(config))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(path)], stdout=log, stderr=log)
    try:
        _await_answer(f"http://127.0.0.1:{port}/v2/", process, folder / "log")
        yield Server(f"127.0.0.1:{port}", folder / "storage")
    finally:
        process.terminate()
        process.wait(10)


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    """Close the connection after this many bytes of the body (0: send it all)."""
    raw: bytes = b""
    """The whole answer byte for byte, head included; the connection is closed after it."""


@dataclass
class Double:
    """An HTTP server that answers as the test says and remembers what it was asked."""

    host: str
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], Answer] = lambda request: Answer(404)
    date: str = ""
    """The ``Date`` of every answer; empty: the true one."""


@contextmanager
def run_double(context: ssl.SSLContext | None = None) -> Iterator[Double]:
    """An awkward registry on a loopback port; ``context``: over TLS."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            request = Request(self.command, self.path, dict(self.headers), self.rfile.read(length))
            state.requests.append(request)
            answer = state.answer(request)
            if answer.raw:
                self.close_connection = True
                self.wfile.write(answer.raw)
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in answer.headers:
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body[: answer.cut or None])
            if answer.cut:
                self.close_connection = True

        def date_time_string(self, timestamp: float | None = None) -> str:
            return state.date or super().date_time_string(timestamp)

        do_GET = do_HEAD = do_POST = do_PUT = handle_any

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
    state = Double(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


class Authority:
    """A certificate authority of one test run, with a key to sign tokens too."""

    def __init__(self, folder: Path) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Kit Studio tests")])
        self.certificate = self._sign(self.name, self.key.public_key(), authority=True)
        self.path = folder / "authority.pem"
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        self._folder = folder

    def server(self, *, age: datetime.timedelta = datetime.timedelta()) -> ssl.SSLContext:
        """TLS for ``127.0.0.1``; ``age``: the certificate ran out that long ago."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
        certificate = self._sign(name, key.public_key(), age=age)
        path = self._folder / f"server-{secrets.token_hex(4)}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def token(self, claims: dict[str, object]) -> str:
        """A JSON web token signed by the authority's key, its certificate inside."""
        chain = [base64.b64encode(self.certificate.public_bytes(serialization.Encoding.DER)).decode()]
        parts = [{"typ": "JWT", "alg": "RS256", "x5c": chain}, claims]
        body = b".".join(_base64(json.dumps(part).encode()) for part in parts)
        signature = self.key.sign(body, padding.PKCS1v15(), hashes.SHA256())
        return (body + b"." + _base64(signature)).decode()

    def _sign(
        self,
        name: x509.Name,
        key: rsa.RSAPublicKey,
        *,
        authority: bool = False,
        age: datetime.timedelta = datetime.timedelta(),
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        until = now - age if age else now + datetime.timedelta(days=2)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, until) - datetime.timedelta(days=2))
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False)
            .sign(self.key, hashes.SHA256())
        )


@dataclass
class TokenService:
    """Answers a registry's token requests: by GET alone, with the scopes each account may have.

    ``may``: actions by account (empty name: anonymous) and repository prefix. ``lifetime``: seconds, stated and real.
    """

    authority: Authority
    may: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=lambda: {USER: PASSWORD})
    lifetime: int = 300
    issued: int = 0

    def __call__(self, request: Request) -> Answer:
        if request.method != "GET":
            return Answer(405)
        user = ""
        if header := request.headers.get("Authorization"):
            user, _, secret = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
            if self.passwords.get(user) != secret:
                return Answer(401, b'{"errors": [{"code": "UNAUTHORIZED", "message": "incorrect password"}]}')
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
        access = []
        for scope in query.get("scope", []):
            kind, name, actions = scope.split(":", 2)
            granted = set()
            for prefix, allowed in self.may.get(user, {}).items():
                if name == prefix or name.startswith(f"{prefix}/"):
                    granted |= allowed & set(actions.split(","))
            access.append({"type": kind, "name": name, "actions": sorted(granted)})
        self.issued += 1
        now = int(time.time())
        claims: dict[str, object] = {
            "iss": "kitstudio-tests",
            "sub": user,
            "aud": query.get("service", [""])[0],
            "exp": now + self.lifetime,
            "nbf": now - 5,
            "iat": now,
            "jti": secrets.token_hex(8),
            "access": access,
        }
        body = {"token": self.authority.token(claims), "expires_in": self.lifetime}
        return Answer(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def auth(self, host: str) -> dict[str, object]:
        """What a registry's configuration says to use this service at ``host``."""
        return {
            "token": {
                "realm": f"http://{host}/token",
                "service": "kitstudio-registry",
                "issuer": "kitstudio-tests",
                "rootcertbundle": str(self.authority.path),
            }
        }


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"docker-registry ended: {log.read_text()[-2000:]}")
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            threading.Event().wait(0.02)
    pytest.fail("docker-registry did not answer")
