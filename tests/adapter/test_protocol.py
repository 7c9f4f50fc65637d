"""§2.1, §2.2 and §2.5 where no machine is needed: exit codes, refusals, references, the adapter's own home."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kitstudio.runtime.capabilities import CLAIMED
from kitstudio.services.adapter_checks import CHECKS, PREFIX, WAIVERS
from tests.adapter.suite import Suite, asks, group, judges


def test_every_check_of_the_report_has_a_test_and_every_claimed_type_a_check_or_a_waiver() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    judged = {id for call in re.findall(r"@judges\(([^)]*)\)", text) for id in re.findall(r'"([^"]+)"', call)}
    assert judged == {check.id for check in CHECKS}
    subjects = {check.subject for check in CHECKS} | {waiver.id.partition("/")[0] for waiver in WAIVERS}
    whole = {subject.partition("@")[0] for subject in subjects}
    assert {t for t in CLAIMED if t.removeprefix(PREFIX).partition("@")[0] not in whole} == set()


@judges("adapter/known-types")
def test_capabilities_are_one_a_line_and_nothing_is_written(suite: Suite, tmp_path: Path) -> None:
    done = suite.call("adapter", "capabilities", KITSTUDIO_HOME=str(tmp_path / "fresh"))
    assert done.returncode == 0 and done.stdout.decode().splitlines() == sorted(CLAIMED)
    assert not (tmp_path / "fresh").exists()


def test_the_report_says_what_became_of_each_check(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "results").write_text(json.dumps({"adapter/exec": "passed"}))
    done = suite.call("adapter", "report", "--results", str(tmp_path / "results"), "--json")
    found = json.loads(done.stdout)
    assert found["claimed"] == sorted(CLAIMED)
    assert {row["id"]: row["outcome"] for row in found["checks"]}["adapter/exec"] == "passed"
    assert {row["outcome"] for row in found["checks"]} == {"passed", "not run"}
    assert suite.call("adapter", "report", "--results", str(tmp_path / "none")).returncode == 1


@judges("adapter/refusal")
def test_a_required_type_nobody_enforces_is_refused_with_2_and_an_optional_one_is_not_what_refuses(
    suite: Suite,
) -> None:
    strange = suite.kit("strange", asks("com.example/teleport@1", {"to": "moon"}))
    said = suite.refused(strange)
    assert "com.example/teleport@1" in said
    both = suite.kit("strange-both", asks("com.example/hover@1", optional=True), asks("com.example/teleport@1"))
    assert "hover" not in suite.refused(both)


@judges("adapter/failure")
def test_what_cannot_be_found_or_built_is_a_failure_and_no_refusal(suite: Suite, tmp_path: Path) -> None:
    assert "no such file or folder" in suite.refused(tmp_path / "nothing", code=1)
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    (recipe / "kit.yaml").write_text('schemaVersion: "3"\nkind: workload\n')
    (recipe / "Dockerfile").write_text("FROM scratch\nRUN make everything\n")
    assert "RUN" in suite.refused(recipe, code=1)
    for verb in ("selection", "recreate"):
        assert suite.call("adapter", verb, "tck-none").returncode == 1
    assert suite.call("adapter", "exec", "tck-none", "--", "true").returncode == 125
    assert suite.call("adapter", "host-mount-rm", "none").returncode == 1


@judges("adapter/own-home")
def test_the_adapter_says_yes_in_no_home_a_person_uses(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "data" / "locks").mkdir(parents=True)
    (tmp_path / "data" / "locks" / "team.json").write_text("{}")
    done = suite.call("adapter", "create", str(tmp_path / "kit"), KITSTUDIO_HOME=str(tmp_path))
    assert done.returncode == 1 and b"in use by a person" in done.stderr
    done = suite.call("adapter", "create", "x", KITSTUDIO_HOME="")
    assert done.returncode == 64 and b"home of its own" in done.stderr


@judges("groups/required")
def test_a_rejected_member_of_a_required_group_refuses_the_create_by_name(suite: Suite) -> None:
    volume, hooks = asks("volume@1", {"path": "/feature"}), asks("lifecycle@1", {"startup": [{"command": "true"}]})
    kit = suite.kit("groups-required", asks("git-identity@1", optional=True), group("feature", volume, hooks))
    said = suite.refused(kit, "--reject-capability", "com.docker.sandbox/volume@1")
    assert "“feature”" in said and "capabilities[1].group.capabilities[0]" in said and "volume@1" in said


@judges("groups/conflict")
def test_optional_groups_are_not_dropped_to_mend_a_conflict(suite: Suite) -> None:
    base = suite.kit("conflict-base", group("one", asks("volume@1", {"path": "/same", "size": "8m"}), optional=True))
    other = group("two", asks("volume@1", {"path": "/same", "size": "16m"}), optional=True)
    said = suite.refused(base, suite.kit("conflict-tool", other, kind="mixin"))
    assert "/same" in said and "conflict-base" in said and "conflict-tool" in said


@pytest.mark.parametrize("stated", ["off", "half"])
@judges("git-identity@1/withheld")
def test_a_required_git_identity_is_refused_where_it_is_withheld_or_incomplete(
    suite: Suite, tmp_path: Path, stated: str
) -> None:
    kit = suite.kit("git-required", asks("git-identity@1"))
    if stated == "half":
        (tmp_path / "half").write_text("[user]\n\tname = Ada\n")
    source = {"off": "off", "half": str(tmp_path / "half")}[stated]
    assert "Git identity" in suite.refused(kit, "--git-identity-config", source)


@judges("ssh-agent@1/absent")
def test_a_required_agent_is_refused_without_one(suite: Suite, tmp_path: Path) -> None:
    kit = suite.kit("agent-required", asks("ssh-agent@1", {"phase": "runtime"}))
    assert "SSH agent" in suite.refused(kit)
    assert "SSH agent" in suite.refused(kit, "--ssh-agent", tmp_path / "nobody")


@judges("adapter/args")
def test_an_argument_nobody_declares_is_refused(suite: Suite) -> None:
    assert "colour" in suite.refused(suite.kit("no-args"), "--arg", "colour=red")
