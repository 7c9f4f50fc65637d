from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.cli.sandboxes import _memory
from kitstudio.runtime.backend import Decision, SandboxError, State
from kitstudio.ui.sandboxes.models import target
from tests.cli.conftest import Kitstudio
from tests.services.fakes import FakeBackend

BASE, TOOL = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0"


@pytest.fixture
def team(kitstudio: Kitstudio) -> str:
    assert kitstudio("launch", BASE, TOOL, "--name", "team", "--yes", "--detach").code == 0
    return "team"


def test_launch_goes_through_the_gate(kitstudio: Kitstudio, backend: FakeBackend) -> None:
    answer = kitstudio("launch", BASE, TOOL, "--detach", "--json")
    assert answer.code == 2 and not backend.boxes
    assert answer.lines[-1]["approved"] is False


def test_a_name_no_sandbox_may_have_is_refused_before_anything_is_approved(kitstudio: Kitstudio) -> None:
    answer = kitstudio("launch", BASE, TOOL, "--name", "Team", "--yes", "--detach")
    assert answer.code == 1 and "cannot name a sandbox" in answer.err
    assert kitstudio("history", "--json").lines == []


def test_launch_prints_progress_lines_and_the_sandbox_last(kitstudio: Kitstudio, backend: FakeBackend) -> None:
    answer = kitstudio("launch", BASE, TOOL, "--yes", "--detach", "--json")
    assert answer.code == 0
    assert [line["phase"] for line in answer.lines[:-1]] == ["pull", "ready"]
    assert answer.lines[-1] == {"sandbox": {"id": "id-1", "name": "base", "state": "running"}}
    assert backend.created[0][0].lock.name == "base"


def test_launch_hands_over_what_was_asked(kitstudio: Kitstudio, backend: FakeBackend, tmp_path: Path) -> None:
    kitstudio("settings", "set", "sandbox.cpus", "3")
    words = ("--memory", "2g", "--workspace", str(tmp_path), "--env", "A=b=c", "--detach")
    assert kitstudio("launch", BASE, "--name", "x", *words).code == 0
    approved, options = backend.created[0]
    assert (options.name, options.memory, options.cpus, options.workspace) == ("x", 2048, 3, tmp_path)
    assert approved.environment["A"] == "b=c" and dict(options.env) == {"A": "b=c"}


def test_a_new_sandbox_gets_the_git_identity_of_the_settings(kitstudio: Kitstudio, backend: FakeBackend) -> None:
    kitstudio("settings", "set", "git.name", "Ada")
    kitstudio("settings", "set", "git.email", "ada@acme.example")
    assert kitstudio("launch", BASE, "--name", "x", "--yes", "--detach").code == 0
    assert (backend.created[0][1].git_name, backend.created[0][1].git_email) == ("Ada", "ada@acme.example")


def test_session_drives_the_agent_by_what_its_kits_state(kitstudio: Kitstudio, team: str) -> None:
    assert kitstudio("session", team, "prompt", "fix it; now").out == "agent -p fix it; now"
    assert kitstudio("session", team, "list", "--json").document == {"sessions": ["agent-ls"]}
    answer = kitstudio("session", team, "continue")
    assert answer.code == 1 and "states no way to continue the last session" in answer.err
    assert kitstudio("session", team, "prompt").code == 64
    assert kitstudio("session", team, "list", "x").code == 64


def test_a_failed_launch_is_one_clear_error(kitstudio: Kitstudio, backend: FakeBackend) -> None:
    backend.fail = SandboxError("The disk is full.", where="convert", remedy="Free some space.")
    answer = kitstudio("launch", BASE, "--detach", "--json")
    assert answer.code == 1
    assert '"remedy": "Free some space."' in answer.out
    assert kitstudio("ls", "--json").document == []


def test_exec_exits_as_the_command_did(kitstudio: Kitstudio, team: str) -> None:
    answer = kitstudio("exec", team, "--", "echo", "-t", "--json", "hi")
    assert (answer.code, answer.out) == (0, "echo -t --json hi")
    assert kitstudio("exec", team, "--", "false").code == 7


def test_exec_in_nothing_is_125(kitstudio: Kitstudio) -> None:
    answer = kitstudio("exec", "nothing", "--", "true")
    assert answer.code == 125 and "no sandbox nothing" in answer.err


