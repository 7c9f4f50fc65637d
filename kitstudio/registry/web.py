"""Small, bounded GETs outside a registry: a catalog's pages, icons.

Every hop of a redirect is judged before it is taken. No cookies, no referrer, no authorization; content that comes
compressed although it was not asked to is refused, so that a size limit means what it says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import requests

from kitstudio import __version__
from kitstudio.registry.checked_connection import Guard, guarded_adapter
from kitstudio.registry.failures import limited, refused, retry_after, unreachable
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.session import Clock
from kitstudio.registry.threads import Stop
from kitstudio.registry.transport import HttpSession, Network, trust

CHUNK = 16 * 1024
RETRIES = 2
MAX_WAIT = 3.0
REDIRECTS = (301, 302, 303, 307, 308)

Judge = Callable[[str], str]
"""Why an address must not be asked; empty where it may."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of a body, seconds for the whole answer, and hops."""

    size: int
    seconds: float = 30.0
    redirects: int = 3


@dataclass(frozen=True, slots=True)
class Page:
    """A successful answer. ``url``: where it came from in the end; header names in lower case."""

    url: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


class Web:
    """Connections of each worker thread, kept alive. ``guard``: which addresses https may lead to."""

    def __init__(self, network: Network, clock: Clock | None = None, guard: Guard | None = None) -> None:
        self.network = network
        self.clock = clock or Clock()
        self._guard = guard
        self._local = threading.local()

    def get(self, stop: Stop, url: str, limits: Limits, judge: Judge, headers: Mapping[str, str] | None = None) -> Page:
        """One page. Blocking; raises ``RegistryError``."""
        where = url
        deadline = time.monotonic() + limits.seconds
        for _ in range(limits.redirects + 1):
            if reason := judge(url):
                raise RegistryError(reason, where=where)
            response = self._ask(stop, url, where, headers or {}, deadline)
            if response.status_code in REDIRECTS and "Location" in response.headers:
                response.close()
                try:
                    url = urljoin(url, response.headers["Location"])
                except ValueError:
                    url = ""
                continue
            host = host_of(url)
            with response:
                if response.status_code == 429:
                    raise limited(response, host, where)
                if response.status_code != 200:
                    raise refused(response, host, where, signed_in=False)
                body = self._read(stop, response, host, where, limits.size, deadline)
                return Page(url, body, {name.lower(): text for name, text in response.headers.items()})
        raise unreachable(requests.exceptions.TooManyRedirects(), host_of(where), where)

    def _ask(self, stop: Stop, url: str, where: str, headers: Mapping[str, str], deadline: float) -> requests.Response:
        sent = {"User-Agent": f"kitstudio/{__version__}", "Accept-Encoding": "identity", **headers}
        host = host_of(url)
        for attempt in range(RETRIES + 1):
            stop.check()
            left = max(0.1, deadline - time.monotonic())
            try:
                response = self._http().get(
                    url, headers=sent, stream=True, timeout=(min(10.0, left), left), allow_redirects=False
                )
            except (requests.exceptions.RequestException, ValueError) as error:
                raise unreachable(error, host, where) from error
            pause = retry_after(response)
            wanted = pause if pause is not None else 0.25 * 3**attempt
            if response.status_code not in (502, 503, 504) or attempt == RETRIES or wanted > MAX_WAIT:
                return response
            response.close()
            self.clock.wait(stop, wanted)
        raise AssertionError

    def _read(
        self, stop: Stop, response: requests.Response, host: str, where: str, limit: int, deadline: float
    ) -> bytes:
        if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise RegistryError(f"{host} compresses its answer though it was not asked to.", where=where)
        body = bytearray()
        try:
            while chunk := response.raw.read(CHUNK, decode_content=False):
                stop.check()
                body += chunk
                if len(body) > limit:
                    raise RegistryError(f"The answer is larger than {limit:,} bytes.", where=where)
                if time.monotonic() > deadline:
                    raise requests.exceptions.Timeout
        except (requests.exceptions.RequestException, OSError, _protocol_errors()) as error:
            raise unreachable(error, host, where) from error
        stated = response.headers.get("Content-Length", "")
        if stated.isascii() and stated.isdigit() and int(stated) != len(body):
            raise RegistryError(f"The answer of {host} breaks off.", where=where, remedy="Try again later.")
        return bytes(body)

    def _http(self) -> HttpSession:
        http = getattr(self._local, "http", None)
        if not isinstance(http, HttpSession):
            http = HttpSession(self.network)
            if self._guard is not None:
                files = self.network.ca_files
                http.mount("https://", guarded_adapter(self._guard, trust(files) if files else None))
            self._local.http = http
        return http


def host_of(url: str) -> str:
    """Host with port, for messages."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _protocol_errors() -> type[Exception]:
    from urllib3.exceptions import HTTPError

    return HTTPError
