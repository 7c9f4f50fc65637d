"""Connections whose address is judged before anything is sent to it: the address that was judged is the one connected
to, so that a name which answers differently the second time gains nothing."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import requests.adapters
from urllib3.connection import HTTPSConnection
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util.connection import create_connection

from kitstudio.registry.reference import RegistryError

Resolve = Callable[[str, int], Iterable[str]]
"""Every address of a host, as literals."""
Connect = Callable[..., socket.socket]
"""``urllib3.util.connection.create_connection``, or what stands in for it."""


class AddressRefused(RegistryError):
    """A host leads somewhere that must not be asked."""


@dataclass(frozen=True, slots=True)
class Guard:
    """``allowed`` judges each address a host resolves to; one that is not allowed refuses the host."""

    resolve: Resolve
    allowed: Callable[[str], bool]
    what: str
    connect: Connect = create_connection

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host, all of them allowed. Raises ``AddressRefused``."""
        found = tuple(self.resolve(host, port))
        if not found or not all(map(self.allowed, found)):
            raise AddressRefused(self.what, where=host)
        return found


def guarded_adapter(guard: Guard, context: ssl.SSLContext | None = None) -> requests.adapters.HTTPAdapter:
    """An adapter for https whose direct connections go to judged addresses only. Through a proxy the proxy resolves."""

    class Connection(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            try:
                found = guard.addresses(self._dns_host, self.port)
            except socket.gaierror as error:
                raise NameResolutionError(self.host, self, error) from error
            for number, address in enumerate(found, 1):
                try:
                    return guard.connect(
                        (address, self.port),
                        self.timeout,
                        source_address=self.source_address,
                        socket_options=self.socket_options,
                    )
                except TimeoutError as error:
                    if number == len(found):
                        raise ConnectTimeoutError(self, f"Connection to {self.host} timed out.") from error
                except OSError as error:
                    if number == len(found):
                        raise NewConnectionError(self, f"No connection: {error}") from error
            raise AssertionError

    class Pool(HTTPSConnectionPool):
        ConnectionCls = Connection

    class Adapter(requests.adapters.HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
            if context is not None:
                kwargs["ssl_context"] = context
            super().init_poolmanager(*args, **kwargs)
            self.poolmanager.pool_classes_by_scheme = {"https": Pool}

        def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
            if context is not None:
                kwargs["ssl_context"] = context
            return super().proxy_manager_for(proxy, **kwargs)

    return Adapter()
