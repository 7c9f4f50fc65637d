"""The sandbox's figures, each beside a yardstick in one run: ``python -m benchmarks.launch [BOOT LAYERS TUNNEL IDLE]``.

Boot: from a set to its first finished command, layers converted already, beside the bare boot of the same kernel, init
and layers on the same QEMU to the init's ready line. Layers: converting one layer beside ``tar2sqfs`` alone on the same
bytes. Tunnel: 200 MB through the proxy and back beside an echo peer on loopback, and through the machine. Idle: what a
sandbox costs while nobody uses it. Everything runs under software emulation unless the settings of this computer allow
more; the ratios are what counts.
"""

from __future__ import annotations

import asyncio
import io
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kitstudio.runtime import state
from kitstudio.runtime.backend import ImageLayer, LaunchPhase
from kitstudio.runtime.guest.image import find_guest_image
from kitstudio.runtime.hosts import Address, read_pattern
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.layers import LayerCache
from kitstudio.runtime.policy import EgressPolicy, Phase, Rule
from kitstudio.runtime.proxy.log import DecisionLog
from kitstudio.runtime.proxy.server import Proxy
from kitstudio.runtime.qemu.disk import create_disk
from kitstudio.runtime.qemu.keys import create_keys
from kitstudio.runtime.qemu.machine import Machine
from kitstudio.runtime.qemu.spec import MachineSpec
from tests.runtime.bench import Bench, bench
from tests.runtime.runtime_sets import capability

ROUNDS = 3
BYTES = 200 << 20
THROUGH_MACHINE = 8 << 20
SETTLING_SECONDS, IDLE_SECONDS = 30.0, 20.0
PIECE = 1 << 18


def main() -> None:
    """Print what was asked for, all of it where nothing was."""
    wanted = {word.lower() for word in sys.argv[1:]} or {"boot", "layers", "tunnel", "idle"}
    if sys.argv[1:2] == ["--echo"]:
        asyncio.run(_serve_echo())
        return
    if sys.argv[1:2] == ["--proxy"]:
        asyncio.run(_serve_proxy(int(sys.argv[2])))
        return
    if "boot" in wanted or "idle" in wanted:
        asyncio.run(_machines(wanted))
    if "layers" in wanted:
        asyncio.run(_layers())
    if "tunnel" in wanted:
        asyncio.run(_tunnel())
    print("paused template: there is none, every start is a boot")


