"""Signing in to a service in the person's own browser (OAuth 2.0 with PKCE, answer on a loopback port; RFC 8252), and
tokens read from a file.

The browser comes back to one address of this run with the state of this run; anything else that knocks is turned away
and changes nothing. The code is exchanged from here, over TLS, and what comes back is the text ``Credentials.bind``
keeps. No part of it is logged or shown.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.capabilities.credential import MAX_SECRET, Tokens, check_secret

if TYPE_CHECKING:
    from kitstudio.registry.threads import Stop
    from kitstudio.registry.transport import Network

SECONDS = 300.0
"""How long the person has in the browser."""
HEAD_SECONDS = 10.0
MAX_HEAD = 16 * 1024
MAX_ANSWER = 1024 * 1024
TIMEOUT = (10.0, 30.0)
CALLBACK = "/callback"
MOST_KNOCKS = 100

Browser = Callable[[str], Awaitable[bool]]
"""Opens an address for the person; False where no browser could be opened."""


class OAuthError(KitStudioError):
    """A sign-in with a service did not come about, or a token file does not read."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a service signs people in. ``client_secret``: only where the provider demands one."""

    authorization_url: str
    token_url: str
    client_id: str
    scopes: tuple[str, ...] = ()
    client_secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class _Visit:
    """What this run gave away and expects back."""

    redirect: str
    state: str
    verifier: str = field(repr=False)


def check_provider(provider: Provider) -> None:
    """``OAuthError`` names what of it cannot be used: addresses are https, or this computer's own loopback."""
    for name, address in (
        ("authorization address", provider.authorization_url),
        ("token address", provider.token_url),
    ):
        try:
            parts = urlsplit(address)
            port_is_right = parts.port is None or parts.port > 0
        except ValueError:
            parts, port_is_right = urlsplit(""), False
        local = parts.hostname in ("127.0.0.1", "::1", "localhost")
        usable = parts.scheme == "https" or (parts.scheme == "http" and local)
        plain = address.isascii() and address.isprintable() and " " not in address and len(address) <= 2048
        if not usable or not parts.hostname or not port_is_right or "@" in parts.netloc or parts.fragment or not plain:
            raise OAuthError(
                f"The {name} cannot be used.",
                where=address[:200] if "@" not in address else "",
                remedy="State an https address without a user name, as the service's documentation gives it.",
            )
    if not provider.client_id.strip() or not provider.client_id.isprintable() or len(provider.client_id) > 512:
        raise OAuthError("The client ID is missing.", remedy="Register a client with the service, and state its ID.")


async def sign_in(provider: Provider, browser: Browser, network: Network, *, seconds: float = SECONDS) -> str:
    """Let the person sign in and return the tokens as ``Credentials.bind`` keeps them. Cancelling ends it at once.

    Raises ``OAuthError`` where the provider or the person declines, nobody comes back in time, or the answer is none.
    """
    check_provider(provider)
    arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = _Callback(arrived)
    await server.start()
    try:
        visit = _Visit(server.address, secrets.token_urlsafe(32), secrets.token_urlsafe(64))
        server.state = visit.state
        if not await browser(authorization_address(provider, visit.redirect, visit.state, visit.verifier)):
            raise OAuthError("No browser could be opened.", remedy="Choose a default browser, then try again.")
        try:
            async with asyncio.timeout(seconds):
                code = await arrived
        except TimeoutError:
            raise OAuthError(
                f"Nobody came back from the browser within {seconds / 60:.0f} minutes.", remedy="Try again."
            ) from None
    finally:
        await server.close()
    from kitstudio.registry.threads import on_network

    return await on_network(_exchange, provider, network, visit, code)


def authorization_address(provider: Provider, redirect: str, state: str, verifier: str) -> str:
    """The address the browser opens; parameters the provider's own address has stay."""
    parts = urlsplit(provider.authorization_url)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    ours = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    if provider.scopes:
        ours["scope"] = " ".join(provider.scopes)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in ours]
    return urlunsplit(parts._replace(query=urlencode([*kept, *ours.items()])))


