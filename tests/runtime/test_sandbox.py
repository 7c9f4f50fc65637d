"""Whole sandboxes: a busybox workload and a mixin in a real machine, from create to remove."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitstudio.models.descriptor import Capability, JsonValue
from kitstudio.runtime.backend import LaunchPhase, SandboxError, State
from kitstudio.runtime.qemu_backend import QemuBackend
from tests.runtime.bench import BASE, MIXIN, Bench, bench, emulated, processes_of, vm
from tests.runtime.runtime_sets import capability

pytestmark = vm


def hooks(
    install: list[JsonValue] | None = None, startup: list[JsonValue] | None = None, **more: JsonValue
) -> Capability:
    return capability("lifecycle@1", {"install": install or [], "startup": startup or [], **more})


async def test_a_sandbox_from_create_to_remove_row_58(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        fetch = f"wget -q -O - http://pkgs.test:{b.port}/from-hook"
        b.kits(
            capability("sbx@1"),
            hooks(
                [{"command": "echo base $(id -u) $COLOUR >> /var/order"}],
                [{"command": "echo boot $(id -u) >> /tmp/boots", "env": ["COLOUR"]}],
                interactive=["-c", "echo interactive; id -u; stty size 2>/dev/null || true; cat"],
            ),
            capability("agent-context@1", {"directory": "/home/agent/.a", "filename": "AGENTS.md"}),
            entrypoint=("/bin/sh",),
            cmd=("-c", "echo headless $COLOUR $BASHED"),
            mixin=(
                hooks(
                    [{"command": f"{fetch} >> /var/order"}, {"command": ["sh", "-c", "echo $PATH > /var/path"]}],
                    files=[{"path": "/etc/tool/config", "content": 'a="b"\r\n\u00e9', "mode": "0640"}],
                ),
                capability(
                    "network-policy@1",
                    {"install": {"allow": [f"pkgs.test:{b.port}"]}, "runtime": {"allow": [f"run.test:{b.port}"]}},
                ),
                capability("agent-context@1", {"contentFile": "/usr/share/sandbox/kit/tool/notes.md"}),
            ),
        )
        status = await b.create()
        assert status.state is State.RUNNING and status.accel == "tcg" and status.memory_limit == 256
        assert status.memory > 50 and status.set_name == "demo"
        assert list(dict.fromkeys(step.phase for step in b.steps)) == list(LaunchPhase)

        # Hooks: providers first, root by default, environment scrubbed, install grants open while they ran.
        assert await b.sh("cat /var/order") == "base 0\nhello"
        assert b.asked == ["GET /from-hook HTTP/1.1"]
        assert await b.sh("cat /var/path") == "/bin:/opt\n"
        assert await b.sh("cat /tmp/boots") == "boot 1000\n"
        assert await b.sh("stat -c '%u %a' /etc/tool/config; cat /etc/tool/config") == '1000 640\na="b"\r\n\u00e9'
        runs = await b.backend.hooks("box")
        assert [(r.kit, r.phase, r.index, r.user, r.status) for r in runs] == [
            (BASE, "install", 0, "root", 0),
            (MIXIN, "install", 0, "root", 0),
            (MIXIN, "install", 1, "root", 0),
            (BASE, "startup", 0, "agent", 0),
        ]

        # The agent's view.
        assert await b.sh("id -u; pwd; echo $HOME $COLOUR") == "1000\n/work\n/home/agent red\n"
        assert "/usr/share/sandbox/kit/tool/notes.md" in await b.sh("cat /home/agent/.a/AGENTS.md")
        assert (await b.backend.execute("box", [])).stdout == b"headless red yes\n"
        assert await b.sh("tool") == "tool\n"
        assert await b.sh("cat /proc/1/comm") != "sh\n"

        # Egress: the install grant is closed, the runtime grant works, its neighbours do not, by proxy and by relay.
        for ask in ("wget -q -O -", "env -u http_proxy wget -q -O -"):
            assert await b.sh(f"{ask} http://run.test:{b.port}/") == "hello"
            assert "hello" not in await b.sh(f"{ask} http://pkgs.test:{b.port}/")
            assert "hello" not in await b.sh(f"{ask} http://other.test:{b.port}/")
        raw = f"printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' | nc -w 5 %s {b.port}"
        assert "hello" in await b.sh(raw % "run.test")
        assert "hello" not in await b.sh(raw % "other.test")
        assert "hello" not in await b.sh(raw % "127.0.0.1")
        refused = [d for d in await b.backend.decisions("box") if d.verdict == "refused"]
        assert {(d.phase, d.host) for d in refused} >= {("runtime", "pkgs.test"), ("runtime", "other.test")}
        assert refused[0].reason == f"no entry names pkgs.test:{b.port}"
        allowed = [d for d in await b.backend.decisions("box") if d.verdict == "allowed"]
        assert {(d.kit, d.path) for d in allowed if d.phase == "runtime"} == {
            (MIXIN, "capabilities[1].config.runtime.allow[0]")
        }
        assert (await b.backend.status("box")).refused == len(refused)

        # A terminal runs the interactive launch argv.
        terminal = await b.backend.terminal("box", [], columns=100, rows=30)
        seen = b""
        while b"1000\r\n30 100\r\n" not in seen:
            seen += await asyncio.wait_for(terminal.read(), 20)
        assert seen.startswith(b"interactive")
        await terminal.write(b"ping\n")
        while b"ping\r\nping" not in seen:
            seen += await asyncio.wait_for(terminal.read(), 20)
        await terminal.write(b"\x04")
        while await asyncio.wait_for(terminal.read(), 20):
            pass
        assert await terminal.wait() == 0
        await terminal.close()

        # Stop and start: startup again, install not; the writable layer stays.
        await b.backend.stop("box")
        assert (await b.backend.status("box")).state is State.STOPPED
        assert processes_of(tmp_path) == []
        with pytest.raises(SandboxError, match="not running"):
            await b.sh("true")
        fetched = len(b.shelf.fetched)
        assert (await b.backend.start("box", b.steps.append)).state is State.RUNNING
        assert await b.sh("cat /var/order /tmp/boots") == "base 0\nhelloboot 1000\nboot 1000\n"
        assert len(b.shelf.fetched) == fetched

        # Recreate: a fresh writable layer, install hooks once more.
        await b.sh("echo mine > /tmp/mine")
        await b.backend.recreate("box", b.shelf.approved(), b.shelf, b.steps.append)
        assert await b.sh("cat /var/order /tmp/boots; ls /tmp/mine") == (
            "base 0\nhelloboot 1000\nls: /tmp/mine: No such file or directory\n"
        )
        details = await b.backend.details("box")
        assert "-accel" in details["qemu"] and "network-policy@1" in details["effective"]
        assert "close install grants" in await b.backend.log("box")


async def test_a_failing_install_hook_leaves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(mixin=(hooks([{"command": "echo why; exit 4"}]),))
        with pytest.raises(SandboxError, match=f"install hook 1 of {MIXIN} failed with status 4") as caught:
            await b.create()
        assert "why" in caught.value.what
        assert list((tmp_path / "sandboxes").iterdir()) == []
        assert processes_of(tmp_path) == []


async def test_a_cancelled_launch_leaves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(hooks([{"command": "sleep 1000"}]))
        work = asyncio.create_task(b.create())
        while not any(step.phase is LaunchPhase.INSTALL and step.text for step in b.steps):
            await asyncio.wait({work}, timeout=0.05)
            assert not work.done(), work
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert list((tmp_path / "sandboxes").iterdir()) == []
        assert processes_of(tmp_path) == []


@pytest.mark.parametrize("victim", ["supervisor", "machine"])
async def test_a_killed_process_leaves_a_sandbox_that_can_be_mended_row_92(tmp_path: Path, victim: str) -> None:
    async with bench(tmp_path) as b:
        b.kits()
        await b.create()
        await b.sh("echo kept > /work/kept; sync")
        record = b.record()
        process = record.supervisor if victim == "supervisor" else record.machine
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        status = await until(b, lambda s: s.state is State.BROKEN)
        assert ("supervisor" if victim == "supervisor" else "signal 9") in status.broken
        await all_gone(tmp_path)
        mended = await b.backend.repair("box")
        if mended.state is State.STOPPED:
            mended = await b.backend.start("box", b.steps.append)
        assert mended.state is State.RUNNING
        assert await b.sh("cat /work/kept") == "kept\n"


async def test_a_workspace_is_the_working_directory_row_89(tmp_path: Path) -> None:
    real = tmp_path / ("a long folder " * 15) / "my files, with a comma"
    real.mkdir(parents=True)
    place = tmp_path / "link"
    place.symlink_to(real)
    (place / "from-host").write_text("host\n")
    async with bench(tmp_path) as b:
        b.kits()
        status = await b.create(workspace=place)
        assert Path(status.workspace).resolve() == real
        assert await b.sh("pwd; cat from-host; id -u; echo guest > from-guest") == "/work\nhost\n1000\n"
        assert (place / "from-guest").read_text() == "guest\n"
        assert (place / "from-guest").stat().st_uid == os.getuid()


async def test_the_hosts_own_services_need_their_exact_entry_row_61(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        allow: list[JsonValue] = [f"host.docker.internal:{b.port}"]
        b.kits(capability("network-policy@1", {"runtime": {"allow": allow}}), workdir="/srv/new/place")
        await b.create()
        assert await b.sh("pwd; stat -c %u .; touch x") == "/srv/new/place\n1000\n"
        for ask in ("wget -q -O -", "env -u http_proxy wget -q -O -"):
            assert await b.sh(f"{ask} http://host.docker.internal:{b.port}/") == "hello"
            assert "hello" not in await b.sh(f"{ask} http://host.docker.internal:{b.port + 1}/")
            assert "hello" not in await b.sh(f"{ask} http://10.0.2.2:{b.port}/")
            assert "hello" not in await b.sh(f"{ask} http://localhost:{b.port}/")
        for target in ("127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "LOCALHOST.", "2130706433"):
            ask = f"printf 'CONNECT {target}:{b.port} HTTP/1.1\\r\\nHost: {target}:{b.port}\\r\\n\\r\\n'"
            assert "403" in await b.sh(f"{ask} | nc 127.0.0.1 3128", user="root")
        assert len(b.asked) == 2


async def test_two_sandboxes_share_neither_hosts_nor_ports_in_any_window_row_55_row_85(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        for name, host in (("one", "pkgs.test"), ("two", "run.test")):
            allow: list[JsonValue] = [f"{host}:{b.port}"]
            b.kits(capability("network-policy@1", {"runtime": {"allow": allow}}))
            await b.create(name)
        other = QemuBackend(tmp_path, tmp_path / "cache", probe=emulated)
        assert [(s.name, s.state) for s in await other.list()] == [("one", State.RUNNING), ("two", State.RUNNING)]
        b.backend = other
        for name, mine, theirs in (("one", "pkgs.test", "run.test"), ("two", "run.test", "pkgs.test")):
            assert await b.sh(f"wget -q -O - http://{mine}:{b.port}/", name) == "hello"
            assert "hello" not in await b.sh(f"wget -q -O - http://{theirs}:{b.port}/", name)
            assert {d.host for d in await other.decisions(name)} == {mine, theirs}
        listening = asyncio.create_task(b.sh("echo secret | nc -l -p 6379", "one"))
        assert "secret" not in await b.sh("nc -w 2 127.0.0.1 6379 < /dev/null", "two")
        assert "secret" in await b.sh("while ! nc 127.0.0.1 6379 < /dev/null; do sleep 1; done", "one")
        await listening
        with pytest.raises(SandboxError, match="exists already"):
            await b.create("one")
        await other.stop("one")
        assert (await other.status("two")).state is State.RUNNING
        supervisor = b.record("two").supervisor
        assert supervisor is not None
        os.kill(supervisor.pid, signal.SIGTERM)
        await all_gone(tmp_path)
        assert [s.state for s in await other.list()] == [State.STOPPED, State.STOPPED]


async def test_a_guest_that_crashes_is_said_to_have_and_its_log_is_kept_row_94(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits()
        await b.create()
        crash = asyncio.create_task(b.sh("echo c > /proc/sysrq-trigger", user="root"))
        status = await until(b, lambda s: s.state is State.BROKEN)
        assert "crashed" in status.broken and status.repair == "Start again"
        assert "panic" in await b.backend.log("box")
        await all_gone(tmp_path)
        with pytest.raises(SandboxError):
            await crash
        assert (await b.backend.repair("box")).state is State.RUNNING


@pytest.mark.parametrize("phase", [LaunchPhase.PULL, LaunchPhase.CONVERT, LaunchPhase.BOOT, LaunchPhase.INSTALL])
async def test_a_program_killed_during_create_leaves_nothing_row_91(tmp_path: Path, phase: LaunchPhase) -> None:
    async with bench(tmp_path) as b:
        creator = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runtime.create_and_wait", str(tmp_path), phase.value,
            cwd=Path(__file__).parents[2],
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert creator.stdout is not None
        assert (await asyncio.wait_for(creator.stdout.readline(), 60)).strip() == b"there"
        assert len(await b.backend.list()) == 1
        creator.kill()
        await creator.wait()
        async with asyncio.timeout(30):
            while await b.backend.list() or processes_of(tmp_path):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert list((tmp_path / "sandboxes").iterdir()) == []


async def until(b: Bench, wanted: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(30):
        while True:
            status = await b.backend.status("box")
            if wanted(status):
                return status
            await asyncio.sleep(0.05)


async def all_gone(home: Path) -> None:
    """Until nothing of a home runs any more, a few seconds at most."""
    async with asyncio.timeout(10):
        while processes_of(home):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
