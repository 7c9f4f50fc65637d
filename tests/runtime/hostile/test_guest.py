"""Root inside a real sandbox, with every right its kernel gives, against the host. One machine serves all attacks.

The tests run in order, from the quiet attacks to those that wreck the guest; after each the host says what happened and
the sandbox's own grants still work.
"""

import asyncio
import hashlib
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kitstudio.runtime import qemu_backend, sessions, state
from kitstudio.runtime.backend import SandboxError, State
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.state import SandboxFolder
from tests.runtime.bench import Bench, Entry, bench, processes_of, vm
from tests.runtime.hostile.tripwire import Tripwire, own_address, tripwire
from tests.runtime.runtime_sets import capability

pytestmark = [*vm, pytest.mark.asyncio(loop_scope="module")]

TOOLS = "mount umount ip dd ps killall seq yes tail wc printf nsenter pidof mkdir"
RELAY = "ps | while read pid user rest; do [ $user = 65533 ] && echo $pid; done"


class Attacked:
    """The sandbox under attack, with a trap on the host."""

    def __init__(self, made: Bench, trap: Tripwire) -> None:
        self.bench = made
        self.trap = trap

    async def root(self, script: str, patience: float = 60) -> str:
        """What a script of the guest's root prints."""
        result = await self.bench.backend.execute("box", ["sh", "-c", script], user="root", timeout=patience)
        return (result.stdout + result.stderr).decode(errors="replace")

    async def proxy(self, request: str) -> str:
        """What the proxy answers to raw bytes on its port in the guest."""
        return await self.root(f"printf '{request}' | nc 127.0.0.1 3128")

    async def refusals(self) -> dict[str, str]:
        return {d.host: d.reason for d in await self.bench.backend.decisions("box") if d.verdict == "refused"}

    async def still_well(self) -> None:
        """The grant of the set works, nothing else was reached, and the host says the sandbox runs."""
        port = self.bench.port
        ask = (
            f"printf 'GET http://run.test:{port}/ HTTP/1.1\\r\\nHost: run.test:{port}\\r\\n\\r\\n' | nc 127.0.0.1 3128"
        )
        assert "hello" in await self.root(ask)
        assert self.trap.hits == []
        assert (await self.bench.backend.status("box")).state is State.RUNNING


def probe(folder: Path) -> bytes:
    out = folder / "probe"
    headers = ("-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu")
    source = Path(__file__).with_name("hostile_probe.c")
    subprocess.run(["musl-gcc", "-D_GNU_SOURCE", "-static", "-Os", *headers, "-o", out, source], check=True)
    return out.read_bytes()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Attacked]:
    home = tmp_path_factory.mktemp("hostile")
    files = {f"bin/{name}": Entry(link="busybox") for name in TOOLS.split()}
    files["bin/probe"] = Entry(probe(home), 0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(qemu_backend, "UPPER_MIB", 96)
        async with tripwire() as trap, bench(home) as b:
            b.kits(
                capability("privileged@1", {}),
                capability(
                    "network-policy@1", {"runtime": {"allow": [f"run.test:{b.port}", "**"], "deny": ["denied.test"]}}
                ),
                files=files,
            )
            await b.create()
            yield Attacked(b, trap)


async def test_nothing_of_the_host_or_its_networks_is_reached(box: Attacked) -> None:
    own, port = own_address(), box.trap.port
    targets = ["127.0.0.1", own, "10.0.2.2", "169.254.169.254", "172.17.0.1", "192.168.0.1", "100.100.100.200"]
    await box.root("".join(f"nc -w 2 {target} {port} </dev/null;" for target in targets))
    await box.root(f"nc -w 2 ::1 {port} </dev/null; nc -w 2 ::ffff:{own} {port} </dev/null; nslookup x.test {own}")
    refused = await box.refusals()
    assert "link-local or metadata" in refused["169.254.169.254"]
    assert "private address" in refused["10.0.2.2"]
    await box.still_well()


async def test_no_way_of_writing_an_address_passes_the_proxy(box: Attacked) -> None:
    port, own = box.trap.port, own_address()
    forms = ["127.0.0.1", "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "0", "0.0.0.0", "[::]", "[::1]", own]
    forms += ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]"]
    forms += ["localhost", "LOCALHOST.", "localhost.localdomain", "127.0.0.1.", "host.docker.internal", "a@127.0.0.1"]
    for form in forms:
        answer = await box.proxy(f"CONNECT {form}:{port} HTTP/1.1\\r\\nHost: {form}:{port}\\r\\n\\r\\n")
        assert answer[9:12] in ("400", "403", "502"), (form, answer)
    await box.still_well()


async def test_a_refusal_looks_the_same_by_every_way_row_56(box: Attacked) -> None:
    port = box.bench.port
    for way in (
        f"wget -q -O - http://denied.test:{port}/",
        f"env -u http_proxy wget -q -O - http://denied.test:{port}/",
        f"nc -w 5 denied.test {port} </dev/null",
    ):
        before = len(await box.bench.backend.decisions("box"))
        await box.root(way)
        (row,) = (await box.bench.backend.decisions("box"))[before:]
        assert (row.verdict, row.host, row.port, row.reason) == (
            "refused",
            "denied.test",
            port,
            "denied by denied.test",
        )
        assert row.path.endswith(".deny[0]"), row
    await box.still_well()


async def test_what_two_parsers_might_read_differently_is_refused(box: Attacked) -> None:
    port = box.bench.port
    asked = len(box.bench.asked)
    head = f"POST http://run.test:{port}/ HTTP/1.1\\r\\nHost: run.test:{port}\\r\\n"
    smuggled = f"GET /admin HTTP/1.1\\r\\nHost: run.test:{port}\\r\\n\\r\\n"
    for lengths in (
        "Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n",
        "Transfer-Encoding: chunked\\r\\nContent-Length: 4\\r\\n",
        "Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity\\r\\n",
        "Content-Length: 0\\r\\nContent-Length: 40\\r\\n",
        "Transfer-Encoding : chunked\\r\\n",
    ):
        answer = await box.proxy(f"{head}{lengths}\\r\\n0\\r\\n\\r\\n{smuggled}")
        assert answer[9:12] in ("400", "501"), answer
    assert (await box.proxy(head.replace("Host: run.test", "Host: other.test") + "\\r\\n")).startswith("HTTP/1.1 400")
    assert len(box.bench.asked) == asked
    await box.still_well()


async def test_the_redirect_may_go_and_the_network_be_set_up_anew(box: Attacked) -> None:
    own, port = own_address(), box.trap.port
    assert await box.root("probe flush") == "flushed 0\n"
    relay = await box.root(RELAY)
    await box.root(
        f"kill -9 {relay.strip()};"
        "ip addr add 10.0.2.15/24 dev dummy0; ip addr add 127.0.0.2/8 dev dummy0; ip route add 192.0.2.0/24 dev dummy0;"
        f"nc -w 1 {own} {port} </dev/null; nc -w 1 10.0.2.2 {port} </dev/null; nc -w 1 169.254.169.254 80 </dev/null"
    )
    assert relay and await box.root(RELAY) != relay
    await box.still_well()


async def test_what_was_approved_is_read_only_to_its_last_byte(box: Attacked) -> None:
    plan = state.read_json(LaunchPlan, SandboxFolder(box.bench.home / "sandboxes" / "box").launch)
    before = [hashlib.sha256(path.read_bytes()).hexdigest() for path in plan.layers]
    disks = " ".join(f"/dev/vd{chr(ord('a') + number)}" for number in range(len(plan.layers)))
    said = await box.root(
        f"for d in {disks}; do dd if=/dev/zero of=$d bs=512 count=1 conv=fsync; echo status $?; done;"
        f"mount -o remount,rw /; mkdir -p /tmp/m; mount -o rw {disks.split()[0]} /tmp/m && touch /tmp/m/x; sync"
    )
    assert said.count("status 1") == len(plan.layers), said
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in plan.layers] == before
    await box.still_well()


