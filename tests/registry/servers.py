"""A real ``docker-registry`` on a loopback port, and a server whose answers a test writes itself."""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

USER, PASSWORD = "ada", "correct horse"
HASHED = "$2y$05$ezV..jFoIOhjXcJo9ZUyN.nEf4sgTbTjiaN4PcNbi4pOwGYOd5VV."
"""bcrypt of ``PASSWORD``, as the registry's password file holds it."""


@dataclass
class Server:
    """A running registry. ``root``: its storage."""

    host: str
    root: Path


@contextmanager
def run_registry(folder: Path, *, password: bool = False) -> Iterator[Server]:
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


@dataclass
class Double:
    """An HTTP server that answers as the test says and remembers what it was asked."""

    host: str
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], Answer] = lambda request: Answer(404)


@contextmanager
def run_double() -> Iterator[Double]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            request = Request(self.command, self.path, dict(self.headers), self.rfile.read(length))
            state.requests.append(request)
            answer = state.answer(request)
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

        do_GET = do_HEAD = do_POST = do_PUT = handle_any

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Double(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


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
