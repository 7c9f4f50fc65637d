from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxStatus, State
from kitstudio.services import doctor
from tests.cli.conftest import Kitstudio
from tests.services.fakes import FakeBackend


def test_settings_are_listed_read_and_set(kitstudio: Kitstudio) -> None:
    assert kitstudio("settings", "--json").document["ui.theme"] == "system"
    assert kitstudio("settings", "set", "ui.theme", "dark", "--json").document == "dark"
    assert kitstudio("settings", "get", "ui.theme").out == "dark\n"
    answer = kitstudio("settings", "set", "ui.theme", "pink")
    assert answer.code == 1 and "light" in answer.err
    assert kitstudio("settings", "get", "nothing").code == 1


def test_doctor_names_verdict_and_remedy_of_each(kitstudio: Kitstudio) -> None:
    answer = kitstudio("doctor", "--json")
    checks = {check["name"]: check for check in answer.document["checks"]}
    assert {"acceleration", "qemu", "tar2sqfs", "mke2fs", "guest image", "demo catalog", "secret store"} <= set(checks)
    assert {"disk space", "display"} <= set(checks)
    assert all(set(check) == {"name", "verdict", "detail", "remedy"} for check in checks.values())
    assert checks["acceleration"]["verdict"] == "warn" and checks["acceleration"]["remedy"]
    assert checks["demo catalog"]["verdict"] == "ok"


def test_doctor_names_broken_sandboxes_and_what_mends_them(kitstudio: Kitstudio, backend: FakeBackend) -> None:
    def found() -> dict[str, str]:
        checks = kitstudio("doctor", "--json").document["checks"]
        return next(check for check in checks if check["name"] == "sandboxes")

    assert (found()["verdict"], found()["detail"]) == ("ok", "0 here, 0 running, none broken")
    backend.boxes["box"] = SandboxStatus(
        "id", "box", State.BROKEN, "demo", "", broken="Its supervisor ended.", repair="Clean up"
    )
    assert found()["verdict"] == "warn" and found()["detail"] == "box: Its supervisor ended."
    assert "Clean up" in found()["remedy"] and "kitstudio start box" in found()["remedy"]


def test_a_missing_tool_is_named_with_its_package(kitstudio: Kitstudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: None)
    answer = kitstudio("doctor", "--json")
    assert answer.code == 1
    qemu = next(check for check in answer.document["checks"] if check["name"] == "qemu")
    assert qemu["verdict"] == "fail" and "qemu-system-x86" in qemu["remedy"]


def test_the_bundle_holds_checks_and_no_secret(
    kitstudio: Kitstudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hunter2")
    (tmp_path / "s").write_text("hunter3")
    kitstudio(
        "launch", "demo/base:1.0.0", "demo/asking:1.0.0", "--arg", f"asking:api_token=@{tmp_path / 's'}", "--detach"
    )
    kitstudio("doctor", "--bundle", str(tmp_path / "report.json"))
    text = (tmp_path / "report.json").read_text()
    report = json.loads(text)
    assert report["checks"] and report["sandboxes"] == ["running"]
    assert "hunter2" not in text and "hunter3" not in text


def test_edit_without_a_display_names_the_command_that_needs_none(
    kitstudio: Kitstudio, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    answer = kitstudio("edit", str(tmp_path))
    assert answer.code == 1
    assert "kitstudio validate" in answer.err
