"""credential@1 on the way out: the real secret in place of whatever the guest sent, and only where it belongs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass

from kitstudio.runtime.capabilities.credential import CredentialPlan, Tokens, names
from kitstudio.runtime.policy import Phase
from kitstudio.runtime.proxy.oauth import Post, Reply, answer
from kitstudio.runtime.proxy.presenter import Headers, TokenEndpoint
from kitstudio.runtime.proxy.request import Unacceptable


class CredentialPresenter:
    """``proxy.Presenter`` over the credentials of one sandbox. ``values``: secrets by service, read at each request,
    so that one changed on the host is used by the next; ``renewed`` is told of services whose tokens a provider
    renewed."""

    def __init__(
        self,
        plans: Sequence[CredentialPlan],
        values: MutableMapping[str, str],
        renewed: Callable[[str], None] = lambda service: None,
    ) -> None:
        self._plans = tuple(plans)
        self._values = values
        self._renewed = renewed
        self._one = asyncio.Lock()

    def covers(self, phase: Phase, host: str, port: int) -> bool:
        """Whether any secret is presented to that host in that phase."""
        return any(plan.looks_into(phase, host, port) for plan in self._plans)

    def endpoint(self, phase: Phase, host: str, port: int, target: str = "") -> TokenEndpoint | None:
        """The token endpoint of an OAuth credential whose secret is held."""
        for plan in self._plans:
            if plan.service in self._values and plan.is_endpoint(phase, host, port, target):
                return _Endpoint(self, plan)
        return None

    async def renew(self, plan: CredentialPlan, method: str, content_type: str, body: bytes, post: Post) -> Reply:
        """Answer one request to the token endpoint; one at a time, so that a token is not renewed twice."""
        async with self._one:
            before = Tokens.read(self._values[plan.service])
            reply, after = await answer(plan, before, method, content_type, body, post)
            if after != before:
                self._values[plan.service] = after.written()
                self._renewed(plan.service)
        return reply

    def present(self, phase: Phase, host: str, port: int, headers: Headers, *, secure: bool) -> Headers:
        """The headers with every secret of this host in place; a stand-in never leaves.

        Raises ``Unacceptable`` without encryption, or where a secret has been taken back.
        """
        for plan in self._plans:
            if not plan.looks_into(phase, host, port):
                continue
            if not secure and not _own_machine(host):
                raise Unacceptable(f"the secret of {plan.service} is not sent to {host} without encryption", host)
            if plan.service not in self._values:
                raise Unacceptable(f"no secret is bound to {plan.service} any more", host)
            headers = _presented(plan, self._values[plan.service], host, port, headers)
        return headers


@dataclass(frozen=True, slots=True)
class _Endpoint:
    presenter: CredentialPresenter
    plan: CredentialPlan

    async def reply(self, method: str, content_type: str, body: bytes, post: Post) -> tuple[int, bytes]:
        found = await self.presenter.renew(self.plan, method, content_type, body, post)
        return found.status, found.body


def _presented(plan: CredentialPlan, secret: str, host: str, port: int, headers: Headers) -> Headers:
    for place in plan.presentations:
        if names(place.host, host, port):
            headers = _with(headers, place.header, place.value(secret))
    if plan.oauth is None:
        return headers
    tokens = Tokens.read(secret)
    if any(names(pattern, host, port) for pattern in plan.oauth.hosts):
        for stand_in, real in (
            (plan.oauth.access_sentinel, tokens.access),
            (plan.oauth.key_sentinel, tokens.primary_key),
        ):
            if real and any(stand_in.encode() in value for _, value in headers):
                return [(name, value.replace(stand_in.encode(), real.encode())) for name, value in headers]
        headers = _with(headers, "Authorization", f"Bearer {tokens.access}")
    return headers


def _with(headers: Headers, name: str, value: str) -> Headers:
    """``headers`` with exactly one of that name."""
    wanted = name.encode().lower()
    return [*((n, v) for n, v in headers if n.lower() != wanted), (name.encode(), value.encode())]


def _own_machine(host: str) -> bool:
    """This computer's own loopback, which a person must have named literally in the policy."""
    return host in ("localhost", "host.docker.internal", "127.0.0.1", "::1")
