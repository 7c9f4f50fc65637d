"""Root file systems out of Debian packages, without Docker and without touching the host's file system.

The host's own apt answers which packages and which bytes (signed lists); the archives are read here as streams and
become layer entries. No maintainer script runs: what a script would have done and the demo needs is stated in the
Kit's recipe.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote

import zstandard

from kitstudio.registry.reference import RegistryError
from kitstudio.registry.writer import Entry, EntryKind, symlink

MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
"""Merged /usr: the old name is a link, whatever a package still calls it."""

MAX_PACKAGE = 512 * 1024 * 1024
APT_TIMEOUT = 300

_LEFT_OUT = re.compile(
    r"usr/share/(?:man|info|locale|lintian|bug|gitweb|doc-base)/|usr/share/doc/(?!(?:[^/]+/)?(?:copyright)?$)"
)
_URI_LINE = re.compile(r"^'[^']+' (\S+_\S+_\S+\.deb) \d+")
_HASH_LINE = re.compile(r"^(Package|Version|Architecture|SHA256): (\S+)$", re.MULTILINE)

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Pinned:
    """One package as the lock states it: exactly these bytes."""

    name: str
    version: str
    architecture: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Unpacked:
    """One package's files, and its stanza for ``/var/lib/dpkg/status``."""

    entries: tuple[Entry, ...]
    stanza: str
    name: str

    @property
    def list_name(self) -> str:
        """dpkg qualifies its file lists with the architecture where several may be installed side by side."""
        architecture = re.search(r"^Architecture: (\S+)$", self.stanza, re.MULTILINE)
        shared = re.search(r"^Multi-Arch: same$", self.stanza, re.MULTILINE)
        return f"{self.name}:{architecture[1]}" if architecture and shared else self.name


def series() -> str:
    """Which distribution's archive this machine reads: ``debian-12``, ``ubuntu-24.04``."""
    fields = {}
    release = Path("/etc/os-release")
    for line in release.read_text(encoding="utf-8", errors="replace").splitlines() if release.exists() else []:
        key, _, value = line.partition("=")
        fields[key] = value.strip().strip('"')
    return f"{fields.get('ID', 'unknown')}-{fields.get('VERSION_ID', 'unknown')}"


def obtain(
    roots: Sequence[str], pins: Sequence[Pinned], cache: Path, log: Log, *, alone: bool = False
) -> tuple[Pinned, ...]:
    """Have every package of ``roots``' closure in ``cache`` (``alone``: ``roots`` and nothing else).

    ``pins`` is used as it stands while all of it can be had; otherwise the newest of the series takes its place,
    and the answer says what was taken.
    """
    cache.mkdir(parents=True, exist_ok=True)
    if pins and all(_cached(pin, cache) for pin in pins):
        return tuple(pins)
    if pins:
        offered = set(_shown([f"{pin.name}={pin.version}" for pin in pins], strict=False))
        chosen = tuple(pins) if set(pins) <= offered else ()
        if not chosen:
            log("Some pinned packages have left the archive: taking the newest of this series instead.")
    else:
        chosen = ()
    chosen = chosen or (newest(roots) if alone else closure(roots))
    missing = [pin for pin in chosen if not _cached(pin, cache)]
    if missing:
        log(f"Fetching {len(missing)} packages from this system's archive.")
        _download(missing, cache)
    return chosen


def closure(roots: Sequence[str]) -> tuple[Pinned, ...]:
    """Everything ``roots`` need on an empty system, newest of this series, by apt's own solver."""
    with tempfile.TemporaryDirectory() as folder:
        status = Path(folder, "status")
        status.touch()
        text = _apt(
            "apt-get",
            "-o", f"Dir::State::status={status}",
            "-o", f"Dir::Cache={folder}",
            "-o", "Debug::NoLocking=1",
            "-o", "APT::Install-Recommends=0",
            "-qq", "--print-uris", "-y", "install", *roots,
        )  # fmt: skip
    names = [match[1] for line in text.splitlines() if (match := _URI_LINE.match(line))]
    wanted = [unquote(name).removesuffix(".deb").split("_") for name in names]
    return tuple(sorted(_shown([f"{name}={version}" for name, version, _ in wanted]), key=lambda pin: pin.name))


