"""The adapter driven as a process, in the environment that the conformance text prescribes (§2.1, §2.3), and the Kits
it is driven with: image layouts around the guest's own busybox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kitstudio.models.annotations import kit_annotations
from kitstudio.models.decode import decode
from kitstudio.models.validate import Form, validate
from kitstudio.registry.source import ImageConfig
from kitstudio.registry.writer import Entry, LayerBlob, LayoutWriter, build_image, build_layer, folder, symlink
from tests.builders import BUILT_BY
from tests.runtime import busybox_kits

PREFIX = "com.docker.sandbox/"
HOST = "host.docker.internal"
SENTINEL, SECRET, SKILL = "tck-host-sentinel-5d1c", "tck-bound-secret-9b7e", "tck-marker-skill"

Judged = TypeVar("Judged", bound=Callable[..., object])


def judges(*checks: str) -> Callable[[Judged], Judged]:
    """Which checks of ``adapter report`` a test is."""
    mark: Callable[[Judged], Judged] = pytest.mark.judges(*checks)
    return mark


@dataclass(slots=True)
class Suite:
    """One home of the adapter's own, used for every case. Standard input is a pipe nobody writes to or closes."""

    home: Path
    kits: Path
    stdin: int
    environment: Mapping[str, str]
    made: list[str] = field(default_factory=list)

    def call(self, *words: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        """Any command of ours in the adapter's environment and home."""
        return subprocess.run(
            [sys.executable, "-m", "kitstudio", *words],
            env={**self.environment, **more},
            stdin=self.stdin,
            capture_output=True,
            timeout=90,
            check=False,
        )

    def verb(self, *words: str, code: int = 0) -> str:
        """A verb that must end with ``code``; its standard output."""
        done = self.call("adapter", *words)
        assert done.returncode == code, (words, done.returncode, done.stderr.decode()[-2000:])
        return done.stdout.decode(errors="replace")

    def create(self, *words: str | Path) -> str:
        """A new sandbox's id: exactly one line."""
        said = self.verb("create", *map(str, words))
        id, end, rest = said.partition("\n")
        assert id and end and not rest, said
        self.made.append(id)
        return id

    def refused(self, *words: str | Path, code: int = 2) -> str:
        """A create that is declined (or fails, with another code): what it says. Nothing of it is left."""
        before = self.boxes()
        done = self.call("adapter", "create", *map(str, words))
        assert (done.returncode, done.stdout) == (code, b""), (done.returncode, done.stderr.decode()[-2000:])
        assert self.boxes() == before
        return done.stderr.decode()

    def sh(self, id: str, script: str) -> str:
        """A script's output inside, as the agent."""
        return self.verb("exec", id, "--", "sh", "-c", script)

    def document(self, *words: str) -> Any:
        """A verb's JSON."""
        return json.loads(self.verb(*words))

    def boxes(self) -> list[str]:
        """Sandboxes on disk, remains included."""
        return sorted(os.listdir(self.home / "data" / "sandboxes"))

    def discard(self, id: str) -> None:
        """§2.4: the suite removes what it creates."""
        if id in self.made:
            self.verb("rm", id)
            self.made.remove(id)

    def kit(
        self,
        name: str,
        *capabilities: Mapping[str, Any],
        kind: str = "workload",
        files: Mapping[str, busybox_kits.Entry] | None = None,
        env: tuple[str, ...] = (),
        **descriptor: Any,
    ) -> Path:
        """A published Kit in a layout of its own; a workload brings the busybox floor."""
        about = {"schemaVersion": "3", "kind": kind, "displayName": name, "version": "1.0.0", "provides": [name]}
        text = json.dumps({**about, "capabilities": list(capabilities), **descriptor})
        document = decode(text.encode(), name=name)
        assert validate(document, Form.PUBLISHED).valid, validate(document, Form.PUBLISHED).errors
        staged = {f"usr/share/sandbox/kit/{name}/kit.yaml": busybox_kits.Entry(text.encode())}
        layers = [*([_floor()] if kind == "workload" else []), _layer({**(files or {}), **staged})]
        config = ImageConfig(env=env)
        if kind == "workload":
            config = ImageConfig(
                cmd=("/bin/sh",), env=("PATH=/bin", *env), user="agent", workdir="/home/agent/workspace"
            )
        image = build_image(layers, config, kit_annotations(document.descriptor, BUILT_BY))
        place = self.kits / name
        LayoutWriter(place).add("1.0.0", image)
        return place


def asks(type_: str, config: Mapping[str, Any] | None = None, *, optional: bool = False) -> dict[str, Any]:
    """One request. A type of a third party is written in full."""
    entry: dict[str, Any] = {"type": type_ if "/" in type_ else PREFIX + type_}
    return entry | ({"config": config} if config is not None else {}) | ({"optional": True} if optional else {})


def group(name: str, *members: Mapping[str, Any], optional: bool = False) -> dict[str, Any]:
    """Requests that are in together or not at all."""
    made: dict[str, Any] = {"group": {"name": name, "capabilities": list(members)}}
    if optional:
        made["group"]["optional"] = True
    return made


def environment(home: Path, place: Path) -> dict[str, str]:
    """The adapter's environment: known values, and host values that give themselves away wherever they are copied."""
    real = os.environ.get("HOME", "/root")
    link = place / f"{SENTINEL}-home"
    link.symlink_to(real)
    decorated = {name: f"{SENTINEL}-{name.lower()}" for name in ("TERM", "HOSTNAME", "OLDPWD", "SHLVL", "_")}
    return {
        **os.environ,
        **decorated,
        "PATH": f"{os.environ['PATH']}:/{SENTINEL}/bin",
        "HOME": str(link),
        "PWD": str(link),
        "KITSTUDIO_HOME": str(home),
        "KIT_TCK_HOST_SENTINEL": SENTINEL,
        "KIT_TCK_BOUND_SECRET": SECRET,
        "KIT_TCK_SKILL_NAME": SKILL,
    }


class Web:
    """A server on the host that remembers what reached it: ``(port, path, headers)``."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str, dict[str, str]]] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                port = self.server.server_address[1]
                assert isinstance(port, int)
                web.asked.append((port, self.path, {k.lower(): v for k, v in self.headers.items()}))
                self.send_response(200)
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, format: str, *args: object) -> None:
                return

        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.install, self.runtime = (server.server_address[1] for server in self._servers)

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


def _floor() -> LayerBlob:
    extra = {
        "home/agent/workspace": busybox_kits.Entry(None, 0o755, 1000),
        "bin/grep": busybox_kits.Entry(link="busybox"),
        "bin/find": busybox_kits.Entry(link="busybox"),
        "bin/xargs": busybox_kits.Entry(link="busybox"),
    }
    return _layer({**busybox_kits.floor(), **extra})


def _layer(files: Mapping[str, busybox_kits.Entry]) -> LayerBlob:
    made = []
    for path, entry in files.items():
        if entry.link:
            made.append(symlink(path, entry.link))
        elif entry.content is None:
            made.append(folder(path, entry.mode, entry.uid))
        else:
            made.append(Entry(path, mode=entry.mode, uid=entry.uid, gid=entry.uid, data=entry.content))
    return build_layer(made)
