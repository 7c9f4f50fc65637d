from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kitstudio.cli.parser import build_parser
from tests.cli.conftest import Kitstudio


def test_help_and_version_are_fine(kitstudio: Kitstudio) -> None:
    assert kitstudio("--help").code == 0
    assert kitstudio("--version").out.startswith("kitstudio ")
    assert kitstudio("launch", "--help").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["bogus"],
        ["tags"],
        ["resolve"],
        ["search", "--kind", "thing"],
        ["launch", "demo/base", "--cpus", "many"],
        ["launch", "demo/base", "--memory", "lots"],
        ["launch", "demo/base", "--workspace", "/no/such/folder"],
        ["launch", "demo/base", "--env", "novalue"],
        ["resolve", "demo/base", "--arg", "novalue"],
        ["exec", "name"],
        ["exec", "name", "--"],
        ["settings", "get"],
        ["settings", "set", "ui.theme"],
        ["check", "/no/such/file.jsonl"],
        ["--unknown"],
    ],
)
def test_a_wrong_command_line_is_one_error_and_exit_64(kitstudio: Kitstudio, words: list[str]) -> None:
    answer = kitstudio(*words)
    assert answer.code == 64
    assert answer.out == "" and answer.err.startswith("error: ")
    assert "Traceback" not in answer.err


def test_a_wrong_command_line_is_json_where_asked(kitstudio: Kitstudio) -> None:
    answer = kitstudio("bogus", "--json")
    assert answer.code == 64
    assert set(answer.document["error"]) == {"what", "where", "remedy"}


def test_a_near_miss_is_pointed_out(kitstudio: Kitstudio) -> None:
    assert "launch" in kitstudio("luanch").err


def test_global_flags_stand_before_or_behind_the_command(kitstudio: Kitstudio, tmp_path: Path) -> None:
    for words in (["--json", "--home", str(tmp_path / "x"), "ls"], ["ls", "--json", "--home", str(tmp_path / "x")]):
        assert kitstudio(*words).document == []
    assert (tmp_path / "x" / "data").is_dir()


def test_a_failure_is_one_error_in_json_and_words_on_standard_error(kitstudio: Kitstudio) -> None:
    answer = kitstudio("inspect", "demo/nothing", "--json")
    assert answer.code == 1
    assert "demo.invalid/nothing" in answer.document["error"]["what"]
    assert answer.err.startswith("error: ")


def test_a_fault_of_ours_is_told_without_a_traceback(kitstudio: Kitstudio, monkeypatch: pytest.MonkeyPatch) -> None:
    from kitstudio.cli import machine

    async def broken(run: object) -> int:
        raise RuntimeError("surprise")

    monkeypatch.setattr(machine, "settings", broken)
    answer = kitstudio("settings")
    assert answer.code == 1
    assert "surprise" in answer.err and "Traceback" not in answer.err


def test_control_characters_of_strangers_are_made_visible(kitstudio: Kitstudio, tmp_path: Path) -> None:
    (tmp_path / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\ndisplayName: "a\\e[31mb"\n')
    answer = kitstudio("inspect", str(tmp_path))
    assert "\x1b" not in answer.out + answer.err


def test_the_window_without_a_display_is_one_clear_error(kitstudio: Kitstudio, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    answer = kitstudio()
    assert answer.code == 1 and "display" in answer.err


def test_every_command_of_the_contract_is_offered() -> None:
    offered = build_parser().format_help()
    contract = (
        "check schema validate inspect tags search resolve surface diff approve export copy publish updates history "
        "launch exec attach stop start recreate rm ls status logs network ports mounts login logout credentials "
        "settings adapter tour doctor"
    )
    assert [name for name in contract.split() if f"    {name} " not in offered] == []


def test_no_command_imports_qt(demo: Path, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from kitstudio.cli.main import main\n"
        "codes = [main(words) for words in (['--help'], ['ls'], ['search', 'base'], ['tags', 'demo/base'],"
        " ['resolve', 'demo/base'], ['approve', 'demo/base'], ['settings'], ['history'])]\n"
        "assert codes == [0] * 8, codes\n"
        "loaded = [name for name in sys.modules if name.startswith(('PySide6', 'shiboken6', 'qasync'))]\n"
        "assert not loaded, loaded\n"
    )
    env = {**os.environ, "KITSTUDIO_DEMO": str(demo), "KITSTUDIO_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_imports_neither_services_nor_models_beyond_errors() -> None:
    script = (
        "import sys\n"
        "from kitstudio.cli.main import main\n"
        "main(['--help'])\n"
        "heavy = [n for n in sys.modules if n.startswith(('kitstudio.services', 'kitstudio.registry', 'yaml'))]\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_leaves_early_is_no_error(demo: Path, tmp_path: Path) -> None:
    env = {**os.environ, "KITSTUDIO_DEMO": str(demo), "KITSTUDIO_HOME": str(tmp_path)}
    done = subprocess.run(
        f"{sys.executable} -m kitstudio search --json | head -n 1", shell=True, env=env, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict"])
def test_a_terminal_that_lacks_letters_gets_escapes_and_json_stays_json(
    demo: Path, tmp_path: Path, encoding: str
) -> None:
    env = {**os.environ, "KITSTUDIO_DEMO": str(demo), "PYTHONIOENCODING": encoding}
    program = [sys.executable, "-m", "kitstudio", "--home", str(tmp_path)]
    told = subprocess.run([*program, "inspect", "demo/none\udcff"], capture_output=True, env=env, check=False)
    assert told.returncode == 1 and b"fault in Kit Studio" not in told.stderr and told.stderr.startswith(b"error: ")
    told = subprocess.run(
        [*program, "--json", "settings", "set", "ui.theme", "“🙂\udcff”"], capture_output=True, env=env
    )
    assert told.returncode == 1 and "must be one of" in json.loads(told.stdout.decode("utf-8"))["error"]["what"]
    told = subprocess.run([*program, "--json", "inspect", "demo/🙂é\udcff"], capture_output=True, env=env)
    assert "🙂é" in json.loads(told.stdout.decode("utf-8"))["error"]["where"]


@pytest.mark.parametrize(
    "command", [("inspect",), ("validate",), ("surface", "demo/base"), ("copy",), ("diff", "a.yaml")]
)
@pytest.mark.parametrize("name", ["alpha", "acme/alpha"])
def test_a_name_that_is_also_a_folder_here_is_not_sent_to_docker_hub(
    kitstudio: Kitstudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str
) -> None:
    (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    more = ("oci:./out:1",) if command == ("copy",) else ()
    answer = kitstudio(*command, name, *more)
    assert answer.code == 64
    assert f"./{name}" in answer.err and f"docker.io/{name}" in answer.err


def test_a_folder_called_like_the_demo_catalog_hides_none_of_it(
    kitstudio: Kitstudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "demo" / "base").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert kitstudio("inspect", "demo/base").code == 0
