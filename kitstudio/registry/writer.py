"""Images as values, and the OCI layout they are written into.

The functions are pure and deterministic: the same entries, config and annotations give the same bytes. Nothing
looks at the clock, the user or the file system's order.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, cast

from kitstudio.registry.blob_store import BlobStore, digest_of, write_atomically
from kitstudio.registry.manifest import LAYER_GZIP, MAX_METADATA, OCI_CONFIG, OCI_INDEX, OCI_MANIFEST, read_json
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import ImageConfig, Layer, Platform

REF_NAME = "org.opencontainers.image.ref.name"
GZIP_LEVEL = 6


class EntryKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"
    HARDLINK = "hardlink"


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a layer, relative to its root without a leading slash. ``target``: of links."""

    path: str
    kind: EntryKind = EntryKind.FILE
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    data: bytes = b""
    target: str = ""
    mtime: int | None = None


@dataclass(frozen=True, slots=True)
class LayerBlob:
    """A compressed layer with both its digests: of the blob, and of the tar inside (``diff_id``)."""

    data: bytes = field(repr=False)
    diff_id: str
    media_type: str = LAYER_GZIP

    @property
    def layer(self) -> Layer:
        return Layer(digest_of(self.data), len(self.data), self.media_type)


@dataclass(frozen=True, slots=True)
class Image:
    """A manifest or index with every blob below it, ready to be written or pushed."""

    raw: bytes = field(repr=False)
    media_type: str
    blobs: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def digest(self) -> str:
        return digest_of(self.raw)


def folder(path: str, mode: int = 0o755, uid: int = 0) -> Entry:
    """A directory entry."""
    return Entry(path, EntryKind.FOLDER, mode, uid, uid)


def symlink(path: str, target: str) -> Entry:
    """A symbolic link entry."""
    return Entry(path, EntryKind.SYMLINK, 0o777, target=target)


def build_layer(entries: Iterable[Entry], *, epoch: int = 0) -> LayerBlob:
    """A gzip-compressed tar of ``entries`` in path order; a later entry for one path replaces an earlier one."""
    unique = {entry.path: entry for entry in entries}
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=GZIP_LEVEL, fileobj=packed, mtime=0) as compressed:
        hashing = _Hashing(compressed)
        with tarfile.TarFile(fileobj=cast(IO[bytes], hashing), mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(unique, key=lambda p: (unique[p].kind is EntryKind.HARDLINK, p)):
                info = _tar_info(unique[path], epoch)
                archive.addfile(info, io.BytesIO(unique[path].data) if info.isreg() else None)
    return LayerBlob(packed.getvalue(), f"sha256:{hashing.hasher.hexdigest()}")


def build_image(
    layers: Sequence[LayerBlob],
    config: ImageConfig,
    annotations: Mapping[str, str] | None = None,
    *,
    artifact_type: str = "",
    config_type: str = OCI_CONFIG,
) -> Image:
    """An OCI image; its config's ``diff_ids`` are taken from ``layers``."""
    config_raw = config_bytes(config, [layer.diff_id for layer in layers])
    return build_manifest(
        Layer(digest_of(config_raw), len(config_raw), config_type),
        [layer.layer for layer in layers],
        (config_raw, *(layer.data for layer in layers)),
        annotations,
        artifact_type=artifact_type,
    )


def config_bytes(config: ImageConfig, diff_ids: Sequence[str]) -> bytes:
    """The image config over layers with these ``diff_ids``."""
    return _json(_config_document(config, diff_ids))


def build_manifest(
    config: Layer,
    layers: Sequence[Layer],
    blobs: tuple[bytes, ...],
    annotations: Mapping[str, str] | None = None,
    *,
    artifact_type: str = "",
) -> Image:
    """A manifest over blobs that exist already."""
    document: dict[str, Any] = {"schemaVersion": 2, "mediaType": OCI_MANIFEST}
    if artifact_type:
        document["artifactType"] = artifact_type
    document["config"] = _row(config)
    document["layers"] = [_row(layer) for layer in layers]
    if annotations:
        document["annotations"] = dict(sorted(annotations.items()))
    return Image(_json(document), OCI_MANIFEST, blobs)


def build_index(
    images: Sequence[tuple[Platform | None, Image]],
    annotations: Mapping[str, str] | None = None,
    *,
    rows: Mapping[str, Mapping[str, str]] | None = None,
) -> Image:
    """An index of ``images``; ``rows``: annotations of single entries, by digest."""
    entries = []
    for platform, image in images:
        entry: dict[str, Any] = {"mediaType": image.media_type, "digest": image.digest, "size": len(image.raw)}
        if platform is not None:
            entry["platform"] = {"architecture": platform.architecture, "os": platform.os}
            if platform.variant:
                entry["platform"]["variant"] = platform.variant
        if rows and image.digest in rows:
            entry["annotations"] = dict(sorted(rows[image.digest].items()))
        entries.append(entry)
    document: dict[str, Any] = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}
    if annotations:
        document["annotations"] = dict(sorted(annotations.items()))
    blobs: dict[bytes, None] = {}
    for _, image in images:
        blobs.update(dict.fromkeys((image.raw, *image.blobs)))
    return Image(_json(document), OCI_INDEX, tuple(blobs))


