"""``agent-sessions@1`` and ``agent-interactive-sessions@1``: how the agent takes a prompt, resumes, lists sessions.

One shape, two readings of an empty list: no verb at all for the headless type, the bare launch for the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kitstudio.models.capabilities.commands import Argv, command
from kitstudio.models.capabilities.contract import CapabilityType, Slot
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.issue import Issue

PLACEHOLDERS = {"prompt": "{{.Prompt}}", "resume": "{{.SessionID}}"}


@dataclass(frozen=True, slots=True)
class Sessions:
    """Argument tails by verb; None when not stated. ``list`` is a complete command."""

    prompt: Argv | None = None
    resume: Argv | None = None
    continue_: Argv | None = None
    list: Argv | None = None
    new_session: Argv | None = None
    session_picker: Argv | None = None


class AgentSessions(CapabilityType[Sessions]):
    name = "com.docker.sandbox/agent-sessions@1"
    title = "agent sessions"
    singleton = True
    silent = True
    slot = Slot.SESSIONS
    one_author = True

    def read(self, fields: Reader) -> Sessions:
        return Sessions(
            fields.texts("prompt"), fields.texts("resume"), fields.texts("continue"), command(fields, "list")
        )

    def values(self, config: Sessions, at: str) -> Iterable[Issue]:
        if not (config.prompt or config.resume or config.continue_ or config.list):
            yield Issue(at, "agent-sessions states at least one of prompt, resume, continue and list")
        yield from _placeholders(config, at, empty_counts=False)


class AgentInteractiveSessions(CapabilityType[Sessions]):
    name = "com.docker.sandbox/agent-interactive-sessions@1"
    title = "interactive sessions"
    singleton = True
    silent = True
    slot = Slot.INTERACTIVE_SESSIONS
    one_author = True

    def read(self, fields: Reader) -> Sessions:
        return Sessions(
            fields.texts("prompt"),
            fields.texts("resume"),
            fields.texts("continue"),
            command(fields, "list"),
            fields.texts("newSession"),
            fields.texts("sessionPicker"),
        )

    def values(self, config: Sessions, at: str) -> Iterable[Issue]:
        if config == Sessions():
            yield Issue(at, "interactive sessions state at least one verb")
        yield from _placeholders(config, at, empty_counts=True)
        if config.list is not None and (not config.list or config.list == ("sh", "-c", "")):
            yield Issue(f"{at}.list", "list names a command")


def _placeholders(config: Sessions, at: str, *, empty_counts: bool) -> Iterator[Issue]:
    for verb, placeholder in PLACEHOLDERS.items():
        tail: Argv | None = getattr(config, verb)
        if tail is None or (not tail and not empty_counts):
            continue
        if not any(placeholder in item for item in tail):
            yield Issue(f"{at}.{verb}", f"{verb} holds {placeholder}, or what a person asks for is lost")


HEADLESS = AgentSessions()
INTERACTIVE = AgentInteractiveSessions()
