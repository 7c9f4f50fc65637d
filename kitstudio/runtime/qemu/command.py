"""QEMU's command line, and the second half of the initramfs: what this one machine's init must know."""

from __future__ import annotations

import base64
import os
import re
import shutil
from pathlib import Path

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.guest.cpio import Cpio
from kitstudio.runtime.qemu.spec import MachineSpec, RamDisk, Share

QEMU = "qemu-system-x86_64"
MAX_DISKS = 184
MAX_MOUNTS = 64
MAX_SHARES = 16
CONTROL_SOCKET = "control.sock"
QMP_SOCKET = "qmp.sock"
INITRD = "initrd"

_KERNEL = (
    "console=ttyS0 quiet panic=-1 reboot=t cryptomgr.notests 8250.nr_uarts=1 random.trust_cpu=on audit=0 "
    "ipv6.autoconf=0"
)
_SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"


def find_qemu() -> str:
    """QEMU's path; ``SandboxError`` with the package's name when it is missing."""
    found = shutil.which(QEMU)
    if not found:
        raise SandboxError(
            "QEMU is not installed.", where=QEMU, remedy="Install the package qemu-system-x86, then try again."
        )
    return found


def accelerator(kind: str) -> tuple[str, ...]:
    """Arguments for ``kvm`` or ``tcg``."""
    if kind == "kvm":
        return ("-accel", "kvm", "-cpu", "host")
    return ("-accel", "tcg,thread=multi", "-cpu", "max")


def base_command(qemu: str, kind: str, memory_mib: int, cpus: int) -> list[str]:
    """What every machine has: no default device, no network, QEMU's own sandbox, the console on standard output."""
    return [
        qemu,
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-sandbox", _SANDBOX),
        *("-M", "q35,vmport=off,i8042=off,sata=off,smbus=off,usb=off", *accelerator(kind)),
        *("-m", f"{memory_mib}M", "-smp", str(cpus)),
        *("-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"),
    ]


def kernel_line(kind: str) -> str:
    """The kernel's command line."""
    return _KERNEL + (" tsc=reliable mitigations=off" if kind == "tcg" else "")


def machine_command(spec: MachineSpec, qemu: str) -> tuple[str, ...]:
    """The whole command line. Relative names lie in the machine's own folder."""
    command = base_command(qemu, spec.accel, spec.memory_mib, spec.cpus)
    command += ["-kernel", str(spec.guest.kernel), "-initrd", INITRD, "-append", kernel_line(spec.accel)]
    disks = [(f"l{number}", path, True) for number, path in enumerate(spec.layers)]
    disks += [("upper", spec.upper, False), *((disk.serial, disk.path, disk.readonly) for disk in spec.disks)]
    if len(disks) > MAX_DISKS:
        raise SandboxError(f"A machine can have {MAX_DISKS} layers and disks together; this one needs {len(disks)}.")
    for number, (serial, path, readonly) in enumerate(disks):
        command += _disk(number, serial, path, readonly)
    command += [
        *("-device", "virtio-serial-pci,addr=1e.0"),
        *("-chardev", f"socket,id=control,path={CONTROL_SOCKET},server=on,wait=off"),
        *("-device", "virtserialport,chardev=control,name=kit.control"),
        *("-device", "virtio-balloon-pci,addr=1d.0,free-page-reporting=on,deflate-on-oom=on"),
        *("-qmp", f"unix:{QMP_SOCKET},server=on,wait=off"),
    ]
    for number, share in enumerate(spec.shares):
        access = ",readonly=on" if share.readonly else ""
        command += [
            "-fsdev",
            f"local,id=share{number},path={_escape(share.host_path)},security_model=none,multidevs=remap{access}",
            *("-device", f"virtio-9p-pci,fsdev=share{number},mount_tag={share.tag},addr={_share_address(number)}"),
        ]
    return tuple(command)


