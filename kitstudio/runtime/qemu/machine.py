"""One virtual machine: started from a ``MachineSpec``, spoken to over its one serial port, gone with its owner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import asyncssh

from kitstudio.runtime.guest.image import GuestImage
from kitstudio.runtime.qemu.keys import MachineKeys


@dataclass(frozen=True, slots=True)
class Share:
    """A host folder shown in the guest at ``guest_path``. ``tag``: at most 31 of ``[a-z0-9-]``."""

    host_path: Path
    tag: str
    readonly: bool
    guest_path: str


@dataclass(frozen=True, slots=True)
class Disk:
    """An extra ext4 disk, mounted at ``guest_path``; ``serial``: at most 20 of ``[a-z0-9-]``."""

    path: Path
    serial: str
    guest_path: str
    readonly: bool = False


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """Everything one machine is. ``folder``: its own working folder (sockets, console log), made if missing.

    ``layers``: squashfs files, lowest first. ``upper``: the writable ext4 disk. ``accel``: ``kvm`` or ``tcg``.
    ``share_uid``/``share_gid``: the identity in the guest that the host's user has in shares.
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
    share_uid: int = 1000
    share_gid: int = 1000


class Exit:
    """Why a machine ended is one of these words."""

    STOPPED = "stopped"
    PANIC = "panic"
    KILLED = "killed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MachineExit:
    """``kind``: one of ``Exit``; ``text``: plain words, with the last console lines where they explain it."""

    kind: str
    status: int
    text: str


class Machine:
    """A running (or ended) machine. Create, ``await start(spec)``, ``await connect()``, ``await stop()``."""

    @property
    def pid(self) -> int:
        """QEMU's process id, 0 before start."""
        raise NotImplementedError

    @property
    def command_line(self) -> tuple[str, ...]:
        """QEMU's full command line."""
        raise NotImplementedError

    @property
    def console(self) -> Path:
        """The console log: bounded (the first and the last part are kept); untrusted text."""
        raise NotImplementedError

    async def start(self, spec: MachineSpec) -> None:
        """Start QEMU. ``SandboxError`` when QEMU is missing or refuses; nothing is left running then."""
        raise NotImplementedError

    async def connect(self, timeout: float = 60.0) -> asyncssh.SSHClientConnection:
        """The control connection, host key pinned. Calling again after a lost connection makes a new one."""
        raise NotImplementedError

    async def stop(self, grace: float = 10.0) -> MachineExit:
        """Sync and power off from inside; then QMP quit; then kill. Never longer than ``grace`` plus a moment."""
        raise NotImplementedError

    async def wait(self) -> MachineExit:
        """Returns when the machine has ended, however it did."""
        raise NotImplementedError