class LayoutWriter:
    """Writes into the OCI layout ``root``, which is made where missing. Blocking, safe beside other writers."""

    def __init__(self, root: Path) -> None:
        self.store = BlobStore(root)

    def add(self, name: str, image: Image) -> str:
        """Store an image and let ``name`` (a full reference or a bare tag) point at it; returns its digest."""
        for blob in (*image.blobs, image.raw):
            self.store.put(blob)
        self.point(name, Layer(image.digest, len(image.raw), image.media_type))
        return image.digest

    def point(self, name: str, manifest: Layer) -> None:
        """Let ``name`` point at a manifest that is stored already."""
        path = self._index
        with self._locked():
            kept = [row for row in self._rows() if not (isinstance(row, dict) and _name_of(row) == name)]
            kept.append({**_row(manifest), "annotations": {REF_NAME: name}})
            kept.sort(key=lambda row: _name_of(row) if isinstance(row, dict) else "")
            content = _json({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": kept})
            if len(content) > MAX_METADATA:
                raise RegistryError("The layout's index would grow beyond 8 MiB.", where=str(path))
            write_atomically(path, content)

    def pointed(self, name: str) -> str:
        """The digest that ``name`` points at, empty where nothing has that name."""
        found = next((row for row in self._rows() if isinstance(row, dict) and _name_of(row) == name), {})
        return str(found.get("digest", ""))

    @property
    def _index(self) -> Path:
        return self.store.root / "index.json"

    def _rows(self) -> list[Any]:
        try:
            with self._index.open("rb") as stream:
                raw = stream.read(MAX_METADATA + 1)
        except FileNotFoundError:
            return []
        if len(raw) > MAX_METADATA:
            raise RegistryError("The layout's index is larger than 8 MiB.", where=str(self._index))
        document = read_json(raw, str(self._index))
        rows = document.get("manifests", []) if isinstance(document, dict) else None
        if not isinstance(rows, list):
            raise RegistryError("The layout's index is not an index.", where=str(self._index))
        return rows

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.store.prepare()
        descriptor = os.open(self.store.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class _Hashing:
    """A write-only file that hashes what passes through it."""

    def __init__(self, target: gzip.GzipFile) -> None:
        self._target = target
        self.hasher = hashlib.sha256()
        self._written = 0

    def tell(self) -> int:
        return self._written

    def write(self, data: bytes) -> int:
        self.hasher.update(data)
        self._written += len(data)
        return self._target.write(data)


_TYPES = {
    EntryKind.FILE: tarfile.REGTYPE,
    EntryKind.FOLDER: tarfile.DIRTYPE,
    EntryKind.SYMLINK: tarfile.SYMTYPE,
    EntryKind.HARDLINK: tarfile.LNKTYPE,
}


def _tar_info(entry: Entry, epoch: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(entry.path)
    info.type = _TYPES[entry.kind]
    info.mode, info.uid, info.gid = entry.mode, entry.uid, entry.gid
    info.mtime = epoch if entry.mtime is None else entry.mtime
    info.size = len(entry.data) if entry.kind is EntryKind.FILE else 0
    info.linkname = entry.target
    return info


def _config_document(config: ImageConfig, diff_ids: Sequence[str]) -> dict[str, Any]:
    inner: dict[str, Any] = {
        "User": config.user,
        "ExposedPorts": {port: {} for port in config.exposed_ports},
        "Env": list(config.env),
        "Entrypoint": list(config.entrypoint),
        "Cmd": list(config.cmd),
        "Volumes": {volume: {} for volume in config.volumes},
        "WorkingDir": config.workdir,
        "Labels": dict(sorted(config.labels.items())),
    }
    document: dict[str, Any] = {"created": config.created} if config.created else {}
    document["architecture"] = config.platform.architecture
    document["os"] = config.platform.os
    if config.platform.variant:
        document["variant"] = config.platform.variant
    document["config"] = {key: value for key, value in inner.items() if value}
    document["rootfs"] = {"type": "layers", "diff_ids": list(diff_ids)}
    return document


def _row(layer: Layer) -> dict[str, Any]:
    return {"mediaType": layer.media_type, "digest": layer.digest, "size": layer.size}


def _name_of(row: Mapping[str, Any]) -> str:
    annotations = row.get("annotations")
    name = annotations.get(REF_NAME) if isinstance(annotations, dict) else ""
    return name if isinstance(name, str) else ""


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
