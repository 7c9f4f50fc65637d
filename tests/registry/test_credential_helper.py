"""Docker's credential helpers, as real programs on a PATH of the test's own."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from kitstudio.registry.credential_helper import MAX_OUTPUT, HelperFailed, ask_helper
from kitstudio.registry.credentials import Account, Credential, DockerCredentials


def helper(folder: Path, name: str, script: str) -> None:
    path = folder / f"docker-credential-{name}"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


KNOWS_ONLY_THE_HUB = """
read -r server
echo "$server" >> "$0.log"
if [ "$server" = https://index.docker.io/v1/ ]; then
  echo '{"ServerURL": "https://index.docker.io/v1/", "Username": "ada", "Secret": "hub-secret"}'
else
  echo 'credentials not found in native keychain'; exit 1
fi
"""


def config(folder: Path, document: object) -> DockerCredentials:
    file = folder / "config.json"
    file.write_text(json.dumps(document))
    return DockerCredentials(file)


def test_row_11_hub_sign_in_is_asked_of_a_helper_under_the_address_it_knows(tmp_path: Path, path: Path) -> None:
    helper(path, "stub", KNOWS_ONLY_THE_HUB)
    for document in ({"credsStore": "stub"}, {"credHelpers": {"https://index.docker.io/v1/": "stub"}}):
        credentials = config(tmp_path, document)
        assert credentials.lookup("docker.io", "acme/kit") == Credential("ada", "hub-secret")
        assert credentials.lookup("reg.example", "acme/kit") is None
        assert credentials.fault("docker.io") == credentials.fault("reg.example") == ""


def test_helper_is_asked_once_a_minute_not_once_a_kit(tmp_path: Path, path: Path) -> None:
    helper(path, "stub", KNOWS_ONLY_THE_HUB)
    now = [0.0]
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"credsStore": "stub"}))
    credentials = DockerCredentials(file, monotonic=lambda: now[0])
    for _ in range(5):
        credentials.lookup("docker.io", "acme/kit")
    log = path / "docker-credential-stub.log"
    assert len(log.read_text().splitlines()) == 1
    now[0] = 100.0
    credentials.lookup("docker.io", "acme/kit")
    assert len(log.read_text().splitlines()) == 2


def test_a_hosts_own_helper_comes_before_the_common_one_and_tokens_are_told_apart(tmp_path: Path, path: Path) -> None:
    helper(path, "own", """echo '{"Username": "<token>", "Secret": "tok"}'""")
    helper(path, "all", """echo '{"Username": "everyone", "Secret": "s"}'""")
    credentials = config(tmp_path, {"credsStore": "all", "credHelpers": {"reg.example": "own"}})
    found = credentials.lookup("reg.example", "a/b")
    assert found == Credential("<token>", "tok", is_token=True)
    assert credentials.lookup("other.example", "a/b") == Credential("everyone", "s")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 3", "exit status 3"),
        ("echo nonsense", "does not answer as one does"),
        ("echo '[]'", "does not answer as one does"),
        ("head -c 200000 /dev/zero", "prints more than"),
        ("sleep 30", "did not answer within"),
    ],
)
def test_helper_that_fails_is_a_sentence_and_never_repeats_its_output(path: Path, script: str, says: str) -> None:
    helper(path, "bad", f"echo my-secret >&2; {script}")
    with pytest.raises(HelperFailed, match=says) as refusal:
        ask_helper("bad", "reg.example", seconds=0.5)
    assert "my-secret" not in str(refusal.value)
    assert MAX_OUTPUT < 200_000


def test_missing_and_impossible_helpers_are_told_and_nothing_is_run(tmp_path: Path, path: Path) -> None:
    credentials = config(tmp_path, {"credsStore": "nowhere", "auths": {"reg.example": {}}})
    assert credentials.lookup("reg.example", "a") is None
    assert "docker-credential-nowhere is not installed" in credentials.fault("reg.example")
    for name in ("../../bin/sh", "a b", "", "-x", "a;touch /tmp/x"):
        with pytest.raises(HelperFailed, match="cannot exist"):
            ask_helper(name, "reg.example")


def test_accounts_of_docker_are_listed_without_running_anything(tmp_path: Path, path: Path) -> None:
    helper(path, "stub", 'touch "$0.ran"')
    credentials = config(
        tmp_path,
        {
            "auths": {"https://index.docker.io/v1/": {"auth": "YWRhOng="}, "reg.example": {}},
            "credHelpers": {"ghcr.example/team": "stub"},
            "credsStore": "stub",
        },
    )
    assert credentials.accounts() == (
        Account("docker.io", "ada", "docker"),
        Account("ghcr.example", "", "docker", "team"),
        Account("reg.example", "", "docker"),
    )
    assert not (path / "docker-credential-stub.ran").exists()


def test_helper_in_the_folder_we_happen_to_be_in_is_not_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(path, "here", 'touch "$0.ran"')
    monkeypatch.chdir(path)
    monkeypatch.setenv("PATH", ".:/usr/bin:/bin")
    with pytest.raises(HelperFailed, match="not installed"):
        ask_helper("here", "reg.example")
    assert not (path / "docker-credential-here.ran").exists()
