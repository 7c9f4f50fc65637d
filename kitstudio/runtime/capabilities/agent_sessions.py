"""agent-sessions@1: how the workload's agent is driven without a terminal. Pure: builds argument vectors.

The declaration grants nothing; what it names runs as any command of the person does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kitstudio.models.capabilities import agent_sessions as session_type
from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import AGENT_SESSIONS

PROMPT, SESSION_ID = "{{.Prompt}}", "{{.SessionID}}"
MOST_SESSIONS = 10_000


class Verb(StrEnum):
    """The verbs a declaration may state."""

    PROMPT = "prompt"
    RESUME = "resume"
    CONTINUE = "continue"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class AgentSessions:
    """Tails of the launch argv, and ``list`` as a complete command; empty: the verb is not stated."""

    prompt: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    continue_: tuple[str, ...] = ()
    list: tuple[str, ...] = ()


def plan_sessions(effective: Descriptor) -> AgentSessions:
    """The verbs of the effective descriptor; composition has settled on one declaration."""
    for entry in effective.entries():
        if entry.type == AGENT_SESSIONS:
            stated = session_type.TYPE.decode(entry.config)
            return AgentSessions(stated.prompt or (), stated.resume or (), stated.continue_ or (), stated.list or ())
    return AgentSessions()


def session_argv(sessions: AgentSessions, launch: tuple[str, ...], verb: Verb, value: str = "") -> tuple[str, ...]:
    """The complete argument vector of a verb (duties 1, 2, 3 and 5).

    ``launch``: the headless launch argv (§8), which the tail follows. ``value``: the prompt or the session's id, put
    in place of its placeholder as it is. ``SandboxError`` for a verb the Kits do not state.
    """
    tail = {
        Verb.PROMPT: sessions.prompt,
        Verb.RESUME: sessions.resume,
        Verb.CONTINUE: sessions.continue_,
        Verb.LIST: sessions.list,
    }[verb]
    if not tail:
        raise SandboxError(
            f"The agent of this sandbox states no way to {_WORDS[verb]} without a terminal.",
            where=AGENT_SESSIONS,
            remedy="Open a terminal and do it there.",
        )
    if "\0" in value:
        raise SandboxError("The text holds a NUL character, which no argument can hold.", where=verb.value)
    if verb is Verb.LIST:
        return tail
    if not launch:
        raise SandboxError("The image states no command that the agent is started with.", where=AGENT_SESSIONS)
    placeholder = {Verb.PROMPT: PROMPT, Verb.RESUME: SESSION_ID}.get(verb)
    if placeholder is None:
        return launch + tail
    return launch + tuple(part.replace(placeholder, value) for part in tail)


def read_sessions(output: bytes) -> tuple[str, ...]:
    """Session ids as ``list`` printed them, most recent first; each is given back to ``resume`` unchanged."""
    lines = output.decode("utf-8", "surrogateescape").split("\n")
    return tuple(line.removesuffix("\r") for line in lines if line.strip())[:MOST_SESSIONS]


_WORDS = {
    Verb.PROMPT: "take a prompt",
    Verb.RESUME: "resume a session",
    Verb.CONTINUE: "continue the last session",
    Verb.LIST: "list its sessions",
}