def machine_initrd(spec: MachineSpec) -> bytes:
    """The guest image's initramfs followed by this machine's configuration and keys."""
    lines = [
        f"hostname {spec.hostname}",
        f"layers {len(spec.layers)}",
        f"network {int(spec.network)}",
        f"pids {spec.processes}",
        f"owner {spec.share_uid} {spec.share_gid}",
        f"seed {base64.b64encode(os.urandom(48)).decode().rstrip('=')}",
    ]
    mounts = [(d.guest_path, f"disk {d.serial} {_access(d.readonly)}") for d in spec.disks]
    mounts += [(s.guest_path, f"{_share_kind(s)} {s.tag} {_access(s.readonly)}") for s in spec.shares]
    mounts += [(r.guest_path, f"ram {_ram_options(r)} rw") for r in spec.ram]
    # A mount below another must come after it.
    lines += [f"{line} {path}" for path, line in sorted(mounts, key=lambda each: each[0].rstrip("/").count("/"))]
    archive = Cpio()
    archive.folder("kit/home", 0o700)
    archive.folder("kit/home/.ssh", 0o700)
    if spec.privileged:
        archive.file("kit/privileged", b"", 0o600)
    for share in spec.shares:
        for name, target in share.links:
            archive.link(f"kit/links/{share.tag}/{name}", target)
    archive.file("kit/conf", "".join(line + "\n" for line in lines).encode(), 0o600)
    archive.file("kit/hostkey", spec.keys.guest_key, 0o600)
    archive.file("kit/home/.ssh/authorized_keys", spec.keys.authorized.encode(), 0o600)
    return spec.guest.initramfs.read_bytes() + archive.finish()


def check(spec: MachineSpec) -> None:
    """Refuse what could not be passed on faithfully."""
    if not spec.layers:
        raise SandboxError("There is nothing to run: the sandbox's Kits have no layers.")
    if spec.accel not in ("kvm", "tcg"):
        raise SandboxError(f"There is no acceleration called {spec.accel!r}.", remedy="Use kvm or tcg.")
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", spec.hostname):
        raise SandboxError(f"{spec.hostname!r} cannot be a host name.")
    if len(spec.shares) > MAX_SHARES:
        raise SandboxError(f"A machine can have {MAX_SHARES} shared folders; this one needs {len(spec.shares)}.")
    names = [disk.serial for disk in spec.disks] + [share.tag for share in spec.shares]
    for name in names:
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", name) or name == "upper" or re.fullmatch(r"l\d+", name):
            raise SandboxError(f"{name!r} cannot name a disk or a shared folder.")
    if len(set(names)) != len(names):
        raise SandboxError("Two disks or shared folders have the same name.")
    places = [each.guest_path for each in spec.disks] + [each.guest_path for each in spec.shares]
    places += [each.guest_path for each in spec.ram]
    if len(set(places)) != len(places):
        raise SandboxError("Two disks or shared folders would be mounted at one place.")
    if len(places) > MAX_MOUNTS:
        raise SandboxError(f"A machine can have {MAX_MOUNTS} storage places; this one needs {len(places)}.")
    for path in places:
        normal = os.path.normpath(path)
        if not path.startswith("/") or normal == "/" or normal != path.rstrip("/") or re.search(r"[\n\0]", path):
            raise SandboxError("This is not a place where something can be mounted in a sandbox.", where=repr(path))
    for share in spec.shares:
        if share.links and not share.readonly:
            raise SandboxError("Links can be shown in a folder that is not written only.", where=share.guest_path)
        if any(not name or "/" in name or name in (".", "..") or "\0" in name + target for name, target in share.links):
            raise SandboxError("A link in a shared folder has no usable name.", where=share.guest_path)
        if not share.host_path.is_dir():
            raise SandboxError("The shared folder is not there.", where=str(share.host_path))


def _share_address(number: int) -> str:
    return f"{0x1C - number // 8:x}.{number % 8},multifunction=on"


def _share_kind(share: Share) -> str:
    return "union" if share.links or share.owned else "share"


def _disk(number: int, serial: str, path: Path, readonly: bool) -> list[str]:
    # eight functions a slot, from slot 2: q35 has too few slots for one disk each
    address = f"{2 + number // 8:x}.{number % 8}"
    flags = "readonly=on,file.locking=off" if readonly else "discard=unmap"
    return [
        "-drive",
        f"if=none,id=d-{serial},file={_escape(path)},format=raw,{flags}",
        *("-device", f"virtio-blk-pci,drive=d-{serial},serial={serial},addr={address},multifunction=on"),
    ]


def _ram_options(ram: RamDisk) -> str:
    size = f"size={ram.size}," if ram.size else ""
    return f"{size}mode={ram.mode:o},uid={ram.owner},gid={ram.owner}"


def _access(readonly: bool) -> str:
    return "ro" if readonly else "rw"


def _escape(path: Path) -> str:
    return str(path.absolute()).replace(",", ",,")
