"""The registry inside a sandbox (kit-registry@1): the local Kits, read over one name by OCI's distribution rules.

It is answered by the proxy itself, so nothing is opened on any network. Only Kits are there: manifests that carry a
descriptor, and what those name. Every byte that leaves was checked against its digest; nothing can be written.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from kitstudio.models.annotations import DESCRIPTOR
from kitstudio.runtime.hosts import read_host

HOST, PORT = "kits.internal", 80
VARIABLES: Mapping[str, str] = {"KIT_REGISTRY": HOST, "KIT_REGISTRY_URL": f"http://{HOST}"}
"""How the endpoint is announced: as references name it, and as an address."""
MAX_MANIFEST = 8 * 1024 * 1024
MOST_KITS = 2000
MOST_CHILDREN = 100
PIECE = 256 * 1024
AT_ONCE = 4
"""Blobs checked at the same time."""

_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")


@dataclass(frozen=True, slots=True)
class ServedKit:
    """One Kit: ``name`` as it is asked for (``docker.io/acme/gh``), its tag or none, its manifest's digest."""

    name: str
    tag: str
    digest: str


@dataclass(frozen=True, slots=True)
class KitShelf:
    """What may be served. ``roots``: folders with ``blobs/sha256``, searched in order."""

    roots: tuple[Path, ...] = ()
    kits: tuple[ServedKit, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. ``body`` is given or comes from ``file``, which is checked and stands at its beginning."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    file: BinaryIO | None = None
    reason: str = ""

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body, piece by piece; closes the file."""
        if self.file is None:
            yield self.body
            return
        with self.file as file:
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece


@dataclass(slots=True)
class _Repository:
    """Digests by tag, and what may be asked for: manifests with their media types, blobs with their sizes."""

    tags: dict[str, str] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    manifests: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


class KitRegistry:
    """Answers requests of one sandbox."""

    def __init__(self, shelf: KitShelf) -> None:
        self._roots = shelf.roots
        self._repositories: dict[str, _Repository] = {}
        self._turn = asyncio.Semaphore(AT_ONCE)
        for kit in shelf.kits[:MOST_KITS]:
            if _NAME.fullmatch(kit.name) and _DIGEST.fullmatch(kit.digest):
                held = self._repositories.setdefault(kit.name, _Repository())
                held.roots.append(kit.digest)
                if _TAG.fullmatch(kit.tag):
                    held.tags[kit.tag] = kit.digest

    @staticmethod
    def answers(host: str, port: int) -> bool:
        """Whether that host and port is the registry."""
        try:
            return port == PORT and read_host(host) == HOST
        except ValueError:
            return False

    async def reply(self, method: str, target: str) -> Reply:
        """The answer to one request."""
        if method not in ("GET", "HEAD"):
            return _fault(405, "UNSUPPORTED", "this registry can only be read")
        path = urlsplit(target).path
        if "%" in path and unquote(path) != path:
            return _fault(404, "NAME_INVALID", "no name here needs encoding")
        if path in ("/v2", "/v2/"):
            return _json(200, {})
        if path == "/v2/_catalog":
            return _json(200, {"repositories": sorted(self._repositories)})
        found = re.fullmatch(r"/v2/(.+)/(manifests|blobs|tags)/([^/]+)", path)
        if found is None:
            return _fault(404, "NAME_UNKNOWN", "there is nothing here")
        name, kind, item = found.groups()
        repository = self._repositories.get(name)
        if repository is None:
            return _fault(404, "NAME_UNKNOWN", "no Kit of that name is here")
        if kind == "tags" and item == "list":
            return _json(200, {"name": name, "tags": sorted(repository.tags)})
        async with self._turn:
            # Shielded: a thread that has opened a file cannot be stopped, and what it opened is to be closed.
            work = asyncio.ensure_future(asyncio.to_thread(self._content, repository, kind, item))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                work.add_done_callback(_close)
                raise

    def _content(self, repository: _Repository, kind: str, item: str) -> Reply:
        self._look(repository)
        if kind == "manifests":
            digest = item if _DIGEST.fullmatch(item) else repository.tags.get(item, "")
            media = repository.manifests.get(digest)
            data = self._read(digest) if media is not None else None
            if media is None or data is None:
                return _fault(404, "MANIFEST_UNKNOWN", "no Kit of that tag or digest is here")
            return Reply(200, (*_described(digest, len(data)), ("Content-Type", media)), data)
        size = repository.blobs.get(item)
        file = self._open(item, size) if kind == "blobs" and size is not None else None
        if file is None or size is None:
            return _fault(404, "BLOB_UNKNOWN", "no Kit of that name has that blob, or it is not kept here")
        return Reply(200, (*_described(item, size), ("Content-Type", "application/octet-stream")), file=file)

    def _look(self, repository: _Repository) -> None:
        """Find out what the Kits of a name consist of; what is not here yet is looked for again next time."""
        for root in repository.roots:
            if root not in repository.seen and self._take(repository, root, children=True):
                repository.seen.add(root)

    def _take(self, repository: _Repository, digest: str, *, children: bool) -> bool:
        """Admit one manifest and what it names, if it is a Kit's."""
        data = self._read(digest)
        document = _object(data)
        if document is None:
            return False
        media = document.get("mediaType")
        listed = document.get("manifests")
        if children and isinstance(listed, list) and (media in _INDEXES or media is None):
            inner = [each["digest"] for each in listed[:MOST_CHILDREN] if _named(each)]
            taken = [self._take(repository, each, children=False) for each in inner]
            if not any(taken):
                return False
            repository.manifests[digest] = media or _INDEXES[0]
            return all(taken)
        annotations = document.get("annotations")
        if not isinstance(annotations, dict) or DESCRIPTOR not in annotations or media not in (*_MANIFESTS, None):
            return False
        layers = document.get("layers")
        parts = [document.get("config"), *(layers if isinstance(layers, list) else ())]
        repository.manifests[digest] = media or _MANIFESTS[0]
        repository.blobs |= {part["digest"]: part["size"] for part in parts if _named(part) and _sized(part)}
        return True

    def _read(self, digest: str) -> bytes | None:
        file = self._open(digest, None, MAX_MANIFEST) if _DIGEST.fullmatch(digest) else None
        if file is None:
            return None
        with file:
            return file.read(MAX_MANIFEST)

    def _open(self, digest: str, size: int | None, limit: int = 1 << 50) -> BinaryIO | None:
        """The blob from its beginning, once its bytes are what its digest says."""
        for root in self._roots:
            try:
                handle = os.open(root / "blobs" / "sha256" / digest[7:], os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError:
                continue
            file = os.fdopen(handle, "rb")
            found = os.fstat(handle).st_size
            fits = found <= limit and size in (None, found)
            if fits and "sha256:" + hashlib.file_digest(file, "sha256").hexdigest() == digest:
                file.seek(0)
                return file
            file.close()
        return None


def _described(digest: str, size: int) -> tuple[tuple[str, str], ...]:
    return (
        ("Docker-Distribution-Api-Version", "registry/2.0"),
        ("Docker-Content-Digest", digest),
        ("ETag", f'"{digest}"'),
        ("Content-Length", str(size)),
    )


def _json(status: int, document: object) -> Reply:
    data = json.dumps(document).encode()
    headers = (
        ("Docker-Distribution-Api-Version", "registry/2.0"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(data))),
    )
    return Reply(status, headers, data)


def _fault(status: int, code: str, words: str) -> Reply:
    made = _json(status, {"errors": [{"code": code, "message": words}]})
    return Reply(made.status, made.headers, made.body, reason=words)


def _object(data: bytes | None) -> dict[str, object] | None:
    try:
        found = json.loads(data) if data is not None else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _named(part: object) -> bool:
    digest = part.get("digest") if isinstance(part, dict) else None
    return isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None


def _sized(part: object) -> bool:
    size = part.get("size") if isinstance(part, dict) else None
    return isinstance(size, int) and not isinstance(size, bool) and size >= 0


def _close(done: asyncio.Future[Reply]) -> None:
    if not done.cancelled() and done.exception() is None and (file := done.result().file) is not None:
        file.close()