def newest(names: Sequence[str]) -> tuple[Pinned, ...]:
    """Exactly these packages, newest of this series."""
    policies = _apt("apt-cache", "policy", *names)
    candidates = dict(re.findall(r"^(\S+):\n(?:  .*\n)*?  Candidate: ([^\s(]+)$", policies, re.MULTILINE))
    if absent := [name for name in names if name not in candidates]:
        raise RegistryError(
            f"This system's archive does not have {', '.join(absent)}.",
            where="demo catalog",
            remedy="Run sudo apt-get update (on Ubuntu, enable the component universe), then ./studio setup.",
        )
    return tuple(sorted(_shown([f"{name}={candidates[name]}" for name in names]), key=lambda pin: pin.name))


def unpack(path: Path) -> Unpacked:
    """Read one ``.deb``: merged-/usr names, documentation left out except copyrights, devices refused."""
    members = dict(_ar_members(path))
    control = next((data for name, data in members.items() if name.startswith("control.tar")), None)
    payload = next(((name, data) for name, data in members.items() if name.startswith("data.tar")), None)
    if control is None or payload is None:
        raise RegistryError("This is not a Debian package.", where=str(path), remedy="Remove it and build again.")
    stanza = ""
    with tarfile.open(fileobj=io.BytesIO(_decompressed(control, path))) as archive:
        for member in archive:
            if member.name.removeprefix("./") == "control" and (file := archive.extractfile(member)):
                stanza = file.read().decode("utf-8", errors="replace").strip()
    entries: list[Entry] = []
    with tarfile.open(fileobj=io.BytesIO(_decompressed(payload[1], path))) as archive:
        entries.extend(entry for member in archive if (entry := _entry(archive, member, path)))
    name = re.search(r"^Package: (\S+)$", stanza, re.MULTILINE)
    if name is None:
        raise RegistryError("The package does not say its name.", where=str(path))
    installed = re.sub(r"^(Package: \S+)$", r"\1\nStatus: install ok installed", stanza, count=1, flags=re.MULTILINE)
    return Unpacked(tuple(entries), installed, name[1])


def root_entries(packages: Iterable[Unpacked]) -> list[Entry]:
    """All files of all packages, the links of merged /usr, the package database and the CA bundle."""
    listed = sorted(packages, key=lambda package: package.name)
    entries: dict[str, Entry] = {}
    for package in listed:
        for entry in package.entries:
            known = entries.get(entry.path)
            if known is None or known.kind is not EntryKind.FOLDER:
                entries[entry.path] = entry
    for old, new in MERGED.items():
        if any(path == new or path.startswith(f"{new}/") for path in entries):
            entries[old] = symlink(old, new)
    status = "\n\n".join(package.stanza for package in listed) + "\n"
    entries["var/lib/dpkg/status"] = Entry("var/lib/dpkg/status", data=status.encode())
    for package in listed:
        listing = f"var/lib/dpkg/info/{package.list_name}.list"
        paths = "".join(f"/{entry.path}\n" for entry in package.entries)
        entries[listing] = Entry(listing, data=f"/.\n{paths}".encode())
    certificates = sorted(path for path in entries if re.fullmatch(r"usr/share/ca-certificates/.+\.crt", path))
    if certificates:
        bundle = b"".join(entries[path].data.rstrip(b"\n") + b"\n" for path in certificates)
        names = "".join(path.removeprefix("usr/share/ca-certificates/") + "\n" for path in certificates)
        for path, data in (
            ("etc/ssl/certs/ca-certificates.crt", bundle),
            ("etc/ca-certificates.conf", names.encode()),
        ):
            entries[path] = Entry(path, data=data)
    return list(entries.values())


def archive_path(pin: Pinned, cache: Path) -> Path:
    """Where a package lies in the cache."""
    return cache / f"{pin.name}_{pin.version.replace(':', '%3a')}_{pin.architecture}.deb"


def _cached(pin: Pinned, cache: Path) -> bool:
    path = archive_path(pin, cache)
    if not path.exists():
        return False
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() == pin.sha256:
            return True
    path.unlink()
    return False


