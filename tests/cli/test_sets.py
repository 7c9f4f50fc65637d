from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kitstudio.cli import compose
from kitstudio.cli.compose import read_value
from kitstudio.cli.output import UsageError
from kitstudio.models.decode import decode
from tests.cli.conftest import Kitstudio

BASE, TOOL, WIDER = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0", "demo.invalid/tool:2.0.0"
ASKING = "demo.invalid/asking:1.0.0"


def test_resolve_orders_a_set_and_gives_the_reference_lock(kitstudio: Kitstudio) -> None:
    answer = kitstudio("resolve", TOOL, BASE, "--json")
    assert answer.code == 0
    found = answer.document
    assert found["ok"] is True and found["workload"] == BASE
    assert found["ordered"] == found["topological"] == [BASE, TOOL]
    assert found["lock"]["version"] == 1
    assert [kit["reference"] for kit in found["lock"]["kits"]] == [BASE, TOOL]
    assert found["lock"]["kits"][1]["permissions"]["networkRuntimeAllow"] == ["a.example"]


def test_resolve_lists_problems_with_remedies(kitstudio: Kitstudio) -> None:
    answer = kitstudio("resolve", TOOL, "--json")
    assert answer.code == 1
    found = answer.document
    assert found["ok"] is False
    assert [problem["kind"] for problem in found["problems"]] == ["no-workload", "requires-missing"]
    assert set(found["problems"][0]) == {"kind", "kits", "name", "message", "remedies"}
    assert found["problems"][1]["remedies"][0]["other"] == "demo.invalid/base:1.1.0"
    assert "base" in answer.err


def test_resolve_a_part_of_a_set(kitstudio: Kitstudio) -> None:
    assert kitstudio("resolve", "demo/keeper").code == 1
    answer = kitstudio("resolve", "demo/keeper", "--partial", "--json")
    assert answer.code == 0
    assert answer.document["ordered"] == ["demo.invalid/keeper:1.0.0"] and answer.document["workload"] is None


def test_resolve_shows_no_secret(kitstudio: Kitstudio, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2\n")
    answer = kitstudio("resolve", BASE, ASKING, "--arg", f"asking:api_token=@{tmp_path / 'token'}", "--json")
    assert answer.code == 0 and "hunter2" not in answer.out + answer.err


def test_surface_names_who_asks(kitstudio: Kitstudio) -> None:
    answer = kitstudio("surface", BASE, TOOL, "--json")
    assert answer.code == 0
    assert answer.document["surface"]["networkRuntimeAllow"] == ["a.example"]
    asker = {"kit": TOOL, "path": "capabilities[0]"}
    assert answer.document["attribution"]["networkRuntimeAllow"] == {"a.example": [asker]}
    assert set(answer.document["attribution"]) == set(answer.document["surface"])


def test_surface_of_an_incoherent_set_is_refused(kitstudio: Kitstudio) -> None:
    answer = kitstudio("surface", TOOL, "--json")
    assert answer.code == 1 and "error" in answer.document


def test_diff_of_two_versions(kitstudio: Kitstudio) -> None:
    answer = kitstudio("diff", TOOL, WIDER, "--json")
    assert answer.code == 2
    found = answer.document
    assert set(found) == {"widenings", "narrowings", "uncounted"}
    first = found["widenings"][0]
    assert set(first) == {"category", "detail", "weight", "sentence", "kit", "path"}
    assert (first["category"], first["detail"], first["kit"]) == ("network.runtime.allow", "b.example", WIDER)
    back = kitstudio("diff", WIDER, TOOL, "--json")
    assert back.code == 0 and back.document["widenings"] == []
    assert [row["detail"] for row in back.document["narrowings"]] == ["b.example"]


def _kit(folder: Path, host: str) -> str:
    folder.mkdir()
    allow = f"[{host}]"
    (folder / "kit.yaml").write_text(
        'schemaVersion: "3"\nkind: mixin\nversion: 1.0.0\ncapabilities:\n'
        f"  - type: com.docker.sandbox/network-policy@1\n    config:\n      runtime:\n        allow: {allow}\n"
    )
    return str(folder)


def test_diff_names_what_it_compared_and_claims_no_approval(kitstudio: Kitstudio) -> None:
    told = kitstudio("diff", TOOL, WIDER).out
    assert told.startswith("tool 2.0.0 asks for more than tool 1.0.0") and "approved" not in told
    assert "asks for no more than tool 2.0.0" in kitstudio("diff", WIDER, TOOL).out


def test_diff_of_two_unrelated_kits_is_not_worded_as_a_change(kitstudio: Kitstudio) -> None:
    answer = kitstudio("diff", TOOL, "demo/keeper:1.0.0")
    assert answer.code == 2 and "they are different Kits" in answer.out
    assert "Only tool 1.0.0 connects to a.example" in answer.out
    assert not any(word in answer.out for word in ("No longer", "Changed", "Gone", "Narrowed", "New:"))


def test_diff_takes_inputs(kitstudio: Kitstudio, tmp_path: Path) -> None:
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "kit.yaml").write_text(
        'schemaVersion: "3"\nkind: mixin\nargs:\n  host:\n    default: a.example\ncapabilities:\n'
        "  - type: com.docker.sandbox/network-policy@1\n    config:\n"
        '      runtime:\n        allow: ["${{ kit.args.host }}"]\n'
    )
    kit = str(tmp_path / "kit" / "kit.yaml")
    assert kitstudio("diff", TOOL, kit).code == 0
    answer = kitstudio("diff", TOOL, kit, "--arg", "host=b.example", "--json")
    assert answer.code == 2 and [w["detail"] for w in answer.document["widenings"]] == ["b.example"]


