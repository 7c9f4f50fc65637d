"""Requests to one registry: oras-py's provider, with what it leaves open settled here.

oras knows the distribution API's addresses and operations; this subclass gives it time limits, bounded and cancellable
retries, authentication that never sends an empty header or a secret to a stranger, and errors a person can act on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin

import oras.container
import oras.provider
import requests

from kitstudio import __version__
from kitstudio.registry.blob_store import CHUNK
from kitstudio.registry.challenge import Challenge, parse_challenges
from kitstudio.registry.failures import clock_skew, limited, refused, retry_after, unreachable
from kitstudio.registry.session import Session
from kitstudio.registry.source import RegistryError
from kitstudio.registry.threads import Stop
from kitstudio.registry.token_service import TIMEOUT, fetch_token
from kitstudio.registry.transport import HttpSession, is_plain, origin

METADATA_SECONDS = 60.0
RETRIES = 2
MAX_WAIT = 3.0
FIRST_WAIT = 0.25

__all__ = ["Client", "Session", "is_plain"]


class Client(oras.provider.Registry):  # type: ignore[misc]
    """One worker thread's client. ``begin`` names the job, then requests follow; all raise ``RegistryError``."""

    def __init__(self, session: Session) -> None:
        super().__init__(hostname=session.host, insecure=session.plain)
        self.known = session
        self.http = HttpSession(session.network)
        self._repository, self._push, self._where, self._stop = "", False, session.registry, Stop()
        self._also = ""

    def begin(
        self, stop: Stop, repository: str = "", where: str = "", *, push: bool = False, also_from: str = ""
    ) -> None:
        """The requests that follow are about this repository, for this caller. ``also_from``: another repository they
        read from, so that a token must cover both."""
        self._stop, self._repository, self._push, self._also = stop, repository, push, also_from
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
        known = self.known
        with response:
            if response.status_code == 429:
                raise known.hold(limited(response, known.registry, self._where))
            # Looking a sign-in up may run a program; only these answers have to do with one.
            signed_in = response.status_code in (401, 403) and known.credential(self._repository) is not None
            fault = known.credentials.fault(known.registry)
            raise refused(
                response,
                known.registry,
                self._where,
                signed_in=signed_in,
                skew=known.skew,
                fault=fault,
                typed=known.typed,
            )

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
        try:
            url = urljoin(response.url, link)
        except ValueError:
            url = ""
        if origin(url) != origin(response.url):
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
        answered = dropped = False
        attempt = 0
        self.known.check_limit(self._where)
        while True:
            self._stop.check()
            sent = self.known.authorization(self._asker, self._push) if self._ours(url) else ""
            try:
                response = self._send(url, method, data, headers, json, stream, sent)
            except (requests.exceptions.RequestException, ValueError) as error:
                if not repeatable or attempt >= RETRIES or not _is_transient(error):
                    raise unreachable(error, self.known.registry, self._where) from error
                attempt = self._pause(attempt, None)
                continue
            self.known.skew = clock_skew(response, self.known.clock.now()) or self.known.skew
            challenges = self._challenges(response)
            if challenges and not answered:
                answered = True
                if self._answer(challenges, sent):
                    response.close()
                    _rewind(data)
                    continue
                return response
            if response.status_code == 401 and sent:
                self.known.forget(self._asker, self._push, sent)
            given_up = dropped or answered or self.known.typed
            if sent and response.status_code in (400, 401) and not given_up:
                # Some registries answer a token that has run out without saying what they want instead.
                dropped = True
                response.close()
                self.known.forget(self._asker, self._push, sent)
                _rewind(data)
                continue
            if repeatable and attempt < RETRIES and self._worth_repeating(response):
                attempt = self._pause(attempt, retry_after(response))
                response.close()
                continue
            return response

    def _send(
        self,
        url: str,
        method: str,
        data: Any,
        headers: dict[str, str] | None,
        json: Any,
        stream: bool,
        authorization: str,
    ) -> requests.Response:
        stated = {"User-Agent": f"kitstudio/{__version__}", "Accept-Encoding": "identity", **(headers or {})}
        if authorization:
            stated["Authorization"] = authorization
        response: requests.Response = self.http.request(
            method, url, data=data, json=json, headers=stated, stream=stream, timeout=TIMEOUT
        )
        return response

    def _ours(self, url: str) -> bool:
        return origin(url) == origin(self.root())

    def _challenges(self, response: requests.Response) -> tuple[Challenge, ...]:
        """What the registry itself asks for; a storage host it redirects to has no say in where a sign-in goes."""
        if response.status_code not in (400, 401) or not self._ours(response.url):
            return ()
        found = parse_challenges(response.headers.get("WWW-Authenticate", ""))
        self.known.asked = self.known.asked or bool(found)
        return found

    def _worth_repeating(self, response: requests.Response) -> bool:
        if response.status_code == 429:
            seconds = retry_after(response)
            return seconds is not None and seconds <= MAX_WAIT
        return response.status_code in (502, 503, 504)

    def _pause(self, attempt: int, seconds: float | None) -> int:
        self.known.clock.wait(self._stop, min(seconds if seconds is not None else FIRST_WAIT * 3**attempt, MAX_WAIT))
        return attempt + 1

    def _answer(self, challenges: tuple[Challenge, ...], sent: str) -> bool:
        """Answer a challenge; True when there is something new to say."""
        known = self.known
        known.forget(self._asker, self._push, sent)
        newer = known.authorization(self._asker, self._push)
        if newer:
            return True
        credential = known.credential(self._repository)
        bearer = next((c for c in challenges if c.scheme == "bearer" and c.realm), None)
        if bearer is not None:
            if self._push:
                bearer = replace(bearer, scope=_covering(bearer.scope, self._scope()))
            token, seconds = fetch_token(
                self.http, known, bearer, credential, self._scope(), self.root(), self._where, self.read
            )
            known.remember(self._asker, self._push, f"Bearer {token}", seconds)
            return True
        if credential is not None and any(c.scheme == "basic" for c in challenges):
            known.remember(self._asker, self._push, credential.basic(), 3600.0)
            return True
        return False

    @property
    def _asker(self) -> str:
        """Under what an authorization is kept: one that covers two repositories counts for nothing else."""
        return f"{self._repository} {self._also}" if self._also else self._repository

    def _scope(self) -> str:
        action = "pull,push" if self._push else "pull"
        scope = f"repository:{self._repository}:{action}" if self._repository else ""
        return f"{scope} repository:{self._also}:pull" if self._also else scope


def _covering(asked: str, ours: str) -> str:
    """The scopes of a challenge with all a push will need: what is asked for a look alone would not do for a write that
    another thread sends with the same token."""
    known = {scope.rpartition(":")[0] for scope in ours.split()}
    return " ".join([*(scope for scope in asked.split() if scope.rpartition(":")[0] not in known), ours])


def _is_transient(error: Exception) -> bool:
    lasting = (requests.exceptions.SSLError, requests.exceptions.ProxyError)
    return isinstance(error, requests.ConnectionError | requests.Timeout) and not isinstance(error, lasting)


def _rewind(data: Any) -> None:
    if hasattr(data, "seek"):
        data.seek(0)
