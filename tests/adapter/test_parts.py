"""What the adapter does of itself, without a process: Git's syntax, files below a shared folder, its records."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kitstudio.models.errors import KitStudioError
from kitstudio.services.adapter import _read_below
from kitstudio.services.adapter_git import read_identity, write_identity
from kitstudio.services.adapter_records import AdapterRecords, Created


@pytest.mark.parametrize("path", ["absent", "out", "in/one", "../secret", "/etc/passwd", "in", "below", "pipe", ""])
def test_nothing_but_a_regular_file_below_the_folder_is_read(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    (root / "below").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (root / "one").write_text("one")
    (root / "below" / "two").write_text("two")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "in").symlink_to(root)
    os.mkfifo(root / "pipe")
    assert _read_below(root, "one") == b"one" and _read_below(root, "below/two") == b"two"
    with pytest.raises(KitStudioError):
        _read_below(root, path)


@pytest.mark.parametrize(
    "text",
    [
        '[user]\n\tname = Ada Tester ; of the suite\n\temail = "ada@x.example"\n',
        '[USER] name = "A \\"q\\" B"\n email=a@b # c\n[user "sub"]\nname = Wrong\n',
        "[user]\nname = one\nname = two \\\n  more\n[include]\npath = other\n",
        '[user]\nname = " kept  "  \nemail =\n',
        "[core]\nname = x\n",
        '[user]\nname = a\\tb "c  d" e  \nemail = "x;y#z"\n',
    ],
)
def test_the_pair_is_read_as_git_reads_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)

    def git(key: str) -> str:
        told = subprocess.run(["git", "config", "--file", file, "--get", key], capture_output=True, text=True)
        return told.stdout.removesuffix("\n")

    assert read_identity(file) == (git("user.name"), git("user.email"))


@given(name=st.text('ab "\\;#\t=[]', min_size=1, max_size=12), email=st.text("ab@.", min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_back_is_read_again_and_other_lines_stay(tmp_path: Path, name: str, email: str) -> None:
    if "\t" in name:
        name = name.replace("\t", "")
    file = tmp_path / "config"
    file.write_text("[alias]\n\tst = status\n[user]\n\tname = old\n")
    write_identity(file, name, email)
    assert read_identity(file) == (name, email)
    assert "\tst = status\n" in file.read_text()


def test_a_record_comes_back_as_it_was_kept_and_names_stay_inside_the_folder(tmp_path: Path) -> None:
    records = AdapterRecords(tmp_path)
    records.begin()
    made = Created("kind: set", ("a", "b"), {"x": "1"}, {"E": ""}, "off", idle=3.0)
    records.keep("tck-1", made)
    assert records.read("tck-1") == made
    records.forget("tck-1")
    for name in ("tck-1", "../x", ".hidden"):
        with pytest.raises(KitStudioError):
            records.read(name)
