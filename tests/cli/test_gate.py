from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from kitstudio.cli import gate
from kitstudio.cli.output import Output
from kitstudio.models.review import Review, Uncounted, Weight
from tests.cli.conftest import Kitstudio

BASE, TOOL, WIDER, WILD = (
    "demo.invalid/base:1.0.0",
    "demo.invalid/tool:1.0.0",
    "demo.invalid/tool:2.0.0",
    "demo.invalid/wild:1.0.0",
)
ANY = "network.runtime.allow:*"


def _kit(folder: Path, type_: str, config: str) -> None:
    (folder / "kit.yaml").write_text(
        'schemaVersion: "3"\nkind: mixin\nversion: "1.0.0"\ndisplayName: Odd\n'
        f"capabilities:\n- type: com.docker.sandbox/{type_}\n  config: {config}\n"
    )


def _lock(home: Path, name: str = "base") -> Path:
    return home / "data" / "locks" / f"{name}.json"


def test_without_a_person_nothing_is_approved(kitstudio: Kitstudio, home: Path) -> None:
    answer = kitstudio("approve", BASE, TOOL, "--json")
    assert answer.code == 2
    assert answer.document["approved"] is False and answer.document["lock"] is None
    assert answer.document["widenings"][0]["detail"] == "a.example"
    assert not _lock(home).exists()
    assert kitstudio("history", "--json").out == ""


def test_yes_approves_and_writes_the_lock(kitstudio: Kitstudio, home: Path) -> None:
    answer = kitstudio("approve", BASE, TOOL, "--yes", "--json")
    assert answer.code == 0
    assert set(answer.document) == {"approved", "widenings", "lock"} and answer.document["approved"] is True
    assert answer.document["lock"]["name"] == "base"
    assert _lock(home).exists()


def test_the_lock_is_called_as_stated_or_as_the_set_file(kitstudio: Kitstudio, home: Path, tmp_path: Path) -> None:
    kitstudio("export", BASE, "-o", str(tmp_path / "team.yaml"))
    kitstudio("approve", str(tmp_path / "team.yaml"))
    kitstudio("approve", str(tmp_path / "team.yaml"), "--name", "other")
    assert _lock(home, "team").exists() and _lock(home, "other").exists()
    assert kitstudio("approve", BASE, "--name", "../evil").code == 1


def test_yes_never_covers_a_critical_finding(kitstudio: Kitstudio, home: Path) -> None:
    answer = kitstudio("approve", BASE, WILD, "--yes")
    assert answer.code == 2 and f"--accept '{ANY}'" in answer.out + answer.err
    assert not _lock(home).exists()
    assert kitstudio("approve", BASE, WILD, "--yes", "--accept", "network.runtime.allow:other").code == 2
    assert kitstudio("approve", BASE, WILD, "--accept", ANY).code == 0


def test_a_harmless_host_beside_every_host_accepts_nothing(kitstudio: Kitstudio, tmp_path: Path) -> None:
    _kit(tmp_path, "network-policy@2", "{runtime: {allow: [{hosts: [a.example, '*']}]}}")
    words = ("approve", BASE, str(tmp_path), "--yes", "--accept")
    answer = kitstudio(*words, "network.runtime.allow:a.example")
    assert answer.code == 2 and f"--accept '{ANY}'" in answer.err
    assert kitstudio(*words, ANY).code == 0


@pytest.mark.parametrize("path", ["/a'; touch /tmp/x #", "/a\n\nApproved: base, lock 0123456789ab….", "/a\\'\x1b[2J"])
def test_what_is_to_be_copied_into_a_shell_is_one_word_of_one_line(
    kitstudio: Kitstudio, tmp_path: Path, path: str
) -> None:
    _kit(tmp_path, "host-mount@1", f"{{path: {json.dumps(path)}}}")
    answer = kitstudio("approve", BASE, str(tmp_path), "--yes")
    (line,) = [line for line in answer.out.splitlines() if "--accept" in line]
    told = subprocess.run(["bash", "-c", f"printf %s {line.partition('--accept ')[2]}"], capture_output=True, text=True)
    assert answer.code == 2 and told.stdout == f"host-mount:{path}"
    assert not [line for line in answer.out.splitlines() if line.startswith("Approved")]


