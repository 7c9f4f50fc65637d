"""volume@1, host-mount@1, port@1, long-running@1 and privileged@1 from inside real sandboxes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from kitstudio.runtime.backend import SandboxError, State
from tests.runtime.bench import bench, vm
from tests.runtime.busybox_kits import FOLDER, Entry
from tests.runtime.runtime_sets import capability

pytestmark = vm

EVERYTHING = ("dd", "df", "mount", "umount", "mknod", "find", "hostname", "unshare")


def with_tools() -> dict[str, Any]:
    """More of busybox, for looking at mounts."""
    return {f"bin/{name}": Entry(link="busybox") for name in EVERYTHING}


def volume(path: str, **more: Any) -> Any:
    return capability("volume@1", {"path": path, **more})


async def test_volumes_keep_what_they_must_and_nothing_else(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(
            volume("/data", size="48m", mode="0750"),
            volume("/data/inner/"),
            volume("/scratch", tmpfs=True, size="1m", mode="1777"),
            capability(
                "lifecycle@1",
                {
                    "install": [{"command": "id -u > /data/hook; ls -A /opt/seen > /data/was-empty", "user": "agent"}],
                    "startup": [{"command": ["sh", "-c", "mount | grep -c scratch > /scratch/mounted"]}],
                },
            ),
            mixin=(volume("/data", size="49152k", mode="750"), volume("/opt/seen")),
            files=with_tools() | {"opt/seen": FOLDER, "opt/seen/file": Entry(b"image\n")},
        )
        await b.create()
        # Mounted before the first hook, empty, owned by the agent, with the mode.
        assert await b.sh("cat /data/hook /data/was-empty /scratch/mounted") == "1000\n1\n"
        assert await b.sh("stat -c '%u:%g %a' /data /data/inner /scratch") == (
            "1000:1000 750\n1000:1000 755\n1000:1000 1777\n"
        )
        assert await b.sh("ls -A /data/inner /opt/seen") == "/data/inner:\n\n/opt/seen:\n"
        # The size is a limit: of the disk, and of the memory.
        assert "No space" in await b.sh("dd if=/dev/zero of=/data/big bs=1M count=60 2>&1; rm -f /data/big")
        assert "No space" in await b.sh("dd if=/dev/zero of=/scratch/big bs=64k count=60 2>&1; rm -f /scratch/big")
        assert await b.sh("grep -c ' /scratch tmpfs ' /proc/mounts") == "1\n"
        assert await b.sh("grep -c ' /data ext4 ' /proc/mounts") == "1\n"

        await b.sh("echo kept > /data/note; chmod 700 /data; echo deep > /data/inner/note; echo gone > /scratch/note")
        await b.sh("echo gone > /work/note; sync")
        await b.backend.stop("box")
        await b.backend.start("box", b.steps.append)
        assert await b.sh("cat /data/note /data/inner/note /work/note") == "kept\ndeep\ngone\n"
        assert "No such" in await b.sh("cat /scratch/note")
        assert await b.sh("stat -c %a /data") == "700\n"

        await b.backend.recreate("box", b.shelf.approved(), b.shelf, b.steps.append)
        assert await b.sh("cat /data/note /data/inner/note; stat -c %a /data") == "kept\ndeep\n700\n"
        assert "No such" in await b.sh("cat /work/note")

        # Another sandbox of the same set has storage of its own; removal deletes, and the name begins anew.
        await b.create("other")
        assert "No such" in await b.sh("cat /data/note", "other")
        await b.backend.remove("box")
        assert not (tmp_path / "sandboxes" / "box").exists()
        await b.create("box")
        assert "No such" in await b.sh("cat /data/note")


async def test_kept_storage_that_is_asked_for_otherwise_refuses_the_recreation_before_anything(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(volume("/data", size="16m"), files=with_tools())
        await b.create()
        await b.sh("echo kept > /data/note; echo layer > /work/note; sync")
        record = tmp_path / "sandboxes" / "box" / "volumes.json"
        was = record.read_text()
        gone = {"path": "/gone", "size": "", "tmpfs": False, "mode": ""}
        record.write_text(json.dumps([{**json.loads(was)[0], "size": "32m"}, gone]))
        with pytest.raises(SandboxError, match="was made as disk, 32m"):
            await b.backend.recreate("box", b.shelf.approved(), b.shelf, b.steps.append)
        assert (await b.backend.status("box")).state is State.RUNNING
        assert await b.sh("cat /data/note /work/note") == "kept\nlayer\n"
        # A path that is not selected any more stays kept; an equal spelling fits.
        record.write_text(json.dumps([{**json.loads(was)[0], "size": "16384k"}, gone]))
        await b.backend.recreate("box", b.shelf.approved(), b.shelf, b.steps.append)
        assert await b.sh("cat /data/note") == "kept\n"
        assert {each["path"] for each in json.loads(record.read_text())} == {"/data", "/gone"}
        # A disk that has gone is never made anew in silence.
        await b.backend.stop("box")
        disk = next((tmp_path / "sandboxes" / "box" / "volumes").iterdir())
        disk.rename(disk.with_suffix(".away"))
        with pytest.raises(SandboxError, match="/data is not there any more"):
            await b.backend.start("box", b.steps.append)
        disk.with_suffix(".away").rename(disk)
        await b.backend.start("box", b.steps.append)
        assert await b.sh("cat /data/note") == "kept\n"


async def test_shared_folders_belong_to_a_kit_and_outlive_sandboxes_row_88(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        mount = capability("host-mount@1", {"path": "/shared", "mode": "0770"})
        b.kits(capability("host-mount@1", {"path": "/models"}), mixin=(mount,), files=with_tools())
        await b.create()
        await b.create("other")
        assert await b.sh("stat -c '%u %a' /shared /models") == "1000 770\n1000 755\n"
        # Both read and write at once; the two paths are two folders; the host sees it.
        await b.sh("echo one > /shared/one")
        assert await b.sh("cat /shared/one; echo two > /shared/two; ls /models", "other") == "one\n"
        assert await b.sh("cat /shared/two") == "two\n"
        found = {each.path: each for each in await b.backend.mounts()}
        assert found["/shared"].owner == "kits.test/tool" and found["/models"].owner == "kits.test/base"
        folder = Path(found["/shared"].folder)
        assert (folder / "one").read_text() == "one\n"
        assert (folder / "one").stat().st_uid == os.getuid()
        assert found["/shared"].running == ("box", "other") and found["/shared"].files == 2
        assert folder.parent.stat().st_mode & 0o077 == 0
        # What the host writes arrives; nothing above the folder is reachable, nor through a link out of it.
        (folder / "host").write_text("host\n")
        (tmp_path / "secret").write_text("secret\n")
        (folder / "way-out").symlink_to(tmp_path / "secret")
        assert await b.sh("cat /shared/host; ls /shared/..; cat /shared/way-out 2>&1") != ""
        assert "secret\n" not in await b.sh("cat /shared/way-out /shared/../secret 2>&1")
        with pytest.raises(SandboxError, match="in use by box, other"):
            await b.backend.remove_mount(found["/shared"].id)

        # Reboot and recreate: listed, present, writable; the mode is not applied again.
        folder.chmod(0o700)
        await b.backend.stop("box")
        await b.backend.start("box", b.steps.append)
        assert await b.sh("cat /shared/one; stat -c %a /shared; echo more > /shared/three") == "one\n700\n"
        await b.backend.recreate("box", b.shelf.approved(), b.shelf, b.steps.append)
        assert await b.sh("cat /shared/three") == "more\n"

        # The last sandbox gone, the folder stays until it is deleted; then it begins anew.
        await b.backend.remove("box")
        await b.backend.remove("other")
        assert (folder / "three").read_text() == "more\n"
        kept = {each.path: each for each in await b.backend.mounts()}
        assert kept["/shared"].sandboxes == ()
        await b.backend.remove_mount(kept["/shared"].id)
        assert not folder.parent.exists()
        await b.create()
        assert await b.sh("ls -A /shared") == ""


async def test_shared_folder_that_cannot_be_used_fails_the_launch_by_name_row_88(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(capability("host-mount@1", {"path": "/shared"}))
        await b.create()
        await b.backend.stop("box")
        folder = Path((await b.backend.mounts())[0].folder)
        folder.rename(folder.with_name("elsewhere"))
        folder.write_text("not a folder")
        with pytest.raises(SandboxError, match="The shared folder for /shared cannot be used"):
            await b.backend.start("box", b.steps.append)
        folder.unlink()
        folder.with_name("elsewhere").rename(folder)
        await b.backend.start("box", b.steps.append)


async def asked(port: int) -> bytes:
    """What answers on a port of this computer; empty where the connection is closed at once."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()


