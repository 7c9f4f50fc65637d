from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from kitstudio.registry.credentials import Credential, DockerCredentials


def auth(user: str, password: str = "secret") -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def stored(folder: Path, auths: object) -> DockerCredentials:
    path = folder / "config.json"
    path.write_text(json.dumps({"auths": auths}))
    return DockerCredentials(path)


def test_sign_in_of_a_host_is_found_under_each_spelling(tmp_path: Path) -> None:
    for key in ("hub.example:5000", "https://hub.example:5000", "https://hub.example:5000/v1/"):
        assert stored(tmp_path, {key: auth("ada")}).lookup("hub.example:5000", "a/b") == Credential("ada", "secret")


def test_docker_hub_sign_in_lives_under_its_old_address(tmp_path: Path) -> None:
    found = stored(tmp_path, {"https://index.docker.io/v1/": auth("ada")}).lookup("docker.io", "acme/kit")
    assert found == Credential("ada", "secret")


def test_longest_repository_prefix_wins(tmp_path: Path) -> None:
    credentials = stored(
        tmp_path, {"h.example": auth("all"), "h.example/a": auth("team"), "h.example/a/b": auth("one")}
    )
    names = [credentials.lookup("h.example", repository) for repository in ("a/b", "a/c", "d", "ab")]
    assert [found.username for found in names if found] == ["one", "team", "all", "all"]


def test_identity_token_and_plain_fields_are_understood(tmp_path: Path) -> None:
    found = stored(tmp_path, {"h.example": {"auth": "", "identitytoken": "tok"}}).lookup("h.example", "")
    assert found is not None
    assert found.is_token
    assert found.password == "tok"
    assert stored(tmp_path, {"h.example": {"username": "u", "password": "p"}}).lookup("h.example", "") == Credential(
        "u", "p"
    )


@pytest.mark.parametrize("entry", [{}, {"auth": ""}, {"auth": "%%%"}, {"auth": 3}, None, "text", {"auth": "/////w=="}])
def test_unusable_entry_means_anonymous_and_no_failure(tmp_path: Path, entry: object) -> None:
    assert stored(tmp_path, {"h.example": entry, "other.example": auth("x")}).lookup("h.example", "a") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"auths": []}', "[" * 50_000])
def test_broken_configuration_means_anonymous(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert DockerCredentials(tmp_path / "config.json").lookup("h.example", "a") is None
    assert DockerCredentials(tmp_path / "missing.json").lookup("h.example", "a") is None


def test_secret_is_in_no_repr() -> None:
    assert "hunter2" not in repr(Credential("ada", "hunter2"))
