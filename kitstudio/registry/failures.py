"""A registry's refusals and silences in words: what, where, remedy."""

from __future__ import annotations

import email.utils
import json
import socket
import time
from collections.abc import Iterator

import requests

from kitstudio.registry.source import NotFound, RateLimited, RegistryError, SignInRequired, Unreachable

MAX_BODY = 65536
MAX_WORDS = 200
MAX_SKEW = 300.0
"""Seconds two clocks may differ before a refused sign-in is put down to them."""


def unreachable(error: Exception, host: str, where: str) -> RegistryError:
    """What it means that no answer came."""
    if isinstance(error, requests.exceptions.SSLError):
        if "WRONG_VERSION_NUMBER" in str(error) or "record layer failure" in str(error).lower():
            return Unreachable(
                f"{host} does not speak HTTPS.",
                where=where,
                remedy=f"If it is meant to be plain HTTP, say so with --plain-http {host}.",
            )
        if "certificate has expired" in str(error) or "not yet valid" in str(error):
            return Unreachable(
                f"The certificate of {host} is out of its time.",
                where=where,
                remedy="Check this computer's clock; if it is right, the registry's owner has to renew it.",
            )
        return Unreachable(
            f"The certificate of {host} is not trusted here.",
            where=where,
            remedy="Add its certificate authority in Settings, or check that you reach the right host.",
        )
    if isinstance(error, requests.exceptions.ProxyError):
        return Unreachable(f"The proxy on the way to {host} refuses.", where=where, remedy="Check the proxy settings.")
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return Unreachable(f"{host} sends us around in circles.", where=where, remedy="Check the address.")
    if isinstance(error, requests.exceptions.InvalidSchema):
        return Unreachable(f"{host} sends us on to an unencrypted address; we do not follow.", where=where)
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes) or "NameResolutionError" in repr(error):
        return Unreachable(f"There is no host named {host}.", where=where, remedy="Check the name and your network.")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Unreachable(
            f"{host} refuses connections.", where=where, remedy="Check the port, and whether the registry is running."
        )
    if isinstance(error, requests.exceptions.Timeout):
        return Unreachable(f"{host} did not answer in time.", where=where, remedy="Try again later.")
    return Unreachable(f"The connection to {host} broke off.", where=where, remedy="Check your network and try again.")


def refused(
    response: requests.Response,
    host: str,
    where: str,
    *,
    signed_in: bool,
    skew: float = 0.0,
    fault: str = "",
    typed: bool = False,
) -> RegistryError:
    """What a status other than success means. ``skew``: seconds its clock is ahead of ours; ``fault``: why a sign-in
    that may exist could not be used; ``typed``: the sign-in is being tried for the first time."""
    status = response.status_code
    code, words = _stated(response)
    said = f" It says: {words}" if words else ""
    if status == 429 or code == "TOOMANYREQUESTS":
        return limited(response, host, where)
    if status == 400 and "HTTPS server" in words:
        return Unreachable(
            f"{host} speaks HTTPS, and was asked over plain HTTP.",
            where=where,
            remedy="Take it out of the hosts without TLS; for a host on this machine, name it among those with TLS.",
        )
    if status in (401, 403) and abs(skew) > MAX_SKEW:
        return SignInRequired(
            f"{host} refuses, and its clock is {_span(skew)} {'ahead of' if skew > 0 else 'behind'} this computer's."
            f"{said}",
            where=where,
            remedy="A sign-in counts only while both clocks agree: set this computer's clock, then try again.",
        )
    if status in (401, 403) and typed:
        return SignInRequired(
            f"{host} does not accept this user name and password.{said}",
            where=where,
            remedy="Check both; many registries want an access token in place of the password.",
        )
    if status == 401:
        if signed_in:
            return SignInRequired(
                f"{host} no longer accepts the stored sign-in.{said}",
                where=where,
                remedy=f"Sign in again: kitstudio login {host}.",
            )
        return SignInRequired(
            f"{host} does not show this without a sign-in, or it does not exist.",
            where=where,
            remedy=f"{fault} " * bool(fault) + f"Check the name, or sign in: kitstudio login {host}.",
        )
    if status == 403:
        return SignInRequired(
            f"{host} does not allow this.{said}",
            where=where,
            remedy="Sign in with an account that may."
            if signed_in
            else f"{fault} " * bool(fault) + f"Sign in: kitstudio login {host}.",
        )
    if status == 404:
        missing = "repository" if code == "NAME_UNKNOWN" else "content" if code == "BLOB_UNKNOWN" else "version"
        return NotFound(f"{host} has no such {missing}.", where=where, remedy="Check the reference.")
    if status in (400, 405, 501):
        return NotFound(f"{host} does not offer this (HTTP {status}).{said}", where=where)
    if status >= 500:
        return RegistryError(f"{host} is in trouble (HTTP {status}).{said}", where=where, remedy="Try again later.")
    return RegistryError(f"{host} answered HTTP {status}.{said}", where=where)


def limited(response: requests.Response, host: str, where: str) -> RateLimited:
    """HTTP 429, a pull quota or a limit on requests."""
    seconds = retry_after(response)
    quota = any(name.lower().startswith("ratelimit-") for name in response.headers)
    what = f"The pull quota of {host} is used up." if quota else f"{host} received too many requests from here."
    when = f"Try again in {round(seconds)} s." if seconds else "Try again later."
    return RateLimited(what, where=where, remedy=f"{when} Signing in may raise the limit.", retry_after=seconds)


def retry_after(response: requests.Response) -> float | None:
    """Seconds a ``Retry-After`` header asks for, in either of its forms."""
    stated = response.headers.get("Retry-After", "").strip()
    if stated.isascii() and stated.isdigit():
        return float(min(int(stated[:9]), 86400))
    try:
        date = email.utils.parsedate_to_datetime(stated)
        return max(0.0, min(date.timestamp() - time.time(), 86400.0))
    except (ValueError, TypeError, OverflowError):
        return None


def clock_skew(response: requests.Response, now: float) -> float:
    """Seconds the server's ``Date`` is ahead of ``now``; 0 where it states none."""
    try:
        return email.utils.parsedate_to_datetime(response.headers.get("Date", "")).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _span(seconds: float) -> str:
    minutes = round(abs(seconds) / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"


def _stated(response: requests.Response) -> tuple[str, str]:
    """Code and message of the first OCI error in the body, harmless to show."""
    try:
        body = response.raw.read(MAX_BODY, decode_content=True) if response.raw is not None else b""
        if response.headers.get("Content-Type", "").startswith("text/plain") or body.startswith(b"Client sent"):
            return "", _harmless(body.decode(errors="replace"))
        error = json.loads(body)["errors"][0]
        code, message = error.get("code", ""), error.get("message", "")
    except Exception:  # noqa: BLE001 - the body is anybody's; without it the status speaks alone
        return "", ""
    return (code if isinstance(code, str) else ""), _harmless(str(message))


def _harmless(text: str) -> str:
    """A sentence of bounded length that changes nothing on a terminal."""
    words = "".join(c if c.isprintable() else " " for c in text)[:MAX_WORDS].strip()
    return words if not words or words.endswith(".") else f"{words}."


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    queue: list[object] = [error]
    while queue:
        cause = queue.pop()
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            queue.extend((cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args))
