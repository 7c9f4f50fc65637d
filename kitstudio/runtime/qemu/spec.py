"""What one machine is, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kitstudio.runtime.guest.image import GuestImage
from kitstudio.runtime.qemu.keys import MachineKeys


@dataclass(frozen=True, slots=True)
class Share:
    """A host folder shown in the guest at ``guest_path``. ``tag``: at most 20 of ``[a-z0-9-]``.

    ``links``: names and targets shown beside what is in the folder and before it, for a read-only one; nothing is
    written into the folder. ``owned``: missing folders above it belong to the share's user in the guest, not to root.
    """

    host_path: Path
    tag: str
    readonly: bool
    guest_path: str
    links: tuple[tuple[str, str], ...] = ()
    owned: bool = False


@dataclass(frozen=True, slots=True)
class Disk:
    """An extra ext4 disk, mounted at ``guest_path``. ``serial``: at most 20 of ``[a-z0-9-]``, not ``upper``."""

    path: Path
    serial: str
    guest_path: str
    readonly: bool = False


@dataclass(frozen=True, slots=True)
class RamDisk:
    """A tmpfs at ``guest_path``. ``size`` in bytes, 0 for the guest's own default; its root belongs to ``owner``."""

    guest_path: str
    size: int
    mode: int
    owner: int


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """Everything one machine is. ``folder``: its own working folder (sockets, console log), made if missing.

    ``layers``: squashfs files, lowest first. ``upper``: the writable ext4 disk. ``accel``: ``kvm`` or ``tcg``.
    ``share_uid``/``share_gid``: the identity in the guest that the host's user has in shares. ``processes``: most
    processes the sandbox may have at once. ``network``: whether the relay and the redirect exist. ``privileged``:
    whether root in the sandbox has all of the guest kernel's rights and devices.
    """

    folder: Path
    guest: GuestImage
    layers: tuple[Path, ...]
    upper: Path
    memory_mib: int
    cpus: int
    accel: str
    keys: MachineKeys
    hostname: str = "sandbox"
    shares: tuple[Share, ...] = ()
    disks: tuple[Disk, ...] = ()
    ram: tuple[RamDisk, ...] = ()
    share_uid: int = 1000
    share_gid: int = 1000
    processes: int = 4096
    network: bool = True
    privileged: bool = False


class Exit(StrEnum):
    """How a machine ended. ``FAILED``: QEMU or the guest could not start."""

    STOPPED = "stopped"
    PANIC = "panic"
    KILLED = "killed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MachineExit:
    """``text``: plain words, with the console's last lines where they explain it. ``status``: QEMU's."""

    kind: Exit
    status: int
    text: str