def _download(pins: Sequence[Pinned], cache: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        _apt("apt-get", "-qq", "download", *(f"{pin.name}={pin.version}" for pin in pins), cwd=folder)
        for file in Path(folder).glob("*.deb"):
            file.replace(cache / file.name)
    for pin in pins:
        if not _cached(pin, cache):
            raise RegistryError(
                f"The archive did not give {pin.name} {pin.version} as its signed list describes it.",
                where="apt-get download",
                remedy="Run sudo apt-get update, then ./studio setup.",
            )


def _shown(queries: Sequence[str], *, strict: bool = True) -> tuple[Pinned, ...]:
    text = _apt("apt-cache", "show", *queries, strict=strict)
    found = []
    for stanza in text.split("\n\n"):
        fields = dict(_HASH_LINE.findall(stanza))
        if len(fields) == 4:
            pin = Pinned(fields["Package"], fields["Version"], fields["Architecture"], fields["SHA256"])
            if f"{pin.name}={pin.version}" in queries:
                found.append(pin)
    if strict and len({(pin.name, pin.version) for pin in found}) < len(queries):
        raise RegistryError(
            "The package lists are incomplete.",
            where="apt-cache",
            remedy="Run sudo apt-get update, then ./studio setup.",
        )
    return tuple(dict.fromkeys(found))


def _apt(program: str, *arguments: str, cwd: str | None = None, strict: bool = True) -> str:
    if shutil.which(program) is None:
        raise RegistryError(
            f"{program} is not on this system, so the demo Kits cannot be built here.",
            where="demo catalog",
            remedy="Build it on Debian or Ubuntu and point KITSTUDIO_DEMO at the result.",
        )
    try:
        run = subprocess.run(
            [program, *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=APT_TIMEOUT,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RegistryError(f"{program} did not finish in {APT_TIMEOUT} s.", where="demo catalog") from error
    if strict and run.returncode != 0:
        reason = next((line for line in run.stderr.splitlines() if line.startswith("E:")), "it gave no reason")
        raise RegistryError(
            f"{program} failed: {reason.removeprefix('E:').strip()}",
            where="demo catalog",
            remedy="Run sudo apt-get update, check the network, then ./studio setup.",
        )
    return run.stdout


def _ar_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        if file.read(8) != b"!<arch>\n":
            raise RegistryError("This is not a Debian package.", where=str(path), remedy="Remove it and build again.")
        while len(header := file.read(60)) == 60:
            size = int(header[48:58].strip() or b"0")
            if size > MAX_PACKAGE:
                raise RegistryError("The package is too large.", where=str(path))
            yield header[:16].decode("ascii", "replace").strip().rstrip("/"), file.read(size)
            file.read(size % 2)


def _decompressed(data: bytes, path: Path) -> bytes:
    with _stream(data) as stream:
        found = stream.read(MAX_PACKAGE + 1)
    if len(found) > MAX_PACKAGE:
        raise RegistryError("The package is too large.", where=str(path))
    return found


def _stream(data: bytes) -> IO[bytes]:
    source = io.BytesIO(data)
    if data.startswith(b"\xfd7zXZ"):
        return lzma.open(source)
    if data.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(source))
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return cast(IO[bytes], zstandard.open(source, "rb"))
    return source


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> Entry | None:
    name = _placed(member.name)
    if ".." in name.split("/"):
        raise RegistryError(f"The package places a file outside its root: {name}.", where=str(path))
    if not name or name in MERGED or _LEFT_OUT.match(name + ("/" if member.isdir() else "")):
        return None
    entry = Entry(name, EntryKind.FILE, member.mode & 0o7777, member.uid, member.gid, mtime=int(member.mtime))
    if member.isdir():
        return replace(entry, kind=EntryKind.FOLDER)
    if member.issym():
        return replace(entry, kind=EntryKind.SYMLINK, mode=0o777, target=member.linkname)
    if member.islnk():
        return replace(entry, kind=EntryKind.HARDLINK, target=_placed(member.linkname))
    if not member.isreg():
        raise RegistryError(f"The package holds a device: {name}.", where=str(path))
    file = archive.extractfile(member)
    return replace(entry, data=file.read() if file else b"")


def _placed(name: str) -> str:
    name = name.removeprefix("./").strip("/")
    name = "" if name == "." else name
    first, slash, rest = name.partition("/")
    return f"{MERGED[first]}/{rest}" if slash and first in MERGED else name
