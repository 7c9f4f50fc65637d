"""Everything a supervisor needs to run a sandbox, decided at create and read again at every start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kitstudio.runtime.assemble import Contract
from kitstudio.runtime.capabilities.agent_context import Profile
from kitstudio.runtime.capabilities.agent_sessions import AgentSessions
from kitstudio.runtime.capabilities.agent_skills import Destination, Exposure
from kitstudio.runtime.capabilities.credential import CredentialPlan
from kitstudio.runtime.capabilities.git_identity import GitIdentity
from kitstudio.runtime.capabilities.host_mount import PlannedMount
from kitstudio.runtime.capabilities.lifecycle import Lifecycle
from kitstudio.runtime.capabilities.long_running import IDLE_SECONDS
from kitstudio.runtime.capabilities.port import PlannedPort
from kitstudio.runtime.capabilities.ssh_agent import AgentGrant
from kitstudio.runtime.capabilities.volume import PlannedVolume
from kitstudio.runtime.policy import RuleText


def hide(text: str, secrets: tuple[str, ...]) -> str:
    """``text`` with each secret replaced, longest first; shorter than four characters none is recognisable."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= 4:
            text = text.replace(secret, "<secret>")
    return text


@dataclass(frozen=True, slots=True)
class StatedOptions:
    """What the person stated, for making the plan again: zero and empty stay "the set's or the default"."""

    memory: int = 0
    cpus: int = 0
    accel: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    idle: float = IDLE_SECONDS


@dataclass(frozen=True, slots=True)
class Origin:
    """``lock.json``: the approved lock a sandbox was created from; ``text`` is the lock as JSON."""

    name: str
    sha256: str
    text: str


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """``launch.json``. ``layers``: squashfs files, lowest first. ``hosts``: names with a settled address.

    ``private_names``: names the person let reach private addresses. ``secrets``: values never written elsewhere.
    ``agent_socket``, ``agent_keys`` and ``known_hosts``: stated in place of the person's own; empty (None): those.
    ``skills_store`` and ``skills_mode``: stated at create; without a mode, what the person says at each start.
    ``identity``: the pair chosen at create, kept for the sandbox's life. ``idle``: seconds without a session after
    which it is stopped, 0 never.
    """

    name: str
    layers: tuple[Path, ...]
    memory: int
    cpus: int
    accel: str
    contract: Contract
    lifecycle: Lifecycle
    profile: Profile
    rules: tuple[RuleText, ...]
    workspace: Path | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    private_names: frozenset[str] = field(default_factory=frozenset)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    options: StatedOptions = field(default_factory=StatedOptions)
    identity: GitIdentity | None = None
    skills: tuple[Exposure, ...] = ()
    skill_places: tuple[Destination, ...] = ()
    skills_store: Path | None = None
    skills_mode: str = ""
    sessions: AgentSessions = field(default_factory=AgentSessions)
    credentials: tuple[CredentialPlan, ...] = ()
    agent: tuple[AgentGrant, ...] = ()
    agent_socket: str = ""
    known_hosts: str = ""
    agent_keys: tuple[str, ...] | None = None
    volumes: tuple[PlannedVolume, ...] = ()
    mounts: tuple[PlannedMount, ...] = ()
    ports: tuple[PlannedPort, ...] = ()
    privileged: bool = False
    kit_registry: bool = False
    idle: float = 0.0

    def hide(self, text: str) -> str:
        """``text`` without the values of secret inputs: for records, logs and messages."""
        return hide(text, self.secrets)

    @property
    def inspects(self) -> bool:
        """Whether some connections are looked into, so that the sandbox must trust its own authority."""
        return bool(self.credentials) or any(rule.bound for rule in self.rules)

    @property
    def hostname(self) -> str:
        """The guest's host name: the sandbox's name in the letters a host name has."""
        return self.name.replace("_", "-").replace(".", "-").strip("-")[:63] or "sandbox"
