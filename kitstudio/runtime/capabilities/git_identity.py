"""git-identity@1: one name and one address as Git's global defaults of the workload's user. Pure.

The pair is chosen on the host and pinned with the sandbox; nothing else of any Git configuration is read or written.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import GIT_IDENTITY

_LONGEST = 1000
_SECTION = re.compile(r"[ \t]*\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+\"(?:[^\"\\]|\\.)*\")?[ \t]*\]")
_SUBSECTION = re.compile(r"[ \t]*\[[^\]\n]*\"")
_KEY = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:[=#;]|$)")


@dataclass(frozen=True, slots=True)
class GitIdentity:
    """A complete pair: neither is empty."""

    name: str
    email: str


def plan_identity(effective: Descriptor, name: str, email: str) -> tuple[GitIdentity | None, tuple[str, ...]]:
    """The pair where it is asked for, and what an optional request goes without. ``SandboxError`` when a required one
    has no complete pair (duties 2, 10, 11)."""
    asked = [entry for entry in effective.entries() if entry.type == GIT_IDENTITY]
    if not asked:
        return None, ()
    why = _why_not(name, email)
    if not why:
        return GitIdentity(name, email), ()
    if any(not entry.optional for entry in asked):
        raise SandboxError(
            f"This set requires your Git identity, and {why}.",
            where=GIT_IDENTITY,
            remedy="State a name and an e-mail address: kitstudio settings set git.name …, git.email …",
        )
    return None, (f"{GIT_IDENTITY}: {why}",)


def config_path(home: str, env: Mapping[str, str]) -> str:
    """The file Git calls global for a user with that home."""
    stated = env.get("GIT_CONFIG_GLOBAL", "")
    return stated if stated.startswith("/") else posixpath.join(home, ".gitconfig")


def with_identity(text: str, identity: GitIdentity) -> str:
    """A Git configuration with exactly this pair: its own ``user.name`` and ``user.email`` lines leave, every other
    line stays byte for byte, and ours come last, where they win (duties 3 and 6)."""
    kept: list[str] = []
    section, dropping = "", False
    for line in text.splitlines(keepends=True):
        if dropping:
            dropping = _continues(line)
            continue
        rest = line
        head = _SECTION.match(line)
        if head:
            section = "" if _SUBSECTION.match(line) else head[1].lower()
            rest = line[head.end() :]
        key = _KEY.match(rest.rstrip("\r\n"))
        if section == "user" and key and key[1].lower() in ("name", "email"):
            dropping = _continues(line)
            if head:
                kept.append(line[: head.end()] + "\n")
            continue
        kept.append(line)
    body = _without_empty_end("".join(kept))
    if body and not body.endswith("\n"):
        body += "\n"
    return f"{body}[user]\n\tname = {_quoted(identity.name)}\n\temail = {_quoted(identity.email)}\n"


def _why_not(name: str, email: str) -> str:
    if not name.strip() or not email.strip():
        return "no complete name and e-mail address is set"
    if any(len(value) > _LONGEST or not value.isprintable() for value in (name, email)):
        return "the name or the e-mail address holds characters that Git does not keep"
    return ""


def _continues(line: str) -> bool:
    """Whether a value goes on in the next line: an odd number of backslashes before its end."""
    bare = line.rstrip("\r\n")
    return (len(bare) - len(bare.rstrip("\\"))) % 2 == 1


def _without_empty_end(text: str) -> str:
    """``text`` without a ``[user]`` head at its end that nothing follows: the one a start before this one wrote."""
    return re.sub(r"(?:\A|(?<=\n))\[user\]\n\Z", "", text)


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
