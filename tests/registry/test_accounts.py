"""Accounts typed here: index, prefixes, lost secrets, signing in and out."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import keyring.errors
import pytest

from kitstudio.registry.accounts import Accounts, account_place
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.credentials import Account, Credential, DockerCredentials, FirstOf
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.secret_store import FileStore, KeyringStore, SecretStoreError, SessionStore
from kitstudio.registry.sign_in import list_accounts, login, logout, open_sign_ins, signed_in_as
from kitstudio.registry.source import ArtifactKind, SignInRequired
from tests.builders import kit_image, layout
from tests.registry.servers import PASSWORD, USER, Answer, Double, Server, TokenService
from tests.registry.test_registry import push
from tests.registry.test_secret_store import HalfPresent, LockedRing, Ring

HOST = "reg.example:5000"


def accounts(folder: Path, ring: Ring | None = None) -> Accounts:
    stores = (KeyringStore(ring or Ring()), FileStore(folder / "secrets"), SessionStore())
    return Accounts(folder, {store.name: store for store in stores})


def test_row_8_two_repositories_of_one_host_have_two_accounts(tmp_path: Path) -> None:
    mine = accounts(tmp_path)
    mine.add(Account(HOST, "all", "file"), "1")
    mine.add(Account(HOST, "team", "keyring", "a"), "2")
    mine.add(Account(HOST, "one", "session", "a/b"), "3")
    found = [mine.lookup(HOST, name) for name in ("a/b", "a/b/c", "a/c", "ab", "d")]
    assert [c.username for c in found if c] == ["one", "one", "team", "all", "all"]
    assert mine.lookup("other.example", "a/b") is None
    assert [a.place for a in accounts(tmp_path).entries()] == [HOST, f"{HOST}/a"], "a session's account ends with it"


@pytest.mark.parametrize("store", ["keyring", "file"])
def test_row_71_index_that_names_a_lost_secret_is_passed_over_and_repaired(tmp_path: Path, store: str) -> None:
    ring = Ring()
    mine = accounts(tmp_path, ring)
    mine.add(Account(HOST, "ada", store), "1")
    mine.add(Account("b.example", "bob", store), "2")
    mine.add(Account(HOST, "team", store, "a"), "3")
    mine.store(store).delete(f"kitstudio:registry:{HOST}/a", "team")
    fresh = accounts(tmp_path, ring)
    assert fresh.lookup(HOST, "a/b") == Credential("ada", "1"), "the shorter prefix stands in"
    assert "gone from its store" in fresh.fault(HOST)
    assert [a.place for a in fresh.entries()] == ["b.example", HOST]
    assert fresh.lookup("b.example", "x") == Credential("bob", "2")


def test_locked_keyring_is_a_fault_and_its_entry_stays(tmp_path: Path) -> None:
    accounts(tmp_path, Ring()).add(Account(HOST, "ada", "keyring"), "1")
    locked = accounts(tmp_path, LockedRing())
    assert locked.lookup(HOST, "a") is None
    assert "locked" in locked.fault(HOST)
    assert len(locked.entries()) == 1
    with pytest.raises(SecretStoreError, match="locked"):
        locked.unlock()


def test_row_16_a_background_lookup_never_opens_the_keyrings_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Prompting(Ring):
        def get_password(self, service: str, username: str) -> str | None:
            asked.append(service)
            return super().get_password(service, username)

    ring = Prompting()
    accounts(tmp_path, ring).add(Account(HOST, "ada", "keyring"), "1")
    monkeypatch.setattr("kitstudio.registry.secret_store._is_locked", lambda backend: True)
    mine = accounts(tmp_path, ring)
    assert mine.lookup(HOST, "a") is None
    assert mine.fault(HOST) == "The keyring is locked."
    assert asked == []
    mine.unlock()
    assert mine.lookup(HOST, "a") == Credential("ada", "1")


def test_sign_in_by_another_running_program_counts_at_once(tmp_path: Path) -> None:
    window, command = accounts(tmp_path), accounts(tmp_path)
    window.add(Account(HOST, "ada", "file"), "old")
    assert window.lookup(HOST, "a") == Credential("ada", "old")
    command.add(Account(HOST, "ada", "file"), "new")
    assert window.lookup(HOST, "a") == Credential("ada", "new")


def test_moving_an_account_to_another_store_leaves_no_secret_behind(tmp_path: Path) -> None:
    ring = Ring()
    mine = accounts(tmp_path, ring)
    mine.add(Account(HOST, "ada", "file"), "secret-one")
    mine.add(Account(HOST, "ada", "keyring"), "secret-two")
    assert "secret-one" not in (tmp_path / "secrets" / "secrets.json").read_text()
    assert mine.remove(HOST) == (Account(HOST, "ada", "keyring"),)
    assert ring.kept == {}
    assert mine.entries() == ()


def test_index_holds_no_secret_and_is_private(tmp_path: Path) -> None:
    mine = accounts(tmp_path)
    mine.add(Account(HOST, "ada", "keyring"), "hunter2")
    file = tmp_path / "accounts.json"
    assert "hunter2" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "hunter2" not in repr(mine.lookup(HOST, "a"))


@pytest.mark.parametrize("text", ["", "[]", '{"accounts": 3}', '{"accounts": [1, {}, {"host": 4}]}', "[" * 50_000])
def test_damaged_index_is_a_fault_and_no_failure(tmp_path: Path, text: str) -> None:
    (tmp_path / "accounts.json").write_text(text)
    assert accounts(tmp_path).lookup(HOST, "a") is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("docker.io", ("docker.io", "")), ("https://index.docker.io/v1/", ("docker.io", "")),
        ("registry-1.docker.io", ("docker.io", "")), ("docker.io/acme", ("docker.io", "acme")),
        ("https://reg.example:5000/", (HOST, "")), ("reg.example:5000/a/b", (HOST, "a/b")),
    ],
)  # fmt: skip
def test_what_people_call_a_registry(text: str, place: tuple[str, str]) -> None:
    assert account_place(text) == place


@pytest.mark.parametrize("text", ["", "a b", "reg.example/A b", "https://"])
def test_what_is_no_registry_is_refused(text: str) -> None:
    with pytest.raises(RegistryError, match="not a registry"):
        account_place(text)


@pytest.mark.registry
async def test_row_2_sign_in_is_tried_kept_used_and_forgotten(
    tmp_path: Path, password_registry: Server, store: BlobStore
) -> None:
    """Basic realms that are no URLs included: this registry's is “test”."""
    host = password_registry.host
    push(layout(tmp_path / "l", {"x.y/a:1": kit_image()}), "x.y/a:1", password_registry, "kept/kit:1",
         f"--dest-creds={USER}:{PASSWORD}")  # fmt: skip
    mine = accounts(tmp_path / "home")
    source = RegistrySource(host, store, credentials=mine)
    with pytest.raises(SignInRequired, match="does not accept this user name and password"):
        await login(mine, host, USER, "wrong", store="file")
    assert mine.entries() == ()
    reference = parse(f"{host}/kept/kit:1")
    with pytest.raises(SignInRequired, match="without a sign-in"):
        await source.artifact(reference)
    assert await login(mine, host, USER, PASSWORD, store="file") == Account(host, USER, "file")
    assert (await source.artifact(reference)).kind is ArtifactKind.KIT, "the same source goes on after the sign-in"
    assert await logout(mine, host) == (Account(host, USER, "file"),)
    with pytest.raises(SignInRequired):
        await RegistrySource(host, BlobStore(tmp_path / "other"), credentials=mine).artifact(reference)


