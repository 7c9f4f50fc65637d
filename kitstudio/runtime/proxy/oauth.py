"""credential@1, duty 3: the token endpoint is answered on the host. The sandbox gets stand-ins; tokens stay here."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from kitstudio.runtime.capabilities.credential import CredentialPlan, Tokens

MAX_BODY = 65536
EARLY = 60
"""Seconds before its end that a token counts as ended."""

Post = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
"""``await post(content_type, body)`` → status and body of the real endpoint."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the sandbox is told: a JSON document."""

    status: int
    document: dict[str, object]

    @property
    def body(self) -> bytes:
        """The document's bytes."""
        return json.dumps(self.document).encode()


async def answer(
    plan: CredentialPlan,
    tokens: Tokens,
    method: str,
    content_type: str,
    body: bytes,
    post: Post,
    clock: Callable[[], float] = time.time,
) -> tuple[Reply, Tokens]:
    """Answer one request to the token endpoint; the reply, and the tokens as they are afterwards.

    A token that still holds is not refreshed. Of a refusal the provider's error words are passed on and nothing else.
    """
    assert plan.oauth is not None
    if method != "POST":
        return Reply(405, {"error": "invalid_request", "error_description": "The token endpoint takes POST."}), tokens
    try:
        fields, form = _read(content_type, body)
    except ValueError:
        return Reply(400, {"error": "invalid_request"}), tokens
    if fields.get("grant_type") == "refresh_token":
        if tokens.access and tokens.expires_at > clock() + EARLY:
            return _granted(plan, tokens, clock()), tokens
        if not tokens.refresh:
            held = bool(tokens.access) and not tokens.expires_at
            return (_granted(plan, tokens, clock()) if held else Reply(400, {"error": "invalid_grant"})), tokens
    real = {plan.oauth.refresh_sentinel: tokens.refresh, plan.oauth.access_sentinel: tokens.access}
    sent = {key: real.get(value, value) if isinstance(value, str) else value for key, value in fields.items()}
    status, given = await post(content_type, urlencode(sent).encode() if form else json.dumps(sent).encode())
    document = _document(given)
    access_name, refresh_name, expires_name = plan.oauth.names
    access = document.get(access_name)
    if status != 200 or not isinstance(access, str) or not access.isprintable():
        return _refused(status, document, (tokens.access, tokens.refresh)), tokens
    refresh, seconds = document.get(refresh_name), document.get(expires_name)
    fresh = Tokens(
        access,
        refresh if isinstance(refresh, str) and refresh.isprintable() else tokens.refresh,
        int(clock() + seconds) if isinstance(seconds, int | float) else 0,
        tuple(str(document["scope"]).split()) if isinstance(document.get("scope"), str) else tokens.scopes,
        tokens.primary_key,
    )
    return _granted(plan, fresh, clock()), fresh


def _granted(plan: CredentialPlan, tokens: Tokens, now: float) -> Reply:
    assert plan.oauth is not None
    access_name, refresh_name, expires_name = plan.oauth.names
    document: dict[str, object] = {access_name: plan.oauth.access_sentinel, "token_type": "Bearer"}
    if tokens.refresh:
        document[refresh_name] = plan.oauth.refresh_sentinel
    document[expires_name] = max(0, int(tokens.expires_at - now)) if tokens.expires_at else 3600
    if tokens.scopes:
        document["scope"] = " ".join(tokens.scopes)
    return Reply(200, document)


def _refused(status: int, document: dict[str, object], secrets: tuple[str, ...]) -> Reply:
    words: dict[str, object] = {
        name: text[:500]
        for name in ("error", "error_description")
        if isinstance(text := document.get(name), str) and not any(s and s in text for s in secrets)
    }
    return Reply(status if 400 <= status < 600 else 502, words or {"error": "server_error"})


def _read(content_type: str, body: bytes) -> tuple[dict[str, object], bool]:
    """The request's fields, and whether they came as a form."""
    if content_type.partition(";")[0].strip().lower() == "application/json":
        document = json.loads(body)
        if not isinstance(document, dict):
            raise ValueError("not an object")
        return document, False
    return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100)), True


def _document(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
