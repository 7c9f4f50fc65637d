"""Keys of one sandbox's control channel: the guest's host key and the owner's client key, both Ed25519."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import asyncssh


@dataclass(frozen=True, slots=True)
class MachineKeys:
    """Both private keys. They never leave the host except the host key, which the guest needs."""

    host: asyncssh.SSHKey
    client: asyncssh.SSHKey


def load_or_create_keys(folder: Path) -> MachineKeys:
    """The keys kept in ``folder`` (mode 0600), made when missing."""
    raise NotImplementedError
