"""Sign-ins a person typed here: an index without secrets, and the stores that hold those.

Several accounts of one host live side by side, told apart by repository prefix; the longest one wins. The index
(``accounts.json``) outlives what a store lost: an entry without its secret is passed over and taken out. A locked
keyring is never opened from here: a background lookup must not raise a prompt over a person's work.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kitstudio.registry.blob_store import write_atomically
from kitstudio.registry.credentials import Account, Credential, split_place
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.secret_store import SESSION, KeyringStore, SecretStore, SecretStoreError

MAX_INDEX = 1024 * 1024
MAX_SECRET = 64 * 1024

_COLUMNS = ("host", "username", "store", "prefix")
_PLACE = re.compile(r"[A-Za-z0-9._:\[\]-]{1,255}")
_PREFIX = re.compile(r"[a-z0-9]+([._/-]+[a-z0-9]+)*")


class Accounts:
    """The index in ``folder`` and its ``stores`` by name. Fulfils ``Credentials``; all methods block."""

    def __init__(self, folder: Path, stores: Mapping[str, SecretStore]) -> None:
        self._path = folder / "accounts.json"
        self._stores = dict(stores)
        self._session: dict[str, Account] = {}
        self._secrets: dict[tuple[str, str, str], str] = {}
        self._seen: tuple[int, int] = (0, 0)
        self._faults: dict[str, str] = {}
        self._lock = threading.RLock()

    def entries(self) -> tuple[Account, ...]:
        """Every account, sorted by place. Secrets are not looked at."""
        with self._lock:
            found = {account.place: account for account in (*self._read(), *self._session.values())}
        return tuple(found[place] for place in sorted(found))

    def store(self, name: str) -> SecretStore:
        """The store of that name."""
        if name not in self._stores:
            known = ", ".join(self._stores)
            raise SecretStoreError("There is no such store of secrets.", where=name, remedy=f"There are: {known}.")
        return self._stores[name]

    def add(self, account: Account, secret: str) -> None:
        """Keep a sign-in; one for the same place is replaced, wherever its secret was."""
        if not secret or len(secret) > MAX_SECRET:
            raise SecretStoreError("A secret has between 1 and 65,536 characters.", where=account.place)
        with self._changing(touch=True) as entries:
            old = next((known for known in self.entries() if known.place == account.place), None)
            self.store(account.store).set(_service(account), account.username, secret)
            if old is not None and (old.store, old.username) != (account.store, account.username):
                with contextlib.suppress(SecretStoreError):
                    self._forget(old)
            entries[:] = [known for known in entries if known.place != account.place]
            self._session.pop(account.place, None)
            if account.store == SESSION:
                self._session[account.place] = account
            else:
                entries.append(account)
            self._remember(account, secret)

    def remove(self, place: str) -> tuple[Account, ...]:
        """Forget the sign-in of ``host`` or ``host/prefix``; what was forgotten. The index entry goes even where the
        store refuses, which is then told."""
        refusals: list[SecretStoreError] = []
        with self._changing() as entries:
            gone = tuple(account for account in self.entries() if account.place == place)
            for account in gone:
                try:
                    self._forget(account)
                except SecretStoreError as error:
                    refusals.append(error)
            entries[:] = [known for known in entries if known.place != place]
            self._session.pop(place, None)
        if refusals:
            raise SecretStoreError(
                f"The sign-in is forgotten here, but its secret could not be deleted: {refusals[0].what}",
                where=place,
                remedy="Delete it in the system's keyring program.",
            )
        return gone

    def lookup(self, registry: str, repository: str) -> Credential | None:
        self._faults.pop(registry, None)
        try:
            mine = [account for account in self.entries() if account.host == registry and _covers(account, repository)]
        except RegistryError as error:
            self._faults[registry] = error.what
            return None
        for account in sorted(mine, key=lambda account: len(account.prefix), reverse=True):
            try:
                secret = self._secret(account)
            except SecretStoreError as error:
                self._faults[registry] = error.what
                continue
            if secret is not None:
                return Credential(account.username, secret)
            self._faults[registry] = f"The stored sign-in for {account.place} is gone from its store."
            self._repair(account)
        return None

    def fault(self, registry: str) -> str:
        return self._faults.get(registry, "")

    def _secret(self, account: Account) -> str | None:
        """The secret, from memory after the first time (a keyring is slow, and a page of Kits asks often), until
        another running program changes the index."""
        key = (account.store, account.place, account.username)
        with self._lock:
            if (state := self._state()) != self._seen:
                self._seen = state
                self._secrets.clear()
            if key in self._secrets:
                return self._secrets[key]
        store = self.store(account.store)
        if isinstance(store, KeyringStore) and store.locked():
            raise SecretStoreError("The keyring is locked.", remedy="Unlock it, then try again.")
        secret = store.get(_service(account), account.username)
        if secret is not None:
            self._remember(account, secret)
        return secret

    def unlock(self) -> None:
        """Read every secret once, prompts allowed: for a person's own click."""
        for account in self.entries():
            secret = self.store(account.store).get(_service(account), account.username)
            if secret is None:
                self._repair(account)
            else:
                self._remember(account, secret)

    def _remember(self, account: Account, secret: str) -> None:
        with self._lock:
            self._secrets[(account.store, account.place, account.username)] = secret

    def _forget(self, account: Account) -> None:
        with self._lock:
            self._secrets.pop((account.store, account.place, account.username), None)
        self.store(account.store).delete(_service(account), account.username)

    def _repair(self, account: Account) -> None:
        with contextlib.suppress(RegistryError), self._changing() as entries:
            entries[:] = [known for known in entries if known != account]
            self._session.pop(account.place, None)

    @contextlib.contextmanager
    def _changing(self, *, touch: bool = False) -> Iterator[list[Account]]:
        """The index under its lock, written back if it changed; ``touch``: in any case, for others to notice."""
        folder = self._path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._lock, (folder / ".accounts.lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                entries = list(self._read())
                before = list(entries)
                yield entries
                if entries != before or touch:
                    rows = [{name: getattr(account, name) for name in _COLUMNS} for account in entries]
                    text = json.dumps({"version": 1, "accounts": rows}, indent=1)
                    write_atomically(self._path, text.encode(), mode=0o600)
        except OSError as error:
            raise SecretStoreError(
                f"The list of sign-ins cannot be used: {error.strerror}.", where=str(folder)
            ) from error

    def _state(self) -> tuple[int, int]:
        try:
            status = self._path.stat()
        except OSError:
            return (0, 0)
        return status.st_mtime_ns, status.st_ino

    def _read(self) -> tuple[Account, ...]:
        """The index; rows nobody can use are passed over, a file that is none at all is told."""
        try:
            if self._path.stat().st_size > MAX_INDEX:
                raise SecretStoreError("The list of sign-ins is larger than 1 MiB.", where=str(self._path))
            document: Any = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, RecursionError) as error:
            raise SecretStoreError(
                "The list of sign-ins is damaged.", where=str(self._path), remedy="Remove it and sign in again."
            ) from error
        rows = document.get("accounts") if isinstance(document, dict) else None
        found = []
        for row in rows if isinstance(rows, list) else ():
            stated = row if isinstance(row, dict) else {}
            texts = [text for key in _COLUMNS if isinstance(text := stated.get(key), str)]
            if len(texts) == len(_COLUMNS) and texts[0] and texts[1]:
                found.append(Account(*texts))
        return tuple(found)


def account_place(text: str) -> tuple[str, str]:
    """Host and repository prefix of what a person calls a registry; ``RegistryError`` where it is none."""
    host, prefix = split_place(text)
    if not _PLACE.fullmatch(host) or (prefix and not _PREFIX.fullmatch(prefix)):
        raise RegistryError(
            "This is not a registry.", where=text[:120], remedy="Write host, host:port or host/namespace."
        )
    return host, prefix


def _covers(account: Account, repository: str) -> bool:
    prefix = account.prefix
    return not prefix or repository == prefix or repository.startswith(f"{prefix}/")


def _service(account: Account) -> str:
    return f"kitstudio:registry:{account.place}"
