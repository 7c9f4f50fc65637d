"""Processes that die by SIGKILL at their n-th change to a sandbox's files: ``python -m tests.runtime.faults.mortal …``.

``program HOME OPERATION N M``: an operation of the backend, dead at its n-th change; its supervisor at the m-th.
``supervisor FOLDER M``: a supervisor with a machine and guest that are not real. 0: never dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from kitstudio.runtime import attendance
from kitstudio.runtime.backend import LaunchOptions
from kitstudio.runtime.qemu_backend import QemuBackend
from kitstudio.runtime.state import SandboxFolder
from kitstudio.runtime.supervisor import Parts, Supervisor
from tests.runtime.busybox_kits import Shelf, floor
from tests.runtime.fakes import FakeGuest, FakeMachine
from tests.runtime.runtime_sets import capability

ROOT = Path(__file__).parents[3]
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "subprocess.Popen"})
EXHAUSTED = 3
"""Exit status of a program that ended before its n-th change."""


def backend(home: Path) -> QemuBackend:
    """Sandboxes whose machines are not real; the supervisors are processes."""

    async def emulated() -> tuple[str, str]:
        return "tcg", ""

    return QemuBackend(home, home / "cache", probe=emulated)


def shelf(home: Path) -> Shelf:
    """One workload with an install hook and a volume."""
    made = Shelf(home / "kits")
    wanted = (
        capability("lifecycle@1", {"install": [{"command": "true"}]}),
        capability("volume@1", {"path": "/data", "size": "4MiB"}),
        capability("port@1", {"container": 8080}),
    )
    made.add("kits.test/base:1.0.0", "workload", floor(), *wanted, user="agent", env=("PATH=/bin",), cmd=("/bin/sh",))
    return made


def fake_supervisors(die_at: int = 0) -> None:
    """Let this process start supervisors of this module, the next of which dies at its n-th change."""

    def spawn(folder: SandboxFolder) -> subprocess.Popen[bytes]:
        (folder.path / "control.sock").unlink(missing_ok=True)
        command = [sys.executable, "-m", __name__ if __name__ != "__main__" else MODULE, "supervisor", str(folder.path)]
        with folder.crash.open("wb") as crash:
            child = subprocess.Popen(
                [*command, str(die_at)], cwd=ROOT, stdin=subprocess.DEVNULL, stderr=crash, start_new_session=True
            )
        attendance._CHILDREN.append(child)
        return child

    attendance._spawn = spawn


MODULE = "tests.runtime.faults.mortal"


def mortal(number: int, below: Path) -> None:
    """Die at the n-th change below a folder (or the n-th start of a process)."""
    left = [number]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event not in CHANGES and not writes:
            return
        if event != "subprocess.Popen" and str(below) not in str(arguments[:2]):
            return
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if number:
        sys.addaudithook(hook)


async def operate(home: Path, operation: str, number: int) -> None:
    made, kits = backend(home), shelf(home)
    mortal(number, home / "sandboxes")
    match operation:
        case "create":
            await made.create(kits.approved(), LaunchOptions("box", memory=256), kits, lambda step: None)
        case "start":
            await made.start("box", lambda step: None)
        case "stop":
            await made.stop("box")
        case "recreate":
            await made.recreate("box", kits.approved(), kits, lambda step: None)
        case "remove":
            await made.remove("box")


async def supervise(folder: Path, number: int) -> None:
    mortal(number, folder)
    guest = FakeGuest()
    await Supervisor(folder, Parts(cast(Any, FakeMachine), cast(Any, lambda connection: guest))).run()


def main(arguments: list[str]) -> int:
    match arguments:
        case ["program", home, operation, number, supervisor]:
            fake_supervisors(int(supervisor))
            asyncio.run(operate(Path(home), operation, int(number)))
        case ["supervisor", folder, number]:
            asyncio.run(supervise(Path(folder), int(number)))
    return EXHAUSTED


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
