"""agent-context@1: the profile file the agent reads, with an index of the Kits' guidance. Pure.

Bodies are untrusted text: staged ones are pointed at where they lie, inline ones get a file of their own beside the
profile. Only the marked section of the profile is ours.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from kitstudio.models.descriptor import Capability
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import AGENT_CONTEXT
from kitstudio.runtime.policy import contributions, paths

BEGIN = "<!-- kit-studio:begin -->"
END = "<!-- kit-studio:end -->"
_MARKER = re.compile(r"<!--(\s*kit-studio:)", re.IGNORECASE)
_SECTION = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END) + r"\n?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Body:
    """One Kit's guidance: staged at ``path``, or ``text`` to be written there."""

    kit: str
    path: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a sandbox. ``path`` empty: nobody names a destination."""

    path: str = ""
    bodies: tuple[Body, ...] = ()


def plan_profile(approved: ApprovedLock, workdir: str) -> Profile:
    """Where the profile goes and what it lists, in composition order (explicit profile first, then a legacy name)."""
    explicit: dict[str, str] = {}
    legacy: dict[str, str] = {}
    stated: list[tuple[str, str | None, str | None]] = []
    for kit, where, entry in _entries(approved):
        directory, filename, staged, text = (
            _text(entry, name, where) for name in ("directory", "filename", "contentFile", "content")
        )
        if directory and filename:
            explicit.setdefault(posixpath.join(directory, filename), kit)
        elif filename:
            if legacy:
                raise SandboxError("Two Kits name the agent's profile.", where=f"{next(iter(legacy.values()))}, {kit}")
            legacy[posixpath.join(posixpath.dirname(workdir.rstrip("/")) or "/", filename)] = kit
        if staged or text:
            stated.append((kit, staged, text))
    if len(explicit) > 1:
        raise SandboxError(
            "The Kits of this set place the agent's profile at different paths.",
            where=", ".join(explicit.values()),
            remedy="Several profiles in one set belong to a newer grammar than this program reads; remove one Kit.",
        )
    path = next(iter(explicit or legacy), "")
    beside = posixpath.join(posixpath.dirname(path), ".kit-context") if path else ""
    bodies = [
        Body(kit, staged) if staged else Body(kit, f"{beside}/{number:02}-{_stem(kit)}.md", _neutral(text or ""))
        for number, (kit, staged, text) in enumerate(stated, 1)
        if staged or path
    ]
    return Profile(path, tuple(bodies))


def render_profile(profile: Profile, existing: str, workdir: str, name: str) -> str:
    """``existing`` with our section written or replaced; everything outside it stays byte for byte."""
    lines = [
        BEGIN,
        "## This sandbox",
        "",
        f"You are in the sandbox `{name}`, made by Kit Studio. The working folder is `{workdir}`.",
        "The network is closed except for the hosts its approved Kits name; a refusal is answered with HTTP 403",
        "and names the missing entry. Ask the person for more access; nothing inside the sandbox can grant it.",
        "",
    ]
    if profile.bodies:
        lines += ["### Kits with guidance", ""]
        lines += [f"- `{_neutral(body.kit)}`: read `{_neutral(body.path)}`" for body in profile.bodies]
        lines.append("")
    lines += [END, ""]
    section = "\n".join(lines)
    if _SECTION.search(existing):
        return _SECTION.sub(lambda _: section, existing, count=1)
    if existing and not existing.endswith("\n"):
        existing += "\n"
    return existing + ("\n" if existing else "") + section


def _entries(approved: ApprovedLock) -> list[tuple[str, str, Capability]]:
    return [
        (kit, f"{kit}: {path}", entry)
        for kit, descriptor in contributions(approved)
        for path, entry in paths(kit, descriptor)
        if entry.type == AGENT_CONTEXT
    ]


def _text(entry: Capability, name: str, where: str) -> str | None:
    value = (entry.config or {}).get(name)
    if value is not None and not isinstance(value, str):
        raise SandboxError("An agent-context entry of the approved set cannot be read.", where=where)
    return value or None


def _neutral(text: str) -> str:
    return _MARKER.sub(r"<! --\1", text)


def _stem(kit: str) -> str:
    last = kit.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return re.sub(r"[^a-z0-9._-]", "-", last.lower()) or "kit"