def test_accept_alone_covers_what_it_names(kitstudio: Kitstudio) -> None:
    assert kitstudio("approve", BASE, TOOL, "--accept", "network.runtime.allow:a.example").code == 0
    assert kitstudio("approve", BASE, WIDER, WILD, "--accept", ANY).code == 2
    assert kitstudio("approve", BASE, WIDER, WILD, "--accept", ANY, "--yes").code == 0


def test_a_widening_asks_again_a_narrowing_does_not(kitstudio: Kitstudio) -> None:
    assert kitstudio("approve", BASE, TOOL, "--yes").code == 0
    assert kitstudio("approve", BASE, WIDER).code == 2
    assert kitstudio("approve", BASE, "demo/tool:0.9.0").code == 0
    assert [line["answer"] for line in kitstudio("history", "--json").lines] == ["silent", "approved"]


def test_what_this_machine_never_grants_is_refused_and_the_rule_named_row_50(kitstudio: Kitstudio) -> None:
    kitstudio("settings", "set", "policy.host", "type=com.docker.sandbox/privileged@1")
    answer = kitstudio("approve", BASE, "demo/machine:1.0.0", "--yes", "--accept", "privileged:", "--json")
    assert answer.code == 2 and "“type=com.docker.sandbox/privileged@1”" in answer.err
    assert answer.document["problems"][0]["kind"] == "unsupported-capability"


@pytest.mark.parametrize("rule", ["host=*", "category=network", "type=com.docker.sandbox/network-policy"])
def test_a_never_rule_beats_yes_and_accept_and_names_itself(kitstudio: Kitstudio, home: Path, rule: str) -> None:
    assert kitstudio("settings", "set", "policy.never", rule).code == 0
    answer = kitstudio("approve", BASE, WILD, "--yes", "--accept", ANY, "--json")
    assert answer.code == 2 and answer.document["approved"] is False
    assert rule in answer.document["refused"][0]
    assert not _lock(home).exists()


def test_a_tick_rule_takes_a_finding_out_of_yes(kitstudio: Kitstudio) -> None:
    kitstudio("settings", "set", "policy.tick", "category=network")
    assert kitstudio("approve", BASE, TOOL, "--yes").code == 2
    assert kitstudio("approve", BASE, TOOL, "--accept", "network.runtime.allow:a.example").code == 0


def test_damaged_rules_let_nothing_through(kitstudio: Kitstudio, home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "settings.toml").write_text('[policy]\nnever = ["nonsense"]\n')
    answer = kitstudio("approve", BASE, "--yes")
    assert answer.code == 1 and "rules cannot be read" in answer.err


def test_a_record_that_cannot_be_exported_is_no_failed_approval(kitstudio: Kitstudio, home: Path) -> None:
    answer = kitstudio("approve", BASE, TOOL, "--yes", "--export", "/nonexistent/record.json", "--json")
    assert answer.code == 0 and answer.document["approved"] is True and _lock(home).exists()
    assert "is approved" in answer.err and "not exported" in answer.err


def test_an_incoherent_set_fails(kitstudio: Kitstudio) -> None:
    answer = kitstudio("approve", TOOL, "--yes", "--json")
    assert answer.code == 1 and answer.document["approved"] is False


def test_an_exported_record_replays_elsewhere(kitstudio: Kitstudio, home: Path, tmp_path: Path) -> None:
    record = str(tmp_path / "record.json")
    assert kitstudio("approve", BASE, TOOL, "--yes", "--export", record).code == 0
    other = ("--home", str(tmp_path / "other"))
    assert kitstudio("approve", BASE, TOOL, "--approve-from", record, *other).code == 0
    assert _lock(tmp_path / "other").read_bytes() == _lock(home).read_bytes()
    refused = kitstudio("approve", BASE, WIDER, "--approve-from", record, *other, "--json")
    assert refused.code == 2 and WIDER in refused.document["error"]["what"]


