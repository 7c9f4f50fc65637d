"""A registry's token service: who is asked, what is sent, and what comes back.

The sign-in of a registry goes to the realm that registry names and to nobody else: never after a redirect to another
host, and never unencrypted. Anonymous and password sign-ins ask by GET, as every service understands; only an
identity token needs POST, and services that refuse POST are asked by GET again.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

import requests

from kitstudio import __version__
from kitstudio.registry.challenge import Challenge
from kitstudio.registry.credentials import Credential
from kitstudio.registry.failures import clock_skew, limited, refused, unreachable
from kitstudio.registry.manifest import read_json
from kitstudio.registry.session import Session
from kitstudio.registry.source import SignInRequired

TIMEOUT = (10.0, 30.0)
MAX_TOKEN = 1024 * 1024
MAX_SECONDS = 3600.0

Reader = Callable[[requests.Response, int], bytes]


def fetch_token(
    http: requests.Session,
    session: Session,
    challenge: Challenge,
    credential: Credential | None,
    scope: str,
    root: str,
    where: str,
    read: Reader,
) -> tuple[str, float]:
    """The token and the seconds it counts. ``root``: the registry's own address, for a realm that is relative."""
    realm, host = _realm(session, challenge, root, where)
    fields = {"service": challenge.service, "scope": challenge.scope or scope}
    fields = {key: text for key, text in fields.items() if text}
    try:
        response = _ask(http, realm, fields, credential)
    except (requests.exceptions.RequestException, ValueError) as error:
        raise unreachable(error, host, where) from error
    session.skew = clock_skew(response, session.clock.now()) or session.skew
    if not response.ok or 300 <= response.status_code < 400:
        with response:
            if response.status_code == 429:
                raise session.hold(limited(response, host, where))
            raise refused(
                response,
                session.registry,
                where,
                signed_in=credential is not None,
                skew=session.skew,
                fault=session.credentials.fault(session.registry),
                typed=session.typed,
            )
    return _token_of(read(response, MAX_TOKEN), host, where)


def _realm(session: Session, challenge: Challenge, root: str, where: str) -> tuple[str, str]:
    try:
        realm = urljoin(root, challenge.realm)
        parts = urlsplit(realm)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        realm, parts, host = "", urlsplit(""), ""
    if not host or parts.scheme not in ("https", "http") or "@" in parts.netloc:
        raise SignInRequired(
            f"{session.registry} names a token service that is no address.",
            where=where,
            remedy="Ask whoever runs the registry.",
        )
    if parts.scheme != "https" and not (session.plain and session.network.plain(host)):
        raise SignInRequired(
            f"{session.registry} wants the sign-in sent unencrypted to {host}; we do not.",
            where=where,
            remedy=f"If you trust the way to it, say so with --plain-http {host}.",
        )
    return realm, host


def _ask(
    http: requests.Session, realm: str, fields: dict[str, str], credential: Credential | None
) -> requests.Response:
    headers = {"User-Agent": f"kitstudio/{__version__}", "Accept": "application/json"}
    if credential is not None and credential.is_token:
        form = {**fields, "grant_type": "refresh_token", "refresh_token": credential.password}
        form["client_id"] = "kitstudio"
        response: requests.Response = http.request(
            "POST", realm, data=form, headers=headers, stream=True, timeout=TIMEOUT, allow_redirects=False
        )
        if response.status_code not in (404, 405, 501):
            return response
        response.close()
    if credential is not None:
        headers["Authorization"] = credential.basic()
    # Several scopes are several parameters here, and one text with blanks in a form.
    query: dict[str, str | list[str]] = {**fields, "scope": fields.get("scope", "").split()}
    return http.request("GET", realm, params=query, headers=headers, stream=True, timeout=TIMEOUT)


def _token_of(body: bytes, host: str, where: str) -> tuple[str, float]:
    document = read_json(body, where)
    token = (document.get("token") or document.get("access_token")) if isinstance(document, dict) else None
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise SignInRequired(f"{host} gave no token.", where=where, remedy="Sign in again.")
    seconds = document.get("expires_in")
    stated = float(seconds) if isinstance(seconds, int) and not isinstance(seconds, bool) else 60.0
    return token, max(30.0, min(stated, MAX_SECONDS) - 10)
