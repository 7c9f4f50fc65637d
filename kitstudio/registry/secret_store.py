"""Where secrets are kept that a person types: the system's keyring, a private file, or this run's memory.

A store is judged by writing to it, not by its name: a keyring that is half there fails at the first write. What
protects a secret is said in words a person can weigh (``describe``), never claimed by a label.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import queue
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from kitstudio.registry.blob_store import write_atomically
from kitstudio.registry.reference import RegistryError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

KEYRING, FILE, SESSION = "keyring", "file", "session"
SECONDS = 30.0
"""How long a keyring may take, the person's answer to its own prompt included."""
MAX_FILE = 4 * 1024 * 1024

T = TypeVar("T")


class SecretStoreError(RegistryError):
    """A secret store is not there, locked, or refuses."""


class SecretStoreLocked(SecretStoreError):
    """The keyring is locked and was not opened."""


@dataclass(frozen=True, slots=True)
class Protection:
    """What a store is and what protects it. ``lasting``: secrets survive the program's end."""

    name: str
    title: str
    sentence: str
    lasting: bool
    encrypted: bool


class SecretStore(Protocol):
    """One place for secrets. Blocking; raises ``SecretStoreError``."""

    name: str

    def describe(self) -> Protection:
        """What protects what is kept here."""

    def get(self, service: str, account: str) -> str | None:
        """The secret, or None where there is none."""

    def set(self, service: str, account: str, secret: str) -> None:
        """Keep a secret."""

    def delete(self, service: str, account: str) -> None:
        """Forget a secret; one that is not there is no error."""


class KeyringStore:
    """The system's keyring through the keyring library. ``seconds`` bound every call; after one that never came back
    the store is out of use for this run, so that no more threads hang on it."""

    name = KEYRING

    def __init__(self, backend: KeyringBackend | None = None, *, seconds: float = SECONDS) -> None:
        self._backend = backend
        self._seconds = seconds
        self._dead = ""

    def describe(self) -> Protection:
        backend = self._inner(self._found())
        module = type(backend).__module__
        title, sentence, encrypted = next(
            (words for prefix, words in _BACKENDS.items() if module.startswith(prefix)),
            (
                f"The keyring add-on {module}",
                "It is not one Kit Studio knows, so nothing can be said about its protection.",
                False,
            ),
        )
        return Protection(KEYRING, title, sentence, True, encrypted)

    def get(self, service: str, account: str) -> str | None:
        return self._call(lambda backend: backend.get_password(service, account))

    def set(self, service: str, account: str, secret: str) -> None:
        self._call(lambda backend: backend.set_password(service, account, secret))

    def delete(self, service: str, account: str) -> None:
        import keyring.errors

        def forget(backend: KeyringBackend) -> None:
            with contextlib.suppress(keyring.errors.PasswordDeleteError):
                backend.delete_password(service, account)

        self._call(forget)

    def locked(self) -> bool:
        """Whether reading would open a prompt, as far as that can be told without opening one."""
        return self._call(lambda backend: _is_locked(self._inner(backend)))

    def probe(self) -> str:
        """Write, read back and delete a throw-away secret; why it did not work, empty where it did."""
        account, secret = f"probe-{secrets.token_hex(6)}", secrets.token_hex(16)
        try:
            self.set("kitstudio:probe", account, secret)
            back = self.get("kitstudio:probe", account)
            self.delete("kitstudio:probe", account)
        except SecretStoreError as error:
            return error.what
        return "" if back == secret else "The keyring does not give back what it was given."

    def _found(self) -> KeyringBackend:
        import keyring

        if self._backend is None:
            self._backend = keyring.get_keyring()
        if type(self._backend).__module__ in ("keyring.backends.fail", "keyring.backends.null"):
            raise SecretStoreError(
                "This machine offers no keyring.",
                remedy="Choose where to keep secrets instead: a private file, or only for this session.",
            )
        return self._backend

    @staticmethod
    def _inner(backend: KeyringBackend) -> KeyringBackend:
        """The keyring that a chain of them would write to."""
        chained = getattr(backend, "backends", None)
        return chained[0] if isinstance(chained, list | tuple) and chained else backend

    def _call(self, work: Callable[[KeyringBackend], T]) -> T:
        import keyring.errors

        if self._dead:
            raise SecretStoreError(self._dead, remedy=_OTHERWISE)
        answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

        def run() -> None:
            try:
                answers.put((work(self._found()), None))
            except Exception as error:  # noqa: BLE001 - keyring backends raise whatever their bus raises
                answers.put((None, error))

        threading.Thread(target=run, name="keyring", daemon=True).start()
        try:
            value, error = answers.get(timeout=self._seconds)
        except queue.Empty:
            self._dead = f"The keyring did not answer within {self._seconds:g} s."
            raise SecretStoreError(self._dead, remedy=_OTHERWISE) from None
        if error is None:
            return value  # type: ignore[return-value]
        if isinstance(error, SecretStoreError):
            raise error
        if isinstance(error, keyring.errors.KeyringLocked) or "dismissed" in type(error).__name__.lower():
            raise SecretStoreLocked("The keyring is locked and was not opened.", remedy=_UNLOCK) from None
        raise SecretStoreError(f"The keyring refuses ({type(error).__name__}).", remedy=_OTHERWISE) from None


