"""agent-skills@1 and agent-skill@1: which shipped skill is shown at which place the agent looks. Pure.

A skill is shown by a link to where it lies in the Kit's layers: complete, with its modes, and with references inside
it unchanged. Whether the person's own store is mounted at a place, too, is decided at each start (``skill_store``).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass

from kitstudio.models.capabilities import agent_skill as skill_type
from kitstudio.models.capabilities import agent_skills as skills_type
from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import AGENT_SKILL, AGENT_SKILLS


@dataclass(frozen=True, slots=True)
class Exposure:
    """One skill at one destination: ``path`` becomes a link to ``source``. ``required``: a conflict ends the launch."""

    path: str
    source: str
    required: bool


@dataclass(frozen=True, slots=True)
class Destination:
    """A place where the agent looks for skills. ``writable``: what is asked for; ``ships``: a Kit has one at this very
    place, which a mount would hide."""

    path: str
    writable: bool = False
    ships: bool = False


def plan_destinations(effective: Descriptor) -> tuple[Destination, ...]:
    """Every place where the agent looks, each once; of differing modes the narrower counts."""
    shipped = [skill_type.TYPE.decode(entry.config).path for entry in effective.entries() if entry.type == AGENT_SKILL]
    found: dict[str, Destination] = {}
    for entry in effective.entries():
        if entry.type == AGENT_SKILLS:
            stated = skills_type.TYPE.decode(entry.config)
            before = found.get(stated.path)
            writable = stated.writes and (before is None or before.writable)
            found[stated.path] = Destination(stated.path, writable, any(_within(s, stated.path) for s in shipped))
    return tuple(found.values())


def plan_skills(effective: Descriptor, ships: Callable[[str], bool]) -> tuple[tuple[Exposure, ...], tuple[str, ...]]:
    """Every shipped skill at every destination, and what optional ones go without.

    ``ships(path)``: whether the composed layers hold a regular file there. ``SandboxError`` where a required skill
    has no destination or no ``SKILL.md`` (agent-skill@1, duties 3, 4 and 6).
    """
    destinations = dict.fromkeys(
        skills_type.TYPE.decode(entry.config).path for entry in effective.entries() if entry.type == AGENT_SKILLS
    )
    found: list[Exposure] = []
    skipped: list[str] = []
    for entry in effective.entries():
        if entry.type != AGENT_SKILL:
            continue
        skill = skill_type.TYPE.decode(entry.config)
        why = ""
        if not destinations:
            why = "no Kit of this set names a place where the agent looks for skills"
        elif not ships(posixpath.join(skill.path, "SKILL.md")):
            why = f"{skill.path} ships no SKILL.md"
        elif any(_within(path, skill.path) for path in destinations):
            why = f"{skill.path} holds the place it is to be shown at"
        if why and not entry.optional:
            raise SandboxError(
                f"The skill {skill.effective_name} cannot be shown: {why}.",
                where=AGENT_SKILL,
                remedy="Add the Kit of an agent that reads skills, or remove this one.",
            )
        if why:
            skipped.append(f"{AGENT_SKILL} {skill.effective_name}: {why}")
            continue
        name = skill.effective_name
        found += [Exposure(posixpath.join(path, name), skill.path, not entry.optional) for path in destinations]
    return tuple(e for e in found if e.path != e.source), tuple(skipped)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
