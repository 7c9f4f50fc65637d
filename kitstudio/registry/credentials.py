"""Who we are to a registry: sign-ins out of Docker's ``config.json`` (``auths``), looked up by host and repository.

Other stores come beside this one by fulfilling ``Credentials``. A secret is never part of a repr or a message.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kitstudio.registry.reference import HUB

MAX_CONFIG = 4 * 1024 * 1024
HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")


@dataclass(frozen=True, slots=True)
class Credential:
    """A user name and a password, or an identity token in the password's place."""

    username: str
    password: str = field(repr=False)
    is_token: bool = False

    def basic(self) -> str:
        """The value of a Basic ``Authorization`` header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class Credentials(Protocol):
    """Where sign-ins are kept."""

    def lookup(self, registry: str, repository: str) -> Credential | None:
        """The sign-in for a repository, the one stored for its longest prefix first. Blocking; never raises."""


class NoCredentials:
    """Nobody signs in: anonymous everywhere."""

    def lookup(self, registry: str, repository: str) -> Credential | None:
        return None


class DockerCredentials:
    """``auths`` of Docker's configuration, read afresh for each question, so that a new login counts at once."""

    def __init__(self, path: Path | None = None) -> None:
        folder = os.environ.get("DOCKER_CONFIG", "")
        self.path = path or (Path(folder) if folder else Path.home() / ".docker") / "config.json"

    def lookup(self, registry: str, repository: str) -> Credential | None:
        auths = self._auths()
        for key in _keys(registry, repository):
            if isinstance(entry := auths.get(key), dict) and (credential := _credential(entry)):
                return credential
        return None

    def _auths(self) -> Mapping[str, Any]:
        """The table; a file that is missing, unreadable or no JSON means anonymous, as it does for Docker."""
        try:
            if self.path.stat().st_size > MAX_CONFIG:
                return {}
            document = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        auths = document.get("auths") if isinstance(document, dict) else None
        return auths if isinstance(auths, dict) else {}


def _keys(registry: str, repository: str) -> Iterator[str]:
    parts = repository.split("/") if repository else []
    for length in range(len(parts), 0, -1):
        yield f"{registry}/{'/'.join(parts[:length])}"
    if registry == HUB:
        yield from HUB_KEYS
        return
    yield registry
    for scheme in ("https", "http"):
        for ending in ("", "/", "/v1/", "/v2/"):
            yield f"{scheme}://{registry}{ending}"


def _credential(entry: Mapping[str, Any]) -> Credential | None:
    token = entry.get("identitytoken")
    username, password = "", ""
    encoded = entry.get("auth")
    if isinstance(encoded, str) and encoded:
        try:
            username, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
    elif isinstance(entry.get("username"), str) and isinstance(entry.get("password"), str):
        username, password = entry["username"], entry["password"]
    if isinstance(token, str) and token:
        return Credential(username or "<token>", token, is_token=True)
    return Credential(username, password.rstrip("\0")) if username else None
