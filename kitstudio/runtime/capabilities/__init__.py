"""What this runtime enforces, by capability type: the mirror of the grammar's list. Unlisted types are not claimed."""

from __future__ import annotations

from kitstudio.models.descriptor import Descriptor

NETWORK_POLICY = "com.docker.sandbox/network-policy@1"
NETWORK_POLICY_2 = "com.docker.sandbox/network-policy@2"
SSH_AGENT = "com.docker.sandbox/ssh-agent@1"
CREDENTIAL = "com.docker.sandbox/credential@1"
LIFECYCLE = "com.docker.sandbox/lifecycle@1"
RESOURCES = "com.docker.sandbox/resources@1"
SBX = "com.docker.sandbox/sbx@1"
AGENT_CONTEXT = "com.docker.sandbox/agent-context@1"
AGENT_SESSIONS = "com.docker.sandbox/agent-sessions@1"
AGENT_SKILLS = "com.docker.sandbox/agent-skills@1"
AGENT_SKILL = "com.docker.sandbox/agent-skill@1"
GIT_IDENTITY = "com.docker.sandbox/git-identity@1"
VOLUME = "com.docker.sandbox/volume@1"
HOST_MOUNT = "com.docker.sandbox/host-mount@1"
PORT = "com.docker.sandbox/port@1"
LONG_RUNNING = "com.docker.sandbox/long-running@1"
KIT_REGISTRY = "com.docker.sandbox/kit-registry@1"
PRIVILEGED = "com.docker.sandbox/privileged@1"

CLAIMED: frozenset[str] = frozenset(
    {
        NETWORK_POLICY,
        NETWORK_POLICY_2,
        CREDENTIAL,
        SSH_AGENT,
        LIFECYCLE,
        RESOURCES,
        SBX,
        AGENT_CONTEXT,
        AGENT_SESSIONS,
        AGENT_SKILLS,
        AGENT_SKILL,
        GIT_IDENTITY,
        VOLUME,
        HOST_MOUNT,
        PORT,
        LONG_RUNNING,
        PRIVILEGED,
        KIT_REGISTRY,
    }
)
"""Types whose page this runtime fulfils; a required type outside is refused, an optional one skipped."""


def unclaimed(descriptor: Descriptor) -> tuple[str, ...]:
    """Types that ``descriptor`` requires and nobody here enforces, in order, each once."""
    found = [entry.type for entry in descriptor.entries() if entry.type not in CLAIMED and not entry.optional]
    return tuple(dict.fromkeys(found))
