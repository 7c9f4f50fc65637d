"""Which acceleration works here, found by really booting the guest kernel under it.

The presence of ``/dev/kvm`` proves nothing: it may be there and no stock kernel runs under it. After an internal error
QEMU pauses and stays, so the trial has a time limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from kitstudio.runtime.guest.image import GuestImage
from kitstudio.runtime.qemu import command
from kitstudio.runtime.qemu.console import ConsoleLog

LIMIT = 5.0
_MARK = "probe reached init"
_DEVICE = Path("/dev/kvm")
_LAUNCHER = Path(__file__).with_name("launch.py")


@dataclass(frozen=True, slots=True)
class Acceleration:
    """``kind``: ``kvm`` or ``tcg`` (software emulation); ``reason`` in plain words."""

    kind: str
    reason: str


async def acceleration(guest: GuestImage, state_dir: Path, device: Path = _DEVICE) -> Acceleration:
    """KVM when the guest kernel reaches its init under it within five seconds, else software emulation.

    Cached in ``state_dir`` per kernel, QEMU program and host boot. ``SandboxError`` when QEMU is missing.
    """
    qemu = command.find_qemu()
    key = _key(guest, qemu, device)
    place = state_dir / "acceleration.json"
    if found := _cached(place, key):
        return found
    found = await _find(guest, device)
    # a cache that cannot be written costs five seconds the next time, no more
    with contextlib.suppress(OSError):
        state_dir.mkdir(parents=True, exist_ok=True)
        temporary = place.with_name(f".{place.name}.{os.getpid()}")
        temporary.write_text(json.dumps({"key": key, **asdict(found)}), encoding="utf-8")
        temporary.replace(place)
    return found


async def boots(guest: GuestImage, kind: str, limit: float) -> tuple[bool, str]:
    """Whether the guest kernel reaches its init with this acceleration, and QEMU's or the kernel's last words."""
    qemu = command.find_qemu()
    arguments = [
        *command.base_command(qemu, kind, 256, 1),
        *("-kernel", str(guest.kernel), "-initrd", str(guest.initramfs)),
        *("-append", command.kernel_line(kind) + " kit.probe"),
    ]
    with tempfile.TemporaryDirectory(prefix="kitstudio-probe-") as folder:
        log = ConsoleLog(Path(folder) / "console")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), "-", *arguments),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    while data := await process.stdout.read(65536):
                        log.write(data)
                        if log.has(_MARK):
                            break
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            log.close()
        return log.has(_MARK), log.last_lines(2)


async def _find(guest: GuestImage, device: Path) -> Acceleration:
    if not device.exists():
        return Acceleration("tcg", f"Software emulation: this computer has no {device}.")
    if not os.access(device, os.R_OK | os.W_OK):
        return Acceleration(
            "tcg", f"Software emulation: you may not use {device}. Being a member of the group kvm usually allows it."
        )
    works, words = await boots(guest, "kvm", LIMIT)
    if works:
        return Acceleration("kvm", "Hardware virtualisation: KVM boots the guest kernel.")
    said = f" It said: {words}" if words else ""
    return Acceleration(
        "tcg",
        f"Software emulation: {device} is there, but the guest kernel does not start under KVM "
        f"within {LIMIT:g} seconds.{said}",
    )


def _key(guest: GuestImage, qemu: str, device: Path) -> str:
    status = os.stat(qemu)
    permission = os.access(device, os.R_OK | os.W_OK)
    parts = (
        guest.identity,
        qemu,
        status.st_size,
        status.st_mtime_ns,
        _boot_id(),
        os.geteuid(),
        str(device),
        permission,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _cached(place: Path, key: str) -> Acceleration | None:
    try:
        kept: Mapping[str, str] = json.loads(place.read_text(encoding="utf-8"))
        if kept["key"] == key:
            return Acceleration(kept["kind"], kept["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None
