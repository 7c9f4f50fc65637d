"""Signing in and out: a sign-in is tried at the registry before it is kept, and kept where the person chose."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kitstudio.registry.accounts import Accounts, account_place
from kitstudio.registry.client import Client, Session
from kitstudio.registry.credentials import (
    TOKEN_USER,
    Account,
    Credential,
    Credentials,
    DockerCredentials,
    FirstOf,
    OneCredential,
)
from kitstudio.registry.secret_store import (
    FILE,
    KEYRING,
    SESSION,
    FileStore,
    KeyringStore,
    Protection,
    SecretStore,
    SecretStoreError,
    SessionStore,
)
from kitstudio.registry.source import SignInRequired
from kitstudio.registry.threads import Stop, in_thread, on_network
from kitstudio.registry.transport import DIRECT, Network


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """Where secrets can be kept on this machine. ``fallback_reason``: why the keyring is not among them; ``locked``: it
    is, but was not tried, since that would open its prompt."""

    offered: tuple[Protection, ...]
    fallback_reason: str = ""
    locked: bool = False

    @property
    def recommended(self) -> str:
        """The keyring where it works; else nothing: leaving secrets unencrypted is a person's choice."""
        return KEYRING if any(protection.name == KEYRING for protection in self.offered) else ""


@dataclass(frozen=True, slots=True)
class SignIns:
    """All a program needs: the accounts typed here, Docker's, and both as one."""

    accounts: Accounts
    docker: DockerCredentials
    credentials: Credentials
    stores: tuple[SecretStore, ...]
    warnings: tuple[str, ...] = ()


def open_sign_ins(folder: Path, docker: DockerCredentials | None = None) -> SignIns:
    """The sign-ins below ``folder`` (private to the user). The file store's modes are checked here, on every start;
    no keyring is asked."""
    stores: tuple[SecretStore, ...] = (KeyringStore(), SessionStore())
    try:
        file = FileStore(folder / "secrets")
        stores, warnings = (stores[0], file, stores[1]), file.warnings
    except SecretStoreError as error:
        # Registries stay usable without it; what is in the way is told wherever sign-ins are shown.
        warnings = (str(error),)
    accounts = Accounts(folder, {store.name: store for store in stores})
    known = docker or DockerCredentials()
    return SignIns(accounts, known, FirstOf(accounts, known), stores, warnings)


async def store_choice(stores: Sequence[SecretStore], *, prompt: bool = True) -> StoreChoice:
    """Probe the keyring by writing to it, and say what protects what. May open the keyring's own prompt, unless
    ``prompt`` is False: then a locked keyring is offered as one that will ask."""
    return await in_thread(_choice, tuple(stores), prompt)


async def login(
    accounts: Accounts,
    place: str,
    username: str,
    secret: str,
    *,
    store: str = "",
    network: Network = DIRECT,
) -> Account:
    """Try a sign-in and keep it. ``place``: ``host`` or ``host/prefix``; ``store``: its name, empty for the keyring.

    Raises ``SignInRequired`` where the registry refuses it, ``SecretStoreError`` where it cannot be kept; nothing is
    kept then.
    """
    host, prefix = account_place(place)
    if not username or ":" in username or not username.isprintable():
        raise SignInRequired("This is not a user name.", where=place, remedy="A user name has no colon.")
    credential = Credential(username, secret, is_token=username == TOKEN_USER)
    await verify(host, credential, network=network)
    account = Account(host, username, store or KEYRING, prefix)
    await in_thread(_keep, accounts, account, secret)
    return account


async def logout(accounts: Accounts, place: str) -> tuple[Account, ...]:
    """Forget a sign-in kept here; empty where there was none. Docker's own configuration is never changed."""
    host, prefix = account_place(place)
    return await in_thread(lambda stop: accounts.remove(f"{host}/{prefix}" if prefix else host))


async def list_accounts(sign_ins: SignIns) -> tuple[Account, ...]:
    """Accounts typed here, then those of Docker's configuration that are not overridden by them."""

    def collect(stop: Stop) -> tuple[Account, ...]:
        own = sign_ins.accounts.entries()
        places = {account.place for account in own}
        return (*own, *(a for a in sign_ins.docker.accounts() if a.place not in places))

    return await in_thread(collect)


async def signed_in_as(sign_ins: SignIns, registry: str, repository: str = "") -> Account | None:
    """The account that would be used, without looking at any secret and without running a helper."""

    def covers(account: Account) -> bool:
        inside = not account.prefix or f"{repository}/".startswith(f"{account.prefix}/")
        return account.host == registry and inside

    def choose(stop: Stop) -> Account | None:
        for accounts in (sign_ins.accounts.entries(), sign_ins.docker.accounts()):
            found = sorted(filter(covers, accounts), key=lambda account: len(account.prefix))
            if found:
                return found[-1]
        return None

    return await in_thread(choose)


async def verify(host: str, credential: Credential, *, network: Network = DIRECT) -> None:
    """Ask the registry whether it takes a sign-in; raises ``SignInRequired`` where it does not."""
    await on_network(_verify, host, credential, network)


def _verify(stop: Stop, host: str, credential: Credential, network: Network) -> None:
    if _asked(stop, host, credential, network):
        return
    # Some registries show everybody something and ask nobody at the door: whether they look at a sign-in shows when
    # they refuse one that cannot be right.
    _offer(stop, host, credential, network)
    try:
        _offer(stop, host, Credential(f"nobody-{secrets.token_hex(8)}", secrets.token_hex(16)), network)
    except SignInRequired:
        return
    raise SignInRequired(
        f"{host} does not ask who you are, so a sign-in cannot be tried.", where=host, remedy="Use it without one."
    )


def _asked(stop: Stop, host: str, credential: Credential, network: Network) -> bool:
    """Answer the registry's own question with the sign-in; False where it asks nothing."""
    session = Session(host, OneCredential(host, credential), network=network, typed=True)
    client = Client(session)
    client.begin(stop, where=host)
    client.get(client.root()).close()
    return session.asked


def _offer(stop: Stop, host: str, credential: Credential, network: Network) -> None:
    """Send a sign-in unasked."""
    session = Session(host, OneCredential(host, credential), network=network, typed=True)
    session.remember("", False, credential.basic(), 60.0)
    client = Client(session)
    client.begin(stop, where=host)
    client.get(client.root()).close()


def _keep(stop: Stop, accounts: Accounts, account: Account, secret: str) -> None:
    store = accounts.store(account.store)
    if isinstance(store, KeyringStore) and (reason := store.probe()):
        raise SecretStoreError(
            f"The sign-in was accepted, but the keyring cannot keep it: {reason}",
            where=account.place,
            remedy=f"Choose another place for it: “{FILE}” (a private file, not encrypted) or “{SESSION}” "
            "(until the program ends).",
        )
    accounts.add(account, secret)


def _choice(stop: Stop, stores: Sequence[SecretStore], prompt: bool) -> StoreChoice:
    offered, reason, locked = [], "", False
    for store in stores:
        if isinstance(store, KeyringStore):
            try:
                locked = not prompt and store.locked()
            except SecretStoreError as error:
                reason = error.what
                continue
            if not locked and (reason := store.probe()):
                continue
        offered.append(store.describe())
    return StoreChoice(tuple(offered), reason, locked)
