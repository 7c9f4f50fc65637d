"""Preflight of many Kits from a registry on this machine: ours, ``skopeo inspect`` once a Kit, and bare GETs.

Run: ``python -m benchmarks.preflight [COUNT]``. Needs ``docker-registry`` and ``skopeo``; prints the ratios of the
goals: at least five times as fast as skopeo, at most one and a half times as slow as one keep-alive GET each.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import requests

from kitstudio.registry.artifact import Reader, glance
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.copy import RegistryDestination, copy
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.manifest import ACCEPTED
from kitstudio.registry.reference import parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.services import cards
from tests.builders import descriptor, kit_index, layout, network
from tests.registry.servers import run_registry

COUNT = 200
AT_LEAST, AT_MOST = 5.0, 1.5
"""The goals: how many times faster than skopeo, how many times slower than bare GETs."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """Seconds for ``count`` Kits: ours with an empty store, skopeo one after the other, bare GETs on one connection."""

    count: int
    ours: float
    skopeo: float
    bare: float

    @property
    def against_skopeo(self) -> float:
        return self.skopeo / self.ours

    @property
    def against_bare(self) -> float:
        return self.ours / self.bare

    def lines(self) -> tuple[str, ...]:
        """What is printed."""
        return (
            f"preflight of {self.count} Kits: ours {self.ours:.2f} s, skopeo {self.skopeo:.2f} s, "
            f"bare GETs {self.bare:.2f} s",
            f"  {self.against_skopeo:.1f} × as fast as skopeo inspect (goal: at least {AT_LEAST:g})",
            f"  {self.against_bare:.2f} × the time of one keep-alive GET each (goal: at most {AT_MOST:g})",
        )


def measure(count: int = COUNT, rounds: int = 3) -> Preflight:
    """Fill a registry and read it in the three ways; the best of ``rounds`` each."""
    with tempfile.TemporaryDirectory(prefix="kitstudio-preflight-") as folder:
        place = Path(folder)
        (place / "registry").mkdir()
        with run_registry(place / "registry") as server:
            names = asyncio.run(_fill(server.host, place / "kits", count))
            ours = min(asyncio.run(_ours(server.host, names, place / f"store-{n}")) for n in range(rounds))
            bare = min(_bare(server.host, names) for _ in range(rounds))
            return Preflight(count, ours, _skopeo(names), bare)


async def _fill(host: str, folder: Path, count: int) -> tuple[str, ...]:
    """Kits for two platforms, each with hosts of its own; pushed a few at a time."""
    names = tuple(f"{host}/acme/kit-{number}:1.0.{number}" for number in range(count))
    kits = {
        name: kit_index(
            descriptor(
                display_name=f"Kit {number}",
                version=f"1.0.{number}",
                description="One of many Kits that are looked at before any of them is fetched.",
                capabilities=(network([f"host-{number}-{n}.example" for n in range(6)]),),
            )
        )
        for number, name in enumerate(names)
    }
    source = LayoutSource(layout(folder, kits))
    target = RegistrySource(host, BlobStore(folder / "pushed"))
    gate = asyncio.Semaphore(8)

    async def push(name: str) -> None:
        async with gate:
            await copy(source, parse(name), RegistryDestination(target, parse(name)))

    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(push(name))
    return names


async def _ours(host: str, names: Sequence[str], store: Path) -> float:
    """Every Kit to what a card shows: manifest fetched, verified, kept, decoded, validated."""
    source = RegistrySource(host, BlobStore(store))
    begun = time.perf_counter()

    async def one(name: str) -> None:
        artifact = await glance(Reader(source.manifest), parse(name))
        card = cards.card("bench", artifact, cards.glimpse(artifact))
        assert card.chips and card.error is None

    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(one(name))
    return time.perf_counter() - begun


def _bare(host: str, names: Sequence[str]) -> float:
    """One GET each on one connection, the answer thrown away."""
    headers = {"Accept": ", ".join(ACCEPTED)}
    begun = time.perf_counter()
    with requests.Session() as session:
        for name in names:
            reference = parse(name)
            answer = session.get(f"http://{host}/v2/{reference.repository}/manifests/{reference.tag}", headers=headers)
            assert answer.status_code == 200 and answer.content
    return time.perf_counter() - begun


def _skopeo(names: Sequence[str]) -> float:
    begun = time.perf_counter()
    for name in names:
        command = ["skopeo", "inspect", "--tls-verify=false", f"docker://{name}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def main() -> int:
    """Print the figures; 1 where a goal is missed."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
    print("\n".join(found.lines()))
    return 0 if found.against_skopeo >= AT_LEAST and found.against_bare <= AT_MOST else 1


if __name__ == "__main__":
    raise SystemExit(main())
