"""The commands that reach a registry, against a real one on loopback."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest

from kitstudio.cli import sign_in
from tests.cli.conftest import Kitstudio
from tests.registry.servers import PASSWORD, USER, Server, run_registry

pytestmark = pytest.mark.registry
TOOL = "demo/tool:1.0.0"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def filled(kitstudio: Kitstudio, server: Server) -> str:
    for name in ("base:1.0.0", "tool:1.0.0", "tool:2.0.0"):
        assert kitstudio("copy", f"demo/{name}", f"{server.host}/acme/{name}").code == 0
    return server.host


def test_a_copied_kit_is_the_same_in_the_registry(kitstudio: Kitstudio, filled: str) -> None:
    here = kitstudio("inspect", TOOL, "--json").document
    there = kitstudio("inspect", f"{filled}/acme/tool:1.0.0", "--json").document
    assert {**there, "reference": ""} == {**here, "reference": ""}
    assert kitstudio("tags", f"{filled}/acme/tool").out.split() == ["2.0.0", "1.0.0"]


def test_a_registry_is_searched_where_it_is_named(kitstudio: Kitstudio, filled: str) -> None:
    for source in (filled, f"{filled}/acme", f"{filled}/acme/tool"):
        found = kitstudio("search", "tool", "--source", source, "--json").lines
        assert [line["reference"] for line in found] == [f"{filled}/acme/tool:2.0.0"]
        assert found[0]["publisher"] == f"{filled}/acme"


def test_a_set_from_a_registry_resolves_approves_and_launches(
    kitstudio: Kitstudio, filled: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "team.yaml")
    kits = (f"{filled}/acme/base:1.0.0", f"{filled}/acme/tool:1.0.0")
    assert kitstudio("export", *kits, "-o", path, "--pin").code == 0
    assert kitstudio("resolve", path, "--json").document["ordered"] == list(kits)
    assert kitstudio("launch", path, "--yes", "--detach").code == 0


def test_offline_asks_nobody_and_says_so(kitstudio: Kitstudio, filled: str) -> None:
    answer = kitstudio("inspect", f"{filled}/acme/tool:1.0.0", "--offline", "--json")
    assert answer.code == 1 and "offline" in answer.document["error"]["what"]


def test_an_unreachable_registry_is_one_clear_error_and_a_problem_of_a_set(kitstudio: Kitstudio) -> None:
    answer = kitstudio("inspect", "127.0.0.1:9/acme/tool:1.0.0", "--json")
    assert answer.code == 1 and answer.document["error"]["where"]
    answer = kitstudio("resolve", "demo/base:1.0.0", "127.0.0.1:9/acme/tool:1.0.0", "--json")
    assert [problem["kind"] for problem in answer.document["problems"]] == ["unreachable"]


def test_an_unreachable_source_does_not_fail_the_others(kitstudio: Kitstudio) -> None:
    kitstudio("settings", "set", "catalog.sources", "127.0.0.1:9")
    answer = kitstudio("search", "base")
    assert answer.code == 0 and "127.0.0.1:9" in answer.err
    answer = kitstudio("search", "base", "--source", "127.0.0.1:9")
    assert answer.code == 1 and "127.0.0.1:9" in answer.err


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_registry(tmp_path_factory.mktemp("locked"), password=True) as running:
        yield running


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standard:
        buffer = io.BytesIO(f"{PASSWORD}\n".encode())

        @staticmethod
        def isatty() -> bool:
            return False

    monkeypatch.setattr(sign_in.sys, "stdin", Standard)


@pytest.mark.usefixtures("typed")
def test_sign_in_use_it_and_sign_out(kitstudio: Kitstudio, locked: Server, home: Path) -> None:
    target = f"{locked.host}/acme/tool:1.0.0"
    assert kitstudio("copy", "demo/tool:1.0.0", target).code == 1
    words = ("--username", USER, "--password-stdin", "--store", "file")
    answer = kitstudio("login", locked.host, *words, "--json")
    assert answer.code == 0
    assert answer.document == {"host": locked.host, "username": USER, "store": "file"}
    assert PASSWORD not in answer.out + answer.err
    assert kitstudio("copy", "demo/tool:1.0.0", target).code == 0
    assert kitstudio("logout", locked.host, "--json").document["username"] == USER
    assert kitstudio("tags", f"{locked.host}/acme/tool").code == 1
    assert kitstudio("logout", locked.host).code == 1
    assert all(PASSWORD.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.usefixtures("typed")
def test_a_sign_in_that_is_not_accepted_is_not_kept(kitstudio: Kitstudio, locked: Server) -> None:
    words = ("--username", "somebody", "--password-stdin", "--store", "file")
    assert kitstudio("login", locked.host, *words).code == 1
    assert kitstudio("logout", locked.host).code == 1


def test_a_sign_in_without_a_person_needs_both_words(kitstudio: Kitstudio) -> None:
    assert kitstudio("login", "registry.example").code == 64
    assert kitstudio("login", "registry.example", "--username", "x").code == 64


@pytest.mark.usefixtures("typed")
def test_without_a_keyring_the_way_out_is_one_the_command_line_has(
    kitstudio: Kitstudio, locked: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", keyring.backends.fail.Keyring)
    answer = kitstudio("login", locked.host, "--username", USER, "--password-stdin")
    assert answer.code == 1 and f"kitstudio login {locked.host} --store file" in answer.err
    assert "session" not in answer.err
