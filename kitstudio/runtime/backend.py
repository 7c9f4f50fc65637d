"""The contract between the services and whatever runs sandboxes. Nothing above this module knows QEMU.

A sandbox is created from an ``ApprovedLock`` and nothing else: "launch without gate" cannot be written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kitstudio.models.errors import KitStudioError

if TYPE_CHECKING:
    from kitstudio.models.lock import ApprovedLock
    from kitstudio.runtime.files import Files


class SandboxError(KitStudioError):
    """A sandbox could not do what was asked. Carries the phase in ``where``."""


class SandboxRefused(SandboxError):
    """What was asked was understood and is declined: a capability that cannot be granted, storage that has an owner."""


class State(StrEnum):
    """States as ``cli.md`` names them. ``BROKEN`` always comes with a repair."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPED = "stopped"
    BROKEN = "broken"


class LaunchPhase(StrEnum):
    """The launch, in order (``ui.md``): one progress view."""

    PULL = "pull"
    CONVERT = "convert"
    COMPOSE = "compose"
    BOOT = "boot"
    INSTALL = "install hooks"
    CLOSE = "close install grants"
    STARTUP = "startup"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class ImageLayer:
    """A layer to convert. ``digest``/``size``/``media_type`` of the compressed blob, ``diff_id`` of the tar."""

    digest: str
    size: int
    media_type: str
    diff_id: str = ""


@dataclass(frozen=True, slots=True)
class KitImage:
    """Image of one locked Kit: launch contract and layers (§10). ``env`` as ``NAME=value``."""

    reference: str
    digest: str
    kind: str
    layers: tuple[ImageLayer, ...]
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    user: str = ""
    workdir: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


class ImageProvider(Protocol):
    """How the runtime gets images without knowing registries. Implemented by the services."""

    async def image(self, reference: str, digest: str) -> KitImage:
        """The image a locked Kit pins, for this machine's platform."""

    async def layer(self, reference: str, layer: ImageLayer, progress: Callable[[int, int], None]) -> Path:
        """A verified local file with the compressed layer. ``progress(done, total)`` in bytes."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What the person chose beyond the set. ``memory`` in MiB, ``cpus`` whole; 0 = the set's or the default.

    ``workspace``: host folder shown at the image's working directory, None for none. ``env``: runtime overrides
    (§6.1), already part of the approved effective form. ``private_names``: names the person lets reach private
    addresses (Settings), each with its address or ``""`` for whatever it resolves to; a name still needs its entry.
    ``ssh_agent`` and ``ssh_known_hosts``: an agent's socket and a file of host keys in place of the person's own;
    ``ssh_keys``: fingerprints of the keys that may be used, None for what the person says at each start.
    ``skills_store`` and ``skills_mode`` (off, readonly, readwrite): the person's own skills; without a mode what they
    say at each start.
    ``git_name`` and ``git_email``: the person's identity for Kits that ask for it; both or none. ``idle``: seconds
    without a session after which it is stopped, 0 never; a set with ``long-running@1`` never is. ``ports``: the host
    port a published one must have, by ``8080/tcp``; others get a free one.
    """

    name: str
    workspace: Path | None = None
    memory: int = 0
    cpus: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    accel: str = ""
    private_names: Mapping[str, str] = field(default_factory=dict)
    ssh_agent: str = ""
    ssh_known_hosts: str = ""
    ssh_keys: tuple[str, ...] | None = None
    skills_store: Path | None = None
    skills_mode: str = ""
    git_name: str = ""
    git_email: str = ""
    idle: float = 1800.0
    ports: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a launch. ``fraction`` 0..1 or None where unknown; ``seconds`` since the launch began."""

    phase: LaunchPhase
    text: str = ""
    fraction: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HookRun:
    """One lifecycle hook that ran. ``kit`` and ``index`` name it; ``output`` is capped, untrusted text."""

    kit: str
    phase: str
    index: int
    command: tuple[str, ...]
    user: str
    output: str = ""
    status: int | None = None
    seconds: float = 0.0
    background: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One egress decision of the host-side proxy. ``rule`` kit/path/line: the descriptor line that decided."""

    time: float
    phase: str
    host: str
    port: int
    verdict: str
    kit: str = ""
    path: str = ""
    line: int = 0
    method: str | None = None
    url_path: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """One sandbox, as every list shows it. ``started_at``: Unix seconds, 0 when not running.

    ``accel``: ``kvm`` or ``tcg``. ``phase``: what a starting one is doing. ``broken``: why, with ``repair`` the
    label of the action that mends it. ``memory``: MiB of resident host memory, ``memory_limit`` of the guest. ``ports``
    as ``127.0.0.1:49153->8080/tcp``. ``idle_stop``: Unix seconds at which it is stopped unless somebody connects, 0 for
    never or not now. ``note``: why it was stopped, where nobody asked.
    """

    id: str
    name: str
    state: State
    set_name: str
    lock_sha256: str
    started_at: float = 0.0
    phase: str = ""
    accel: str = ""
    memory: int = 0
    memory_limit: int = 0
    workspace: str = ""
    refused: int = 0
    broken: str = ""
    repair: str = ""
    skipped: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    idle_stop: float = 0.0
    note: str = ""
    renewed: int = 0


@dataclass(frozen=True, slots=True)
class PublishedPort:
    """One port of a sandbox and where this computer reaches it. ``container``: as ``8080/tcp``; ``name``: what the Kit
    calls it, untrusted text. ``host_port`` 0: not published now; ``fixed``: the port a person chose, 0 for any.
    """

    container: str
    name: str = ""
    host: str = "127.0.0.1"
    host_port: int = 0
    fixed: int = 0


