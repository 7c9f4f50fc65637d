from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kitstudio.cli.main import main
from tests.services.fakes import FakeBackend, demo_layout


@dataclass(frozen=True, slots=True)
class Answer:
    """What one command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Kitstudio = Callable[..., Answer]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo catalog of these tests, built once."""
    return demo_layout(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> FakeBackend:
    """One runtime for all commands of a test."""
    from kitstudio.runtime import qemu_backend

    made = FakeBackend()
    monkeypatch.setattr(qemu_backend, "QemuBackend", lambda *_, **__: made)
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def kitstudio(
    home: Path, demo: Path, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Kitstudio:
    """``kitstudio("tags", "demo/base", "--json")``: run one command on a fresh home, in this process."""
    monkeypatch.setenv("KITSTUDIO_DEMO", str(demo))
    monkeypatch.setenv("KITSTUDIO_HOME", str(home))

    def run(*words: str) -> Answer:
        capfd.readouterr()
        code = main(list(words))
        out, err = capfd.readouterr()
        return Answer(code, out, err)

    return run
