"""Secrets bound to services of ``credential@1``: kept in the stores sign-ins are kept in, told to the runtime only.

Which service is bound, and in which store, is in ``bindings.json``; no secret is. A binding whose secret has gone is
passed over and taken out.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.capabilities.credential import check_secret
from kitstudio.services.home import alone_in, write_atomic
from kitstudio.services.topic import Topic

if TYPE_CHECKING:
    from kitstudio.registry.secret_store import Protection, SecretStore
    from kitstudio.registry.threads import Stop

SERVICE = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
MAX_BINDINGS = 1000
MAX_FILE = 1024 * 1024
"""Bytes of the list that are read."""
_KEPT_AS = "kitstudio:service"


class CredentialError(KitStudioError):
    """A secret cannot be bound, found or taken back."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One service and where its secret is kept: ``protection`` says what protects it. Never the value."""

    service: str
    store: str
    protection: Protection


class Credentials:
    """``changed`` publishes the service whose secret was set or taken away."""

    def __init__(self, stores: Callable[[], Sequence[SecretStore]], file: Path) -> None:
        self.changed: Topic[str] = Topic()
        self._stores = stores
        self._file = file
        self._one = asyncio.Lock()

    async def list(self) -> tuple[Binding, ...]:
        """Every bound service by name."""
        from kitstudio.registry.threads import in_thread

        async with self._one:
            return await in_thread(self._list)

    async def bind(self, service: str, secret: str, store: str = "") -> Binding:
        """Keep a secret for a service, in place of the one before. ``store``: its name, empty for the keyring.

        ``secret``: the value itself, or a JSON object with OAuth tokens. Raises ``CredentialError``, or the store's
        own error where it refuses: nothing falls back to another store on its own.
        """
        from kitstudio.registry.threads import in_thread

        if not SERVICE.fullmatch(service):
            raise CredentialError(
                "This is not the name of a service.",
                where=service[:80],
                remedy="A service has up to 64 lower-case letters, digits and hyphens, as the Kit states it.",
            )
        try:
            check_secret(secret)
        except ValueError as error:
            raise CredentialError(f"The secret cannot be kept: {error}.", where=service) from None
        async with self._one:
            made = await in_thread(self._bind, service, secret, store)
        self.changed.publish(service)
        return made

    async def renew(self, service: str, secret: str) -> None:
        """Put renewed tokens where the old ones are; a binding taken back meanwhile stays taken back."""
        bound = {binding.service: binding.store for binding in await self.list()}
        if service in bound:
            await self.bind(service, secret, bound[service])

    async def unbind(self, service: str) -> None:
        """Forget a service's secret. Raises ``CredentialError`` where there is none."""
        from kitstudio.registry.threads import in_thread

        async with self._one:
            await in_thread(self._unbind, service)
        self.changed.publish(service)

    async def held(self, services: Collection[str]) -> Mapping[str, str]:
        """``runtime.SecretSource``: the secrets of those services that have one."""
        from kitstudio.registry.threads import in_thread

        if not services:
            return {}
        async with self._one:
            return await in_thread(self._held, tuple(services))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other window or command changes the list between the look at it and the new one."""
        with ExitStack() as held:
            try:
                held.enter_context(alone_in(self._file.parent))
            except OSError as error:
                what = f"The list of bound services cannot be used: {error.strerror}."
                raise CredentialError(what, where=str(self._file)) from error
            yield

    def _list(self, stop: Stop) -> tuple[Binding, ...]:
        stores = self._by_name()
        return tuple(
            Binding(service, name, stores[name].describe())
            for service, name in sorted(self._read().items())
            if name in stores and self._present(stores[name], service)
        )

    def _bind(self, stop: Stop, service: str, secret: str, store: str) -> Binding:
        from kitstudio.registry.secret_store import KEYRING

        stores = self._by_name()
        chosen = stores.get(store or KEYRING)
        if chosen is None:
            raise CredentialError(
                f"There is no store “{store}” here.", where=service, remedy="Stores: " + ", ".join(stores) + "."
            )
        with self._alone():
            index = self._read()
            if service not in index and len(index) >= MAX_BINDINGS:
                raise CredentialError(f"At most {MAX_BINDINGS} services can be bound.", where=service)
            chosen.set(_KEPT_AS, service, secret)
            if chosen.get(_KEPT_AS, service) != secret:
                raise CredentialError(
                    "The keyring does not give back what it was given.",
                    where=service,
                    remedy="Choose another place for secrets: --store file.",
                )
            before = index.get(service, chosen.name)
            if before != chosen.name and before in stores:
                stores[before].delete(_KEPT_AS, service)
            index[service] = chosen.name
            self._write(index)
            return Binding(service, chosen.name, chosen.describe())

    def _unbind(self, stop: Stop, service: str) -> None:
        with self._alone():
            index, stores = self._read(), self._by_name()
            name = index.pop(service, "")
            if not name:
                raise CredentialError(
                    "No secret is bound to that service.", where=service[:80], remedy="See: kitstudio credentials ls"
                )
            if name in stores:
                stores[name].delete(_KEPT_AS, service)
            self._write(index)

    def _held(self, stop: Stop, services: tuple[str, ...]) -> dict[str, str]:
        index, stores = self._read(), self._by_name()
        found: dict[str, str] = {}
        for service in services:
            store = stores.get(index.get(service, ""))
            secret = store.get(_KEPT_AS, service) if store is not None else None
            if secret is not None:
                found[service] = secret
        return found

    def _present(self, store: SecretStore, service: str) -> bool:
        """Whether the secret is still there; a binding to nothing is taken out."""
        if store.get(_KEPT_AS, service) is not None:
            return True
        with self._alone():
            index = self._read()
            if index.get(service) == store.name:
                self._write({name: kept for name, kept in index.items() if name != service})
        return False

    def _by_name(self) -> dict[str, SecretStore]:
        return {store.name: store for store in self._stores()}

    def _read(self) -> dict[str, str]:
        try:
            with self._file.open("rb") as stream:
                raw = stream.read(MAX_FILE + 1)
            document = json.loads(raw) if len(raw) <= MAX_FILE else None
            if not isinstance(document, dict):
                raise ValueError
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise CredentialError(
                "The list of bound services cannot be read.",
                where=str(self._file),
                remedy="Remove the file and bind the services again; their secrets are kept elsewhere.",
            ) from error
        return {name: store for name, store in document.items() if isinstance(store, str) and SERVICE.fullmatch(name)}

    def _write(self, index: Mapping[str, str]) -> None:
        write_atomic(self._file, (json.dumps(dict(sorted(index.items())), indent=1) + "\n").encode())
