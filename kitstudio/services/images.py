"""Images for the runtime: what a lock pins, found at the place its reference belongs to, every blob verified."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kitstudio.models.decode import decode
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import Reference, parse
from kitstudio.registry.source import Artifact, ArtifactKind, RegistryError
from kitstudio.runtime.backend import ImageLayer, KitImage
from kitstudio.services.places import Places


class Images:
    """The ``ImageProvider`` over all places."""

    def __init__(self, places: Places) -> None:
        self._places = places

    async def image(self, reference: str, digest: str) -> KitImage:
        """The image a locked Kit pins, for this machine's platform."""
        pinned = parse(reference).with_digest(digest)
        artifact = await self._places.of(pinned).source.artifact(pinned)
        return kit_image(reference, digest, artifact)

    async def layer(self, reference: str, layer: ImageLayer, progress: Callable[[int, int], None]) -> Path:
        """A verified local file with the compressed layer. ``progress(done, total)`` in bytes."""
        progress(0, layer.size)
        known: Reference = parse(reference)
        path = await self._places.of(known).source.blob(known, layer.digest, layer.size)
        progress(layer.size, layer.size)
        return path


def kit_image(reference: str, digest: str, artifact: Artifact) -> KitImage:
    """What the runtime needs of an artifact. Raises ``RegistryError`` where it is no Kit that can be composed."""
    config = artifact.config
    if artifact.kind is not ArtifactKind.KIT or config is None:
        raise RegistryError("What is stored there is not a Kit image.", where=reference)
    if artifact.digest != digest and artifact.manifest.digest != digest:
        raise RegistryError("The Kit is not the one that was approved: its digest differs.", where=reference)
    layers = artifact.manifest.layers
    if not layers:
        raise RegistryError(
            "The Kit has no layers, so it has no content.",
            where=reference,
            remedy="A published Kit has at least the layer with its descriptor: choose another version.",
        )
    if len(config.diff_ids) != len(layers):
        raise RegistryError(
            f"The image config names {len(config.diff_ids)} layers, the manifest {len(layers)}.", where=reference
        )
    try:
        kind = decode(artifact.descriptor_text).descriptor.kind
    except KitStudioError as error:
        raise RegistryError(f"The descriptor does not decode: {error.what}", where=reference) from error
    return KitImage(
        reference,
        digest,
        kind,
        tuple(
            ImageLayer(layer.digest, layer.size, layer.media_type, diff_id)
            for layer, diff_id in zip(layers, config.diff_ids, strict=True)
        ),
        config.entrypoint,
        config.cmd,
        config.env,
        config.user,
        config.workdir,
        dict(config.labels),
    )
