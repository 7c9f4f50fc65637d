"""Keys of one sandbox's control channel: the guest's host key and the owner's client key, both Ed25519."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import asyncssh
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from kitstudio.runtime.backend import SandboxError

_NAME = b"ssh-ed25519"


@dataclass(frozen=True, slots=True)
class MachineKeys:
    """``client`` signs in and never leaves the host; ``guest_key`` is the server's, in the form it reads."""

    client: asyncssh.SSHKey
    guest_key: bytes
    guest_public: str

    @property
    def authorized(self) -> str:
        """The line of ``authorized_keys`` that admits the client."""
        return self.client.export_public_key("openssh").decode().strip() + "\n"


def create_keys() -> MachineKeys:
    """Fresh keys."""
    return _keys(Ed25519PrivateKey.generate(), asyncssh.generate_private_key(_NAME.decode(), comment="kitstudio"))


def load_or_create_keys(folder: Path) -> MachineKeys:
    """The keys kept in ``folder`` (mode 0600), made when missing."""
    place = folder / "keys"
    try:
        text = place.read_bytes()
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        seed = os.urandom(32)
        client = asyncssh.generate_private_key(_NAME.decode(), comment="kitstudio")
        temporary = place.with_name(f".keys.{os.getpid()}")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(seed + client.export_private_key("openssh"))
        temporary.replace(place)
        return _keys(Ed25519PrivateKey.from_private_bytes(seed), client)
    try:
        client = asyncssh.import_private_key(text[32:])
        return _keys(Ed25519PrivateKey.from_private_bytes(text[:32]), client)
    except (ValueError, asyncssh.KeyImportError) as error:
        raise SandboxError("The sandbox's keys cannot be read.", where=str(place), remedy="Recreate it.") from error


def _keys(guest: Ed25519PrivateKey, client: asyncssh.SSHKey) -> MachineKeys:
    private = guest.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    public = guest.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    # the server's own key file: the type, then the private and the public half as one string
    server_form = _string(_NAME) + _string(private + public)
    line = guest.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return MachineKeys(client, server_form, line)


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content
