"""agent-skills@1 and agent-skill@1, the plan."""

import pytest

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.agent_skills import Exposure, plan_skills
from tests.runtime.runtime_sets import capability, descriptor


def skill(path: str, name: str | None = None, *, optional: bool = False) -> object:
    return capability("agent-skill@1", {"path": path} | ({"name": name} if name else {}), optional=optional)


def place(path: str, mode: str = "readonly") -> object:
    return capability("agent-skills@1", {"path": path, "mode": mode})


def plan(*entries: object, ships: bool = True) -> tuple[tuple[Exposure, ...], tuple[str, ...]]:
    return plan_skills(descriptor(*entries), lambda path: ships)  # type: ignore[arg-type]


def test_every_skill_is_shown_at_every_destination_under_its_effective_name() -> None:
    found, skipped = plan(place("/a"), place("/b", "readwrite"), skill("/opt/triage"), skill("/opt/x", "tidy"))
    assert found == (
        Exposure("/a/triage", "/opt/triage", True),
        Exposure("/b/triage", "/opt/triage", True),
        Exposure("/a/tidy", "/opt/x", True),
        Exposure("/b/tidy", "/opt/x", True),
    )
    assert skipped == ()


def test_a_skill_that_lies_at_its_destination_needs_nothing() -> None:
    assert plan(place("/skills"), skill("/skills/triage")) == ((), ())


@pytest.mark.parametrize(
    ("entries", "ships", "why"),
    [
        ((), True, "no Kit of this set names a place"),
        ((place("/a"),), False, "ships no SKILL.md"),
        ((place("/opt/triage/skills"),), True, "holds the place"),
    ],
)
def test_what_cannot_be_shown_is_refused_when_required_and_skipped_when_optional(
    entries: tuple[object, ...], ships: bool, why: str
) -> None:
    with pytest.raises(SandboxError, match=why):
        plan(*entries, skill("/opt/triage"), ships=ships)
    found, skipped = plan(*entries, skill("/opt/triage", optional=True), ships=ships)
    assert found == () and len(skipped) == 1 and why in skipped[0]


def test_a_destination_without_skills_asks_for_nothing() -> None:
    assert plan(place("/a")) == ((), ())
