"""``git-identity@1``: the name and e-mail the person commits with, as Git's defaults in the sandbox."""

from __future__ import annotations

from kitstudio.models.capabilities.flags import Flag


class GitIdentity(Flag):
    name = "com.docker.sandbox/git-identity@1"
    title = "Git identity"
    entry = "git-identity"
    sentence = "Reads the name and e-mail address you commit with, and commits as you."


TYPE = GitIdentity()
