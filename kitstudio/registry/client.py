"""Requests to one registry: oras-py's provider, with what it leaves open settled here.

oras knows the distribution API; this subclass gives it time limits, bounded and cancellable retries, authentication
that never sends an empty header or a secret to a stranger, and errors a person can act on.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urljoin, urlsplit

import oras.container
import oras.provider
import requests

from kitstudio import __version__
from kitstudio.registry.blob_store import CHUNK
from kitstudio.registry.challenge import Challenge, parse_challenges
from kitstudio.registry.credentials import Credential, Credentials
from kitstudio.registry.failures import limited, refused, retry_after, unreachable
from kitstudio.registry.manifest import read_json
from kitstudio.registry.reference import HUB
from kitstudio.registry.source import RegistryError, SignInRequired
from kitstudio.registry.threads import Stop

TIMEOUT = (10.0, 30.0)
METADATA_SECONDS = 60.0
RETRIES = 2
MAX_WAIT = 3.0
MAX_TOKEN = 1024 * 1024
HUB_API = "registry-1.docker.io"


@dataclass(slots=True)
class Session:
    """What is known about signing in to one registry, shared by all its clients."""

    registry: str
    credentials: Credentials
    plain_http: Collection[str] = ()
    tokens: dict[tuple[str, bool], tuple[str, float]] = field(default_factory=dict, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def host(self) -> str:
        """The host that is really asked; Docker Hub's API lives elsewhere than its name."""
        return HUB_API if self.registry == HUB else self.registry

    @property
    def plain(self) -> bool:
        """Plain HTTP: loopback always, others only when named."""
        return is_plain(self.registry, self.plain_http)

    def authorization(self, repository: str, push: bool) -> str:
        with self.lock:
            value, until = self.tokens.get((repository, push), ("", 0.0))
            return value if until > time.monotonic() else ""

    def remember(self, repository: str, push: bool, value: str, seconds: float) -> None:
        with self.lock:
            self.tokens[(repository, push)] = (value, time.monotonic() + seconds)

    def forget(self, repository: str, push: bool) -> None:
        with self.lock:
            self.tokens.pop((repository, push), None)


