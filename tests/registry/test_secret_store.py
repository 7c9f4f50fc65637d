"""Secret stores: keyrings in each state they are met in, the private file, this run's memory."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import keyring.errors
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail

from kitstudio.registry.secret_store import (
    FileStore,
    KeyringStore,
    SecretStoreError,
    SecretStoreLocked,
    SessionStore,
)
from kitstudio.registry.sign_in import store_choice


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[(service, username)] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError("none")


class LockedRing(Ring):
    """Its owner dismisses the prompt."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.KeyringLocked("dismissed")

    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.KeyringLocked("dismissed")


class BusError(Exception):
    pass


class NotActivatable(Ring):
    """The bus is there, the service is not."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise BusError("org.freedesktop.secrets was not provided by any .service files")


class HalfPresent(Ring):
    """Takes a secret and has forgotten it a moment later."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Hanging(Ring):
    def set_password(self, service: str, username: str, password: str) -> None:
        threading.Event().wait()


@pytest.mark.parametrize(
    ("backend", "says"),
    [
        (fail.Keyring(), "no keyring"),
        (NotActivatable(), "refuses"),
        (LockedRing(), "locked"),
        (HalfPresent(), "does not give back"),
        (Hanging(), "did not answer"),
    ],
)
async def test_row_68_without_a_working_keyring_the_other_stores_are_offered(
    tmp_path: Path, backend: KeyringBackend, says: str
) -> None:
    broken = KeyringStore(backend, seconds=0.2)
    choice = await store_choice((broken, FileStore(tmp_path / "s"), SessionStore()))
    assert [protection.name for protection in choice.offered] == ["file", "session"]
    assert says in choice.fallback_reason
    assert choice.recommended == ""


async def test_working_keyring_is_recommended_and_the_probe_leaves_nothing(tmp_path: Path) -> None:
    ring = Ring()
    choice = await store_choice((KeyringStore(ring), FileStore(tmp_path / "s"), SessionStore()))
    assert choice.recommended == "keyring"
    assert ring.kept == {}
    assert "not one Kit Studio knows" in choice.offered[0].sentence


def test_locked_keyring_is_told_apart_and_one_that_hangs_is_not_asked_again() -> None:
    with pytest.raises(SecretStoreLocked):
        KeyringStore(LockedRing()).get("s", "a")
    hanging = KeyringStore(Hanging(), seconds=0.1)
    with pytest.raises(SecretStoreError, match="did not answer"):
        hanging.set("s", "a", "x")
    before = threading.active_count()
    with pytest.raises(SecretStoreError, match="did not answer"):
        hanging.get("s", "a")
    assert threading.active_count() <= before


def test_deleting_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    for store in (KeyringStore(Ring()), FileStore(tmp_path / "s"), SessionStore()):
        store.delete("s", "a")
        store.set("s", "a", "x")
        assert store.get("s", "a") == "x"
        store.delete("s", "a")
        assert store.get("s", "a") is None


def test_row_70_file_store_says_what_protects_it_and_checks_its_modes_on_every_start(tmp_path: Path) -> None:
    root = tmp_path / "secrets"
    store = FileStore(root)
    store.set("s", "a", "x")
    file = root / "secrets.json"
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    protection = store.describe()
    assert not protection.encrypted
    assert "Not encrypted" in protection.sentence
    assert str(file) in protection.sentence
    root.chmod(0o755)
    file.chmod(0o644)
    again = FileStore(root)
    assert len(again.warnings) == 2
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert FileStore(root).warnings == ()
    assert again.get("s", "a") == "x"


def test_file_store_in_a_foreign_place_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(SecretStoreError, match="not a plain place"):
        FileStore(tmp_path / "link")


def test_damaged_file_is_told_and_its_text_is_not(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "s")
    (tmp_path / "s" / "secrets.json").write_text('{"s": {"a": "hunter2"')
    with pytest.raises(SecretStoreError, match="damaged") as refusal:
        store.get("s", "a")
    assert "hunter2" not in str(refusal.value)
    assert refusal.value.__cause__ is None