@pytest.mark.registry
async def test_sign_in_by_tokens_is_tried_too(
    tmp_path: Path, token_registry: Server, token_service: tuple[TokenService, Double]
) -> None:
    mine = accounts(tmp_path)
    with pytest.raises(SignInRequired, match="does not accept this user name and password"):
        await login(mine, token_registry.host, USER, "wrong", store="session")
    account = await login(mine, f"{token_registry.host}/team", USER, PASSWORD, store="session")
    assert account.prefix == "team"


async def test_keyring_that_cannot_keep_it_is_a_choice_and_nothing_is_kept(tmp_path: Path, double: Double) -> None:
    double.answer = lambda request: (
        Answer(200) if "Authorization" in request.headers else Answer(401, b"", {"WWW-Authenticate": "Basic realm=x"})
    )
    mine = accounts(tmp_path, HalfPresent())
    with pytest.raises(SecretStoreError, match="does not give back") as refusal:
        await login(mine, double.host, "ada", "hunter2")
    assert "“file”" in refusal.value.remedy
    assert "“session”" in refusal.value.remedy
    assert "hunter2" not in str(refusal.value)
    assert mine.entries() == ()
    assert (await login(mine, double.host, "ada", "hunter2", store="session")).store == "session"


async def test_registry_that_asks_nobody_takes_no_sign_in(tmp_path: Path, double: Double) -> None:
    double.answer = lambda request: Answer(200)
    with pytest.raises(SignInRequired, match="does not ask who you are"):
        await login(accounts(tmp_path), double.host, "ada", "x", store="session")
    with pytest.raises(SignInRequired, match="user name"):
        await login(accounts(tmp_path), double.host, "a:b", "x", store="session")


