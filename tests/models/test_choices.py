"""Optional requests as switches: what else leaves with one is counted, and never quoted."""

from __future__ import annotations

from kitstudio.models.choices import choose
from kitstudio.models.descriptor import Capability, CapabilityGroup
from tests.builders import descriptor

LIFECYCLE = Capability(
    "com.docker.sandbox/lifecycle@1",
    {
        "install": [{"command": ["echo", "hunter2"]}],
        "startup": [{"command": "gh auth"}, {"command": "date"}],
        "files": [{"path": "/etc/x", "content": "y"}],
    },
    optional=True,
)
HOSTS = Capability("com.docker.sandbox/network-policy@1", {"runtime": {"allow": ["a.example"]}}, optional=True)


def test_a_group_says_which_hooks_and_files_leave_with_it() -> None:
    group = CapabilityGroup((HOSTS, LIFECYCLE), name="Sign in", optional=True)
    (choice,) = choose("r.example/a:1", descriptor(capabilities=(group,)), {}, None).choices
    assert choice.takes_along == "1 installation step, 2 startup steps and 1 file"
    assert "hunter2" not in choice.takes_along and len(choice.permissions) >= 1


def test_a_request_that_brings_nothing_else_says_nothing() -> None:
    (choice,) = choose("r.example/a:1", descriptor(capabilities=(HOSTS,)), {}, None).choices
    assert choice.takes_along == ""
