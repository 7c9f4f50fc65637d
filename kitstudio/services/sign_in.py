"""Signing in to registries, for windows and commands: who is signed in where, trying and keeping a sign-in, ending it.

Nothing here falls back by itself: where the keyring cannot keep a secret, the failure says so and a person names
another store. A locked keyring is opened by ``unlock`` and by a sign-in only, which are a person's own acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kitstudio.services.topic import Topic

if TYPE_CHECKING:
    from kitstudio.registry.credentials import Account
    from kitstudio.registry.sign_in import SignIns, StoreChoice
    from kitstudio.services.places import Places

DOCKER = "docker"
"""The store of accounts that belong to Docker's configuration: they are read here, never changed."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Everybody who is signed in, ours first. ``warnings``: what was found open or unusable where secrets lie;
    ``locked``: the keyring is, so that what it holds is not used until a person unlocks it; ``problem``: why the
    keyring cannot be used at all."""

    accounts: tuple[Account, ...]
    warnings: tuple[str, ...] = ()
    locked: bool = False
    problem: str = ""


class SignIn:
    """The sign-ins of one home. ``changed`` is told after each sign-in, sign-out and unlocking."""

    def __init__(self, places: Places) -> None:
        self.changed: Topic[None] = Topic()
        self._places = places

    async def _opened(self) -> SignIns:
        """The sign-ins; what speaks to registries is slow to load, so it is loaded in a thread."""
        from kitstudio.registry.threads import in_thread

        return await in_thread(lambda stop: self._places.sign_ins())

    async def choices(self) -> StoreChoice:
        """Where a secret can be kept and what protects it there. Tries the keyring by writing to it, unless it is
        locked: no prompt opens."""
        sign_ins = await self._opened()
        from kitstudio.registry.sign_in import store_choice

        return await store_choice(sign_ins.stores, prompt=False)

    async def accounts(self) -> tuple[Account, ...]:
        """Accounts typed here, then Docker's that are not overridden by them; no secret is looked at."""
        sign_ins = await self._opened()
        from kitstudio.registry.sign_in import list_accounts

        return await list_accounts(sign_ins)

    async def signed_in(self) -> SignedIn:
        """``accounts`` with the state of where their secrets lie. A keyring is asked only where an account needs it."""
        sign_ins = await self._opened()
        from kitstudio.registry.secret_store import KEYRING, KeyringStore, SecretStoreError
        from kitstudio.registry.threads import in_thread

        accounts = await self.accounts()
        locked, problem = False, ""
        if any(account.store == KEYRING for account in accounts):
            keyring = next(store for store in sign_ins.stores if isinstance(store, KeyringStore))
            try:
                locked = await in_thread(lambda stop: keyring.locked())
            except SecretStoreError as error:
                problem = error.what
        return SignedIn(accounts, sign_ins.warnings, locked, problem)

    async def docker_account(self, place: str) -> Account | None:
        """Docker's own sign-in for ``host`` or ``host/prefix``, by name; no helper is run."""
        sign_ins = await self._opened()
        from kitstudio.registry.accounts import account_place
        from kitstudio.registry.threads import in_thread

        host, prefix = account_place(place)
        known = await in_thread(lambda stop: sign_ins.docker.accounts())
        inside = [
            account
            for account in known
            if account.host == host and (not account.prefix or f"{prefix}/".startswith(f"{account.prefix}/"))
        ]
        return max(inside, key=lambda account: len(account.prefix), default=None)

    async def account(self, place: str) -> Account | None:
        """The account kept here for exactly ``host`` or ``host/prefix``."""
        await self._opened()
        from kitstudio.registry.accounts import account_place

        host, prefix = account_place(place)
        wanted = f"{host}/{prefix}" if prefix else host
        return next((a for a in await self.accounts() if a.place == wanted and a.store != DOCKER), None)

    async def login(self, place: str, username: str, secret: str, store: str = "") -> Account:
        """Try a sign-in at the registry and keep it in ``store`` (empty: the keyring).

        Raises ``SignInRequired`` where the registry refuses it, ``Unreachable`` where it cannot be asked,
        ``SecretStoreError`` where the secret cannot be kept; nothing is kept then.
        """
        accounts = (await self._opened()).accounts
        from kitstudio.registry.sign_in import login

        account = await login(accounts, place, username, secret, store=store, network=self._places.network())
        self._renewed(account.host)
        return account

    async def logout(self, place: str) -> tuple[Account, ...]:
        """Forget the sign-in kept here for ``host`` or ``host/prefix``; what was forgotten."""
        accounts = (await self._opened()).accounts
        from kitstudio.registry.accounts import account_place
        from kitstudio.registry.sign_in import logout

        host, _ = account_place(place)
        try:
            return await logout(accounts, place)
        finally:
            # Also where the store refused: the entry is gone by then.
            self._renewed(host)

    async def unlock(self) -> None:
        """Open a locked keyring: for a person's click, since its own prompt comes up."""
        accounts = (await self._opened()).accounts
        from kitstudio.registry.threads import in_thread

        await in_thread(lambda stop: accounts.unlock())
        for host in {account.host for account in await in_thread(lambda stop: accounts.entries())}:
            self._places.renew(host)
        self.changed.publish(None)

    def describe(self, store: str) -> str:
        """One sentence on what protects secrets in ``store``; empty where it is Docker's or not known."""
        found = next((each for each in self._places.sign_ins().stores if each.name == store), None)
        return found.describe().sentence if found is not None else ""

    def _renewed(self, host: str) -> None:
        self._places.renew(host)
        self.changed.publish(None)
