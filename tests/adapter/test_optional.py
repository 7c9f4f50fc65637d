"""Optional requests that this computer cannot grant, Kit folders, and what an idle sandbox does."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.adapter.suite import HOST, SECRET, Suite, Web, asks, group, judges
from tests.runtime.bench import vm

pytestmark = vm

IDLE = 3.0


@pytest.fixture(scope="module")
def plain(suite: Suite, web: Web, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A sandbox of a workload and a Kit folder, created with no agent, no identity and nothing said about skills."""
    inject = [{"domain": f"{HOST}:{web.runtime}", "header": "X-Key"}]
    key = {"service": "kit-tck", "phase": "runtime", "apiKey": {"proxyManaged": True, "inject": inject}}
    hook = {"startup": [{"command": "echo hook > /tmp/hook"}]}
    kit = suite.kit(
        "plain",
        asks("git-identity@1", optional=True),
        asks("network-policy@2", {"runtime": {"allow": [f"{HOST}:{web.runtime}"]}}),
        asks("credential@1", key),
        group("with an agent", asks("ssh-agent@1", {"phase": "runtime"}), asks("lifecycle@1", hook), optional=True),
    )
    folder = tmp_path_factory.mktemp("folders") / "pocket"
    folder.mkdir()
    text = 'schemaVersion: "3"\nkind: mixin\nversion: "2.0.0"\ncapabilities:\n'
    (folder / "kit.yaml").write_text(
        text + "  - type: com.docker.sandbox/volume@1\n    config: {path: /pocket, size: 8m}\n"
    )
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY note.txt /etc/note.txt\n")
    (folder / "note.txt").write_text("copied\n")
    return suite.create(kit, folder)


@judges("git-identity@1/withheld", "ssh-agent@1/absent", "groups/atomic")
def test_what_is_not_here_is_skipped_by_name_and_takes_its_group_along(suite: Suite, plain: str) -> None:
    found = suite.document("selection", plain)
    skipped = {record["path"]: record["rejected"] for record in found["selection"]["skipped"]}
    assert skipped == {
        "capabilities[0]": ["capabilities[0]"],
        "capabilities[3]": ["capabilities[3].group.capabilities[0]"],
    }
    assert not {"capabilities[0]", "capabilities[3]"} & {
        record["path"] for record in found["selection"]["selected"] if "plain" in record["source"]["kit"]
    }
    assert "sshAgent" not in found["surface"]
    assert suite.sh(plain, "cat /tmp/hook ~/.gitconfig 2>/dev/null; echo [$SSH_AUTH_SOCK]") == "[]\n"


@judges("credential@1/inject-only")
def test_a_credential_without_a_name_presents_no_variable(suite: Suite, plain: str, web: Web) -> None:
    said = suite.sh(plain, f"env; wget -q -O - http://{HOST}:{web.runtime}/bare")
    assert said.endswith("hello") and SECRET not in said and "kit-tck" not in said.lower()
    assert [headers["x-key"] for _, path, headers in web.asked if path == "/bare"] == [SECRET]


@judges("adapter/folders")
def test_a_folder_whose_recipe_only_copies_is_a_kit(suite: Suite, plain: str) -> None:
    assert suite.sh(plain, "grep -c ' /pocket ' /proc/mounts; cat /etc/note.txt") == "1\ncopied\n"


@judges("long-running@1/idle")
def test_an_idle_sandbox_stops_unless_it_asks_to_go_on(suite: Suite, plain: str) -> None:
    lasting = suite.create(suite.kit("lasting", asks("long-running@1")))
    for id in (plain, lasting):
        _shorten(suite.home / "data" / "adapter" / f"{id}.json")
    suite.verb("stop", plain)
    _shorten(suite.home / "data" / "sandboxes" / plain / "launch.json")
    suite.verb("start", plain)
    with ThreadPoolExecutor() as both:
        tuple(both.map(lambda id: suite.verb("wait-idle", id), (plain, lasting)))
    assert suite.verb("status", plain) == "stopped\n"
    assert suite.verb("status", lasting) == "running\n"
    suite.discard(lasting)
    suite.discard(plain)


def _shorten(file: Path) -> None:
    """The idle period of the settings is counted in minutes; a test has seconds."""
    file.write_text(json.dumps({**json.loads(file.read_text()), "idle": IDLE}))
