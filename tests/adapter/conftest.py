"""One home for the whole suite, and the file with results that ``adapter report`` reads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapter.suite import Suite, Web, environment
from tests.runtime.bench import processes_of

_outcomes: dict[str, str] = {}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "judges(*checks): ids of the conformance checks this test is")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    mark = item.get_closest_marker("judges")
    if mark is not None and (report.when == "call" or report.outcome != "passed"):
        for check in mark.args:
            if _outcomes.get(check) != "failed":
                _outcomes[check] = report.outcome
    return report  # type: ignore[return-value]


def pytest_sessionfinish() -> None:
    if file := os.environ.get("ADAPTER_RESULTS"):
        Path(file).write_text(json.dumps(_outcomes, indent=1, sort_keys=True) + "\n")


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    place = tmp_path_factory.mktemp("suite")
    home, kits = place / "home", place / "kits"
    silent, never_written = os.pipe()
    made = Suite(home, kits, silent, environment(home, place))
    for key, value in (("sandbox.memory", "256"), ("sandbox.accel", "tcg")):
        assert made.call("settings", "set", key, value).returncode == 0
    try:
        yield made
    finally:
        for id in tuple(made.made):
            made.discard(id)
        os.close(silent)
        os.close(never_written)
    assert made.boxes() == []
    assert processes_of(home) == []


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    made = Web()
    yield made
    made.close()


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A program that speaks to the agent at SSH_AUTH_SOCK."""
    out = tmp_path_factory.mktemp("probe") / "probe"
    source = Path(__file__).parent.parent / "runtime" / "agent_probe.c"
    subprocess.run(["musl-gcc", "-static", "-Os", "-o", out, source], check=True)
    return out.read_bytes()
