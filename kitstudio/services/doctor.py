"""What this machine can do, what is missing and how to get it. Nothing here is a secret, so all of it may be shared."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import kitstudio
from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import State

if TYPE_CHECKING:
    from kitstudio.services.app import Studio

TOOL_SECONDS = 10.0
LOW_DISK = 2 * 1024**3


class Verdict(StrEnum):
    """``warn``: something is lost without it; ``fail``: sandboxes cannot run."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. ``remedy``: how to get what is missing, empty where nothing is."""

    name: str
    verdict: Verdict
    detail: str
    remedy: str = ""


async def examine(studio: Studio) -> tuple[Check, ...]:
    """Every check, in the order they matter."""
    tools = [_tool(*row) for row in _TOOLS]
    found = await asyncio.gather(
        _guarded("acceleration", lambda: _acceleration(studio)),
        *tools,
        _guarded("guest image", _guest_image),
        _guarded("demo catalog", lambda: _demo(studio)),
        _guarded("secret store", lambda: _secret_store(studio)),
        _guarded("disk space", lambda: _disk(studio)),
        _guarded("display", _display),
        _guarded("settings", lambda: _settings(studio)),
        _guarded("locks", lambda: _locks(studio)),
        _guarded("sandboxes", lambda: _sandboxes(studio)),
    )
    return (
        Check(
            "program",
            Verdict.OK,
            f"Kit Studio {kitstudio.__version__}, Python {platform.python_version()}, {platform.system()} "
            f"{platform.release()} {platform.machine()}",
        ),
        *found,
    )


_TOOLS = (
    ("qemu", ("qemu-system-x86_64", "--version"), "qemu-system-x86", True),
    ("tar2sqfs", ("tar2sqfs", "--version"), "squashfs-tools-ng", True),
    ("mke2fs", ("mke2fs", "-V"), "e2fsprogs", True),
)


async def _tool(name: str, command: tuple[str, ...], package: str, needed: bool) -> Check:
    path = shutil.which(command[0]) or shutil.which(command[0], path="/usr/sbin:/sbin")
    remedy = f"Install the package {package}: sudo apt-get install {package}"
    missing = Verdict.FAIL if needed else Verdict.WARN
    if path is None:
        return Check(name, missing, f"{command[0]} is not installed.", remedy)
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            *command[1:],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), TOOL_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            return Check(name, missing, f"{command[0]} does not answer.", remedy)
    except OSError as error:
        return Check(name, missing, f"{command[0]} cannot be run: {error.strerror}.", remedy)
    lines = output.decode(errors="replace").strip().splitlines()
    return Check(name, Verdict.OK, lines[0][:200] if lines else path)


async def _acceleration(studio: Studio) -> Check:
    kind, why = await studio.sandboxes.acceleration()
    if kind == "kvm":
        return Check("acceleration", Verdict.OK, why or "KVM")
    return Check(
        "acceleration",
        Verdict.WARN,
        why or "Software emulation",
        "Sandboxes work, only slower. KVM needs a processor with virtualisation, enabled in the firmware, and access "
        "to /dev/kvm (group kvm).",
    )


async def _guest_image() -> Check:
    from kitstudio.runtime.guest.image import find_guest_image

    image = await asyncio.to_thread(find_guest_image)
    return Check("guest image", Verdict.OK, f"{image.description}, {image.identity[:12]}")


async def _demo(studio: Studio) -> Check:
    names = await studio.places.demo().source.list()
    return Check("demo catalog", Verdict.OK, f"{len(names)} Kits")


async def _secret_store(studio: Studio) -> Check:
    choice = await studio.sign_in.choices()
    warnings = " ".join(studio.places.sign_ins().warnings)
    if choice.recommended and not warnings:
        return Check("secret store", Verdict.OK, "the system's keyring" + ", locked now" * choice.locked)
    if choice.recommended:
        return Check("secret store", Verdict.WARN, warnings)
    return Check(
        "secret store",
        Verdict.WARN,
        f"The system's keyring cannot be used: {choice.fallback_reason} {warnings}".rstrip(),
        "Install gnome-keyring or KWallet, or keep a sign-in in a private file: kitstudio login HOST --store file.",
    )


async def _disk(studio: Studio) -> Check:
    usage = await asyncio.to_thread(shutil.disk_usage, studio.home.cache)
    detail = f"{usage.free / 1e9:.1f} GB free at {studio.home.cache}"
    if usage.free < LOW_DISK:
        return Check("disk space", Verdict.WARN, detail, "Free some space: images and sandboxes need a few gigabytes.")
    return Check("disk space", Verdict.OK, detail)


async def _display() -> Check:
    for name in ("WAYLAND_DISPLAY", "DISPLAY"):
        if os.environ.get(name):
            return Check("display", Verdict.OK, f"{name}={os.environ[name]}")
    if sys.platform == "darwin":
        return Check("display", Verdict.OK, "macOS")
    return Check(
        "display",
        Verdict.WARN,
        "There is no display here.",
        "The command line works without one; “kitstudio tour” draws the window into pictures.",
    )


async def _settings(studio: Studio) -> Check:
    if studio.settings.faults:
        return Check(
            "settings", Verdict.WARN, " ".join(studio.settings.faults), f"Correct {studio.home.settings} in an editor."
        )
    return Check("settings", Verdict.OK, str(studio.home.settings))


async def _locks(studio: Studio) -> Check:
    names = await studio.approvals.names()
    faults = [why for name in names if (why := await studio.approvals.tampered(name))]
    if faults:
        return Check("locks", Verdict.WARN, " ".join(faults), "Approve those sets again.")
    return Check("locks", Verdict.OK, f"{len(names)} in force")


async def _sandboxes(studio: Studio) -> Check:
    found = await studio.sandboxes.refresh()
    broken = [each for each in found if each.state is State.BROKEN]
    if broken:
        return Check(
            "sandboxes",
            Verdict.WARN,
            " ".join(f"{each.name}: {each.broken}" for each in broken),
            " ".join(f"“{each.repair}” in the window, or: kitstudio start {each.name}." for each in broken),
        )
    running = sum(each.state is State.RUNNING for each in found)
    return Check("sandboxes", Verdict.OK, f"{len(found)} here, {running} running, none broken")


async def _guarded(name: str, check: Callable[[], Awaitable[Check]]) -> Check:
    """A check that fails is a finding, not the end of the others."""
    try:
        return await check()
    except KitStudioError as error:
        place = f" ({error.where})" if error.where else ""
        return Check(name, Verdict.FAIL, f"{error.what}{place}", error.remedy)