async def answered(port: int) -> bytes:
    """The first answer there is: the service of these tests takes one connection after another."""
    async with asyncio.timeout(60):
        while not (answer := await asked(port)):  # noqa: ASYNC110 - a program in a guest tells nobody when it listens
            await asyncio.sleep(0.1)
    return answer


SERVE = "nc -ll -p {1} -e {0}"


async def test_ports_are_published_on_the_loopback_where_asked_row_82_row_83_row_85(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        serve = [
            {"command": SERVE.format("hostname", 6379), "background": True},
            {"command": SERVE.format("id", 6380), "background": True},
        ]
        b.kits(
            capability("port@1", {"container": 6379, "name": "cache"}),
            capability("lifecycle@1", {"install": [], "startup": serve}),
            mixin=(
                capability("port@1", {"container": 6379, "transport": "tcp"}),
                capability("port@1", {"container": 53, "transport": "udp"}, optional=True),
            ),
            files=with_tools(),
        )
        status = await b.create("a.b")
        assert "port@1 53/udp: datagrams are not published" in " ".join(status.skipped)
        (published,) = await b.backend.ports("a.b")
        assert (published.container, published.name, published.host) == ("6379/tcp", "cache", "127.0.0.1")
        assert (await b.backend.status("a.b")).ports == (f"127.0.0.1:{published.host_port}->6379/tcp",)
        assert await answered(published.host_port) == b"a-b\n"
        # Two guests on one loopback port see only themselves, and this computer's loopback has neither.
        await b.create("two")
        (other,) = await b.backend.ports("two")
        assert await answered(other.host_port) == b"two\n"
        assert await b.sh("nc -w 5 127.0.0.1 6379", "two") == "two\n"
        for port in (6379, 6380):
            with pytest.raises(ConnectionRefusedError):
                await asked(port)
        # Only on the loopback.
        listening = Path("/proc/net/tcp").read_text()
        assert f"0100007F:{published.host_port:04X}" in listening
        assert f"00000000:{published.host_port:04X}" not in listening

        # It comes back where it was; one that was deleted leaves nothing behind.
        await b.backend.stop("a.b")
        assert (await b.backend.status("a.b")).ports == ()
        with pytest.raises(ConnectionRefusedError):
            await asked(published.host_port)
        await b.backend.start("a.b", b.steps.append)
        assert (await b.backend.ports("a.b"))[0].host_port == published.host_port

        # A port that a person chose: moved at once; taken by somebody else, it is refused by name and stays.
        with pytest.raises(SandboxError, match=f"Port {other.host_port} of this computer"):
            await b.backend.set_port("a.b", "6379/tcp", other.host_port)
        assert await answered(published.host_port) == b"a-b\n"
        free = _free_port()
        (moved,) = await b.backend.set_port("a.b", "6379/tcp", free)
        assert (moved.host_port, moved.fixed) == (free, free)
        assert await answered(free) == b"a-b\n"
        with pytest.raises(ConnectionRefusedError):
            await asked(published.host_port)
        with pytest.raises(SandboxError, match="publishes no port 80/tcp"):
            await b.backend.set_port("a.b", "80/tcp", 0)
        await b.backend.stop("a.b")
        async with await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", free):
            with pytest.raises(SandboxError, match=f"Port {free} of this computer, where 6379/tcp"):
                await b.backend.start("a.b", b.steps.append)
        await b.backend.remove("a.b")
        await b.create("a.b")
        assert (await b.backend.ports("a.b"))[0].fixed == 0


async def test_sandbox_without_a_session_is_stopped_and_says_why_row_95(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits()
        await b.create(idle=2.0)
        async with asyncio.timeout(60):
            while (await b.backend.status("box")).state is not State.STOPPED:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.2)
        status = await b.backend.status("box")
        assert (status.note, status.idle_stop) == ("Stopped after 1 minute without a session.", 0.0)
        assert (await b.backend.start("box", b.steps.append)).note == ""


async def test_long_running_set_is_never_stopped_by_itself_row_95(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(mixin=(capability("long-running@1"),))
        status = await b.create(idle=1.0)
        assert status.idle_stop == 0
        assert (await b.backend.status("box")).state is State.RUNNING
        await b.backend.stop("box")
        assert (await b.backend.status("box")).state is State.STOPPED


async def test_privilege_is_the_whole_sandboxs_and_its_neighbour_has_none(tmp_path: Path) -> None:
    tries = (
        "mount -t tmpfs none /tmp 2>/dev/null && echo mounts",
        "mknod /work/disk b 254 0 2>/dev/null && echo devices",
        "ls /dev | grep -q '^vd' && echo disks",
        "hostname other 2>/dev/null && echo names",
        "mkdir /sys/fs/cgroup/mine 2>/dev/null && echo groups",
        "true",
    )
    async with bench(tmp_path) as b:
        b.kits(mixin=(capability("privileged@1"),), files=with_tools())
        await b.create()
        assert await b.sh("; ".join(tries), user="root") == "mounts\ndevices\ndisks\nnames\ngroups\n"
        terminal = await b.backend.terminal("box", ["sh", "-c", "tty 2>/dev/null; echo ok"], columns=80, rows=24)
        seen = b""
        while data := await asyncio.wait_for(terminal.read(), 20):
            seen += data
        assert b"ok" in seen
        # The machine's edge is the same: no other way out, no right for the agent.
        assert "hello" not in await b.sh(f"wget -q -O - http://run.test:{b.port}/", user="root")
        assert await b.sh("; ".join(tries)) == "disks\n"
        await b.backend.remove("box")
        b.kits(files=with_tools())
        await b.create()
        assert await b.sh("; ".join(tries), user="root") == ""
        assert await b.sh(
            "touch /work/f; chown 5 /work/f; chmod 600 /work/f; cat /work/f && echo root", user="root"
        ) == ("root\n")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
