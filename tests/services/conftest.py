from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kitstudio.services.app import Options, Studio
from tests.services.fakes import FakeBackend, demo_layout


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo catalog of these tests, built once."""
    return demo_layout(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
async def studio(
    tmp_path: Path, demo: Path, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Studio]:
    """All services on a fresh home."""
    monkeypatch.setenv("KITSTUDIO_DEMO", str(demo))
    opened = await Studio.open(Options(home=tmp_path / "home"), backend)
    yield opened
    await opened.close()
