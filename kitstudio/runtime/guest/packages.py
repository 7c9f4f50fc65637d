"""The Debian packages a guest image is made of: the pin file, apt, and what was really taken.

On the pinned series every package is taken by name, version and SHA-256. A version that has left the mirrors is
replaced by the newest of its series through apt's signed lists, and recorded. On another series (Debian 13, Ubuntu)
the host's own series is taken by name.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from kitstudio.runtime.backend import SandboxError

_ROOTS = ("busybox-static", "dropbear-bin", "openssh-sftp-server", "nftables")
_KERNEL_METAS = {"debian": "linux-image-amd64", "ubuntu": "linux-image-generic"}


@dataclass(frozen=True, slots=True)
class Package:
    """One package as taken. ``pinned``: exactly what the pin file names."""

    name: str
    version: str
    sha256: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Series:
    """A distribution release, and its pins (empty when it has none)."""

    id: str
    pins: tuple[Package, ...]


def host_series(pin_file: Path) -> Series:
    """The series of this host with its pins; ``SandboxError`` where no guest image can be built."""
    if platform.machine() != "x86_64":
        raise SandboxError(f"No guest image can be built on {platform.machine()} yet, only on x86_64.")
    if not shutil.which("apt-get"):
        raise SandboxError(
            "The guest image is built from Debian packages, and this system has no apt.",
            remedy="Copy build/guest from a Debian or Ubuntu machine and set KITSTUDIO_GUEST to it.",
        )
    release = platform.freedesktop_os_release()
    identity = f"{release.get('ID', '')}-{release.get('VERSION_ID', '')}"
    document = tomllib.loads(pin_file.read_text(encoding="utf-8"))
    pins = tuple(
        Package(entry["name"], entry["version"], entry["sha256"], True)
        for entry in document["package"]
        if document["series"] == identity
    )
    return Series(identity, pins)


def fetch(series: Series, folder: Path, say: Callable[[str], None]) -> list[tuple[Package, Path]]:
    """Every package of the series as a verified file in ``folder``; files already there are not fetched again."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {_sha256(path): path for path in sorted(folder.glob("*.deb"))}
    if series.pins and all(pin.sha256 in kept for pin in series.pins):
        return [(pin, kept[pin.sha256]) for pin in series.pins]
    _ensure_lists(say)
    wanted = series.pins or tuple(Package(name, "", "", False) for name in _names_of(series))
    fetched = []
    for package in wanted:
        if package.sha256 not in kept:
            package = _available(package)
        if package.sha256 in kept:
            fetched.append((package, kept[package.sha256]))
            continue
        say(f"fetching {package.name} {package.version}" + ("" if package.pinned or not series.pins else " (newer)"))
        fetched.append((package, _download(package, folder)))
    return fetched


def _available(package: Package) -> Package:
    """The package itself while apt still offers it, else the newest of its series."""
    for version, sha256 in _offers(package.name):
        if version == package.version and sha256 == package.sha256:
            return package
    name = package.name
    if kernel := re.fullmatch(r"(linux-image-\d+\.\d+\.\d+-)\d+(-amd64)", name):
        found = _apt("apt-cache", "search", "--names-only", f"^{re.escape(kernel[1])}[0-9]+{kernel[2]}$")
        names = re.findall(r"^(\S+) - ", found, re.MULTILINE)
        name = max(names, key=lambda text: int(text.removeprefix(kernel[1]).partition("-")[0]), default=name)
    for version, sha256 in _offers(name):
        return Package(name, version, sha256, False)
    raise SandboxError(f"apt knows no package {name}.", remedy="Run apt-get update, then ./studio setup again.")


def _offers(name: str) -> list[tuple[str, str]]:
    """(version, SHA-256) of each offered version, the candidate first."""
    offers = []
    for block in _apt("apt-cache", "show", name, check=False).split("\n\n"):
        fields = dict(re.findall(r"^(Version|SHA256): (\S+)$", block, re.MULTILINE))
        if len(fields) == 2:
            offers.append((fields["Version"], fields["SHA256"]))
    candidate = re.search(r"Candidate: (\S+)", _apt("apt-cache", "policy", name, check=False))
    return sorted(offers, key=lambda offer: candidate is None or offer[0] != candidate[1])


def _names_of(series: Series) -> list[str]:
    """Package names of a series without pins: the programs, the libraries they depend on, and the kernel."""
    distribution = series.id.partition("-")[0]
    if distribution not in _KERNEL_METAS:
        raise SandboxError(f"No guest image can be built on {series.id} yet: neither Debian nor Ubuntu.")
    options = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    closure = _apt("apt-cache", "depends", "--recurse", *options, "dropbear-bin", "nftables")
    libraries = [name for name in re.findall(r"^(\S+)$", closure, re.MULTILINE) if re.match(r"lib|zlib1g", name)]
    meta = _apt("apt-cache", "depends", *options, _KERNEL_METAS[distribution])
    kernel = re.search(r"Depends: (linux-image-\S+)", meta)
    if not kernel:
        raise SandboxError(f"apt does not say which kernel {_KERNEL_METAS[distribution]} stands for.")
    kernels = [kernel[1]]
    if distribution == "ubuntu":
        kernels.append(kernel[1].replace("linux-image-", "linux-modules-"))
    return [*kernels, *_ROOTS, *sorted(set(libraries))]


def _download(package: Package, folder: Path) -> Path:
    before = set(folder.glob("*.deb"))
    for stale in folder.glob(f"{package.name}_*.deb"):
        if package.version in unquote(stale.name):
            stale.unlink()
            before.discard(stale)
    sandbox = ("-o", "APT::Sandbox::User=root") if os.geteuid() == 0 else ()
    _apt("apt-get", *sandbox, "-q", "download", f"{package.name}={package.version}", folder=folder)
    for path in set(folder.glob("*.deb")) - before:
        if _sha256(path) == package.sha256:
            return path
        path.unlink()
    raise SandboxError(f"What apt fetched for {package.name} {package.version} is not what its lists promise.")


def _ensure_lists(say: Callable[[str], None]) -> None:
    if _offers("busybox-static"):
        return
    say("apt has no package lists: running apt-get update")
    if os.geteuid() != 0:
        raise SandboxError("apt has no package lists.", remedy="Run: sudo apt-get update")
    _apt("apt-get", "-q", "update")


def _apt(*command: str, folder: Path | None = None, check: bool = True) -> str:
    environment: dict[str, str] = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{command[0]} did not work: {error}.") from error
    if check and done.returncode != 0:
        raise SandboxError(f"{_spoken(command)} failed: {done.stderr.strip()[-400:]}")
    return done.stdout


def _spoken(command: Sequence[str]) -> str:
    return " ".join(command)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
