"""agent-sessions@1: argument vectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.agent_sessions import (
    AgentSessions,
    Verb,
    plan_sessions,
    read_sessions,
    session_argv,
)
from tests.runtime.runtime_sets import capability, descriptor

LAUNCH = ("/usr/bin/agent", "--quiet")
STATED = plan_sessions(
    descriptor(
        capability(
            "agent-sessions@1",
            {
                "prompt": ["--say={{.Prompt}}", "{{.Other}}"],
                "resume": ["--pick", "{{.SessionID}}"],
                "list": "agent ls | cut -f1",
            },
        )
    )
)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80))
def test_a_value_is_put_in_raw_within_its_own_argument(value: str) -> None:
    assert session_argv(STATED, LAUNCH, Verb.PROMPT, value) == (*LAUNCH, f"--say={value}", "{{.Other}}")
    assert session_argv(STATED, LAUNCH, Verb.RESUME, value) == (*LAUNCH, "--pick", value)


def test_a_prompt_that_spells_the_placeholder_stays_what_it_is() -> None:
    assert session_argv(STATED, LAUNCH, Verb.PROMPT, "a {{.Prompt}} b")[2] == "--say=a {{.Prompt}} b"


def test_list_is_a_complete_command() -> None:
    assert session_argv(STATED, LAUNCH, Verb.LIST) == ("sh", "-c", "agent ls | cut -f1")


def test_an_absent_verb_is_unsupported_and_never_improvised() -> None:
    with pytest.raises(SandboxError, match="no way to continue the last session"):
        session_argv(STATED, LAUNCH, Verb.CONTINUE)
    for verb in Verb:
        with pytest.raises(SandboxError, match="states no way"):
            session_argv(AgentSessions(), LAUNCH, verb)


def test_an_image_without_a_command_has_nothing_to_append_to() -> None:
    with pytest.raises(SandboxError, match="states no command"):
        session_argv(STATED, (), Verb.PROMPT, "x")


def test_ids_are_read_line_by_line_and_given_back_unchanged() -> None:
    ids = read_sessions(b"b 2\r\n\n  a-1\n\xff\n")
    assert ids == ("b 2", "  a-1", "\udcff")
    assert session_argv(STATED, LAUNCH, Verb.RESUME, ids[1])[-1] == "  a-1"
