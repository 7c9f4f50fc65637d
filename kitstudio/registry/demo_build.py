"""The embedded demo catalog: built from ``resources/demo`` into an OCI layout, by our own code alone.

``python -m kitstudio.registry.demo_build OUT`` is what set-up runs. The inputs are hashed into ``OUT/build.json``;
a build whose inputs did not change does nothing. The result appears as a whole or not at all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kitstudio import __version__
from kitstudio.models.annotations import BuiltBy
from kitstudio.models.errors import KitStudioError
from kitstudio.registry import debian
from kitstudio.registry.blob_store import write_atomically
from kitstudio.registry.kit_image import Recipe, publish, read_recipe, read_versions
from kitstudio.registry.manifest import host_platform
from kitstudio.registry.reference import DEMO, RegistryError
from kitstudio.registry.writer import LayerBlob, LayoutWriter, build_layer

BUILT_BY = BuiltBy("kitstudio/demo", __version__)
EPOCH = 1764547200
"""Time stamp of the demo's own files; ``SOURCE_DATE_EPOCH`` overrides it."""

LOCK = "packages.lock"
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Base:
    """A Debian root file system as one layer, shared by all versions of the Kits that state the same packages."""

    layer: LayerBlob
    status: str
    packages: tuple[debian.Pinned, ...]


def build_demo(sources: Path, out: Path, package_cache: Path, log: Log = print) -> bool:
    """Build the catalog; False when it was there already, made from the same inputs."""
    inputs = _inputs(sources)
    if _recorded(out).get("inputs") == inputs and (out / "index.json").exists():
        return False
    pins = read_lock(sources / LOCK)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder_name:
        work = Path(folder_name, "layout")
        writer = LayoutWriter(work)
        bases: dict[tuple[str, ...], _Base] = {}
        packages: dict[str, str] = {}
        kits: dict[str, str] = {}
        for recipe, source in _recipes(sources):
            if recipe.packages and recipe.packages not in bases:
                log(f"Making the file system of {recipe.name} from {len(recipe.packages)} packages and what they need.")
                bases[recipe.packages] = _base(recipe, pins, package_cache, log)
                packages.update({pin.name: pin.version for pin in bases[recipe.packages].packages})
            base = bases.get(recipe.packages)
            image = publish(
                recipe,
                source,
                base=[base.layer] if base else [],
                dpkg_status=base.status if base else "",
                installed=[f"{pin.name} {pin.version}" for pin in base.packages] if base else (),
                built_by=BUILT_BY,
                epoch=_epoch(),
                default_platform=host_platform(),
            )
            reference = f"{DEMO}/{recipe.name}:{recipe.version}"
            kits[reference] = writer.add(reference, image)
        log(f"Wrote {len(kits)} versions of {len({k.rpartition(':')[0] for k in kits})} Kits.")
        record = {"inputs": inputs, "series": debian.series(), "packages": packages, "kits": kits}
        write_atomically(work / "build.json", json.dumps(record, indent=1, sort_keys=True).encode())
        _put_in_place(work, out)
    return True


def read_lock(path: Path) -> Mapping[str, tuple[debian.Pinned, ...]]:
    """``packages.lock``: one package a line, below the key ``series/architecture/kit``."""
    pins: dict[str, list[debian.Pinned]] = {}
    if not path.exists():
        return {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split()
        if len(fields) != 5:
            raise RegistryError(
                "A line holds series/architecture/kit, name, version, architecture and sha256.",
                where=f"{path}:{number}",
            )
        pins.setdefault(fields[0], []).append(debian.Pinned(*fields[1:]))
    return {key: tuple(rows) for key, rows in pins.items()}


def write_lock(sources: Path, package_cache: Path) -> int:
    """Pin the newest packages of this system's series; other series' lines stay. Returns how many were pinned."""
    path = sources / LOCK
    pins = dict(read_lock(path))
    chosen = {}
    for recipe, _ in _recipes(sources):
        if recipe.packages and _lock_key(recipe) not in chosen:
            chosen[_lock_key(recipe)] = debian.obtain(recipe.packages, (), package_cache, print, alone=recipe.alone)
    lines = ["# series/architecture/kit  package  version  architecture  sha256"]
    for name, rows in sorted({**pins, **chosen}.items()):
        lines.extend(f"{name} {pin.name} {pin.version} {pin.architecture} {pin.sha256}" for pin in rows)
    write_atomically(path, ("\n".join(lines) + "\n").encode())
    return sum(len(rows) for rows in chosen.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command set-up runs."""
    parser = argparse.ArgumentParser(prog="demo_build", description="Build the embedded demo catalog.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--sources", type=Path, default=_checkout() / "resources" / "demo")
    parser.add_argument("--packages", type=Path, default=None, help="where fetched packages are kept")
    parser.add_argument("--update-lock", action="store_true", help="pin the newest packages instead of building")
    options = parser.parse_args(arguments)
    cache = options.packages or options.out.absolute().parent / "packages"
    try:
        if options.update_lock:
            print(f"Pinned {write_lock(options.sources, cache)} packages.")
        elif not build_demo(options.sources, options.out.absolute(), cache):
            print("The demo catalog is up to date.")
    except KitStudioError as error:
        print(f"demo catalog: {error}", file=sys.stderr)
        return 1
    return 0


def _recipes(sources: Path) -> Iterator[tuple[Recipe, Path]]:
    found = False
    for source in sorted(path for path in sources.iterdir() if path.is_dir()) if sources.is_dir() else ():
        for version in read_versions(source):
            found = True
            yield read_recipe(source / "kit.toml", version), source
    if not found:
        raise RegistryError("There are no Kits to build here.", where=str(sources))


def _base(recipe: Recipe, pins: Mapping[str, tuple[debian.Pinned, ...]], cache: Path, log: Log) -> _Base:
    chosen = debian.obtain(recipe.packages, pins.get(_lock_key(recipe), ()), cache, log, alone=recipe.alone)
    unpacked = [debian.unpack(debian.archive_path(pin, cache)) for pin in chosen]
    entries = debian.root_entries(unpacked)
    status = next(entry.data for entry in entries if entry.path == "var/lib/dpkg/status")
    return _Base(build_layer(entries, epoch=_epoch()), status.decode(), chosen)


def _put_in_place(work: Path, out: Path) -> None:
    old = work.parent / "old"
    if out.exists():
        out.rename(old)
    work.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _inputs(sources: Path) -> str:
    """One digest over everything the result depends on: sources, the code that builds, this system's archive."""
    hasher = hashlib.sha256(f"{debian.series()} {host_platform()} {_epoch()} {__version__}\n".encode())
    code = Path(__file__).parent
    files = [*(code / f"{name}.py" for name in ("debian", "demo_build", "kit_image", "writer"))]
    models = code.parent / "models"
    files.extend(models / f"{name}.py" for name in ("annotations", "canonical", "packages"))
    for path in [*files, *sorted(p for p in sources.rglob("*") if p.is_file())]:
        relative = path.relative_to(sources) if path.is_relative_to(sources) else path.name
        hasher.update(f"{relative}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return hasher.hexdigest()


def _recorded(out: Path) -> Mapping[str, object]:
    try:
        record = json.loads((out / "build.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _lock_key(recipe: Recipe) -> str:
    return f"{debian.series()}/{host_platform().architecture}/{recipe.name}"


def _epoch() -> int:
    return int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH))


def _checkout() -> Path:
    return Path(__file__).resolve().parents[2]


if __name__ == "__main__":
    sys.exit(main())