def test_exec_in_json_is_one_document(kitstudio: Kitstudio, team: str) -> None:
    answer = kitstudio("--json", "exec", team, "--", "false")
    assert answer.code == 7
    assert answer.document == {"status": 7, "stdout": "false", "stderr": ""}


def test_ls_and_status_have_the_same_shape(kitstudio: Kitstudio, team: str) -> None:
    listed = kitstudio("ls", "--json").document
    one = kitstudio("status", team, "--json").document
    assert listed == [one]
    assert set(one) == {"id", "name", "state", "set", "lock", "startedAt", "ports"}
    assert one["startedAt"] == "1970-01-01T00:16:40.000Z"


def test_stop_start_recreate_rm(kitstudio: Kitstudio, team: str, backend: FakeBackend) -> None:
    assert kitstudio("stop", team, "--json").document["state"] == "stopped"
    assert kitstudio("start", team).code == 0
    assert kitstudio("recreate", team).code == 0
    assert backend.recreated[0] == backend.created[0][0]
    assert kitstudio("rm", team, "--json").document == {"removed": team}
    assert kitstudio("status", team).code == 1


def test_what_ends_broken_fails_and_says_why(
    kitstudio: Kitstudio, team: str, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_it(name: str) -> None:
        backend.boxes[name] = replace(backend.boxes[name], state=State.BROKEN, broken="The disk image is missing.")

    monkeypatch.setattr(backend, "stop", break_it)
    answer = kitstudio("stop", team)
    assert answer.code == 1 and "The disk image is missing." in answer.out


def test_logs_are_lines(kitstudio: Kitstudio, team: str) -> None:
    assert kitstudio("logs", team).out == "one\ntwo\n"
    assert kitstudio("logs", team, "--json").lines == [{"line": "one"}, {"line": "two"}]


def test_network_decisions_name_the_rule(kitstudio: Kitstudio, team: str, backend: FakeBackend) -> None:
    backend.decided = (
        Decision(1.5, "runtime", "a.example", 443, "allow", TOOL, "capabilities[0].config.runtime.allow[0]", 9),
        Decision(2.5, "runtime", "x.example", 80, "refuse", reason="no rule"),
    )
    first, second = kitstudio("network", team, "--json").lines
    assert first == {
        "time": "1970-01-01T00:00:01.500Z",
        "phase": "runtime",
        "host": "a.example",
        "port": 443,
        "method": None,
        "path": None,
        "verdict": "allow",
        "rule": {"kit": TOOL, "path": "capabilities[0].config.runtime.allow[0]", "line": 9},
    }
    assert second["rule"] is None


def test_a_request_that_names_no_host_is_told_by_what_it_said(
    kitstudio: Kitstudio, team: str, backend: FakeBackend
) -> None:
    odd = Decision(1.5, "runtime", "", 0, "refused", method="GET", url_path="https://a.example/", reason="not so")
    backend.decided = (odd,)
    assert "refused  GET https://a.example/  not so" in kitstudio("network", team).out
    assert target(odd) == "https://a.example/"


def test_attach_without_a_terminal_says_so(kitstudio: Kitstudio, team: str) -> None:
    assert kitstudio("attach", team).code == 64


@pytest.mark.parametrize(("text", "mib"), [("", 0), ("512", 512), ("512m", 512), ("2g", 2048), ("2GiB", 2048)])
def test_memory_with_and_without_a_unit(text: str, mib: int) -> None:
    assert _memory(text) == mib


def test_launch_leaves_out_what_is_optional_and_nothing_here_grants(
    kitstudio: Kitstudio, backend: FakeBackend, tmp_path: Path
) -> None:
    folder = tmp_path / "commits"
    folder.mkdir()
    (folder / "commits.yaml").write_text(
        'schemaVersion: "3"\nkind: mixin\nversion: 1.0.0\n'
        "capabilities: [{type: com.docker.sandbox/git-identity@1, optional: true}]\n"
    )
    answer = kitstudio("launch", BASE, str(folder), "--name", "one", "--yes", "--detach")
    assert answer.code == 0 and "nothing here could grant it" in answer.err
    assert not backend.created[0][0].lock.surface.services
    kitstudio("settings", "set", "git.name", "Ada")
    kitstudio("settings", "set", "git.email", "ada@acme.example")
    answer = kitstudio("launch", BASE, str(folder), "--name", "two", "--yes", "--detach")
    assert answer.code == 0 and "nothing here could grant it" not in answer.err
    assert backend.created[1][0].lock.surface.services == ("com.docker.sandbox/git-identity@1",)
