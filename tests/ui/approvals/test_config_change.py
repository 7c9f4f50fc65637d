"""The change of a config this app cannot read."""

from __future__ import annotations

from kitstudio.models.descriptor import Capability
from kitstudio.ui.approvals.config_change import compared, config_change, is_opaque
from tests.ui.approvals.bumps import BUMPS, before_of, request_of

AUTH = next(bump for bump in BUMPS if bump.name == "docker-auth-config")


def test_lines_that_go_and_come_are_marked() -> None:
    asked = request_of(AUTH)
    old, new = before_of(AUTH).members[1].descriptor, asked.plan.members[1].descriptor
    assert old is not None and new is not None
    (finding,) = asked.review.findings
    assert is_opaque(finding)
    lines = compared(finding, old, new).lines
    assert ("-", '  "scope": "pull"') in lines and ("+", '  "scope": "push"') in lines
    assert ("+", '    "evil.example"') in lines


def test_a_new_request_has_every_line_new_and_hides_nothing() -> None:
    lines = config_change(None, Capability("x/y@1", {"a\u202e": "b\nc"})).lines
    assert {mark for mark, _ in lines} == {"+"}
    assert any("\\u{202e}" in text for _, text in lines) and all("\n" not in text for _, text in lines)


def test_a_huge_config_is_cut_and_says_so() -> None:
    lines = config_change(None, Capability("x/y@1", {f"k{n}": n for n in range(5000)})).lines
    assert len(lines) < 410 and "more lines" in lines[-1][1]
