"""The image of a merged set (§9.5, §10): its Kits' layers unchanged, one layer of its own, one config.

Pure and deterministic. The config begins as the workload's own bytes, so that what is not known here (health checks,
stop signals) survives; mixins add variables, labels, ports and volumes, and nothing of how the workload starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.manifest import (
    LAYER_GZIP,
    LAYER_TAR,
    OCI_CONFIG,
    PROMOTED,
    parse_config,
    read_json,
)
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import Layer, Manifest, Platform
from kitstudio.registry.writer import Image, LayerBlob, build_index, build_manifest

LAYER_ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
MAX_MANIFEST = 4 * 1024 * 1024
"""What registries take of a manifest (§9.4)."""

_LAYERS: Mapping[str, str] = {
    LAYER_TAR: LAYER_TAR,
    LAYER_GZIP: LAYER_GZIP,
    LAYER_ZSTD: LAYER_ZSTD,
    "application/vnd.docker.image.rootfs.diff.tar": LAYER_TAR,
    "application/vnd.docker.image.rootfs.diff.tar.gzip": LAYER_GZIP,
    "application/vnd.docker.image.rootfs.diff.tar.zstd": LAYER_ZSTD,
}
"""Docker's spelling of a layer → OCI's: the bytes are the same."""

_OURS = frozenset(("Env", "Labels", "ExposedPorts", "Volumes"))


@dataclass(frozen=True, slots=True)
class Part:
    """One Kit's image for one platform."""

    reference: str
    manifest: Manifest
    config: bytes = field(repr=False)
    workload: bool = False


def merged_image(
    parts: Sequence[Part],
    own: LayerBlob,
    platform: Platform,
    annotations: Mapping[str, str],
    *,
    exported: Mapping[str, str] | None = None,
    created: str = "",
) -> Image:
    """The image of ``parts`` (lowest first) with the set's ``own`` layer on top.

    ``Image.blobs`` holds what is new, the config and the own layer; the other layers lie where the Kits are.
    ``exported``: variables that answered inputs set.
    """
    layers: list[Layer] = []
    diff_ids: list[str] = []
    for part in parts:
        layers += [oci_layer(layer, part.reference) for layer in part.manifest.layers]
        diff_ids += _diff_ids(part)
    config = _config(parts, platform, exported or {}, created)
    config["rootfs"] = {"type": "layers", "diff_ids": [*diff_ids, own.diff_id]}
    raw = json.dumps(config, separators=(",", ":"), ensure_ascii=False).encode()
    image = build_manifest(
        Layer(digest_of(raw), len(raw), OCI_CONFIG), [*layers, own.layer], (raw, own.data), annotations
    )
    _within_budget(image)
    return image


def merged_index(images: Sequence[tuple[Platform, Image]], annotations: Mapping[str, str]) -> Image:
    """One index over the platforms' images, with the Kit's annotations promoted (§9.3)."""
    promoted = {
        key: text for key, text in annotations.items() if key in PROMOTED or key.startswith("org.opencontainers.image.")
    }
    index = build_index(list(images), promoted)
    _within_budget(index)
    return index


def _within_budget(image: Image) -> None:
    if len(image.raw) > MAX_MANIFEST:
        raise RegistryError(
            f"The manifest would have {len(image.raw):,} bytes; registries take 4 MiB at most.",
            remedy="Publish a smaller set: its Kits' declarations are too large together.",
        )


def oci_layer(layer: Layer, reference: str) -> Layer:
    """The same layer under the name OCI has for its type. Raises RegistryError for one that has none."""
    media_type = _LAYERS.get(layer.media_type)
    if media_type is None:
        raise RegistryError(
            f"A layer of this Kit is of the type {layer.media_type or 'nothing stated'}, which cannot be passed on.",
            where=reference,
            remedy="Choose another version of the Kit, or leave it out.",
        )
    return Layer(layer.digest, layer.size, media_type)


def _diff_ids(part: Part) -> tuple[str, ...]:
    found = parse_config(part.config, part.reference).diff_ids
    if len(found) != len(part.manifest.layers):
        raise RegistryError(
            f"The image config names {len(found)} layers, the manifest {len(part.manifest.layers)}.",
            where=part.reference,
            remedy="Its publisher must publish it again.",
        )
    return found


def _config(parts: Sequence[Part], platform: Platform, exported: Mapping[str, str], created: str) -> dict[str, Any]:
    base = next((part for part in parts if part.workload), None)
    document = _object(base.config, base.reference) if base is not None else {}
    stated = document.get("config")
    inner = {key: value for key, value in (stated if isinstance(stated, dict) else {}).items() if key not in _OURS}
    found: dict[str, Any] = {"created": created} if created else {}
    found |= {"architecture": platform.architecture, "os": platform.os}
    if platform.variant:
        found["variant"] = platform.variant
    for key in ("os.version", "os.features"):
        if key in document:
            found[key] = document[key]
    inner |= _added(parts, exported)
    found["config"] = {key: inner[key] for key in sorted(inner)}
    return found


def _added(parts: Sequence[Part], exported: Mapping[str, str]) -> dict[str, Any]:
    """What every Kit may add: variables (``PATH`` grows), labels (the first one's stay), ports, volumes (§10)."""
    env: dict[str, str] = {}
    labels: dict[str, str] = {}
    ports: dict[str, dict[str, str]] = {}
    volumes: dict[str, dict[str, str]] = {}
    for part in parts:
        config = parse_config(part.config, part.reference)
        for statement in config.env:
            name, equals, value = statement.partition("=")
            if not equals or not name:
                raise RegistryError("A variable of the image has no name or value.", where=part.reference)
            env[name] = _longer_path(env[name], value) if name == "PATH" and name in env else value
        for name, value in config.labels.items():
            labels.setdefault(name, value)
        ports |= {port: {} for port in config.exposed_ports}
        volumes |= {volume: {} for volume in config.volumes}
    env |= exported
    found = {
        "Env": [f"{name}={value}" for name, value in env.items()],
        "Labels": dict(sorted(labels.items())),
        "ExposedPorts": dict(sorted(ports.items())),
        "Volumes": dict(sorted(volumes.items())),
    }
    return {key: value for key, value in found.items() if value}


def _longer_path(path: str, added: str) -> str:
    known = path.split(":")
    return ":".join([*known, *(part for part in added.split(":") if part and part not in known)])


def _object(raw: bytes, where: str) -> dict[str, Any]:
    document = read_json(raw, where)
    if not isinstance(document, dict):
        raise RegistryError("The image config is no object.", where=where)
    return document
