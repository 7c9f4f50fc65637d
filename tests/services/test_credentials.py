"""Secrets bound to services."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from kitstudio.registry.secret_store import FileStore, KeyringStore, SessionStore
from kitstudio.services.credentials import CredentialError, Credentials
from tests.registry.test_secret_store import HalfPresent, LockedRing, NotActivatable, Ring

SECRET = "very-secret-value"


def made(tmp_path: Path) -> tuple[Credentials, FileStore, SessionStore]:
    file, session = FileStore(tmp_path / "secrets"), SessionStore()
    return Credentials(lambda: (file, session), tmp_path / "bindings.json"), file, session


async def test_a_secret_is_kept_in_the_named_store_and_its_name_only_elsewhere(tmp_path: Path) -> None:
    credentials, _, _ = made(tmp_path)
    told: list[str] = []
    credentials.changed.subscribe(told.append)
    binding = await credentials.bind("acme-x", SECRET, "file")
    assert (binding.service, binding.store) == ("acme-x", "file") and "Not encrypted" in binding.protection.sentence
    assert SECRET not in (tmp_path / "bindings.json").read_text() and SECRET not in repr(binding)
    assert [b.service for b in await credentials.list()] == ["acme-x"]
    assert await credentials.held(["acme-x", "other"]) == {"acme-x": SECRET}
    await credentials.unbind("acme-x")
    assert await credentials.list() == () and await credentials.held(["acme-x"]) == {}
    assert told == ["acme-x", "acme-x"] and SECRET not in (tmp_path / "secrets/secrets.json").read_text()


async def test_binding_elsewhere_leaves_nothing_in_the_store_before(tmp_path: Path) -> None:
    credentials, _, _ = made(tmp_path)
    await credentials.bind("acme", SECRET, "file")
    await credentials.bind("acme", "second", "session")
    assert await credentials.held(["acme"]) == {"acme": "second"}
    assert SECRET not in (tmp_path / "secrets/secrets.json").read_text()


async def test_a_binding_whose_secret_is_gone_is_passed_over_and_repaired_row_71(tmp_path: Path) -> None:
    credentials, file, _ = made(tmp_path)
    for service in ("a", "b", "c"):
        await credentials.bind(service, SECRET, "file")
    file.delete("kitstudio:service", "b")
    assert [b.service for b in await credentials.list()] == ["a", "c"]
    assert sorted(await credentials.held(["a", "b", "c"])) == ["a", "c"]
    assert sorted(json.loads((tmp_path / "bindings.json").read_text())) == ["a", "c"]


@pytest.mark.parametrize("ring", [LockedRing, NotActivatable, HalfPresent])
async def test_nothing_falls_back_to_another_store_on_its_own_row_68(tmp_path: Path, ring: type[Ring]) -> None:
    file, keyring = FileStore(tmp_path / "secrets"), KeyringStore(ring())
    credentials = Credentials(lambda: (keyring, file), tmp_path / "bindings.json")
    with pytest.raises(Exception, match="keyring"):
        await credentials.bind("acme", SECRET)
    assert await credentials.list() == () and not (tmp_path / "secrets/secrets.json").exists()


@pytest.mark.parametrize(
    ("service", "secret", "why"),
    [
        ("Acme", SECRET, "not the name of a service"),
        ("a" * 65, SECRET, "not the name of a service"),
        ("acme", "", "1 to"),
        ("acme", "a\r\nX: y", "visible ASCII"),
        ("acme", '{"refreshToken": "x"}', "no accessToken"),
        ("acme", "[1]", "cannot be read"),
    ],
)
async def test_what_no_header_could_carry_is_refused(tmp_path: Path, service: str, secret: str, why: str) -> None:
    credentials, _, _ = made(tmp_path)
    with pytest.raises(CredentialError, match=why):
        await credentials.bind(service, secret, "file")


async def test_an_unreadable_list_says_so(tmp_path: Path) -> None:
    credentials, _, _ = made(tmp_path)
    (tmp_path / "bindings.json").write_text("{")
    with pytest.raises(CredentialError, match="cannot be read"):
        await credentials.held(["acme"])


async def test_no_other_window_changes_the_list_while_a_secret_is_kept(tmp_path: Path) -> None:
    tried: list[str] = []

    class Watched(SessionStore):
        def set(self, service: str, account: str, secret: str) -> None:
            handle = os.open(tmp_path, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                tried.append(account)
            finally:
                os.close(handle)
            super().set(service, account, secret)

    store = Watched()
    await Credentials(lambda: (store,), tmp_path / "bindings.json").bind("acme", SECRET, "session")
    assert tried == ["acme"]


@pytest.mark.parametrize("damaged", ["[]", "{", "[" * 100_000])
async def test_a_list_that_cannot_be_read_is_never_written_over(tmp_path: Path, damaged: str) -> None:
    credentials, _, _ = made(tmp_path)
    (tmp_path / "bindings.json").write_text(damaged)
    with pytest.raises(CredentialError, match="cannot be read"):
        await credentials.bind("acme", SECRET, "session")
    assert (tmp_path / "bindings.json").read_text() == damaged
