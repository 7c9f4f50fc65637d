"""Values that cross to the supervisor and lie on disk."""

from pathlib import Path

import pytest

from kitstudio.runtime.accounts import Account
from kitstudio.runtime.assemble import Contract
from kitstudio.runtime.backend import HookRun, State
from kitstudio.runtime.capabilities.agent_context import Body, Profile
from kitstudio.runtime.capabilities.lifecycle import plan_lifecycle
from kitstudio.runtime.codec import from_json, to_json
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.policy import build_policy, policy_rules
from kitstudio.runtime.state import Process, Record
from tests.runtime.runtime_sets import approve, capability


def plan() -> LaunchPlan:
    approved = approve(
        {
            "r/a:1": [
                capability("lifecycle@1", {"install": [{"command": "x"}], "files": [{"path": "/a", "mode": "600"}]}),
                capability("network-policy@1", {"runtime": {"allow": ["a.test"], "deny": ["b.test:80"]}}),
            ]
        }
    )
    return LaunchPlan(
        "box", (Path("/l0"),), 512, 1, "tcg", Contract(("/a",), (), Account("agent", 1000, 1000, (5,)), "/w"),
        plan_lifecycle(approved), Profile("/p", (Body("k", "/b", None), Body("k", "/c", "t"))),
        policy_rules(build_policy(approved)), Path("/ws"), {"h": "10.0.0.1"}, frozenset({"h"}),
    )  # fmt: skip


def test_a_launch_plan_survives() -> None:
    assert from_json(LaunchPlan, to_json(plan())) == plan()


def test_a_record_survives() -> None:
    record = Record("i", "box", "set", "0", State.RUNNING, supervisor=Process(1, 2, "b"), skipped=("a",))
    assert from_json(Record, to_json(record)) == record


def test_tuples_of_values_survive() -> None:
    runs = (HookRun("k", "install", 0, ("a",), "root", status=None),)
    assert from_json(tuple[HookRun, ...], to_json(runs)) == runs


@pytest.mark.parametrize(
    "change",
    [{"pid": "1"}, {"pid": True}, {"pid": None}, {"more": 1}, {"boot": 3}],
)
def test_a_surprise_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        from_json(Process, {"pid": 1, "start": 2, "boot": "b"} | change)


def test_a_missing_field_is_an_error() -> None:
    with pytest.raises(ValueError):
        from_json(Process, {"pid": 1, "start": 2})
    with pytest.raises(ValueError):
        from_json(Process, [1, 2])