class FileStore:
    """``secrets.json`` (0600) in the folder ``root`` (0700), checked whenever the store is made. Not encrypted."""

    name = FILE

    def __init__(self, root: Path) -> None:
        self.root = root
        self._path = root / "secrets.json"
        self._lock = threading.Lock()
        self.warnings: tuple[str, ...] = self._checked()

    def describe(self) -> Protection:
        return Protection(
            FILE,
            "A private file",
            f"Not encrypted. {self._path} is readable by your account only (0600 in a 0700 folder): whoever can read "
            "your files, a backup or the disk of this computer can read the secrets.",
            True,
            False,
        )

    def get(self, service: str, account: str) -> str | None:
        with self._locked():
            return self._read().get(service, {}).get(account)

    def set(self, service: str, account: str, secret: str) -> None:
        with self._locked():
            kept = self._read()
            kept.setdefault(service, {})[account] = secret
            self._write(kept)

    def delete(self, service: str, account: str) -> None:
        with self._locked():
            kept = self._read()
            if kept.get(service, {}).pop(account, None) is not None:
                self._write({name: entries for name, entries in kept.items() if entries})

    def _checked(self) -> tuple[str, ...]:
        """Make the folder, tighten what is too open, refuse what is not ours."""
        found = []
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path, wanted in ((self.root, 0o700), (self._path, 0o600)):
                try:
                    status = path.lstat()
                except FileNotFoundError:
                    continue
                expected = stat.S_ISDIR if path == self.root else stat.S_ISREG
                if status.st_uid != os.geteuid() or not expected(status.st_mode):
                    raise SecretStoreError(
                        "The store of secrets is not a plain place of your own, so it is not used.",
                        where=str(path),
                        remedy="Remove it, or make it your own.",
                    )
                if stat.S_IMODE(status.st_mode) & 0o077:
                    path.chmod(wanted)
                    found.append(
                        f"{path} was open to other accounts of this computer ({stat.S_IMODE(status.st_mode):o}); "
                        "it is private again. Change the secrets in it if others use this computer."
                    )
        except OSError as error:
            raise SecretStoreError(
                f"The store of secrets cannot be used: {error.strerror}.", where=str(self.root)
            ) from error
        return tuple(found)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._lock, (self.root / ".lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise SecretStoreError(
                f"The store of secrets cannot be used: {error.strerror}.", where=str(self.root)
            ) from error

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            if self._path.stat().st_size > MAX_FILE:
                raise SecretStoreError("The file of secrets is larger than 4 MiB.", where=str(self._path))
            document = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            # The parser's error holds the text it could not read.
            raise SecretStoreError(
                "The file of secrets is damaged.", where=str(self._path), remedy="Remove it and sign in again."
            ) from None
        if not isinstance(document, dict):
            raise SecretStoreError("The file of secrets is damaged.", where=str(self._path))
        return {
            service: {account: text for account, text in entries.items() if isinstance(text, str)}
            for service, entries in document.items()
            if isinstance(entries, dict)
        }

    def _write(self, kept: dict[str, dict[str, str]]) -> None:
        write_atomically(self._path, json.dumps(kept).encode(), mode=0o600)


class SessionStore:
    """This run's memory."""

    name = SESSION

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def describe(self) -> Protection:
        return Protection(
            SESSION, "Only for this session", "Kept in this program's memory and gone when it ends.", False, False
        )

    def get(self, service: str, account: str) -> str | None:
        with self._lock:
            return self._kept.get((service, account))

    def set(self, service: str, account: str, secret: str) -> None:
        with self._lock:
            self._kept[(service, account)] = secret

    def delete(self, service: str, account: str) -> None:
        with self._lock:
            self._kept.pop((service, account), None)


_OTHERWISE = "Choose where to keep secrets instead: a private file, or only for this session."
_UNLOCK = "Unlock it and try again, or choose another place for secrets."
_BACKENDS: dict[str, tuple[str, str, bool]] = {
    "keyring.backends.SecretService": (
        "The system's keyring",
        "Encrypted by the desktop's Secret Service with your login password; open to your programs while unlocked.",
        True,
    ),
    "keyring.backends.libsecret": (
        "The system's keyring",
        "Encrypted by the desktop's Secret Service with your login password; open to your programs while unlocked.",
        True,
    ),
    "keyring.backends.kwallet": (
        "KWallet",
        "Encrypted by KWallet with the password of your wallet; open to your programs while it is open.",
        True,
    ),
    "keyring.backends.macOS": ("The keychain", "Encrypted by the system; it asks before another program reads.", True),
    "keyring.backends.Windows": ("The credential locker", "Encrypted by the system for your account.", True),
    "keyrings.alt.file": (
        "A file of the keyring library",
        "Its plain variant is not encrypted: whoever can read your files can read the secrets.",
        False,
    ),
}


def _is_locked(backend: KeyringBackend) -> bool:
    if type(backend).__module__ != "keyring.backends.SecretService":
        return False
    import secretstorage
    import secretstorage.exceptions

    with contextlib.closing(secretstorage.dbus_init()) as connection:
        try:
            # Not get_default_collection: it would make one that is missing, and ask for its password.
            return bool(secretstorage.Collection(connection).is_locked())
        except secretstorage.exceptions.ItemNotFoundException:
            return True
