"""Package archives made by the test itself; no network, no apt."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
from pathlib import Path

import pytest
import zstandard

from kitstudio.models.packages import parse_dpkg
from kitstudio.registry import debian
from kitstudio.registry.debian import Pinned, archive_path, obtain, root_entries, unpack
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.writer import Entry, EntryKind

CONTROL = "Package: tool\nVersion: 1:2.5-3\nArchitecture: amd64\nMulti-Arch: same\nDescription: a tool\n more of it\n"


def tar_of(*members: tuple[str, bytes, str, str]) -> bytes:
    """A tar of (name, type, content, link) rows."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, kind, content, link in members:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname, info.mode = kind, len(content), link, 0o755
            archive.addfile(info, io.BytesIO(content.encode()))
    return packed.getvalue()


def deb(path: Path, data: bytes, control: str = CONTROL, *, name: str = "data.tar.xz") -> Path:
    control_tar = tar_of(("./control", tarfile.REGTYPE, control, ""))
    parts = (("debian-binary", b"2.0\n"), ("control.tar.xz", lzma.compress(control_tar)), (name, data))
    with path.open("wb") as file:
        file.write(b"!<arch>\n")
        for member, content in parts:
            file.write(f"{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode())
            file.write(content + b"\n" * (len(content) % 2))
    return path


FILES = tar_of(
    ("./", tarfile.DIRTYPE, "", ""),
    ("./bin", tarfile.DIRTYPE, "", ""),
    ("./bin/tool", tarfile.REGTYPE, "binary", ""),
    ("./usr/bin/other", tarfile.LNKTYPE, "", "./bin/tool"),
    ("./lib/x.so", tarfile.SYMTYPE, "", "x.so.1"),
    ("./usr/share/man/man1/tool.1", tarfile.REGTYPE, "manual", ""),
    ("./usr/share/doc/tool/copyright", tarfile.REGTYPE, "licence", ""),
    ("./usr/share/doc/tool/README", tarfile.REGTYPE, "text", ""),
    ("./usr/share/ca-certificates/a/b.crt", tarfile.REGTYPE, "CERT", ""),
)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("data.tar.xz", lzma.compress(FILES)),
        ("data.tar.zst", zstandard.compress(FILES)),
        ("data.tar", FILES),
    ],
)
def test_package_is_read_into_merged_usr_without_documentation(tmp_path: Path, name: str, data: bytes) -> None:
    package = unpack(deb(tmp_path / "a.deb", data, name=name))
    found = {entry.path: entry for entry in package.entries}
    assert found["usr/bin/tool"].data == b"binary"
    assert found["usr/bin/other"].target == "usr/bin/tool"
    assert found["usr/lib/x.so"].target == "x.so.1"
    assert "usr/share/doc/tool/copyright" in found
    assert not {"bin", "usr/share/man/man1/tool.1", "usr/share/doc/tool/README"} & set(found)


def test_root_has_links_of_merged_usr_database_lists_and_certificates(tmp_path: Path) -> None:
    package = unpack(deb(tmp_path / "a.deb", lzma.compress(FILES)))
    found = {entry.path: entry for entry in root_entries([package])}
    assert (found["bin"].kind, found["bin"].target) == (EntryKind.SYMLINK, "usr/bin")
    assert "sbin" not in found
    [installed] = parse_dpkg(found["var/lib/dpkg/status"].data.decode())
    assert (installed.name, installed.version) == ("tool", "1:2.5-3")
    assert b"/usr/bin/tool\n" in found["var/lib/dpkg/info/tool:amd64.list"].data
    assert found["etc/ssl/certs/ca-certificates.crt"].data == b"CERT\n"


@pytest.mark.parametrize(
    ("member", "says"),
    [
        (("./../etc/passwd", tarfile.REGTYPE, "x", ""), "outside its root"),
        (("./dev/sda", tarfile.BLKTYPE, "", ""), "device"),
    ],
)
def test_package_that_reaches_out_is_refused(tmp_path: Path, member: tuple[str, bytes, str, str], says: str) -> None:
    with pytest.raises(RegistryError, match=says):
        unpack(deb(tmp_path / "a.deb", lzma.compress(tar_of(member))))


@pytest.mark.parametrize("content", [b"", b"not a package", b"!<arch>\n" + b" " * 60])
def test_what_is_no_package_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.deb"
    path.write_bytes(content)
    with pytest.raises(RegistryError):
        unpack(path)


def test_pinned_packages_in_the_cache_need_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "_apt", None)
    pin = pinned(tmp_path, "1:2.5-3")
    assert obtain(["tool"], [pin], tmp_path, print) == (pin,)
    assert archive_path(pin, tmp_path).name == "tool_1%3a2.5-3_amd64.deb"


def test_newest_of_the_series_replaces_pins_that_left_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Pinned("tool", "1.0", "amd64", "0" * 64), pinned(tmp_path, "2.0")
    monkeypatch.setattr(debian, "_shown", lambda queries, strict=True: ())
    monkeypatch.setattr(debian, "closure", lambda roots: (new,))
    said: list[str] = []
    assert obtain(["tool"], [old], tmp_path, said.append) == (new,)
    assert "left the archive" in said[0]


def test_archive_that_gives_other_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = Pinned("tool", "1.0", "amd64", "0" * 64)

    def download(program: str, *arguments: str, cwd: str = "", strict: bool = True) -> str:
        Path(cwd, "tool_1.0_amd64.deb").write_bytes(b"something else")
        return ""

    monkeypatch.setattr(debian, "_shown", lambda queries, strict=True: (pin,))
    monkeypatch.setattr(debian, "_apt", download)
    with pytest.raises(RegistryError, match="did not give tool"):
        obtain(["tool"], [pin], tmp_path, lambda _: None)


def pinned(cache: Path, version: str) -> Pinned:
    content = version.encode()
    pin = Pinned("tool", version, "amd64", hashlib.sha256(content).hexdigest())
    archive_path(pin, cache).write_bytes(content)
    return pin


def test_folder_entry_of_one_package_does_not_replace_anothers_link() -> None:
    one = debian.Unpacked((Entry("usr/a", EntryKind.FOLDER, 0o755),), "Package: one\nArchitecture: all", "one")
    two = debian.Unpacked((Entry("usr/a", EntryKind.FOLDER, 0o700),), "Package: two\nArchitecture: all", "two")
    found = {entry.path: entry for entry in root_entries([two, one])}
    assert found["usr/a"].mode == 0o755


def test_package_the_archive_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = "tool:\n  Candidate: 2.0\n  Version table:\nodd:\n  Installed: (none)\n  Candidate: (none)\n"
    monkeypatch.setattr(debian, "_apt", lambda *arguments, strict=True: policy)
    with pytest.raises(RegistryError, match="does not have odd, gone") as refusal:
        debian.newest(["tool", "odd", "gone"])
    assert "apt-get update" in refusal.value.remedy


def test_system_without_apt_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian.shutil, "which", lambda program: None)
    with pytest.raises(RegistryError, match="not on this system") as refusal:
        debian.newest(["tool"])
    assert "KITSTUDIO_DEMO" in refusal.value.remedy