def test_a_tampered_lock_is_named_and_everything_asked_again(kitstudio: Kitstudio, home: Path) -> None:
    kitstudio("approve", BASE, TOOL, "--yes")
    _lock(home).write_text(_lock(home).read_text().replace("a.example", "b.example"))
    answer = kitstudio("approve", BASE, TOOL)
    assert answer.code == 2 and "SHA-256" in answer.err


def test_history_is_lines_and_exports(kitstudio: Kitstudio, tmp_path: Path) -> None:
    kitstudio("approve", BASE, TOOL, "--yes")
    answer = kitstudio("history", "--json", "--export", str(tmp_path / "all.jsonl"))
    assert len(answer.lines) == 1
    assert {"time", "user", "name", "answer", "lockSha256", "previousSha256", "findings", "lock"} <= set(
        answer.lines[0]
    )
    assert (tmp_path / "all.jsonl").read_text() == answer.out


@pytest.mark.parametrize(
    ("references", "answers", "code"),
    [
        ((BASE, TOOL), ["yes"], 0),
        ((BASE, TOOL), ["y"], 2),
        ((BASE, TOOL), ["y", "yes"], 0),
        ((BASE, TOOL), [""], 2),
        ((BASE, WILD), ["yes"], 0),
        ((BASE, WILD, TOOL), ["yes"], 2),
        ((BASE, WILD, TOOL), ["yes", "yes"], 0),
        ((BASE, WILD, TOOL), ["no", "yes"], 2),
    ],
)
def test_on_a_terminal_a_person_is_asked_critical_ones_each(
    kitstudio: Kitstudio,
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    references: tuple[str, ...],
    answers: list[str],
    code: int,
) -> None:
    given = iter(answers)
    monkeypatch.setattr(gate, "interactive", lambda: True)
    monkeypatch.setattr(gate, "ask", lambda question: next(given, ""))
    assert kitstudio("approve", *references).code == code
    assert _lock(home).exists() is (code == 0)


