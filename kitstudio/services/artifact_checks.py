"""The artifact checks of a published Kit, on every platform it is published for: manifest, config and layers fetched,
the Kits of a merged set too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kitstudio.models.artifact import check_artifact
from kitstudio.models.artifact_tree import Tree
from kitstudio.models.artifact_view import Check, LaunchConfig, View
from kitstudio.models.decode import decode
from kitstudio.models.errors import DescriptorError
from kitstudio.registry.reference import Reference, parse
from kitstudio.registry.source import Artifact, ArtifactKind, Platform, RegistryError, Source
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.services.layer_files import LayerFile, read_tree
from kitstudio.services.places import Places


@dataclass(frozen=True, slots=True)
class PlatformChecks:
    """The checks of one outcome, with the platforms that share it."""

    platforms: tuple[str, ...]
    checks: tuple[Check, ...]


Told: TypeAlias = Callable[[int, int], None]
"""How far it is: layers fetched, layers known of so far."""


async def check_published(
    places: Places, source: Source, artifact: Artifact, told: Told = lambda done, total: None
) -> tuple[PlatformChecks, ...]:
    """Judge every platform of an artifact; equal outcomes are one. Raises RegistryError for what cannot be fetched."""
    counted = _Counted(told)
    found: dict[tuple[Check, ...], list[str]] = {}
    platforms = artifact.platforms if artifact.index is not None else ()
    for platform in platforms or (None,):
        one = artifact if platform is None else await source.artifact(artifact.reference, platform)
        shown = str(platform or (one.config.platform if one.config else ""))
        counted.expect(len(one.manifest.layers))
        found.setdefault(await _checks(places, source, one, platform, counted), []).append(shown)
    return tuple(PlatformChecks(tuple(names), checks) for checks, names in found.items())


async def judged(source: Source, reference: Reference) -> tuple[Check, ...]:
    """The checks of one image that lists no Kits, before it has a name."""
    artifact = await source.artifact(reference)
    return check_artifact(await _view(source, artifact, _Counted(lambda done, total: None), None))


class _Counted:
    """Layers over all platforms, told after each."""

    def __init__(self, told: Told) -> None:
        self._told, self._done, self._total = told, 0, 0

    def expect(self, layers: int) -> None:
        self._total += layers

    def one(self) -> None:
        self._done += 1
        self._told(self._done, self._total)


async def _checks(
    places: Places, source: Source, artifact: Artifact, platform: Platform | None, counted: _Counted
) -> tuple[Check, ...]:
    listed = await _listed(places, artifact, platform or (artifact.config.platform if artifact.config else None))
    return check_artifact(await _view(source, artifact, counted, listed))


async def _view(source: Source, artifact: Artifact, counted: _Counted, listed: tuple[str | None, ...] | None) -> View:
    config = artifact.config
    return View(
        dict(artifact.manifest.annotations),
        LaunchConfig(config.entrypoint, config.cmd, config.user, config.env) if config else None,
        len(artifact.manifest.layers),
        dict(artifact.index.annotations) if artifact.index else None,
        await _tree(source, artifact, counted),
        listed,
    )


async def _tree(source: Source, artifact: Artifact, counted: _Counted) -> Tree | None:
    if artifact.kind is not ArtifactKind.KIT:
        return None
    layers = artifact.manifest.layers
    diff_ids = artifact.config.diff_ids if artifact.config and len(artifact.config.diff_ids) == len(layers) else None
    files = []
    for number, layer in enumerate(layers):
        path = await source.blob(artifact.manifest.reference, layer.digest, layer.size)
        files.append(LayerFile(path, diff_ids[number] if diff_ids else ""))
        counted.one()
    return await in_thread(lambda stop: _read(stop, files))


def _read(stop: Stop, files: list[LayerFile]) -> Tree:
    check: Callable[[], None] = stop.check
    return read_tree(files, check)


async def _listed(places: Places, artifact: Artifact, platform: Platform | None) -> tuple[str | None, ...] | None:
    """The descriptor annotation of each listed Kit, at its pinned digest."""
    try:
        kits = decode(artifact.descriptor_text).descriptor.kits
    except DescriptorError:
        # Told by the checks, as their only finding.
        return None
    found: list[str | None] = []
    for kit in kits:
        try:
            reference = parse(kit.ref).with_digest(kit.digest)
            found.append((await places.of(reference).source.artifact(reference, platform)).descriptor_text)
        except RegistryError:
            # Not judged, and the check says so by name.
            found.append(None)
    return tuple(found)