def test_diff_of_two_folders_compares_them_as_one_kit(kitstudio: Kitstudio, tmp_path: Path) -> None:
    old, new = _kit(tmp_path / "old", "a.example"), _kit(tmp_path / "new", "'a.example', 'b.example'")
    answer = kitstudio("diff", old, new, "--json")
    assert [w["detail"] for w in answer.document["widenings"] if w["category"] == "network.runtime.allow"] == [
        "b.example"
    ]


def test_diff_of_a_lock_and_a_set(kitstudio: Kitstudio, tmp_path: Path, home: Path) -> None:
    kitstudio("approve", BASE, TOOL, "--name", "team", "--yes")
    kitstudio("export", BASE, WIDER, "-o", str(tmp_path / "wider.yaml"))
    lock = str(home / "data" / "locks" / "team.json")
    answer = kitstudio("diff", lock, str(tmp_path / "wider.yaml"), "--json")
    assert answer.code == 2
    assert [w["detail"] for w in answer.document["widenings"]] == ["b.example"]


def test_export_writes_a_set_that_reads_back(kitstudio: Kitstudio, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    answer = kitstudio(
        "export", BASE, TOOL, "-o", str(path), "--pin", "--display-name", "Team", "--version", "1.0", "--json"
    )
    assert answer.code == 0
    assert answer.document == {"path": str(path), "set": path.read_text()}
    found = decode(path.read_text()).descriptor
    assert (found.kind, found.display_name, found.version) == ("set", "Team", "1.0")
    assert all(kit.digest for kit in found.kits)
    assert kitstudio("resolve", str(path)).code == 0
    assert kitstudio("export", str(path)).out == path.read_text()


def test_export_refuses_what_is_only_here_by_name(kitstudio: Kitstudio, tmp_path: Path) -> None:
    answer = kitstudio("export", BASE, _kit(tmp_path / "mine", "x.example"), "-o", str(tmp_path / "team.yaml"))
    assert answer.code == 1 and "local.invalid/mine:1.0.0" in answer.err
    assert not (tmp_path / "team.yaml").exists()


def test_a_set_file_stands_alone(kitstudio: Kitstudio, tmp_path: Path) -> None:
    kitstudio("export", BASE, "-o", str(tmp_path / "team.yaml"))
    assert kitstudio("resolve", BASE, str(tmp_path / "team.yaml")).code == 64


@pytest.mark.parametrize("kit", [ASKING, "asking", "demo/asking:1.0.0"])
def test_an_input_finds_its_kit(kitstudio: Kitstudio, kit: str) -> None:
    answer = kitstudio("export", BASE, ASKING, "--arg", f"{kit}:level=high")
    assert answer.code == 0 and "level: high" in answer.out


def test_an_input_of_no_kit_is_refused(kitstudio: Kitstudio) -> None:
    answer = kitstudio("resolve", BASE, ASKING, "--arg", "other:level=high")
    assert answer.code == 64 and ASKING in answer.err


def test_an_input_that_is_not_accepted_is_a_problem(kitstudio: Kitstudio) -> None:
    answer = kitstudio("resolve", BASE, ASKING, "--arg", "asking:level=loud", "--json")
    assert [problem["kind"] for problem in answer.document["problems"]] == ["arg"]


def test_values_split_at_the_first_equals_then_the_last_colon_before() -> None:
    value = read_value("host:5000/a/b:1.0:name=x:y=z")
    assert (value.kit, value.name, value.value, value.secret) == ("host:5000/a/b:1.0", "name", "x:y=z", False)
    assert read_value("name=") == compose.Value("", "name", "")
    for text in ("name", "kit:=x"):
        with pytest.raises(UsageError):
            read_value(text)


def test_secrets_are_read_from_a_file_or_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s").write_bytes(b"a=b\n")
    assert read_value(f"k:n=@{tmp_path / 's'}") == compose.Value("k", "n", "a=b", secret=True)

    class Standard:
        buffer = io.BytesIO(b"hunter2\r\n")

    monkeypatch.setattr(compose.sys, "stdin", Standard)
    assert read_value("n=-") == compose.Value("", "n", "hunter2", secret=True)
    with pytest.raises(UsageError):
        read_value(f"n=@{tmp_path / 'missing'}")


def test_build_args_answer_a_sets_own(kitstudio: Kitstudio, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(
        'schemaVersion: "3"\nkind: set\nargs:\n  REG:\n    buildArg: REG\n'
        "kits:\n  - ref: ${{ kit.args.REG }}/base:1.0.0\n"
    )
    answer = kitstudio("resolve", str(path), "--build-arg", "REG=demo.invalid", "--json")
    assert answer.code == 0 and answer.document["ordered"] == [BASE]


def test_json_is_exactly_one_document_on_every_outcome(kitstudio: Kitstudio) -> None:
    for words in (
        ["resolve", BASE],
        ["resolve", TOOL],
        ["resolve", "demo/nothing:1"],
        ["diff", BASE, "demo/plain:1.0.0"],
    ):
        json.loads(kitstudio(*words, "--json").out)


def test_a_value_nobody_asks_for_is_refused(kitstudio: Kitstudio) -> None:
    answer = kitstudio("resolve", BASE, ASKING, "--arg", "level=high")
    assert answer.code == 64 and "asking:level" in answer.err
    assert kitstudio("resolve", BASE, "--build-arg", "REG=x").code == 64


def test_a_value_for_a_kit_that_could_not_be_read_says_why_it_could_not(kitstudio: Kitstudio, tmp_path: Path) -> None:
    folder = tmp_path / "alpha"
    folder.mkdir()
    (folder / "kit.yaml").write_text(
        'schemaVersion: "3"\nkind: mixin\ndisplayName: Alpha\ndescription: Says how\nversion: "1.0.0"\ncapabilities:\n'
        "  - type: com.docker.sandbox/agent-context@1\n    description: How\n    config: {contentFile: ./how.md}\n"
    )
    answer = kitstudio("resolve", BASE, str(folder))
    assert answer.code == 1 and "./how.md, and there is no such file" in answer.out
    answer = kitstudio("resolve", BASE, str(folder), "--arg", "alpha:name=x")
    assert answer.code == 64 and "./how.md, and there is no such file" in answer.err


def test_a_demo_kit_that_is_not_there_is_told_without_a_place_of_ours(kitstudio: Kitstudio) -> None:
    answer = kitstudio("resolve", BASE, "demo/nothere")
    assert "demo.invalid/nothere is not in the demo catalog." in answer.out
    assert not any(line.rstrip().endswith(":") for line in answer.out.splitlines())


def test_what_is_not_counted_is_told_under_one_heading(kitstudio: Kitstudio, tmp_path: Path) -> None:
    folder = tmp_path / "alpha"
    folder.mkdir()
    (folder / "kit.yaml").write_text(
        'schemaVersion: "3"\nkind: mixin\ndisplayName: Alpha\ndescription: Runs\nversion: "1.0.0"\ncapabilities:\n'
        "  - type: com.docker.sandbox/lifecycle@1\n    description: Hooks\n    config:\n      startup:\n"
        "        - {command: [date], description: One}\n        - {command: [uptime], description: Two}\n"
    )
    told = kitstudio("surface", BASE, str(folder)).out
    assert told.count("not counted by the specification") == 1
    assert "date" in told and "uptime" in told
