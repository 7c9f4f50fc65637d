"""What the proxy asks of whoever presents credentials on the way out (credential@1)."""

from __future__ import annotations

from typing import Protocol

from kitstudio.runtime.policy import Phase
from kitstudio.runtime.proxy.oauth import Post

Headers = list[tuple[bytes, bytes]]


class Presenter(Protocol):
    """Presents what the host holds; the guest has at most a stand-in for it."""

    def covers(self, phase: Phase, host: str, port: int) -> bool:
        """Whether requests to that host may have to carry a credential, and so must be looked into."""

    def endpoint(self, phase: Phase, host: str, port: int, target: str = "") -> TokenEndpoint | None:
        """The token endpoint at that host, and at that path where ``target`` is stated; it needs no policy entry,
        since nothing of the sandbox reaches it."""

    def present(self, phase: Phase, host: str, port: int, headers: Headers, *, secure: bool) -> Headers:
        """The headers with the credential in place. Raises ``Unacceptable`` where it must not be sent like this."""


class TokenEndpoint(Protocol):
    """A token endpoint that is answered here."""

    async def reply(self, method: str, content_type: str, body: bytes, post: Post) -> tuple[int, bytes]:
        """Status and JSON body for one request."""


class NoPresenter:
    """For a sandbox without credentials."""

    def covers(self, phase: Phase, host: str, port: int) -> bool:
        """Never."""
        return False

    def endpoint(self, phase: Phase, host: str, port: int, target: str = "") -> TokenEndpoint | None:
        """None."""
        return None

    def present(self, phase: Phase, host: str, port: int, headers: Headers, *, secure: bool) -> Headers:
        """Unchanged."""
        return headers