class Client(oras.provider.Registry):  # type: ignore[misc]
    """One worker thread's client. ``begin`` names the job, then requests follow; all raise ``RegistryError``."""

    def __init__(self, session: Session) -> None:
        super().__init__(hostname=session.host, insecure=session.plain)
        self.known = session
        self.http = _HttpSession()
        self._repository, self._push, self._where, self._stop = "", False, session.registry, Stop()

    def begin(self, stop: Stop, repository: str = "", where: str = "", *, push: bool = False) -> None:
        """The requests that follow are about this repository, for this caller."""
        self._stop, self._repository, self._push = stop, repository, push
        self._where = where or (f"{self.known.registry}/{repository}" if repository else self.known.registry)

    def url(self, kind: str, target: str = "") -> str:
        """The address of a manifest, blob, upload or tag list of the current repository."""
        container = oras.container.Container("name", registry=self.known.host)
        namespace, _, container.repository = self._repository.rpartition("/")
        container.namespace = namespace or None
        paths = {
            "manifest": lambda: container.manifest_url(target),
            "blob": lambda: container.get_blob_url(target),
            "upload": container.upload_blob_url,
            "tags": container.tags_url,
        }
        return f"{self.prefix}://{paths[kind]()}"

    def root(self, path: str = "") -> str:
        """An address of the registry itself."""
        return f"{self.prefix}://{self.known.host}/v2/{path}"

    def get(self, url: str, headers: Mapping[str, str] | None = None, *, method: str = "GET") -> requests.Response:
        """A successful answer, body unread. Closing it is the caller's."""
        return self.succeed(self.do_request(url, method, headers=dict(headers or {}), stream=True))

    def succeed(self, response: requests.Response) -> requests.Response:
        """The answer, if it is a success; else what it means."""
        if response.ok:
            return response
        with response:
            signed_in = self._credential() is not None
            raise refused(response, self.known.registry, self._where, signed_in=signed_in)

    def read(self, response: requests.Response, limit: int) -> bytes:
        """A small body, bounded in size and time."""
        deadline = time.monotonic() + METADATA_SECONDS
        parts, size = [], 0
        for chunk in self.chunks(response):
            size += len(chunk)
            if size > limit:
                raise RegistryError(f"The answer is larger than {limit:,} bytes.", where=self._where)
            if time.monotonic() > deadline:
                raise unreachable(requests.exceptions.Timeout(), self.known.registry, self._where)
            parts.append(chunk)
        return b"".join(parts)

    def chunks(self, response: requests.Response) -> Iterator[bytes]:
        """A body in pieces; closes the answer at its end."""
        with response:
            try:
                for chunk in response.iter_content(CHUNK):
                    self._stop.check()
                    yield chunk
            except requests.exceptions.RequestException as error:
                raise unreachable(error, self.known.registry, self._where) from error

    def next_page(self, response: requests.Response) -> str:
        """The next page's address by ``Link``, relative to the request; only on the same host."""
        link = response.links.get("next", {}).get("url", "")
        if not link:
            return ""
        url = urljoin(response.url, link)
        if _origin(url) != _origin(response.url):
            raise RegistryError("The registry continues its list on another host; we do not follow.", where=self._where)
        return url

    def do_request(
        self,
        url: str,
        method: str = "GET",
        data: Any = None,
        headers: dict[str, str] | None = None,
        json: Any = None,
        stream: bool = False,
    ) -> requests.Response:
        """One request with authentication and retries; oras's own operations come through here too."""
        repeatable = method in ("GET", "HEAD")
        challenged = False
        attempt = 0
        while True:
            self._stop.check()
            try:
                response = self._send(url, method, data, headers, json, stream)
            except requests.exceptions.RequestException as error:
                if not repeatable or attempt >= RETRIES or not _is_transient(error):
                    raise unreachable(error, self.known.registry, self._where) from error
                attempt = self._pause(attempt, None)
                continue
            if response.status_code == 401 and not challenged and self._ours(url):
                challenged = True
                header = response.headers.get("WWW-Authenticate", "")
                response.close()
                if self._answer(header):
                    if hasattr(data, "seek"):
                        data.seek(0)
                    continue
            if repeatable and attempt < RETRIES and self._worth_repeating(response):
                attempt = self._pause(attempt, retry_after(response))
                response.close()
                continue
            return response

    def _send(
        self, url: str, method: str, data: Any, headers: dict[str, str] | None, json: Any, stream: bool
    ) -> requests.Response:
        sent = {"User-Agent": f"kitstudio/{__version__}", "Accept-Encoding": "identity", **(headers or {})}
        if self._ours(url) and (authorization := self.known.authorization(self._repository, self._push)):
            sent["Authorization"] = authorization
        response: requests.Response = self.http.request(
            method, url, data=data, json=json, headers=sent, stream=stream, timeout=TIMEOUT
        )
        return response

    def _ours(self, url: str) -> bool:
        return _origin(url) == _origin(self.root())

    def _worth_repeating(self, response: requests.Response) -> bool:
        if response.status_code == 429:
            seconds = retry_after(response)
            return seconds is not None and seconds <= MAX_WAIT
        return response.status_code in (502, 503, 504)

    def _pause(self, attempt: int, seconds: float | None) -> int:
        self._stop.wait(min(seconds if seconds is not None else 0.25 * 3**attempt, MAX_WAIT))
        return attempt + 1

    def _credential(self) -> Credential | None:
        return self.known.credentials.lookup(self.known.registry, self._repository)

    def _answer(self, header: str) -> bool:
        """Answer a 401; True when there is something new to say."""
        self.known.forget(self._repository, self._push)
        challenges = parse_challenges(header)
        credential = self._credential()
        bearer = next((c for c in challenges if c.scheme == "bearer" and c.realm), None)
        if bearer is not None:
            token, seconds = self._token(bearer, credential)
            self.known.remember(self._repository, self._push, f"Bearer {token}", seconds)
            return True
        if credential is not None and any(c.scheme == "basic" for c in challenges):
            self.known.remember(self._repository, self._push, credential.basic(), 3600.0)
            return True
        return False

    def _token(self, challenge: Challenge, credential: Credential | None) -> tuple[str, float]:
        realm = urljoin(self.root(), challenge.realm)
        host = urlsplit(realm).netloc.rpartition("@")[2]
        if urlsplit(realm).scheme != "https" and not (self.known.plain and is_plain(host, self.known.plain_http)):
            raise SignInRequired(
                f"{self.known.registry} wants the sign-in sent unencrypted to {host}; we do not.", where=self._where
            )
        action = "pull,push" if self._push else "pull"
        fields = {"service": challenge.service, "scope": challenge.scope or self._scope(action)}
        fields = {key: text for key, text in fields.items() if text}
        headers = {"User-Agent": f"kitstudio/{__version__}", "Accept": "application/json"}
        try:
            if credential is not None and credential.is_token:
                form = {**fields, "grant_type": "refresh_token", "refresh_token": credential.password}
                form["client_id"] = "kitstudio"
                response = self.http.request(
                    "POST", realm, data=form, headers=headers, stream=True, timeout=TIMEOUT, allow_redirects=False
                )
            else:
                if credential is not None:
                    headers["Authorization"] = credential.basic()
                response = self.http.request("GET", realm, params=fields, headers=headers, stream=True, timeout=TIMEOUT)
        except requests.exceptions.RequestException as error:
            raise unreachable(error, host, self._where) from error
        if response.status_code == 429:
            raise limited(response, host, self._where)
        if not response.ok:
            with response:
                raise refused(response, self.known.registry, self._where, signed_in=credential is not None)
        return _token_of(self.read(response, MAX_TOKEN), host, self._where)

    def _scope(self, action: str) -> str:
        return f"repository:{self._repository}:{action}" if self._repository else ""


def is_plain(host: str, named: Collection[str]) -> bool:
    """Whether a host is spoken to over plain HTTP: loopback on its own, others only when named."""
    name = _host_name(host)
    if host in named or name in named:
        return True
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class _HttpSession(requests.Session):
    """A session that keeps secrets at home: no netrc, no authorization beyond the host it was meant for."""

    def __init__(self) -> None:
        super().__init__()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.max_redirects = 5
        self.auth = _unchanged

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        old, new = response.request.url or "", prepared_request.url or ""
        if urlsplit(old).scheme == "https" and urlsplit(new).scheme != "https":
            raise requests.exceptions.InvalidSchema("redirected to an unencrypted address")
        if _origin(old) != _origin(new):
            prepared_request.headers.pop("Authorization", None)


def _is_transient(error: requests.exceptions.RequestException) -> bool:
    lasting = (requests.exceptions.SSLError, requests.exceptions.ProxyError)
    return isinstance(error, requests.ConnectionError | requests.Timeout) and not isinstance(error, lasting)


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _token_of(body: bytes, host: str, where: str) -> tuple[str, float]:
    document = read_json(body, where)
    token = (document.get("token") or document.get("access_token")) if isinstance(document, dict) else None
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise SignInRequired(f"{host} gave no token.", where=where, remedy="Sign in again.")
    seconds = document.get("expires_in")
    return token, max(30.0, float(seconds) - 10) if isinstance(seconds, int) else 50.0


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    return parts.scheme, parts.hostname or "", port or {"https": 443, "http": 80}.get(parts.scheme)
