"""credential@1 on the way out: the real secret in place of whatever the guest sent, and only where it belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitstudio.runtime.capabilities.credential import CredentialPlan, Tokens, names
from kitstudio.runtime.policy import Phase
from kitstudio.runtime.proxy.presenter import Headers
from kitstudio.runtime.proxy.request import Unacceptable


class CredentialPresenter:
    """``proxy.Presenter`` over the credentials of one sandbox. ``values``: secrets by service, read at each request,
    so that one changed on the host is used by the next."""

    def __init__(self, plans: Sequence[CredentialPlan], values: Mapping[str, str]) -> None:
        self._plans = tuple(plans)
        self._values = values

    def covers(self, phase: Phase, host: str, port: int) -> bool:
        """Whether any secret is presented to that host in that phase."""
        return any(plan.looks_into(phase, host, port) for plan in self._plans)

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


def _presented(plan: CredentialPlan, secret: str, host: str, port: int, headers: Headers) -> Headers:
    for place in plan.presentations:
        if names(place.host, host, port):
            headers = _with(headers, place.header, place.value(secret))
    if plan.oauth is None:
        return headers
    tokens = Tokens.read(secret)
    if any(names(pattern, host, port) for pattern in plan.oauth.hosts):
        sentinel = plan.oauth.access_sentinel.encode()
        if any(sentinel in value for _, value in headers):
            return [(name, value.replace(sentinel, tokens.access.encode())) for name, value in headers]
        headers = _with(headers, "Authorization", f"Bearer {tokens.access}")
    return headers


def _with(headers: Headers, name: str, value: str) -> Headers:
    """``headers`` with exactly one of that name."""
    wanted = name.encode().lower()
    return [*((n, v) for n, v in headers if n.lower() != wanted), (name.encode(), value.encode())]


def _own_machine(host: str) -> bool:
    """This computer's own loopback, which a person must have named literally in the policy."""
    return host in ("localhost", "host.docker.internal", "127.0.0.1", "::1")
