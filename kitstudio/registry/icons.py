"""Icons from the network: fetched safely, checked, kept by address and hash. Nothing is drawn here.

https only, after every redirect too; no cookies, no referrer; limits on size, time, redirects and pixels; addresses
inside the own network are never asked on a Kit's word: the address that is judged is the one connected to. A failure
is remembered for a while: the monogram stands.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ipaddress
import json
import os
import socket
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from urllib3.util.connection import create_connection

from kitstudio.registry.blob_store import digest_of, write_atomically
from kitstudio.registry.checked_connection import Connect, Guard, Resolve
from kitstudio.registry.icon_format import Head, IconFormat, IconRefused, inspect
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.session import Clock
from kitstudio.registry.source import Offline
from kitstudio.registry.threads import Stop, in_thread, on_host
from kitstudio.registry.transport import DIRECT, Network
from kitstudio.registry.web import Limits, Web, host_of

LIMITS = Limits(size=512 * 1024, seconds=10.0, redirects=3)
MAX_TOTAL = 64 * 1024 * 1024
MAX_URL = 2048
FRESH = 7 * 86400.0
REFUSED_FOR = 900.0
MAX_REFUSALS = 2000

PRIVATE = "The icon's address lies inside a private network; it is not asked."


@dataclass(frozen=True, slots=True)
class Icon:
    """A checked icon. ``digest``: SHA-256 of ``data``; width and height in pixels."""

    url: str
    data: bytes = field(repr=False)
    format: IconFormat
    width: int
    height: int
    digest: str


def addresses(host: str, port: int) -> tuple[str, ...]:
    """What a name resolves to."""
    return tuple({str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)})


class Icons:
    """Icons kept in ``folder``, at most ``most`` bytes: what was not used for longest goes first."""

    def __init__(
        self,
        folder: Path,
        *,
        network: Network = DIRECT,
        clock: Clock | None = None,
        offline: bool = False,
        most: int = MAX_TOTAL,
        resolve: Resolve = addresses,
        connect: Connect = create_connection,
    ) -> None:
        self.folder = folder
        self._clock = clock or Clock()
        self._web = Web(network, self._clock, Guard(resolve, _is_public, PRIVATE, connect))
        self._offline = offline
        self._most = most
        self._refused: OrderedDict[str, tuple[float, RegistryError]] = OrderedDict()
        self._lock = threading.Lock()
        self._asking: dict[str, asyncio.Lock] = {}

    async def get(self, url: str) -> Icon:
        """The icon at ``url``, from the cache where it is fresh. Raises ``RegistryError``: show the monogram."""
        lock = self._asking.setdefault(url, asyncio.Lock())
        try:
            async with lock:
                kept = await in_thread(self._kept, url)
                if isinstance(kept, Icon):
                    return kept
                return await on_host(host_of(url) or "none", self._fetch, url)
        finally:
            if not lock.locked():
                self._asking.pop(url, None)

    async def clear(self) -> None:
        """Forget every icon."""
        with self._lock:
            self._refused.clear()
        await in_thread(lambda stop: self._trim(0))

    async def size(self) -> int:
        """Bytes on disk."""
        return await in_thread(lambda stop: sum(status.st_size for _, status in self._files()))

    def _kept(self, stop: Stop, url: str) -> Icon | None:
        with self._lock:
            until, error = self._refused.get(url, (0.0, None))
        if error is not None and until > self._clock.monotonic():
            raise error
        entry = self._entry(url)
        try:
            row: Any = json.loads(entry.read_bytes())
            stale = self._clock.now() - float(row["at"]) > FRESH
            if stale and not self._offline:
                return None
            blob = self._blob(str(row["digest"]))
            data = blob.read_bytes()
            if digest_of(data) != row["digest"]:
                return None
            head = inspect(data)
        except (OSError, ValueError, KeyError, TypeError, RegistryError):
            # Damaged or missing: fetched again.
            return None
        with contextlib.suppress(OSError):
            os.utime(blob)
            os.utime(entry)
        return _icon(url, data, head)

    def _fetch(self, stop: Stop, url: str) -> Icon:
        if self._offline:
            raise Offline("The icon is not stored here.", where=url[:MAX_URL])
        try:
            page = self._web.get(stop, url, LIMITS, self._judge, {"Accept": "image/*"})
            stated = page.headers.get("content-type", "").partition(";")[0].strip().lower()
            if stated and not stated.startswith("image/") and stated != "application/octet-stream":
                raise IconRefused(f"The address holds {stated[:60]}, which is no picture.", where=url)
            head = inspect(page.body)
        except RegistryError as error:
            self._refuse(url, error)
            raise
        icon = _icon(url, page.body, head)
        write_atomically(self._blob(icon.digest), icon.data)
        row = {"url": url, "digest": icon.digest, "at": self._clock.now()}
        write_atomically(self._entry(url), json.dumps(row).encode())
        self._trim(self._most)
        return icon

    def _judge(self, url: str) -> str:
        if len(url) > MAX_URL:
            return "The address of the icon is too long."
        try:
            parts = urlsplit(url)
            host = parts.hostname or "" if parts.port is None or parts.port else ""
        except ValueError:
            return "The address of the icon is none."
        if parts.scheme != "https" or not host:
            return "Icons are fetched over https only."
        if parts.username is not None or parts.password is not None:
            return "The address of the icon holds a sign-in."
        return ""

    def _refuse(self, url: str, error: RegistryError) -> None:
        with self._lock:
            self._refused[url] = (self._clock.monotonic() + REFUSED_FOR, error)
            while len(self._refused) > MAX_REFUSALS:
                self._refused.popitem(last=False)

    def _entry(self, url: str) -> Path:
        return self.folder / "urls" / hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()

    def _blob(self, digest: str) -> Path:
        return self.folder / "icons" / digest.removeprefix("sha256:")[:64].replace("/", "_")

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        found = []
        for part in ("urls", "icons"):
            folder = self.folder / part
            for path in folder.iterdir() if folder.is_dir() else ():
                with contextlib.suppress(OSError):
                    found.append((path, path.stat()))
        return found

    def _trim(self, most: int) -> None:
        files = sorted(self._files(), key=lambda row: row[1].st_mtime)
        total = sum(status.st_size for _, status in files)
        for path, status in files:
            if total <= most:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= status.st_size


def _icon(url: str, data: bytes, head: Head) -> Icon:
    return Icon(url, data, head.format, head.width, head.height, digest_of(data))


def _is_public(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = getattr(parsed, "ipv4_mapped", None) or getattr(parsed, "sixtofour", None)
    return parsed.is_global and not parsed.is_multicast and (inner is None or inner.is_global)
