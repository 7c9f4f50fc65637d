"""Where the person's own skills are mounted, and where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.agent_skills import Destination, Exposure
from kitstudio.runtime.skill_store import MOST, Skills, Store, mount_store


def store_in(folder: Path, name: str) -> Path:
    (folder / "skills" / name).mkdir(parents=True)
    return folder / "skills"


def plan(*places: Destination, mode: str = "readonly", folder: Path, shipped: tuple[Exposure, ...] = ()) -> Store:
    return mount_store(Skills(str(folder), mode), places, shipped, ("/work/sub", "/data"))


def test_the_same_name_on_both_sides_replaces_neither(tmp_path: Path) -> None:
    store = store_in(tmp_path, "triage")
    place = Destination("/s")
    with pytest.raises(SandboxError, match="one of that name"):
        plan(place, folder=store, shipped=(Exposure("/s/triage", "/opt/triage", True),))
    made = plan(place, folder=store, shipped=(Exposure("/s/triage", "/opt/triage", False),))
    assert made.shares[0].links == () and "left out" in made.notes[0]


def test_where_a_mount_would_hide_something_there_is_none_and_it_is_said(tmp_path: Path) -> None:
    store = store_in(tmp_path, "mine")
    made = plan(
        Destination("/s", ships=True), Destination("/work"), Destination("/data"), Destination("/t"), folder=store
    )
    assert made.places == {"/t"} and len(made.notes) == 3
    many = plan(*(Destination(f"/d{n}") for n in range(MOST + 1)), folder=store)
    assert len(many.shares) == MOST and len({share.tag for share in many.shares}) == MOST and len(many.notes) == 1


@pytest.mark.parametrize("mode", ["off", "", "READWRITE", "readonly "])
def test_what_is_no_known_mode_shares_nothing(tmp_path: Path, mode: str) -> None:
    assert plan(Destination("/s", writable=True), mode=mode, folder=store_in(tmp_path, "mine")) == Store()
