"""Who we are to a registry: the contract, and sign-ins out of Docker's ``config.json``.

``auths``, ``credHelpers`` and ``credsStore`` are all read, Docker Hub's under ``https://index.docker.io/v1/`` too.
Other stores come beside this one by fulfilling ``Credentials``. A secret is never part of a repr or a message.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kitstudio.registry.credential_helper import HelperFailed, ask_helper
from kitstudio.registry.reference import HUB

MAX_CONFIG = 4 * 1024 * 1024
HUB_SERVER = "https://index.docker.io/v1/"
"""The key under which Docker and its helpers keep a Docker Hub sign-in."""
HUB_KEYS = (HUB_SERVER, "index.docker.io", "docker.io", "registry-1.docker.io")
TOKEN_USER = "<token>"
"""The user name helpers give where the secret is an identity token."""
REMEMBERED = 60.0
"""Seconds a helper's answer counts, so that a page of Kits does not start a hundred programs."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A user name and a password, or an identity token in the password's place."""

    username: str
    password: str = field(repr=False)
    is_token: bool = False

    def basic(self) -> str:
        """The value of a Basic ``Authorization`` header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


@dataclass(frozen=True, slots=True)
class Account:
    """A sign-in as a person sees it, without its secret. ``prefix``: the repositories it is for (empty: all of the
    host's); ``store``: ``keyring``, ``file``, ``session`` or ``docker``."""

    host: str
    username: str
    store: str
    prefix: str = ""

    @property
    def place(self) -> str:
        """``host`` or ``host/prefix``."""
        return f"{self.host}/{self.prefix}" if self.prefix else self.host


class Credentials(Protocol):
    """Where sign-ins are kept."""

    def lookup(self, registry: str, repository: str) -> Credential | None:
        """The sign-in for a repository, the one stored for its longest prefix first. Blocking; never raises."""

    def fault(self, registry: str) -> str:
        """Why the last lookup for this registry found less than it might have; empty where nothing went wrong."""


class NoCredentials:
    """Nobody signs in: anonymous everywhere."""

    def lookup(self, registry: str, repository: str) -> Credential | None:
        return None

    def fault(self, registry: str) -> str:
        return ""


class OneCredential:
    """The sign-in a person is just typing, for one registry."""

    def __init__(self, registry: str, credential: Credential) -> None:
        self._registry = registry
        self._credential = credential

    def lookup(self, registry: str, repository: str) -> Credential | None:
        return self._credential if registry == self._registry else None

    def fault(self, registry: str) -> str:
        return ""


class FirstOf:
    """Several stores, asked in order: what was typed into this program before what Docker knows."""

    def __init__(self, *stores: Credentials) -> None:
        self._stores = stores

    def lookup(self, registry: str, repository: str) -> Credential | None:
        return next((found for store in self._stores if (found := store.lookup(registry, repository))), None)

    def fault(self, registry: str) -> str:
        return next((text for store in self._stores if (text := store.fault(registry))), "")


class DockerCredentials:
    """Docker's configuration, read afresh for each question, so that a new login counts at once."""

    def __init__(self, path: Path | None = None, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        folder = os.environ.get("DOCKER_CONFIG", "")
        self.path = path or (Path(folder) if folder else Path.home() / ".docker") / "config.json"
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._asked: dict[tuple[str, str], tuple[float, Credential | None, str]] = {}
        self._faults: dict[str, str] = {}

    def lookup(self, registry: str, repository: str) -> Credential | None:
        document = self._document()
        auths, helpers = _table(document, "auths"), _table(document, "credHelpers")
        default = document.get("credsStore")
        self._faults.pop(registry, None)
        for key in lookup_keys(registry, repository):
            if isinstance(helper := helpers.get(key), str) and helper:
                return self._ask(helper, key, registry)
            if isinstance(entry := auths.get(key), dict) and (credential := _credential(entry)):
                return credential
            kept_elsewhere = key in auths or key == server_key(registry)
            if isinstance(default, str) and default and kept_elsewhere:
                found = self._ask(default, key, registry)
                if found is not None:
                    return found
        return None

    def fault(self, registry: str) -> str:
        return self._faults.get(registry, "")

    def accounts(self) -> tuple[Account, ...]:
        """The hosts Docker is signed in to, as its configuration lists them; helpers are not run for it."""
        document = self._document()
        found: dict[str, Account] = {}
        for key in (*_table(document, "auths"), *_table(document, "credHelpers")):
            host, prefix = split_place(str(key))
            entry = _table(document, "auths").get(key)
            credential = _credential(entry) if isinstance(entry, dict) else None
            account = Account(host, credential.username if credential else "", "docker", prefix)
            if host and account.place.isprintable() and account.place not in found:
                found[account.place] = account
        return tuple(found[place] for place in sorted(found))

    def _ask(self, helper: str, key: str, registry: str) -> Credential | None:
        with self._lock:
            known = self._asked.get((helper, key))
            if known is None or known[0] < self._monotonic():
                known = self._asked[(helper, key)] = self._answer(helper, key)
            _, credential, fault = known
            if fault:
                self._faults[registry] = fault
            return credential

    def _answer(self, helper: str, key: str) -> tuple[float, Credential | None, str]:
        until = self._monotonic() + REMEMBERED
        try:
            answer = ask_helper(helper, key)
        except HelperFailed as error:
            return until, None, error.what
        if answer is None:
            return until, None, ""
        username, secret = answer
        return until, Credential(username or TOKEN_USER, secret, is_token=username in ("", TOKEN_USER)), ""

    def _document(self) -> Mapping[str, Any]:
        """The file; one that is missing, unreadable or no JSON means anonymous, as it does for Docker."""
        try:
            if self.path.stat().st_size > MAX_CONFIG:
                return {}
            document = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}


def server_key(registry: str) -> str:
    """The key Docker's helpers keep a registry's sign-in under."""
    return HUB_SERVER if registry == HUB else registry


def lookup_keys(registry: str, repository: str) -> Iterator[str]:
    """Every key a sign-in may stand under, the most exact first."""
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


def split_place(text: str) -> tuple[str, str]:
    """Host and repository prefix of what a person or a configuration calls a registry."""
    bare = text.strip()
    if bare in HUB_KEYS:
        return HUB, ""
    bare = bare.removeprefix("https://").removeprefix("http://").strip("/")
    host, _, prefix = bare.partition("/")
    if prefix in ("v1", "v2"):
        prefix = ""
    return (HUB if host in HUB_KEYS else host), prefix


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = document.get(key)
    return table if isinstance(table, dict) else {}


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
        return Credential(username or TOKEN_USER, token, is_token=True)
    return Credential(username, password.rstrip("\0")) if username else None
