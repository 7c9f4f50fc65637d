"""Manifests, indexes and image configs as values (§9.3, §10), from OCI and Docker spellings alike.

Whatever a registry sends is hostile until parsed here: sizes are bounded by the callers, shapes are checked, and
nothing is guessed from a field of the wrong type.
"""

from __future__ import annotations

import json
import platform as host
from collections.abc import Mapping
from typing import Any

from kitstudio.models.annotations import BUILT_BY, CAPABILITIES, DESCRIPTOR, SCHEMA_VERSION
from kitstudio.registry.blob_store import digest_of, wrong_digest
from kitstudio.registry.reference import Reference, RegistryError, is_digest
from kitstudio.registry.source import ArtifactKind, ImageConfig, IndexEntry, Layer, Manifest, Platform

MAX_METADATA = 8 * 1024 * 1024
MAX_NESTING = 4
MAX_ROWS = 4096

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER_GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"
LAYER_TAR = "application/vnd.oci.image.layer.v1.tar"
ACCEPTED = (OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST)
"""All four are always asked for: some registries answer 404 to a client that leaves one out."""

PROMOTED = (DESCRIPTOR, SCHEMA_VERSION, CAPABILITIES, BUILT_BY)
V2_ARTIFACT = "application/vnd.docker.sandbox.kit.v2"
ATTESTATION = "vnd.docker.reference.type"

_NOT_A_MANIFEST = "Check that the reference names an image."


def parse_manifest(
    reference: Reference, raw: bytes, media_type: str = "", *, expected: str = "", max_rows: int = MAX_ROWS
) -> Manifest:
    """Parse one manifest or index and verify it against ``expected`` (a digest) where stated."""
    where = str(reference)
    digest = digest_of(raw, expected or "sha256:")
    if expected and digest != expected:
        raise wrong_digest(expected, digest, where)
    if len(raw) > MAX_METADATA:
        raise RegistryError("The manifest is larger than 8 MiB.", where=where, remedy=_NOT_A_MANIFEST)
    document = _object(raw, where)
    if document.get("schemaVersion") != 2:
        raise RegistryError("This is not an image manifest of version 2.", where=where, remedy=_NOT_A_MANIFEST)
    stated = _text(document.get("mediaType")) or media_type.partition(";")[0].strip().lower()
    if stated not in ACCEPTED:
        stated = OCI_INDEX if isinstance(document.get("manifests"), list) else OCI_MANIFEST
    annotations = _texts(document.get("annotations"))
    artifact_type = _text(document.get("artifactType"))
    if stated in (OCI_INDEX, DOCKER_LIST):
        entries = tuple(_entry(row, where) for row in _rows(document, "manifests", where, max_rows))
        runnable = tuple((e.platform, e.digest) for e in entries if e.platform is not None and is_runnable(e))
        return Manifest(reference, digest, stated, raw, annotations, artifact_type, platforms=runnable, entries=entries)
    if not isinstance(document.get("config"), dict):
        raise RegistryError("The manifest names no config.", where=where, remedy=_NOT_A_MANIFEST)
    layers = tuple(_layer(row, where) for row in _rows(document, "layers", where, max_rows))
    config = _layer(document["config"], where)
    return Manifest(reference, digest, stated, raw, annotations, artifact_type, config, layers)


def is_runnable(entry: IndexEntry) -> bool:
    """False for attestations and what else an index carries beside images."""
    if entry.media_type not in (OCI_MANIFEST, DOCKER_MANIFEST) or ATTESTATION in entry.annotations:
        return False
    return entry.platform is None or entry.platform.os not in ("", "unknown")


