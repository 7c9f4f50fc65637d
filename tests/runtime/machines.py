"""A tiny root file system and machines made from it, for tests that boot."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from kitstudio.runtime.backend import ImageLayer
from kitstudio.runtime.guest.image import BUSYBOX, default_folder, find_guest_image
from kitstudio.runtime.layers import ConvertedLayer, LayerCache
from kitstudio.runtime.qemu.disk import create_disk
from kitstudio.runtime.qemu.guest_session import GuestSession
from kitstudio.runtime.qemu.keys import create_keys
from kitstudio.runtime.qemu.machine import Machine
from kitstudio.runtime.qemu.spec import Disk, MachineSpec, Share

PATH = {"PATH": "/bin"}
APPLETS = (
    *("sh", "cat", "echo", "id", "env", "ls", "stty", "sleep", "nslookup", "nc", "ps", "mount", "tty", "kill", "touch"),
    *("stat", "head", "wc", "dd", "mkdir", "rm", "mv", "seq", "hostname", "true", "false", "chmod", "printf", "ln"),
    *("readlink", "pwd", "date", "sync", "tr", "yes", "killall", "grep", "free"),
)


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar of these members, in this order."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def member(
    name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, **fields: object
) -> tuple[tarfile.TarInfo, bytes]:
    """One member; ``fields`` are those of ``TarInfo``."""
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mode = kind, len(content), 0o755 if kind == tarfile.DIRTYPE else 0o644
    for key, value in fields.items():
        setattr(info, key, value)
    return info, content


def folder(name: str, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """A folder member."""
    return member(name, kind=tarfile.DIRTYPE, **fields)


def busybox_root() -> bytes:
    """A layer with one program under many names, and the user ``agent``."""
    busybox = (default_folder() / BUSYBOX).read_bytes()
    passwd = b"root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n"
    return tar_of(
        folder("bin"),
        member("bin/busybox", busybox, mode=0o755),
        *(member(f"bin/{name}", kind=tarfile.SYMTYPE, linkname="busybox") for name in APPLETS),
        folder("etc"),
        member("etc/passwd", passwd),
        folder("home"),
        folder("home/agent", uid=1000, gid=1000),
        folder("tmp", mode=0o1777),
    )


async def convert(cache: Path, tars: Mapping[str, bytes]) -> list[ConvertedLayer]:
    """Convert tars (lowest first), each under a made-up digest."""
    done: list[ConvertedLayer] = []
    cache.mkdir(parents=True, exist_ok=True)
    for name, content in tars.items():
        blob = cache / f"{name}.tar"
        blob.write_bytes(content)
        below = [layer.inventory for layer in done]
        done.append(await LayerCache(cache).ensure(ImageLayer(f"sha256:{name}", len(content), ""), blob, below))
    return done


async def machine_spec(
    place: Path,
    *more: bytes,
    shares: tuple[Share, ...] = (),
    disks: tuple[Disk, ...] = (),
    network: bool = True,
) -> MachineSpec:
    """A machine over the tiny root and ``more`` layers."""
    tars = {"root": busybox_root(), **{f"more{number}": tar for number, tar in enumerate(more)}}
    layers = await convert(place / "layers", tars)
    await create_disk(place / "upper.img", 256)
    return MachineSpec(
        folder=place / "machine",
        guest=find_guest_image(),
        layers=tuple(layer.path for layer in layers),
        upper=place / "upper.img",
        memory_mib=256,
        cpus=1,
        accel="tcg",
        keys=create_keys(),
        shares=shares,
        disks=disks,
        network=network,
    )


@contextlib.asynccontextmanager
async def running(spec: MachineSpec) -> AsyncIterator[tuple[Machine, GuestSession]]:
    """A booted machine, gone afterwards."""
    machine = Machine()
    await machine.start(spec)
    try:
        yield machine, GuestSession(await machine.connect(60))
    finally:
        await machine.kill()


async def sh(session: GuestSession, script: str, **options: object) -> str:
    """What a script prints on stdout; its success is expected."""
    result = await session.run(["sh", "-c", script], env=PATH, timeout=60, **options)  # type: ignore[arg-type]
    assert result.status == 0, result
    return result.stdout.decode()