async def _machines(wanted: set[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="kitstudio-launch-") as home:
        async with bench(Path(home)) as b:
            b.kits(capability("network-policy@1", {"runtime": {"allow": [f"run.test:{b.port}"]}}))
            await b.create()
            if "idle" in wanted:
                await _idle(b)
            await b.backend.remove("box")
            if "boot" in wanted:
                await _boots(b)


async def _boots(b: Bench) -> None:
    bare, create, again = [], [], []
    for _ in range(ROUNDS):
        fetched, layers = len(b.shelf.fetched), _layer_files(b)
        b.steps.clear()
        began = time.perf_counter()
        await b.create()
        await b.sh("true")
        create.append(time.perf_counter() - began)
        plan = state.read_json(LaunchPlan, b.home / "sandboxes" / "box" / "launch.json")
        await b.backend.stop("box")
        fetched = len(b.shelf.fetched)
        b.steps.clear()
        began = time.perf_counter()
        await b.backend.start("box", b.steps.append)
        await b.sh("true")
        again.append(time.perf_counter() - began)
        work = {step.phase for step in b.steps} & {LaunchPhase.PULL, LaunchPhase.CONVERT, LaunchPhase.COMPOSE}
        assert not work and len(b.shelf.fetched) == fetched and _layer_files(b) == layers, "a relaunch did layer work"
        await b.backend.remove("box")
        bare.append(await _bare(b.home / "bare", plan))
    yard, made, started = (statistics.median(each) for each in (bare, create, again))
    print(f"bare boot {yard:.2f} s; warm launch {made:.2f} s: {made / yard:.2f} times (aim: at most 1.3)")
    print(f"relaunch {started:.2f} s: {started / yard:.2f} times; no layer was fetched, converted or composed")


def _layer_files(b: Bench) -> dict[str, int]:
    places = [path for path in (b.backend._layers.folder).glob("*") if path.suffix in (".sqfs", ".inventory")]
    return {path.name: path.stat().st_mtime_ns for path in places}


async def _bare(place: Path, plan: LaunchPlan) -> float:
    """Seconds from QEMU's start to the init's ready line."""
    place.mkdir()
    await create_disk(place / "upper.ext4", 8192)
    spec = MachineSpec(
        folder=place / "machine",
        guest=find_guest_image(),
        layers=plan.layers,
        upper=place / "upper.ext4",
        memory_mib=plan.memory,
        cpus=plan.cpus,
        accel=plan.accel,
        keys=create_keys(),
    )
    machine = Machine()
    began = time.perf_counter()
    await machine.start(spec)
    try:
        while b"kit: ready" not in machine.console.read_bytes():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return time.perf_counter() - began
    finally:
        await machine.kill()
        shutil.rmtree(place)


async def _idle(b: Bench) -> None:
    record = b.record()
    pids = [process.pid for process in (record.supervisor, record.machine) if process]
    await asyncio.sleep(SETTLING_SECONDS)
    before = [_processor(pid) for pid in pids]
    await asyncio.sleep(IDLE_SECONDS)
    supervisor, machine = (
        (_processor(pid) - earlier) / IDLE_SECONDS for pid, earlier in zip(pids, before, strict=True)
    )
    sizes = [state.resident_memory(process) for process in (record.supervisor, record.machine)]
    print(f"idle sandbox: {100 * (supervisor + machine):.2f} % of a processor (aim: below 1), ", end="")
    print(f"{100 * supervisor:.2f} the supervisor's, {100 * machine:.2f} QEMU's")
    print(f"memory of an idle sandbox of 256 MiB: {sizes[1]} MiB QEMU, {sizes[0]} MiB supervisor")


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _layers() -> None:
    with tempfile.TemporaryDirectory(prefix="kitstudio-layers-") as place:
        folder = Path(place)
        blob = folder / "layer.tar"
        _write_layer(blob)
        ours, alone = [], []
        for number in range(3):
            digest = f"sha256:{number:064x}"
            began = time.perf_counter()
            await LayerCache(folder / "cache").ensure(ImageLayer(digest, blob.stat().st_size, ""), blob, ())
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            command = ["tar2sqfs", "-q", "-s", "-f", "-c", "zstd", "-X", "level=3", "-j", "2", str(folder / "alone")]
            with blob.open("rb") as source:
                await asyncio.to_thread(subprocess.run, command, stdin=source, stdout=subprocess.DEVNULL, check=True)
            alone.append(time.perf_counter() - began)
        megabytes = blob.stat().st_size / 1e6
        mine, theirs = statistics.median(ours), statistics.median(alone)
        print(
            f"layer of {megabytes:.0f} MB: {megabytes / mine:.0f} MB/s, tar2sqfs alone {megabytes / theirs:.0f} MB/s: ",
            end="",
        )
        print(f"{theirs / mine:.2f} (aim: at least 0.5)")


def _write_layer(path: Path) -> None:
    """What a distribution's layer is like: thousands of small files, some large ones, half of it incompressible."""
    chance = random.Random(1)
    words = [chance.randbytes(6).hex().encode() for _ in range(4000)]
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(6000):
            size = 2_000_000 if number % 200 == 0 else chance.randrange(200, 40_000)
            content = chance.randbytes(size) if number % 2 else b" ".join(chance.choices(words, k=size // 13 + 1))
            info = tarfile.TarInfo(f"usr/share/part{number % 97}/file{number}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


async def _tunnel() -> None:
    async with _process("--echo") as echo, _process("--proxy", str(echo)) as proxy:
        direct, through = [], []
        for _ in range(3):
            direct.append(await _echoed(echo, b""))
            through.append(await _echoed(proxy, b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"))
        peer, tunnel = BYTES / statistics.median(direct) / 1e6, BYTES / statistics.median(through) / 1e6
        print(f"tunnel {tunnel:.0f} MB/s, echo peer {peer:.0f} MB/s: {tunnel / peer:.2f} (aim: at least 0.5)")
    with tempfile.TemporaryDirectory(prefix="kitstudio-tunnel-") as home:
        async with bench(Path(home)) as b:

            async def give(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await reader.readline()
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {THROUGH_MACHINE}\r\nConnection: close\r\n\r\n"
                writer.write(head.encode() + bytes(THROUGH_MACHINE))
                await writer.drain()
                writer.close()

            async with await asyncio.start_server(give, "127.0.0.1", 0) as server:
                port = server.sockets[0].getsockname()[1]
                b.kits(capability("network-policy@1", {"runtime": {"allow": [f"run.test:{port}"]}}))
                await b.create()
                began = time.perf_counter()
                await b.sh(f"wget -q -O /dev/null http://run.test:{port}/")
                print(f"through the machine {THROUGH_MACHINE / (time.perf_counter() - began) / 1e6:.1f} MB/s")


async def _echoed(port: int, hello: bytes) -> float:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=PIECE)
    if hello:
        writer.write(hello)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    piece = bytes(PIECE)
    began = time.perf_counter()

    async def send() -> None:
        for _ in range(BYTES // PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()

    sending, got = asyncio.ensure_future(send()), 0
    while data := await reader.read(PIECE):
        got += len(data)
    await sending
    assert got == BYTES, got
    writer.close()
    return time.perf_counter() - began


@asynccontextmanager
async def _process(*arguments: str) -> AsyncIterator[int]:
    """A server of this module; gives its port."""
    command = (sys.executable, "-m", "benchmarks.launch", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout
    try:
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


async def _serve_echo() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(PIECE):
            writer.write(data)
            await writer.drain()
        writer.write_eof()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, limit=PIECE)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _serve_proxy(port: int) -> None:
    async def found(name: str) -> tuple[Address, ...]:
        return (read_pattern("93.184.216.34").address or (),)  # type: ignore[return-value]

    async def connected(address: Address, _: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port, limit=PIECE)

    policy = EgressPolicy((Rule(Phase.RUNTIME, False, read_pattern("a.test")),))
    proxy = Proxy(policy, DecisionLog(), resolver=found, connector=connected)
    await proxy.switch(Phase.RUNTIME)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=PIECE)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    main()
