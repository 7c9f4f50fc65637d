"""git-identity@1 and agent-skill@1, carried out in a running guest before any hook: at every boot."""

from __future__ import annotations

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import AGENT_SKILL
from kitstudio.runtime.capabilities.git_identity import config_path, with_identity
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.lifecycle import Guest

_CONFIG_LIMIT = 1 << 20


async def set_identity(guest: Guest, plan: LaunchPlan) -> None:
    """Make the sandbox's pair Git's global default for the workload's user; all its other settings stay."""
    if plan.identity is None:
        return
    owner = plan.contract.account
    path = config_path(owner.home, plan.contract.env)
    existing = (await guest.read_file(path, _CONFIG_LIMIT) or b"").decode("utf-8", "surrogateescape")
    text = with_identity(existing, plan.identity)
    await guest.write_file(path, text.encode("utf-8", "surrogateescape"), uid=owner.uid, gid=owner.gid, mode=0o644)


async def expose_skills(guest: Guest, plan: LaunchPlan) -> tuple[str, ...]:
    """Link every shipped skill to its destinations; the optional ones that something else is in the way of, in words.

    What lies there already is never replaced (agent-skill@1, duty 8): ``SandboxError`` where the skill is required.
    """
    owner = plan.contract.account
    left_out: list[str] = []
    for skill in plan.skills:
        if await guest.link(skill.path, skill.source, uid=owner.uid, gid=owner.gid):
            continue
        if skill.required:
            raise SandboxError(
                f"The skill cannot be shown at {skill.path}: something else is there, and is left alone.",
                where=AGENT_SKILL,
                remedy="Move it away, or remove the Kit that ships the skill.",
            )
        left_out.append(f"{AGENT_SKILL}: something else is at {skill.path}")
    return tuple(left_out)
