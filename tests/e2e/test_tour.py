"""The main job through the real window on real parts: ``kitstudio tour`` as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
needs_build = pytest.mark.skipif(
    not (ROOT / "build" / "demo" / "index.json").exists() or not (ROOT / "build" / "guest").exists(),
    reason="the demo catalog and the guest image are built by ./studio setup",
)
STEPS = [
    "start",
    "search",
    "kit page",
    "drag into a set",
    "conflict",
    "remedy",
    "input",
    "first grant",
    "launch",
    "ready",
    "terminal",
    "propose the update",
    "widening",
    "refuse",
    "stop",
    "export",
]


@pytest.mark.vm
@needs_build
def test_the_tour_comes_through_and_leaves_a_picture_of_every_step(tmp_path: Path) -> None:
    out = tmp_path / "pictures"
    done = subprocess.run(
        [sys.executable, "-m", "kitstudio", "--json", "--home", str(tmp_path / "home"), "tour", "--out", str(out)],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    summary = json.loads(done.stdout)
    assert [step.get("error") for step in summary["steps"]] == [None] * len(STEPS), done.stderr
    assert [step["name"] for step in summary["steps"]] == STEPS
    assert summary["ok"]
    assert done.returncode == 0
    for step in summary["steps"]:
        assert (out / step["screenshot"]).stat().st_size > 10_000
    exported = (out / "tour.yaml").read_text(encoding="utf-8")
    assert "demo.invalid/greeter:1.1.0" in exported
    assert "2.0.0" not in exported