@dataclass(frozen=True, slots=True)
class OwnStorage:
    """One volume of a sandbox. ``size`` and ``mode`` as asked for, empty where not stated; ``used``: bytes it takes on
    this computer's disk; ``mounted``: whether the set still asks for it (else it is only kept)."""

    path: str
    size: str = ""
    mode: str = ""
    in_memory: bool = False
    used: int = 0
    mounted: bool = True


@dataclass(frozen=True, slots=True)
class HostMountFolder:
    """A folder of this computer that the sandboxes of one Kit share. ``owner``: the Kit's repository, or ``set NAME``;
    ``path``: where sandboxes see it; ``folder``: where it is here; ``sandboxes``: who uses it, ``running`` who now."""

    id: str
    owner: str
    path: str
    folder: str
    size: int = 0
    files: int = 0
    sandboxes: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


SecretSource = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]
"""What the host holds for services of ``credential@1``: those without a secret are left out. Values go to the
process that owns a sandbox and nowhere else."""


class Terminal(Protocol):
    """One PTY in a sandbox. Bytes from ``read`` are untrusted."""

    async def read(self) -> bytes:
        """The next bytes; ``b""`` at the end."""

    async def write(self, data: bytes) -> None:
        """Keyboard input; returns when accepted."""

    async def resize(self, columns: int, rows: int) -> None:
        """New size in cells."""

    async def wait(self) -> int:
        """Exit status once the process ended."""

    async def close(self) -> None:
        """Hang up."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """A finished command. ``status`` 128+n for signal n."""

    status: int
    stdout: bytes
    stderr: bytes


class Backend(Protocol):
    """Runs sandboxes. All methods raise ``SandboxError`` and honour cancellation without leftovers."""

    def capabilities(self) -> frozenset[str]:
        """Capability types this backend enforces and therefore claims."""

    async def acceleration(self) -> tuple[str, str]:
        """(``kvm`` | ``tcg``, why): found by really booting, cached per kernel and host boot."""

    async def create(
        self,
        approved: ApprovedLock,
        options: LaunchOptions,
        images: ImageProvider,
        progress: Callable[[Progress], None],
    ) -> SandboxStatus:
        """Pull, convert, compose, boot, install hooks, close grants, startup, ready. All or nothing."""

    async def start(self, name: str, progress: Callable[[Progress], None]) -> SandboxStatus:
        """Boot a stopped sandbox again: startup hooks, no install hooks."""

    async def stop(self, name: str) -> None: ...

    async def recreate(
        self,
        name: str,
        approved: ApprovedLock,
        images: ImageProvider,
        progress: Callable[[Progress], None],
        *,
        anew: bool = False,
    ) -> SandboxStatus:
        """Drop the writable layer and create again; the approved lock must be the sandbox's own, unless it is decided
        ``anew``: then it takes the old one's place."""

    async def remove(self, name: str) -> None: ...

    async def repair(self, name: str) -> SandboxStatus: ...

    async def list(self) -> tuple[SandboxStatus, ...]: ...

    async def status(self, name: str) -> SandboxStatus: ...

    async def execute(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        user: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: Callable[[bool, bytes], None] | None = None,
    ) -> ExecResult:
        """Run to the end. ``on_output(error, data)`` takes what is printed as it comes, in place of the result; else
        at most 64 MiB are kept."""

    async def terminal(self, name: str, command: Sequence[str], *, columns: int, rows: int, user: str = "") -> Terminal:
        """A PTY; an empty command means the interactive launch argv (§8)."""

    async def launch_commands(self, name: str) -> Mapping[str, tuple[str, ...]]:
        """The argvs of §8 a sandbox can be opened with: ``interactive``, ``headless``, ``shell``; empty: not stated."""

    def files(self, name: str, user: str = "") -> Files:
        """The files of a running sandbox, as ``user`` sees them (empty: its own)."""

    async def rebind(self, service: str) -> tuple[str, ...]:
        """Hand a service's secret as it is now to every running sandbox that signs in to it; their names."""

    async def renewed(self, name: str) -> Mapping[str, str]:
        """Tokens a provider renewed since somebody last came for them, by service; to be kept on the host."""

    async def session_command(self, name: str, verb: str, value: str = "") -> tuple[str, ...]:
        """The command behind a verb of ``agent-sessions@1`` (prompt, resume, continue, list), for ``execute``."""

    async def environment(self, name: str) -> Mapping[str, str]:
        """The overrides (§6.1) a sandbox was created with: part of what was approved, and in no lock."""

    async def ports(self, name: str) -> tuple[PublishedPort, ...]:
        """The published ports, running or not."""

    async def set_port(self, name: str, container: str, host_port: int) -> tuple[PublishedPort, ...]:
        """Publish ``container`` (``8080/tcp``) at a port of the person's choice, 0 for any; at once if it runs."""

    async def storage(self, name: str) -> tuple[OwnStorage, ...]:
        """The sandbox's own volumes, those it only keeps included."""

    async def mounts(self) -> tuple[HostMountFolder, ...]:
        """Folders of this computer kept for ``host-mount@1``, also those no sandbox uses any more."""

    async def remove_mount(self, id: str) -> None:
        """Delete such a folder and what is in it. Refused while a running sandbox has it."""

    async def hooks(self, name: str) -> tuple[HookRun, ...]: ...

    async def decisions(self, name: str) -> tuple[Decision, ...]: ...

    async def log(self, name: str) -> str: ...

    async def details(self, name: str) -> Mapping[str, str]:
        """Lock, effective descriptor (YAML), selection records and surface (JSON), full QEMU command line, paths."""

    def events(self) -> AsyncIterator[str]:
        """Names of sandboxes whose status, hooks or decisions changed."""
