"""Machines from start to end: what is mounted, who owns shared files, and how they end."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.guest.image import GuestImage, find_guest_image
from kitstudio.runtime.qemu.command import check, machine_command
from kitstudio.runtime.qemu.console import ConsoleLog
from kitstudio.runtime.qemu.guest_session import Identity
from kitstudio.runtime.qemu.machine import Machine
from kitstudio.runtime.qemu.spec import Disk, Exit, Share
from tests.runtime.machines import folder, machine_spec, member, running, sh, tar_of

AGENT = Identity(1000, 1000)


@pytest.mark.vm
async def test_layers_shares_and_restart(tmp_path: Path) -> None:
    """One machine, booted twice: whiteouts, opaque folders, root's own mode, shared folders, what survives a stop.

    It lies deeper than the address of a socket is long.
    """
    lower = tar_of(
        *(folder("d"), member("d/old"), folder("keep", mode=0o711, uid=7), member("keep/a")),
        *(member("gone"), folder("q"), member("q/x")),
    )
    upper = tar_of(
        folder("./", mode=0o751),
        member("keep/b"),
        member(".wh.gone"),
        member("d/.wh.old"),
        member("q/y"),
        member("q/.wh..wh..opq"),
        member("link", kind=tarfile.SYMTYPE, linkname="keep/b"),
    )
    work, readonly = tmp_path / "my, work", tmp_path / "ro"
    work.mkdir()
    readonly.mkdir()
    (work / "from-host").write_text("host\n")
    (readonly / "f").write_text("fixed\n")
    shares = (Share(work, "work", False, "/home/agent/work"), Share(readonly, "ro", True, "/mnt/ro"))
    spec = await machine_spec(tmp_path / ("deep" * 40), lower, upper, shares=shares)
    async with running(spec) as (machine, session):
        assert await sh(session, "ls /d /q; ls -d /gone 2>&1 | grep -c No") == "/d:\n\n/q:\ny\n1\n"
        assert await sh(session, "stat -c '%a %u' / /keep; ls /keep") == "751 0\n711 7\na\nb\n"
        await sh(session, "cd /home/agent/work; cat from-host >made; mkdir dir", identity=AGENT)
        assert (
            await sh(session, "stat -c '%u %g' /home/agent/work/made /home/agent/work/from-host") == "1000 1000\n" * 2
        )
        assert (await session.run(["/bin/touch", "/mnt/ro/new"])).status != 0
        made = (work / "made").stat()
        assert (made.st_uid, made.st_gid) == (os.getuid(), os.getgid())
        await sh(session, "echo kept >/kept")
        end = await machine.stop()
        assert (end.kind, end.status) == (Exit.STOPPED, 0)
        assert not machine.running
    async with running(spec) as (_, session):
        assert await sh(session, "cat /kept; rm /kept") == "kept\n"


@pytest.mark.vm
async def test_a_panic_in_the_guest_is_told(tmp_path: Path) -> None:
    async with running(await machine_spec(tmp_path, network=False)) as (machine, session):
        crash = asyncio.create_task(session.run(["/bin/sh", "-c", "echo c > /proc/sysrq-trigger"]))
        end = await asyncio.wait_for(machine.wait(), 20)
        await asyncio.gather(crash, return_exceptions=True)
    assert end.kind is Exit.PANIC
    assert "crashed" in end.text
    assert "Kernel panic" in machine.console.read_text(errors="replace")


@pytest.mark.vm
async def test_killing_the_owner_leaves_no_qemu(tmp_path: Path) -> None:
    script = """
import asyncio, pickle, sys
from pathlib import Path
from kitstudio.runtime.qemu.machine import Machine
from tests.runtime.machines import machine_spec
async def main():
    machine = Machine()
    await machine.start(await machine_spec(Path(sys.argv[1])))
    print(machine.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    root = Path(__file__).resolve().parents[3]
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), cwd=root, stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout
    pid = int(await asyncio.wait_for(owner.stdout.readline(), 60))
    watched = os.pidfd_open(pid)
    owner.send_signal(signal.SIGKILL)
    await owner.wait()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(watched, ended.set)
    await asyncio.wait_for(ended.wait(), 20)
    asyncio.get_running_loop().remove_reader(watched)
    os.close(watched)


