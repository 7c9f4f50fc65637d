"""The judged cases, and what counts as agreeing with one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kitstudio.models.conformance import matches, run_case, run_cases

CASES = Path(__file__).parents[1] / "conformance"
FILES = sorted(CASES.glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_judged_case_passes(path: Path) -> None:
    results = list(run_cases(path.read_text(encoding="utf-8").splitlines()))

    failed = [f"{r.id} ({r.op}): {r.note}\n  got    {r.got}\n  expect {r.expect}" for r in results if not r.passed]

    assert results
    assert not failed, "\n".join([f"{len(failed)} of {len(results)}", *failed[:10]])


def test_no_case_is_left_out() -> None:
    counts = Counter(json.loads(line)["op"] for path in FILES for line in path.read_text(encoding="utf-8").splitlines())

    assert counts.total() == 2276
    assert len(counts) == 24


def test_a_wrong_answer_does_not_pass() -> None:
    case = {"id": "x", "op": "version-compare", "in": {"a": "1", "b": "2"}, "expect": {"compare": 1}}

    result = run_case(case)

    assert not result.passed
    assert result.got["compare"] == -1


def test_null_and_an_absent_list_agree() -> None:
    assert matches({"widenings": []}, {"widenings": None})
    assert not matches({"widenings": [{"category": "usb", "detail": "class:x"}]}, {"widenings": None})


def test_a_column_counts_only_where_one_is_given() -> None:
    got = {"errors": [{"path": "kind", "line": 1, "column": 7}]}

    assert matches(got, {"errors": [{"path": "kind"}]})
    assert not matches(got, {"errors": [{"path": "kind", "line": 1, "column": 8}]})
    assert not matches(got, {"errors": []})


def test_a_number_is_not_a_boolean_in_a_descriptor() -> None:
    assert not matches({"descriptor": {"a": True}}, {"descriptor": {"a": 1}})
    assert not matches({"descriptor": {"a": []}}, {"descriptor": {}})