def test_a_real_terminal_is_asked(demo: Path, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    env = {**os.environ, "KITSTUDIO_DEMO": str(demo), "KITSTUDIO_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "kitstudio", "approve", BASE, TOOL]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env) as process:
        os.close(slave)
        seen = b""
        while b"[yes/no]" not in seen:
            seen += os.read(master, 4096)
        assert b"a.example" in seen
        os.write(master, b"yes\n")
        assert process.wait(60) == 0
    os.close(master)
    assert _lock(tmp_path).exists()


@pytest.mark.parametrize(("first", "lead"), [(True, "Also in this set"), (False, "Also changed")])
def test_what_is_not_counted_names_its_kit_and_entry(first: bool, lead: str) -> None:
    out = io.StringIO()
    change = Uncounted("Runs “make” as root.", Weight.NOTICE, TOOL, "capabilities[0].config.install[0]", "root: make")
    gate.tell_review(Output(out=out), Review("A title", first, (), uncounted=(change,)))
    assert f"{lead}, not counted" in out.getvalue() and "root: make" in out.getvalue()
    assert f"stated by {TOOL}, capabilities[0]" in out.getvalue()


ROOT_HOOK = """schemaVersion: "3"
kind: mixin
version: "1.0.0"
provides: [rooty]
capabilities:
- type: com.docker.sandbox/lifecycle@1
  config: {install: [{command: "chmod 4755 /bin/busybox"}], startup: [{command: "date"}]}
"""


def _rooty(folder: Path) -> str:
    folder.mkdir()
    (folder / "kit.yaml").write_text(ROOT_HOOK)
    return str(folder)


def test_a_first_approval_asks_even_where_only_hooks_are_at_stake(
    kitstudio: Kitstudio, home: Path, tmp_path: Path
) -> None:
    rooty = _rooty(tmp_path / "rooty")
    answer = kitstudio("approve", BASE, rooty, "--name", "r")
    assert answer.code == 2 and not _lock(home, "r").exists()
    assert "chmod 4755 /bin/busybox" in answer.out and "as root" in answer.out and "date" in answer.out
    assert kitstudio("approve", BASE, rooty, "--name", "r", "--yes").code == 0
    assert kitstudio("history", "--json").lines[0]["answer"] == "approved"


def test_what_is_not_counted_is_told_even_where_nobody_is_asked(kitstudio: Kitstudio, tmp_path: Path) -> None:
    kitstudio("approve", BASE, TOOL, "--name", "r", "--yes")
    answer = kitstudio("approve", BASE, TOOL, _rooty(tmp_path / "rooty"), "--name", "r")
    assert answer.code == 0
    assert "chmod 4755 /bin/busybox" in answer.out and "Nothing here needs approval" in answer.err


def test_a_no_is_recorded_and_the_end_of_input_is_not(
    kitstudio: Kitstudio, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    given = iter(["", "no"])
    monkeypatch.setattr(gate, "interactive", lambda: True)
    monkeypatch.setattr(gate, "ask", lambda question: next(given))
    assert kitstudio("approve", BASE, TOOL).code == 2
    assert kitstudio("history", "--json").lines == []
    assert "nothing is granted" in kitstudio("approve", BASE, TOOL).err
    assert [line["answer"] for line in kitstudio("history", "--json").lines] == ["kept"]
    assert not _lock(home).exists()


def test_what_is_not_counted_is_shown_beside_a_surface_that_asks_for_nothing(
    kitstudio: Kitstudio, tmp_path: Path
) -> None:
    told = kitstudio("surface", BASE, _rooty(tmp_path / "rooty")).out
    assert "asks for nothing" in told and "chmod 4755 /bin/busybox" in told and "as root" in told


def test_two_sets_on_one_workload_never_share_a_lock_unseen(kitstudio: Kitstudio, home: Path) -> None:
    assert kitstudio("approve", BASE, TOOL, "--yes").code == 0
    kept = _lock(home).read_bytes()
    answer = kitstudio("approve", BASE, WILD, "--accept", ANY)
    assert answer.code == 64 and "tool 1.0.0" in answer.err and "--name" in answer.err
    assert kitstudio("approve", BASE).code == 64
    assert _lock(home).read_bytes() == kept
    assert kitstudio("approve", BASE, WILD, "--accept", ANY, "--name", "wild").code == 0
    assert kitstudio("approve", BASE, "--name", "base").code == 0
    assert _lock(home).read_bytes() != kept and _lock(home, "wild").exists()


def test_updates_lists_what_waits_and_applies_what_asks_for_no_more_row_106(kitstudio: Kitstudio, home: Path) -> None:
    assert kitstudio("approve", BASE, TOOL, "--yes").code == 0
    assert kitstudio("updates", "--json").out == ""
    lines = {line["kit"]: line for line in kitstudio("updates", "--check", "--json").lines}
    assert lines["demo.invalid/base"]["outcome"] == "applied" and not lines["demo.invalid/base"]["widens"]
    tool = lines["demo.invalid/tool"]
    assert (tool["from"], tool["to"], tool["outcome"]) == (TOOL, WIDER, "waits")
    assert [w["detail"] for w in tool["widenings"]] == ["b.example"]
    (waiting,) = kitstudio("updates", "--json").lines
    assert waiting["kit"] == "demo.invalid/tool" and waiting["widens"]
    assert "demo.invalid/base:1.1.0" in _lock(home).read_text() and WIDER not in _lock(home).read_text()


def test_what_waits_and_cannot_be_judged_is_named_and_hides_nothing(kitstudio: Kitstudio, home: Path) -> None:
    kitstudio("approve", BASE, TOOL, "--yes", "--name", "team")
    lock = _lock(home, "team").read_text()
    with contextlib.closing(sqlite3.connect(home / "data" / "studio.db")) as database, database:
        for name, text in (
            ("../x", lock),
            ("cut", "{"),
            ("deep", "[" * 9000),
            ("odd", lock.replace("base", "\\ud800")),
        ):
            database.execute("INSERT INTO waiting VALUES (?, ?, 'title', 0, ?, '')", (name, name, text))
    answer = kitstudio("updates")
    assert answer.code == 0 and "Nothing waits" not in answer.err
    assert [f"warning: {name} waits" in answer.err for name in ("../x", "cut", "deep", "odd")] == [True] * 4
