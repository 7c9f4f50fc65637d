"""The main job on the command line, on the embedded demo catalog and a real machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.demo import DemoCatalog
from kitstudio.runtime.guest.image import find_guest_image

pytestmark = pytest.mark.vm


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    try:
        DemoCatalog()
        find_guest_image()
    except KitStudioError as error:
        pytest.skip(str(error))
    return {**os.environ, "KITSTUDIO_HOME": str(tmp_path / "home")}


def run(env: dict[str, str], *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "kitstudio", *words]
    return subprocess.run(command, env=env, input=stdin, capture_output=True, timeout=240, check=False)


def test_from_references_to_a_command_in_a_sandbox_and_back(env: dict[str, str]) -> None:
    kits = ("demo/hello:1.0.0", "demo/greeter:2.0.0", "--arg", "greeter:name=Ada", "--name", "team")
    assert run(env, "launch", *kits, "--detach").returncode == 2
    done = run(env, "launch", *kits, "--yes", "--detach", "--json")
    assert done.returncode == 0, done.stderr.decode()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["sandbox"]["state"] == "running"
    assert {"boot", "install hooks", "close install grants", "startup", "ready"} <= {x["phase"] for x in lines[:-1]}
    try:
        said = run(env, "exec", "team", "--", "sh", "-c", "id -un; cat /usr/local/share/greetings/greeter; exit 3")
        assert (said.returncode, said.stdout.split(b"\n")[:2]) == (3, [b"agent", b"Hello, Ada."])
        assert run(env, "exec", "team", "--", "cat", stdin=b"through").stdout == b"through"
        assert json.loads(run(env, "stop", "team", "--json").stdout)["state"] == "stopped"
    finally:
        assert run(env, "rm", "team").returncode == 0
    assert json.loads(run(env, "ls", "--json").stdout) == []


def test_ctrl_c_during_a_launch_leaves_nothing(env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "kitstudio", "launch", "demo/hello:1.0.0", "--yes", "--detach", "--json"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line).get("phase") == "boot":
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(run(env, "ls", "--json").stdout) == []
    assert list((Path(env["KITSTUDIO_HOME"]) / "data" / "sandboxes").iterdir()) == []
