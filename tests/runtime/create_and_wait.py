"""``create_and_wait.py HOME PHASE``: creates a sandbox, says ``there`` in that phase and goes no further by itself."""

import asyncio
import sys
import time
from pathlib import Path

from kitstudio.runtime.backend import LaunchOptions, LaunchPhase, Progress
from kitstudio.runtime.qemu_backend import QemuBackend
from tests.runtime.busybox_kits import Shelf, floor
from tests.runtime.runtime_sets import capability


async def main(home: Path, phase: LaunchPhase) -> None:
    async def emulated() -> tuple[str, str]:
        return "tcg", ""

    def reached(step: Progress) -> None:
        if step.phase is phase and (phase is not LaunchPhase.INSTALL or step.text):
            print("there", flush=True)
            if phase in (LaunchPhase.PULL, LaunchPhase.CONVERT):
                time.sleep(600)

    shelf = Shelf(home / "kits")
    forever = capability("lifecycle@1", {"install": [{"command": "sleep 600"}]})
    shelf.add("kits.test/base:1.0.0", "workload", floor(), forever, user="agent", env=("PATH=/bin",))
    backend = QemuBackend(home, home / "cache", probe=emulated)
    await backend.create(shelf.approved(), LaunchOptions("box", memory=256), shelf, reached)


asyncio.run(main(Path(sys.argv[1]), LaunchPhase(sys.argv[2])))