def parse_config(raw: bytes, where: str) -> ImageConfig:
    """The launch contract out of an image config blob (§8, §10)."""
    document = _object(raw, where)
    inner = document.get("config")
    config: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    rootfs = document.get("rootfs")
    return ImageConfig(
        entrypoint=_list(config.get("Entrypoint")),
        cmd=_list(config.get("Cmd")),
        env=_list(config.get("Env")),
        user=_text(config.get("User")),
        workdir=_text(config.get("WorkingDir")),
        labels=_texts(config.get("Labels")),
        exposed_ports=_keys(config.get("ExposedPorts")),
        volumes=_keys(config.get("Volumes")),
        platform=_platform(document) or Platform("linux", "amd64"),
        diff_ids=_list(rootfs.get("diff_ids")) if isinstance(rootfs, dict) else (),
        created=_text(document.get("created")),
    )


def classify(manifest: Manifest, descriptor_text: str) -> ArtifactKind:
    """A v3 Kit is a plain image with the descriptor annotation (§10); a v2 artifact says so in a type."""
    config_type = manifest.config.media_type if manifest.config else ""
    if is_v2(manifest.artifact_type) or is_v2(config_type):
        return ArtifactKind.V2_KIT
    if config_type not in (OCI_CONFIG, DOCKER_CONFIG) or manifest.artifact_type:
        return ArtifactKind.OTHER
    return ArtifactKind.KIT if descriptor_text else ArtifactKind.IMAGE


def host_platform() -> Platform:
    """The platform sandboxes run on by default: Linux on this machine's architecture."""
    machine = host.machine().lower()
    return Platform(
        "linux", {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(machine, machine)
    )


def satisfies(offered: Platform, asked: Platform) -> bool:
    """Same system and architecture; a variant counts only where both state one (arm64 implies v8)."""
    same = (offered.os, offered.architecture) == (asked.os, asked.architecture)
    return same and (not asked.variant or not offered.variant or asked.variant == offered.variant)


def parse_platform(text: str) -> Platform:
    """``os/architecture[/variant]`` as a person writes it."""
    parts = text.strip().lower().split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise RegistryError("A platform is written os/architecture.", where=text[:60], remedy="Such as linux/amd64.")
    return Platform(*parts)


def read_json(raw: bytes, where: str) -> Any:
    """Decode JSON that may be anything; a person never sees a parser's own words."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RegistryError("This is not JSON, so it is no image.", where=where, remedy=_NOT_A_MANIFEST) from error


def is_v2(media_type: str) -> bool:
    return media_type.startswith(V2_ARTIFACT) and media_type[len(V2_ARTIFACT) :][:1] in ("", ".", "+")


def _object(raw: bytes, where: str) -> dict[str, Any]:
    document = read_json(raw, where)
    if not isinstance(document, dict):
        raise RegistryError("This is JSON, but no image.", where=where, remedy=_NOT_A_MANIFEST)
    return document


def _rows(document: Mapping[str, Any], key: str, where: str, most: int) -> list[Any]:
    rows = document.get(key)
    if rows is None:
        return []
    if not isinstance(rows, list) or len(rows) > most:
        raise RegistryError(f"The manifest's {key} are not a list of at most {most:,}.", where=where)
    return rows


def _layer(row: Any, where: str) -> Layer:
    digest = _text(row.get("digest")) if isinstance(row, dict) else ""
    size = row.get("size") if isinstance(row, dict) else None
    if not is_digest(digest) or not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise RegistryError("The manifest holds a row without a digest and size.", where=where, remedy=_NOT_A_MANIFEST)
    return Layer(digest, size, _text(row.get("mediaType")))


def _entry(row: Any, where: str) -> IndexEntry:
    layer = _layer(row, where)
    stated = row.get("platform")
    return IndexEntry(
        layer.digest,
        layer.size,
        layer.media_type,
        _platform(stated) if isinstance(stated, dict) else None,
        _text(row.get("artifactType")),
        _texts(row.get("annotations")),
    )


def _platform(document: Mapping[str, Any]) -> Platform | None:
    system, architecture = _text(document.get("os")), _text(document.get("architecture"))
    if not system and not architecture:
        return None
    return Platform(system, architecture, _text(document.get("variant")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if isinstance(item, str)}


def _keys(value: Any) -> tuple[str, ...]:
    return tuple(sorted(value)) if isinstance(value, dict) else ()
