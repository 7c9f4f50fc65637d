"""The person's own skills inside a sandbox (agent-skills@1, duties 1 to 7): decided at each start, mounted before any
hook, never written by us.

A store that is read-only is mounted with links to shipped skills beside its own entries, laid over it in the guest. A
store that is written cannot have such links without a write into it, so where a Kit ships skills to the same place it
is mounted read-only, and that is said.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import AGENT_SKILL, AGENT_SKILLS
from kitstudio.runtime.capabilities.agent_skills import Destination, Exposure
from kitstudio.runtime.qemu.spec import Share

OFF, READONLY, READWRITE = "off", "readonly", "readwrite"
MODES = (OFF, READONLY, READWRITE)
MOST = 8
"""Places of one sandbox that the store can be mounted at."""
NOTE = f"{AGENT_SKILLS} "
"""How every note here begins, so that those of an earlier start can be taken back."""


@dataclass(frozen=True, slots=True)
class Skills:
    """What the person says at a start: the folder and the mode. ``why``: why it is not shown all the same."""

    folder: str = ""
    mode: str = OFF
    why: str = ""


@dataclass(frozen=True, slots=True)
class Store:
    """What is mounted. ``places``: destinations that are; ``notes``: what is less than was asked for, in words."""

    shares: tuple[Share, ...] = ()
    places: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def mount_store(
    said: Skills, destinations: Sequence[Destination], shipped: Sequence[Exposure], taken: Sequence[str]
) -> Store:
    """The store at every destination, with the narrower of both modes. ``taken``: where else something is mounted.

    A store that is off, missing, not readable or empty is none, and no reason to refuse (duty 5). ``SandboxError``
    where a required skill has the name of one in the store: neither replaces the other.
    """
    names = _names(said) if destinations else ()
    if said.why and destinations:
        return Store(notes=(f"{NOTE}store: {said.why}",))
    if not names:
        return Store()
    shares: list[Share] = []
    notes: list[str] = []
    for place in destinations:
        why = _why_not(place, taken, len(shares))
        if why:
            notes.append(f"{NOTE}{place.path}: your skills are not shown there, since {why}")
            continue
        links: list[tuple[str, str]] = []
        for skill in shipped:
            folder, name = posixpath.split(skill.path)
            if folder != place.path:
                continue
            if name not in names:
                links.append((name, skill.source))
            elif skill.required:
                raise SandboxError(
                    f"The skill cannot be shown at {skill.path}: your own skills have one of that name.",
                    where=AGENT_SKILL,
                    remedy="Rename yours, or switch shared skills off.",
                )
            else:
                notes.append(f"{NOTE}{skill.path}: your own skills have one of that name, so the Kit’s is left out")
        writable = place.writable and said.mode == READWRITE
        if writable and links:
            notes.append(f"{NOTE}{place.path}: your skills are read-only there, since a Kit ships skills to that place")
        readonly = not writable or bool(links)
        tag = f"skills{len(shares)}"
        shares.append(Share(Path(said.folder), tag, readonly, place.path, tuple(links), owned=True))
    return Store(tuple(shares), frozenset(share.guest_path for share in shares), tuple(notes))


def _names(said: Skills) -> frozenset[str]:
    """What lies in the store; nothing where it is none."""
    if said.mode not in (READONLY, READWRITE) or not said.folder:
        return frozenset()
    try:
        return frozenset(os.listdir(said.folder))
    except OSError:
        return frozenset()


def _why_not(place: Destination, taken: Sequence[str], mounted: int) -> str:
    if place.ships:
        return "a Kit ships a skill at that very place"
    if any(other == place.path or other.startswith(place.path + "/") for other in taken):
        return "something else is mounted there"
    if mounted >= MOST:
        return f"they are shown at {MOST} places at most"
    return ""