async def test_registry_that_asks_nobody_at_the_door_but_looks_at_a_sign_in_takes_one(
    tmp_path: Path, double: Double
) -> None:
    good = Credential("ada", "x").basic()
    double.answer = lambda request: Answer(200 if request.headers.get("Authorization", good) == good else 401)
    mine = accounts(tmp_path)
    assert (await login(mine, double.host, "ada", "x", store="session")).username == "ada"
    with pytest.raises(SignInRequired, match="does not accept"):
        await login(mine, double.host, "ada", "wrong", store="session")


def test_row_68_a_file_store_that_cannot_be_used_is_a_warning_and_the_rest_works(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "secrets").symlink_to(tmp_path / "elsewhere")
    sign_ins = open_sign_ins(tmp_path, DockerCredentials(tmp_path / "config.json"))
    assert [store.name for store in sign_ins.stores] == ["keyring", "session"]
    assert "not a plain place" in sign_ins.warnings[0]
    sign_ins.accounts.add(Account(HOST, "ada", "session"), "1")
    assert sign_ins.credentials.lookup(HOST, "a") == Credential("ada", "1")


async def test_accounts_typed_here_come_before_dockers(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"auths": {HOST: {"auth": "ZG9jOng="}, "b.example": {"auth": "ZG9jOng="}}}))
    sign_ins = open_sign_ins(tmp_path / "home", DockerCredentials(file))
    sign_ins.accounts.add(Account(HOST, "ada", "session"), "1")
    listed = await list_accounts(sign_ins)
    assert [(a.host, a.username, a.store) for a in listed] == [(HOST, "ada", "session"), ("b.example", "doc", "docker")]
    assert isinstance(sign_ins.credentials, FirstOf)
    found = [sign_ins.credentials.lookup(host, "a") for host in (HOST, "b.example", "c.example")]
    assert [c.username if c else "" for c in found] == ["ada", "doc", ""]
    sign_ins.accounts.add(Account("b.example", "team", "session", "a"), "2")
    who = [await signed_in_as(sign_ins, *place) for place in ((HOST,), ("b.example", "a/b"), ("b.example", "ab"))]
    assert [(a.username, a.store) for a in who if a] == [("ada", "session"), ("team", "session"), ("doc", "docker")]
    assert await signed_in_as(sign_ins, "c.example") is None


def test_keyring_that_refuses_to_delete_is_told_and_the_index_forgets(tmp_path: Path) -> None:
    class Stubborn(Ring):
        def delete_password(self, service: str, username: str) -> None:
            raise keyring.errors.InitError("bus gone")

    mine = accounts(tmp_path, Stubborn())
    mine.add(Account(HOST, "ada", "keyring"), "1")
    with pytest.raises(SecretStoreError, match="could not be deleted"):
        mine.remove(HOST)
    assert mine.entries() == ()
