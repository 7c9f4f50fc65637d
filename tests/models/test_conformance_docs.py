"""``docs/conformance.md`` speaks of cases that exist, and counts them right."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.services.test_artifact_checks import CASES

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")


def identifiers() -> list[str]:
    return [
        json.loads(line)["id"]
        for path in (ROOT / "tests" / "conformance").glob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def test_the_score_counts_every_case() -> None:
    count = len(identifiers())

    assert f"{count} of {count} cases" in TEXT
    assert f"{len(CASES)} broken images" in TEXT


def test_every_case_that_is_named_exists() -> None:
    known, last = set(identifiers()), ""
    named = re.findall(r"`((?:[a-z0-9]+(?:-[a-z0-9]+)*)?-\d{3})`", TEXT)
    for name in named:
        last = name if not name.startswith("-") else last[:-4] + name
        assert last in known, last

    assert len(named) > 30