async def test_a_flood_of_connections_is_bounded_and_answered(box: Attacked) -> None:
    flooding = asyncio.create_task(box.root("probe flood 600"))
    assert await box.root("echo alive") == "alive\n"
    opened, refused = (int(word) for word in (await flooding).split()[1::2])
    assert opened == 600 and 0 < refused <= 600 - 256
    await box.still_well()


async def test_a_flood_of_text_reaches_no_memory_and_no_terminal_of_the_host(
    box: Attacked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_OUTPUT_LIMIT", 1 << 20)
    sizes = {True: 0, False: 0}

    def count(error: bool, data: bytes) -> None:
        sizes[error] += len(data)

    much = ["sh", "-c", "yes | head -c 2500000; echo done >&2"]
    result = await box.bench.backend.execute("box", much, timeout=120, on_output=count)
    assert (result.status, sizes) == (0, {True: 5, False: 2_500_000})
    with pytest.raises(SandboxError, match="more than 1 MiB"):
        await box.bench.backend.execute("box", ["yes"], timeout=120)
    terminal = await box.bench.backend.terminal("box", ["yes"], columns=80, rows=24)
    try:
        assert len(await asyncio.wait_for(terminal.read(), 20)) > 0
        await box.root(r"yes $(printf '\033]52;c;YQ==\007\033[6n\033]0;t\007') | head -c 280000 > /dev/ttyS0")
        await box.still_well()
    finally:
        await terminal.close()
    console = box.bench.home / "sandboxes" / "box" / "machine" / "console.log"
    assert console.stat().st_size <= 256 << 10
    log = await box.bench.backend.log("box")
    assert "]52;c" in log and not set(log) & {"\x1b", "\x07", "\x9b"}


async def test_a_full_disk_and_full_memory_are_the_guests_own_trouble(box: Attacked) -> None:
    said = await box.root("dd if=/dev/zero of=/fill bs=1048576; echo status $?; rm /fill; sync", patience=120)
    assert "No space left" in said and "status 1" in said
    assert "137" in await box.root("probe eat; echo $?", patience=120)
    await box.still_well()


async def test_a_fork_bomb_leaves_the_sandbox_one_that_can_be_stopped_and_started(box: Attacked) -> None:
    await box.root("(b() { b | b & }; b) >/dev/null 2>&1 &")
    try:
        said = await box.root("echo alive", patience=20)
    except SandboxError as error:
        said = str(error)
    assert said
    assert (await box.bench.backend.status("box")).state is State.RUNNING
    await box.bench.backend.stop("box")
    assert (await box.bench.backend.status("box")).state is State.STOPPED
    assert processes_of(box.bench.home) == []
    await box.bench.backend.start("box", box.bench.steps.append)
    await box.still_well()


async def test_a_guest_that_refuses_to_stop_is_stopped(box: Attacked) -> None:
    stopping = asyncio.create_task(box.root("kill -STOP $(pidof dropbear)"))
    async with asyncio.timeout(60):
        await asyncio.wait({stopping}, timeout=3)
        await box.bench.backend.stop("box")
    await asyncio.gather(stopping, return_exceptions=True)
    assert (await box.bench.backend.status("box")).state is State.STOPPED
    assert processes_of(box.bench.home) == []
