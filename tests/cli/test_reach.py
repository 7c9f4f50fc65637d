from __future__ import annotations

from dataclasses import replace

import pytest

from kitstudio.cli.output import UsageError
from kitstudio.cli.reach import chosen_ports
from kitstudio.runtime.backend import HostMountFolder, PublishedPort
from tests.cli.conftest import Kitstudio
from tests.services.fakes import FakeBackend


@pytest.fixture
def box(kitstudio: Kitstudio, backend: FakeBackend) -> str:
    """A running sandbox that publishes two ports."""
    assert kitstudio("launch", "demo/base", "--name", "box", "--yes", "--detach").code == 0
    backend.published = {
        "80/tcp": PublishedPort("80/tcp", "web\x1b[31m", host_port=5001),
        "90/tcp": PublishedPort("90/tcp"),
    }
    return "box"


def test_ports_are_listed_with_what_the_kit_calls_them_as_plain_text(kitstudio: Kitstudio, box: str) -> None:
    answer = kitstudio("ports", box)
    assert "127.0.0.1:5001" in answer.out and "not now" in answer.out and "\x1b" not in answer.out
    first, second = kitstudio("ports", box, "--json").document
    assert first == {
        "container": "80/tcp", "name": "web\x1b[31m", "host": "127.0.0.1", "hostPort": 5001, "fixed": None
    }  # fmt: skip
    assert second["hostPort"] is None


def test_port_is_published_where_it_is_wanted_and_another_ones_refusal_is_told(kitstudio: Kitstudio, box: str) -> None:
    first = kitstudio("ports", box, "--set", "80=9000", "--json").document[0]
    assert (first["hostPort"], first["fixed"]) == (9000, 9000)
    assert kitstudio("ports", box, "--set", "80/tcp=0", "--json").document[0]["fixed"] is None
    refused = kitstudio("ports", box, "--set", "81=9000")
    assert refused.code == 1 and "publishes no port 81/tcp" in refused.err
    assert kitstudio("ports", box, "--set", "80/udp=1").code == 64


def test_choices_at_launch_reach_the_runtime_beside_the_idle_limit(kitstudio: Kitstudio, backend: FakeBackend) -> None:
    kitstudio("settings", "set", "sandbox.idle_minutes", "5")
    launched = kitstudio("launch", "demo/base", "--name", "box", "--yes", "--detach", "--port", "8080=9000")
    assert launched.code == 0
    _, options = backend.created[-1]
    assert (options.ports, options.idle) == ({"8080/tcp": 9000}, 300.0)


def test_status_says_when_an_idle_sandbox_stops_and_why_it_did_row_95(
    kitstudio: Kitstudio, box: str, backend: FakeBackend
) -> None:
    backend.boxes[box] = replace(backend.boxes[box], idle_stop=2_000_000_000.0)
    assert "unless somebody connects" in kitstudio("status", box).out
    assert kitstudio("status", box, "--json").document["stopsAt"] == "2033-05-18T03:33:20.000Z"
    backend.boxes[box] = replace(backend.boxes[box], idle_stop=0.0, note="Stopped after 30 minutes without a session.")
    assert "Stopped after 30 minutes" in kitstudio("status", box).out
    assert "stopsAt" not in kitstudio("status", box, "--json").document


def test_shared_folders_are_listed_by_kit_and_deleted_by_id(kitstudio: Kitstudio, backend: FakeBackend) -> None:
    assert "No folder is kept" in kitstudio("mounts").err
    backend.shared = (
        HostMountFolder("a" * 24, "kits.test/a", "/m", "/home/x/mounts/a/files", 1048576, 3, ("box",), ("box",)),
        HostMountFolder("b" * 24, "kits.test/b", "/n", "/home/x/mounts/b/files"),
    )
    assert "1.0 MiB, 3 files" in kitstudio("mounts").out
    (one,) = kitstudio("mounts", "kits.test/a:1.0", "--json").document
    assert (one["id"], one["kit"], one["running"]) == ("a" * 24, "kits.test/a", ["box"])
    assert kitstudio("mounts", "--rm", "b" * 24, "--json").document == {"removed": "b" * 24}
    assert len(backend.shared) == 1
    assert kitstudio("mounts", "--rm", "c" * 24).code == 1


@pytest.mark.parametrize("text", ["", "80", "=80", "80=", "80=x", "80/udp=1", "web=80", "80/tcp=-1"])
def test_choice_that_is_none_is_explained(text: str) -> None:
    with pytest.raises(UsageError, match="chooses no port"):
        chosen_ports([text], "--port")
