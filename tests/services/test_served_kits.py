"""What the registry inside a sandbox serves: Kits of approved sets, and where their content is kept."""

from __future__ import annotations

from pathlib import Path

from kitstudio.models.lock import Lock, LockedKit
from kitstudio.models.surface import Surface
from kitstudio.services.app import Options, Studio
from kitstudio.services.served_kits import served_kits
from tests.services.fakes import FakeBackend

DIGEST = "sha256:" + "a" * 64


class Approvals:
    """Two locks in force, and one that counts as none."""

    def __init__(self, *references: str) -> None:
        self._lock = Lock("set", tuple(LockedKit(r, DIGEST, "mixin") for r in references), Surface(), "")

    async def names(self) -> tuple[str, ...]:
        return ("set", "again", "tampered")

    async def lock(self, name: str) -> Lock | None:
        return None if name == "tampered" else self._lock


async def test_kits_of_locks_in_force_are_served_once_under_their_own_names(tmp_path: Path) -> None:
    studio = await Studio.open(Options(home=tmp_path), FakeBackend())  # type: ignore[arg-type]
    approvals = Approvals("registry.lan:5000/acme/gh:2.0", "docker.io/acme/tool:1.0", "not a reference!")
    shelf = await served_kits(approvals, studio.places)  # type: ignore[arg-type]
    found = [(kit.name, kit.tag, kit.digest) for kit in shelf.kits]
    assert found == [("registry.lan-5000/acme/gh", "2.0", DIGEST), ("docker.io/acme/tool", "1.0", DIGEST)]
    assert shelf.roots == (studio.home.blobs,)
    await studio.close()


async def test_what_an_approved_set_is_made_of_can_be_read(tmp_path: Path) -> None:
    studio = await Studio.open(Options(home=tmp_path), FakeBackend())  # type: ignore[arg-type]
    demo = studio.places.demo().source
    shelf = await served_kits(Approvals("demo.invalid/hello:1.0.0"), studio.places)  # type: ignore[arg-type]
    assert getattr(demo, "root", None) in shelf.roots
    await studio.close()