@pytest.mark.vm
async def test_a_guest_that_never_answers_is_told_in_time(tmp_path: Path) -> None:
    spec = await machine_spec(tmp_path)
    # a layer that is no squashfs stops the guest; a kernel without our init never speaks
    mute = tmp_path / "mute.cpio"
    mute.write_bytes(b"")
    image = find_guest_image()
    machine = Machine()
    await machine.start(replace(spec, guest=GuestImage(image.kernel, mute, "mute")))
    try:
        with pytest.raises(SandboxError, match=r"did not answer|ended before it was ready"):
            await machine.connect(8)
    finally:
        await machine.kill()
    assert not machine.running


@pytest.mark.vm
async def test_a_broken_layer_is_told_with_the_guests_own_words(tmp_path: Path) -> None:
    spec = await machine_spec(tmp_path)
    broken = tmp_path / "broken.sqfs"
    broken.write_bytes(bytes(1 << 16))
    machine = Machine()
    await machine.start(replace(spec, layers=(broken,)))
    with pytest.raises(SandboxError, match="cannot mount /l/0"):
        await machine.connect(60)
    assert (await machine.wait()).kind is Exit.FAILED


async def test_missing_qemu_is_told_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = await machine_spec(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError) as caught:
        await Machine().start(spec)
    assert "qemu-system-x86" in caught.value.remedy


async def test_qemu_that_refuses_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    spec = replace(await machine_spec(tmp_path), upper=tmp_path / "missing.img")
    machine = Machine()
    with pytest.raises(SandboxError, match=r"missing\.img"):
        await machine.start(spec)
    assert not machine.running
    assert sorted(path.name for path in spec.folder.iterdir()) == ["console.log"]


async def test_specifications_that_cannot_be_passed_on_are_refused(tmp_path: Path) -> None:
    spec = await machine_spec(tmp_path)
    share = Share(tmp_path, "s", False, "/x")
    for bad, words in (
        (replace(spec, layers=()), "no layers"),
        (replace(spec, hostname="a b"), "host name"),
        (replace(spec, shares=(replace(share, guest_path="/a/../b"),)), "place"),
        (replace(spec, shares=(replace(share, guest_path="/a\nlayers 0"),)), "place"),
        (replace(spec, shares=(replace(share, host_path=tmp_path / "no"),)), "not there"),
        (replace(spec, disks=(Disk(tmp_path, "upper", "/x"),)), "cannot name"),
        (replace(spec, shares=(share, share)), "same name"),
        (replace(spec, accel="warp"), "acceleration"),
    ):
        with pytest.raises(SandboxError, match=words):
            check(bad)


async def test_no_network_device_is_ever_given(tmp_path: Path) -> None:
    line = machine_command(await machine_spec(tmp_path), "qemu")
    assert not {"-net", "-netdev", "-nic"} & set(line)
    devices = {word.partition(",")[0] for flag, word in itertools.pairwise(line) if flag == "-device"}
    assert devices == {"virtio-blk-pci", "virtio-serial-pci", "virtserialport", "virtio-balloon-pci"}
    assert "-nodefaults" in line and any(word.startswith("on,") for word in line)


def test_the_console_log_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    log = ConsoleLog(tmp_path / "log")
    log.write(b"first\n")
    for number in range(20_000):
        log.write(b"line %d of a flood that does not end\n" % number)
    log.write(b"\x1b[31mlast\x07\n")
    log.close()
    content = (tmp_path / "log").read_bytes()
    assert content.startswith(b"first\n") and content.endswith(b"last\x07\n")
    assert len(content) <= 300 << 10
    assert log.last_lines(1) == "last"
