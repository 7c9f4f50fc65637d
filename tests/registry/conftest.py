"""Fixtures: a real registry open to all, one with a password, and servers whose answers a test writes itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.demo import DemoCatalog
from kitstudio.registry.source import NotFound
from tests.registry.servers import Authority, Double, Server, TokenService, run_double, run_registry


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "store")


@pytest.fixture
def demo() -> DemoCatalog:
    """The catalog set-up built; set-up runs before the whole suite."""
    try:
        return DemoCatalog()
    except NotFound as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_registry(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(scope="session")
def password_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_registry(tmp_path_factory.mktemp("password"), password=True) as server:
        yield server


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def token_service(authority: Authority, doubles: Callable[[], Double]) -> tuple[TokenService, Double]:
    """A token service of this test's own, and where it answers."""
    service, server = TokenService(authority), doubles()
    server.answer = service
    return service, server


@pytest.fixture
def token_registry(
    tmp_path_factory: pytest.TempPathFactory, token_service: tuple[TokenService, Double]
) -> Iterator[Server]:
    """A real registry that wants tokens of ``token_service``."""
    service, tokens = token_service
    with run_registry(tmp_path_factory.mktemp("token"), auth=service.auth(tokens.host)) as server:
        yield server


@pytest.fixture
def double() -> Iterator[Double]:
    with run_double() as server:
        yield server


@pytest.fixture
def doubles() -> Iterator[Callable[..., Double]]:
    """Several of them, each on a port of its own; with a TLS context, over TLS."""
    with ExitStack() as stack:
        yield lambda context=None: stack.enter_context(run_double(context))
