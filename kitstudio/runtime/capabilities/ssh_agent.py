"""ssh-agent@1: which signatures of the person's agent a sandbox may ask for, by phase. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from kitstudio.models.capabilities import ssh_agent as agent_type
from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import SSH_AGENT
from kitstudio.runtime.policy import Phase

SOCKET = "/run/kit/ssh-agent.sock"
"""Where the agent is inside the sandbox, in each granted phase."""
VARIABLE = "SSH_AUTH_SOCK"
AGENT_PORT = 3130
"""The guest's port that the socket leads to, on its way to the host."""


@dataclass(frozen=True, slots=True)
class AgentGrant:
    """What one phase may have signed: everything (``free``), or these namespaces and logins to these servers."""

    phase: Phase
    free: bool = False
    sign: tuple[str, ...] = ()
    authenticate: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As a person reads it (duty 18)."""
        if self.free:
            return "every key the agent shows, for anything"
        parts = []
        if self.sign:
            parts.append("signatures for " + ", ".join(self.sign))
        if self.authenticate:
            parts.append("logins to " + ", ".join(self.authenticate))
        return " and ".join(parts)


def plan_agent(effective: Descriptor, available: bool) -> tuple[tuple[AgentGrant, ...], tuple[str, ...]]:
    """One grant a phase, and what an optional entry goes without. ``SandboxError`` when a required one has no agent to
    use (duties 12, 13, 20)."""
    entries = [entry for entry in effective.entries() if entry.type == SSH_AGENT]
    if not entries:
        return (), ()
    why = "" if available else "no SSH agent is available on this computer, or it is switched off in the settings"
    if why and any(not entry.optional for entry in entries):
        raise SandboxError(
            f"This set requires your SSH agent, and {why}.",
            where=SSH_AGENT,
            remedy="Start an agent (ssh-agent, ssh-add) before Kit Studio, or set ssh.agent to its socket.",
        )
    if why:
        return (), (f"{SSH_AGENT}: {why}",)
    grants: dict[Phase, AgentGrant] = {}
    for entry in entries:
        stated = agent_type.TYPE.decode(entry.config)
        for phase in map(Phase, stated.phases):
            before = grants.get(phase, AgentGrant(phase))
            grants[phase] = AgentGrant(
                phase,
                before.free or stated.free,
                tuple(dict.fromkeys((*before.sign, *(stated.sign or ())))),
                tuple(dict.fromkeys((*before.authenticate, *(stated.authenticate or ())))),
            )
    return tuple(grants.values()), ()
