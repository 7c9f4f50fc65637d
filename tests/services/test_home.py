from __future__ import annotations

import os
from pathlib import Path

import pytest

from kitstudio.services import home as homes
from kitstudio.services.home import HomeError, open_home, write_atomic


def test_everything_lies_below_the_home_and_is_private(tmp_path: Path) -> None:
    home = open_home(tmp_path / "new")
    for folder in (home.config, home.data, home.cache, home.locks, home.sandboxes):
        assert folder.is_relative_to(tmp_path / "new")
        assert folder.stat().st_mode & 0o777 == 0o700


def test_the_environment_names_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITSTUDIO_HOME", str(tmp_path / "env"))
    assert open_home().data == tmp_path / "env" / "data"
    assert open_home(tmp_path / "flag").data == tmp_path / "flag" / "data"


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError) as caught:
        open_home(tmp_path / "file")
    assert "--home" in caught.value.remedy


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_crash_leaves_the_old_content_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "lock.json"
    write_atomic(path, b"old")

    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "write":
        monkeypatch.setattr(homes.os, "fchmod", broken)
    else:
        monkeypatch.setattr(homes.os, step, broken)
    with pytest.raises(HomeError) as caught:
        write_atomic(path, b"new")
    assert "No space left" in caught.value.what
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["lock.json"]
