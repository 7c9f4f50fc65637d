"""Capability groups: taken or left whole, recorded, kept over a restart and decided afresh at a recreation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapter.suite import Suite, asks, group, judges
from tests.runtime.bench import vm

pytestmark = vm

HOOKS = "com.docker.sandbox/lifecycle@1"
LOOK = "ls -d /feature /other; cat /tmp/hook; grep -q ' /feature ' /proc/mounts && echo mounted; true"
TAKEN = "/feature\n/other\nhook\nmounted\n"
LEFT = "/other\n"


@pytest.fixture(scope="module")
def tool(suite: Suite) -> Path:
    """An optional volume with a hook, and another group under the same name; only one Kit of the set has them."""
    hook = {"startup": [{"command": "echo hook > /tmp/hook"}]}
    return suite.kit(
        "groups",
        group(
            "feature", asks("volume@1", {"path": "/feature", "size": "8m"}), asks("lifecycle@1", hook), optional=True
        ),
        group("feature", asks("volume@1", {"path": "/other", "size": "8m", "tmpfs": True}), optional=True),
        kind="mixin",
    )


@pytest.fixture(scope="module")
def base(suite: Suite) -> Path:
    return suite.kit("groups-base")


def records(found: Any) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Paths of what was selected, and of what was skipped with the members that were rejected."""
    selection = found["selection"]
    return [r["path"] for r in selection["selected"]], [(r["path"], r["rejected"]) for r in selection["skipped"]]


@judges("groups/atomic", "groups/independent", "groups/restart", "groups/recreate", "groups/surface")
def test_a_group_is_kept_over_a_restart_and_decided_afresh_at_a_recreation(
    suite: Suite, base: Path, tool: Path
) -> None:
    id = suite.create(base, "--reject-capability", HOOKS, tool)
    assert suite.sh(id, LOOK) == LEFT
    rejected = suite.document("selection", id)
    assert records(rejected) == (["capabilities[1]"], [("capabilities[0]", ["capabilities[0].group.capabilities[1]"])])
    assert rejected["surface"] == {"storagePaths": ["/other"]}

    suite.verb("selection-policy", id)
    suite.verb("stop", id)
    suite.verb("start", id)
    assert suite.sh(id, LOOK) == LEFT

    suite.verb("recreate", id)
    assert suite.sh(id, LOOK) == TAKEN
    accepted = suite.document("selection", id)
    assert records(accepted) == (["capabilities[0]", "capabilities[1]"], [])
    first = accepted["selection"]["selected"][0]
    assert first["source"]["kit"].endswith("/groups:1.0.0") and first["name"] == "feature"
    assert first["members"] == [f"capabilities[0].group.capabilities[{i}]" for i in (0, 1)]
    assert [s["path"] for s in first["memberSources"]] == first["members"]
    assert {s["kit"] for s in first["memberSources"]} == {first["source"]["kit"]}
    assert accepted["surface"] == {"storagePaths": ["/feature", "/other"]}

    suite.verb("selection-policy", id, "--reject-capability", HOOKS)
    suite.verb("stop", id)
    suite.verb("start", id)
    assert suite.sh(id, LOOK) == TAKEN

    suite.verb("recreate", id)
    assert suite.sh(id, LOOK) == LEFT
    assert suite.document("selection", id) == rejected
    suite.discard(id)


@judges("lifecycle/failure")
def test_a_hook_of_an_accepted_group_that_fails_is_a_failure_and_no_refusal(suite: Suite) -> None:
    hook = {"install": [{"command": "echo why >&2; exit 9"}]}
    said = suite.refused(
        suite.kit("groups-failure", group("feature", asks("lifecycle@1", hook), optional=True)), code=1
    )
    assert "why" in said and "9" in said
