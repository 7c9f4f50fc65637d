"""Making the guest image: ``python -m kitstudio.runtime.guest.build OUT``.

Debian packages in, ``vmlinux`` and ``initramfs.cpio`` out; the same packages and sources give the same bytes.
``guest.json`` is written last and says what went in; a second run with the same inputs does nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.guest import elf, kernel
from kitstudio.runtime.guest.cpio import Cpio
from kitstudio.runtime.guest.deb import read_members
from kitstudio.runtime.guest.image import BUSYBOX, INITRAMFS, KERNEL, MANIFEST, default_folder
from kitstudio.runtime.guest.packages import Package, fetch, host_series

SOURCES = Path(__file__).resolve().parents[3] / "resources" / "guest"
_PROGRAMS = ("usr/sbin/dropbear", "usr/sbin/nft", "usr/lib/openssh/sftp-server")
_FLAGS = ("-std=gnu11", "-static", "-Os", "-s", "-Wall", "-Wextra", "-Werror", "-Wl,--build-id=none")


def build(out: Path, say: Callable[[str], None] = print) -> bool:
    """Build into ``out`` unless it already holds this very image; whether anything was done."""
    series = host_series(SOURCES / "packages.toml")
    inputs = _inputs(series.id)
    if _is_current(out, inputs):
        return False
    out.mkdir(parents=True, exist_ok=True)
    (out / MANIFEST).unlink(missing_ok=True)
    packages = fetch(series, out / "packages", say)
    say("unpacking packages")
    files: dict[str, bytes | str] = {}
    for package, path in packages:
        is_kernel = package.name.startswith("linux-")
        files.update(read_members(path, kernel.is_wanted if is_kernel else _is_program_file))
    say("compiling the guest's own program")
    kit = compile_kit(SOURCES / "src")
    say("writing the image")
    boot = [content for name, content in files.items() if name.startswith("boot/vmlinuz-")]
    if len(boot) != 1 or not isinstance(boot[0], bytes):
        raise SandboxError("The kernel package does not hold one kernel.")
    vmlinux = kernel.extract_vmlinux(boot[0])
    initramfs = assemble(files, kit)
    busybox = next(content for name, content in files.items() if name.endswith("bin/busybox"))
    assert isinstance(busybox, bytes)
    _write(out / KERNEL, vmlinux, 0o644)
    _write(out / INITRAMFS, initramfs, 0o644)
    _write(out / BUSYBOX, busybox, 0o755)
    manifest = _manifest(inputs, [package for package, _ in packages], vmlinux, initramfs)
    _write(out / MANIFEST, json.dumps(manifest, indent=1).encode(), 0o644)
    return True


def compile_kit(sources: Path) -> bytes:
    """The guest's own static program, built against musl."""
    compiler = shutil.which("musl-gcc")
    if not compiler:
        raise SandboxError("musl-gcc is missing.", remedy="Install the package musl-tools.")
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "kit"
        names = sorted(path.name for path in sources.glob("*.c"))
        # -ffile-prefix-map is not needed: the sources are named relative to their own folder
        done = subprocess.run([compiler, *_FLAGS, "-o", result, *names], cwd=sources, capture_output=True, text=True)
        if done.returncode != 0:
            raise SandboxError(
                f"The guest's program does not compile: {done.stderr.strip()[:2000]}", where=str(sources)
            )
        return result.read_bytes()


def assemble(files: Mapping[str, bytes | str], kit: bytes) -> bytes:
    """The initramfs: our program as ``/init``, the control side's programs and libraries, and the modules."""
    archive = Cpio()
    for name in ("dev", "proc", "sys", "tmp", "kit/empty"):
        archive.folder(name)
    archive.folder("kit/home", 0o700)
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3, 0o666)
    archive.file("init", kit, 0o755)
    archive.link("kit/enter", "/init")
    archive.file("etc/passwd", b"root:x:0:0:root:/kit/home:/kit/enter\n")
    archive.file("etc/group", b"root:x:0:\ntty:x:5:\n")
    archive.file("etc/shells", b"/kit/enter\n")
    archive.file("kit/net.nft", (SOURCES / "net.nft").read_bytes())
    for path, content in _closure(files, _PROGRAMS).items():
        archive.file(path, content, 0o755)
    wanted = re.findall(r"^(\w+)$", (SOURCES / "modules.txt").read_text(encoding="utf-8"), re.MULTILINE)
    modules = kernel.Modules(files).ordered(wanted)
    for name, content in modules.items():
        archive.file(f"lib/modules/{name}.ko", content)
    archive.file("lib/modules/order", "".join(f"{name}.ko\n" for name in modules).encode())
    return archive.finish()


def _closure(files: Mapping[str, bytes | str], programs: Iterable[str]) -> dict[str, bytes]:
    """Programs with every library they need, at the places their interpreter looks in."""
    libraries = {name.rpartition("/")[2]: name for name in files if ".so" in name}
    result: dict[str, bytes] = {}
    todo = [(name, name) for name in programs]
    while todo:
        place, source = todo.pop(0)
        if place in result:
            continue
        content = _resolved(files, source)
        result[place] = content
        need = elf.needs(content)
        if need.interpreter:
            todo.append((need.interpreter.lstrip("/"), libraries[need.interpreter.rpartition("/")[2]]))
        for name in need.libraries:
            if name not in libraries:
                raise SandboxError(f"{source} needs {name}, which is in none of the packages.")
            if not name.startswith("ld-linux"):
                todo.append((f"lib/x86_64-linux-gnu/{name}", libraries[name]))
    return dict(sorted(result.items()))


def _resolved(files: Mapping[str, bytes | str], name: str) -> bytes:
    for _ in range(8):
        if name not in files:
            break
        content = files[name]
        if isinstance(content, bytes):
            return content
        name = os.path.normpath(os.path.join(os.path.dirname(name), content)).lstrip("/")
    raise SandboxError(f"{name} is in none of the packages.")


def _is_program_file(name: str) -> bool:
    return name in _PROGRAMS or name.endswith("bin/busybox") or bool(re.search(r"(^|/)lib(64|/)[^ ]*\.so(\.|$)", name))


def _inputs(series: str) -> str:
    digest = hashlib.sha256(series.encode())
    for path in sorted([*SOURCES.rglob("*"), *Path(__file__).parent.glob("*.py")]):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _is_current(out: Path, inputs: str) -> bool:
    try:
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest["inputs"] == inputs and (out / KERNEL).is_file() and (out / INITRAMFS).is_file())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _manifest(inputs: str, packages: list[Package], vmlinux: bytes, initramfs: bytes) -> dict[str, object]:
    parts = {KERNEL: hashlib.sha256(vmlinux).hexdigest(), INITRAMFS: hashlib.sha256(initramfs).hexdigest()}
    image = next(package for package in packages if package.name.startswith("linux-image-"))
    newer = [package.name for package in packages if not package.pinned]
    return {
        "identity": hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest(),
        "description": f"{image.name} {image.version}" + (f"; not pinned: {', '.join(newer)}" if newer else ""),
        "inputs": inputs,
        "files": parts,
        "packages": [{"name": p.name, "version": p.version, "sha256": p.sha256, "pinned": p.pinned} for p in packages],
    }


def _write(path: Path, content: bytes, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.chmod(mode)
    temporary.replace(path)


def main() -> int:
    """Build into the folder named on the command line (default: this installation's)."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder()
    began = time.monotonic()
    try:
        done = build(out)
    except SandboxError as error:
        print(f"guest image: {error}", file=sys.stderr)
        return 1
    print(f"guest image: {'built' if done else 'already built'} in {time.monotonic() - began:.1f} s ({out})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