async def read_token_file(path: Path) -> str:
    """The tokens of a file as ``Credentials.bind`` keeps them: JSON with ``accessToken`` (or ``access_token``) at
    the top or one level below. Raises ``OAuthError``; the file's contents are in no message."""
    from kitstudio.registry.threads import in_thread

    return await in_thread(_read_token_file, path)


def _read_token_file(stop: Stop, path: Path) -> str:
    where = str(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OAuthError("This is not a file.", where=where, remedy="Choose the JSON file with the tokens.")
            content = file.read(MAX_SECRET + 1)
    except OSError as error:
        raise OAuthError(
            f"The file cannot be read: {error.strerror}.", where=where, remedy="Choose a file that you may read."
        ) from error
    if len(content) > MAX_SECRET:
        raise OAuthError(f"The file is larger than {MAX_SECRET // 1024} KiB.", where=where)
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        document = None
    found = _tokens_in(document, time.time())
    if found is None:
        raise OAuthError(
            "No tokens were found in the file.",
            where=where,
            remedy="It must be JSON with an accessToken, and a refreshToken where the service gave one.",
        )
    return _kept(found, where)


def _tokens_in(document: object, now: float) -> Tokens | None:
    """The tokens of a JSON document, here or in the one object below that has some."""
    if not isinstance(document, dict):
        return None
    for each in (document, *(value for value in document.values() if isinstance(value, dict))):
        access, refresh = _text(each, "accessToken", "access_token"), _text(each, "refreshToken", "refresh_token")
        key = _text(each, "primaryApiKey")
        if access or key:
            return Tokens(access, refresh, _end(each, now), _scopes(each), key)
    return None


def _end(found: dict[str, object], now: float) -> int:
    for name in ("expiresAt", "expires_at"):
        value = found.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15:
            # Some programs write milliseconds.
            return int(value / 1000 if value > 1e11 else value)
    seconds = found.get("expires_in")
    if isinstance(seconds, str) and seconds.isascii() and seconds.isdigit() and len(seconds) < 10:
        seconds = int(seconds)
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 1e10:
        return int(now + seconds)
    return 0


def _scopes(found: dict[str, object]) -> tuple[str, ...]:
    stated = found.get("scopes", found.get("scope", ""))
    words = stated.split() if isinstance(stated, str) else stated if isinstance(stated, list) else []
    return tuple(word for word in words if isinstance(word, str))


def _text(found: dict[str, object], *names: str) -> str:
    return next((value for name in names if isinstance(value := found.get(name), str) and value), "")


def _kept(tokens: Tokens, where: str) -> str:
    try:
        return check_secret(tokens.written())
    except ValueError as error:
        raise OAuthError(f"The tokens cannot be kept: {error}.", where=where) from None


def _exchange(stop: Stop, provider: Provider, network: Network, visit: _Visit, code: str) -> str:
    """The code for tokens, asked of the provider itself and of nobody it would lead on to."""
    import requests

    from kitstudio import __version__
    from kitstudio.registry.transport import HttpSession

    host = urlsplit(provider.token_url).netloc
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": visit.redirect,
        "client_id": provider.client_id,
        "code_verifier": visit.verifier,
    }
    if provider.client_secret:
        form["client_secret"] = provider.client_secret
    headers = {
        "User-Agent": f"kitstudio/{__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    try:
        with (
            HttpSession(network) as http,
            http.post(
                provider.token_url, data=form, headers=headers, stream=True, timeout=TIMEOUT, allow_redirects=False
            ) as response,
        ):
            body = bytearray()
            while chunk := response.raw.read(16 * 1024, decode_content=False):
                stop.check()
                body += chunk
                if len(body) > MAX_ANSWER:
                    raise OAuthError("The answer of the token address is too large.", where=host)
            status = response.status_code
    except (requests.exceptions.RequestException, OSError, ValueError, _protocol_errors()) as error:
        raise OAuthError(
            f"The token address does not answer ({type(error).__name__}).",
            where=host,
            remedy="Check the address and the connection, then sign in again.",
        ) from None
    return _answered(status, bytes(body), host)


def _answered(status: int, body: bytes, host: str) -> str:
    try:
        document = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        document = None
    if status != 200 or not isinstance(document, dict):
        said = document.get("error") if isinstance(document, dict) else None
        reason = f", “{_word(said)}”" if isinstance(said, str) else ""
        raise OAuthError(
            f"The service gave no token (status {status}{reason}).",
            where=host,
            remedy="Check the client ID, try again.",
        )
    kind = document.get("token_type", "bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise OAuthError("The service gave a token of a kind that is not known here.", where=host)
    found = _tokens_in({name: value for name, value in document.items() if not isinstance(value, dict)}, time.time())
    if found is None or not found.access:
        raise OAuthError("The service gave no token.", where=host, remedy="Check the client ID and the scopes.")
    return _kept(found, host)


class _Callback:
    """The port the browser comes back to. Answers every visitor; only the right one settles ``arrived``."""

    def __init__(self, arrived: asyncio.Future[str]) -> None:
        self.state = ""
        self.address = ""
        self._host = ""
        self._arrived = arrived
        self._knocks = 0
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._visited, "127.0.0.1", 0, limit=MAX_HEAD)
        port = self._server.sockets[0].getsockname()[1]
        self._host = f"127.0.0.1:{port}"
        self.address = f"http://{self._host}{CALLBACK}"

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        others = [task for task in self._serving if task is not asyncio.current_task()]
        if others:  # the page that says so is still on its way
            await asyncio.wait(others, timeout=1.0)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self._knocks += 1
        try:
            if self._knocks > MOST_KNOCKS:
                return
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                status, words = self._judge(head)
                writer.write(_page(status, words))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            self._serving.discard(task)
            writer.close()

    def _judge(self, head: bytes) -> tuple[str, str]:
        first, *rest = head.decode("latin-1").split("\r\n")
        method, _, remainder = first.partition(" ")
        target, _, version = remainder.partition(" ")
        names = [line.partition(":")[2].strip() for line in rest if line.lower().startswith("host:")]
        path, _, query = target.partition("?")
        if method != "GET" or not version.startswith("HTTP/1.") or path != CALLBACK or names != [self._host]:
            return "404 Not Found", "There is nothing here."
        try:
            found = parse_qs(query, keep_blank_values=True, max_num_fields=50)
        except ValueError:
            found = {}
        if any(len(values) != 1 for values in found.values()):
            return "400 Bad Request", "This is not the answer that is waited for."
        state, code, error = (found.get(name, [""])[0] for name in ("state", "code", "error"))
        if not secrets.compare_digest(state.encode(), self.state.encode()) or not self.state or not (code or error):
            return "400 Bad Request", "This is not the answer that is waited for."
        if self._arrived.done():
            return "410 Gone", "The answer has been taken already."
        if error:
            self._arrived.set_exception(
                OAuthError(
                    f"The service did not sign you in: “{_word(error)}”.", remedy="Try again, or ask the service."
                )
            )
            return "200 OK", "You are not signed in. Close this page and go back to Kit Studio."
        if len(code) > MAX_HEAD or not code.isprintable():
            return "400 Bad Request", "This is not the answer that is waited for."
        self._arrived.set_result(code)
        return "200 OK", "Close this page and go back to Kit Studio."


def _page(status: str, words: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>Kit Studio</title><p>{words}</p>\n".encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _word(text: str) -> str:
    """An error code of a stranger, short and plain."""
    return "".join(letter for letter in text if letter.isascii() and (letter.isalnum() or letter in "_-. "))[:60]


def _protocol_errors() -> type[Exception]:
    from urllib3.exceptions import HTTPError

    return HTTPError
