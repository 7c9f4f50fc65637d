from __future__ import annotations

import io

import pytest

from tests.cli.conftest import Kitstudio
from tests.services.fakes import FakeBackend

SECRET = "very-secret-value"


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_credentials_are_set_listed_and_removed_and_never_printed(
    kitstudio: Kitstudio, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kitstudio("credentials").out.startswith("No secret is bound")
    given(monkeypatch, SECRET + "\n")
    answer = kitstudio("credentials", "set", "acme", "--stdin", "--store", "file", "--json")
    assert answer.document == {"service": "acme", "bound": True, "store": "file"}
    assert SECRET not in answer.out + answer.err and backend.rebound == ["acme"]
    assert kitstudio("credentials", "ls", "--json").document == [{"service": "acme", "bound": True, "store": "file"}]
    assert kitstudio("credentials", "rm", "acme", "--json").document["bound"] is False
    assert kitstudio("credentials", "rm", "acme").code == 1
    assert backend.rebound == ["acme", "acme"]


def test_credentials_names_what_is_wrong_with_the_words(kitstudio: Kitstudio, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kitstudio("credentials", "set").code == 64
    assert kitstudio("credentials", "ls", "acme").code == 64
    given(monkeypatch, "")
    assert kitstudio("credentials", "set", "acme").code == 64
    given(monkeypatch, "x")
    assert kitstudio("credentials", "set", "Acme", "--stdin", "--store", "file").code == 1
