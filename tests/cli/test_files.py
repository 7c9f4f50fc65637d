"""``files`` and ``cp`` of the command line, over a sandbox on a folder of this computer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.files import Entry, EntryKind, Listing, Progressing
from tests.cli.conftest import Kitstudio
from tests.services.fakes import FakeBackend


class FolderFiles:
    """Copies between this computer and a folder that stands for a sandbox."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def list(self, path: str, *, named: bool = False) -> Listing:
        entries = (
            Entry("src", EntryKind.FOLDER, 0o755, 4096, 0.0, 1000, 1000),
            Entry("a\x1b[31m\udcff", EntryKind.FILE, 0o644, 7, 9e30, 0, 0),
            Entry("out", EntryKind.LINK, 0o777, 4, 0.0, 0, 0, "/etc"),
        )
        return Listing(path or "/home/agent", entries)

    async def read(self, path: str, limit: int, *, named: bool = False) -> tuple[bytes, int]:
        raise NotImplementedError

    async def fetch(self, path: str, target: Path, progress: Progressing, *, named: bool = False) -> int:
        shutil.copyfile(self.root / path.lstrip("/"), target)
        return target.stat().st_size

    async def put(self, source: Path, path: str, progress: Progressing, *, replace: bool = False) -> int:
        target = self.root / path.lstrip("/")
        if target.exists() and not replace:
            raise SandboxError("Something of that name is there already.", where=path)
        shutil.copyfile(source, target)
        return target.stat().st_size


@pytest.fixture
def root(kitstudio: Kitstudio, backend: FakeBackend, tmp_path: Path) -> Path:
    assert kitstudio("launch", "demo/base", "--name", "box", "--yes", "--detach").code == 0
    made = tmp_path / "guest"
    made.mkdir()
    (made / "note").write_text("inside")
    backend.shown_files = FolderFiles(made)
    return made


def test_a_folder_is_listed_with_names_that_do_nothing_to_the_terminal(kitstudio: Kitstudio, root: Path) -> None:
    answer = kitstudio("files", "box")
    assert "/home/agent" in answer.out and "src/" in answer.out and "out -> /etc" in answer.out
    assert "\x1b" not in answer.out and "0644" in answer.out
    document = kitstudio("files", "box", "/x", "--json").document
    assert document["path"] == "/x" and document["entries"][0]["kind"] == "folder"
    assert document["entries"][2]["target"] == "/etc" and document["entries"][1]["modified"] == ""


def test_one_file_is_copied_out_and_nothing_replaced_unasked(kitstudio: Kitstudio, root: Path, tmp_path: Path) -> None:
    assert kitstudio("cp", "box:/note", str(tmp_path)).code == 0
    assert (tmp_path / "note").read_text() == "inside"
    (tmp_path / "note").write_text("mine")
    refused = kitstudio("cp", "box:/note", str(tmp_path))
    assert refused.code == 1 and "--force" in refused.err and (tmp_path / "note").read_text() == "mine"
    assert kitstudio("cp", "--force", "box:/note", str(tmp_path)).code == 0
    assert (tmp_path / "note").read_text() == "inside"


def test_one_file_is_copied_in(kitstudio: Kitstudio, root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("outside")
    answer = kitstudio("cp", str(tmp_path / "mine"), "box:/", "--json")
    assert answer.document == {"path": "box:/mine", "size": 7} and (root / "mine").read_text() == "outside"
    assert kitstudio("cp", str(tmp_path / "mine"), "box:/note").code == 1


def test_two_places_of_one_side_are_a_usage_error(kitstudio: Kitstudio, root: Path) -> None:
    assert kitstudio("cp", "a", "b").code == 64 and kitstudio("cp", "box:/a", "box:/b").code == 64
