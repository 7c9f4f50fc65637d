"""``LayoutSource``: Kits in an OCI image layout directory.

A name in ``index.json`` is a full reference (``demo.invalid/hello:1.0.0``) or a bare tag; bare tags belong to one
repository, ``local.invalid/<folder name>``. Blobs are used where they lie, verified before they are handed out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kitstudio.registry.artifact import Reader, read_artifact
from kitstudio.registry.blob_store import BlobStore, verify_file
from kitstudio.registry.manifest import MAX_METADATA, parse_manifest
from kitstudio.registry.newest import newest_tag
from kitstudio.registry.reference import DEMO, LOCAL, LayoutLocation, Reference, RegistryError, is_tag, parse
from kitstudio.registry.source import Artifact, IndexEntry, Layer, Manifest, NotFound, Platform
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.watch import EVERY, Look, Pause, Ready, file_stamp, watch
from kitstudio.registry.writer import REF_NAME

MAX_NAMES = 100_000


@dataclass(frozen=True, slots=True)
class _Named:
    reference: Reference
    entry: IndexEntry


class LayoutSource:
    """The layout at ``root``; its index is read afresh for every question, so it may change underneath."""

    def __init__(self, root: Path, *, every: float = EVERY, pause: Pause = asyncio.sleep) -> None:
        self.root = root
        self._every = every
        self._pause = pause
        self._store = BlobStore(root)
        self._known: tuple[bytes, tuple[_Named, ...]] = (b"", ())

    async def list(self) -> tuple[str, ...]:
        return tuple(sorted({named.reference.name for named in await in_thread(self._names)}))

    async def tags(self, repository: str) -> tuple[str, ...]:
        found = [n.reference.tag for n in await in_thread(self._names) if n.reference.name == repository]
        if not found:
            raise self._unknown(repository)
        return tuple(dict.fromkeys(tag for tag in found if tag))

    async def manifest(self, reference: Reference) -> Manifest:
        return await in_thread(self._manifest, reference)

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        reader = Reader(self.manifest, self._metadata)
        resolved = await in_thread(self._resolved, reference)
        return replace(await read_artifact(reader, resolved, platform), reference=reference)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await in_thread(self._blob, digest, size)

    async def reference(self, location: LayoutLocation) -> Reference:
        """The reference an ``oci:DIR[:TAG|@DIGEST]`` location means in this layout."""
        return await in_thread(self._reference, location)

    async def events(self, ready: Ready | None = None) -> AsyncIterator[str]:
        """Repositories whose versions changed, came or went, noticed within a few seconds."""
        async for repository in watch(self._states(), every=self._every, pause=self._pause, ready=ready):
            yield repository

    def _states(self) -> Look:
        """How each repository stands; the index is read again only when its file is another one."""
        last: tuple[tuple[int, ...], dict[str, Hashable]] = ((), {})

        def look(stop: Stop) -> Mapping[str, Hashable]:
            nonlocal last
            stamp = file_stamp(self.root / "index.json")
            if not stamp or stamp != last[0]:
                states: dict[str, frozenset[tuple[str, str]]] = {}
                for named in self._names(stop):
                    row = (named.reference.tag, named.entry.digest)
                    states[named.reference.name] = states.get(named.reference.name, frozenset()) | {row}
                last = (stamp, dict(states))
            return last[1]

        return look

    def _names(self, stop: Stop) -> tuple[_Named, ...]:
        path = self.root / "index.json"
        raw = self._small_file(path)
        known, names = self._known
        if raw == known:
            return names
        local = Reference(LOCAL, _slug(self.root.name))
        index = parse_manifest(local, raw, max_rows=MAX_NAMES)
        if not index.is_index:
            raise RegistryError("The folder's index.json is not an image index.", where=str(path))
        found = []
        for entry in index.entries or ():
            stop.check()
            name = entry.annotations.get(REF_NAME, "")
            if is_tag(name):
                found.append(_Named(local.with_tag(name), entry))
                continue
            try:
                found.append(_Named(parse(name), entry))
            except RegistryError:
                found.append(_Named(local.with_digest(entry.digest), entry))
        self._known = (raw, tuple(found))
        return self._known[1]

    def _small_file(self, path: Path) -> bytes:
        try:
            if path.stat().st_size > MAX_METADATA:
                raise RegistryError("The file is larger than 8 MiB.", where=str(path))
            return path.read_bytes()
        except FileNotFoundError as error:
            raise NotFound(
                "This folder is not an OCI image layout.",
                where=str(self.root),
                remedy="A layout holds oci-layout, index.json and blobs/.",
            ) from error
        except OSError as error:
            raise RegistryError(f"The file cannot be read: {error.strerror}.", where=str(path)) from error

    def _reference(self, stop: Stop, location: LayoutLocation) -> Reference:
        names = self._names(stop)
        tagged = [named for named in names if location.tag and named.reference.tag == location.tag]
        if not location.digest and len({named.entry.digest for named in tagged}) > 1:
            shown = ", ".join(f"{named.reference.name} is @{named.entry.digest}" for named in tagged[:4])
            raise RegistryError(
                f"The layout holds several Kits with the tag “{location.tag}”.",
                where=str(self.root),
                remedy=f"Name one by its digest: {shown}{'…' if len(tagged) > 4 else '.'}",
            )
        for named in names:
            same = location.digest == named.entry.digest if location.digest else location.tag == named.reference.tag
            if (location.tag or location.digest) and same:
                return named.reference.with_digest(location.digest) if location.digest else named.reference
        if location.digest:
            return Reference(LOCAL, _slug(self.root.name), digest=location.digest)
        if location.tag:
            raise NotFound(f"The layout has no tag “{location.tag}”.", where=str(self.root), remedy=_offer(names))
        if len({named.reference.name for named in names}) > 1 or not names:
            raise RegistryError("The layout holds several Kits.", where=str(self.root), remedy=_offer(names))
        return self._resolved(stop, replace(names[0].reference, tag="", digest=""))

    def _resolved(self, stop: Stop, reference: Reference) -> Reference:
        """Fill in what a reference without tag and digest means: its newest version."""
        if reference.tag or reference.digest:
            return reference
        names = [n for n in self._names(stop) if n.reference.name == reference.name]
        if not names:
            raise self._unknown(reference.name)
        tag = newest_tag(tuple(n.reference.tag for n in names if n.reference.tag))
        if tag:
            return replace(reference, tag=tag)
        return replace(reference, digest=names[0].entry.digest)

    def _manifest(self, stop: Stop, reference: Reference) -> Manifest:
        reference = self._resolved(stop, reference)
        digest, media_type = reference.digest, ""
        if not digest:
            names = [n for n in self._names(stop) if n.reference.name == reference.name]
            match = next((n for n in names if n.reference.tag == reference.tag), None)
            if match is None and not names:
                raise self._unknown(reference.name)
            if match is None:
                raise NotFound(
                    f"{reference.name} has no version “{reference.tag}” here.",
                    where=str(self.root),
                    remedy=_offer(names),
                )
            digest, media_type = match.entry.digest, match.entry.media_type
        raw = self._metadata_bytes(stop, digest)
        return parse_manifest(reference, raw, media_type, expected=digest)

    async def _metadata(self, reference: Reference, blob: Layer) -> bytes:
        return await in_thread(self._metadata_bytes, blob.digest)

    def _metadata_bytes(self, stop: Stop, digest: str) -> bytes:
        stop.check()
        path = self._store.path(digest)
        if not path.exists():
            raise self._incomplete(digest)
        raw = self._small_file(path)
        verify_file(path, digest)
        return raw

    def _blob(self, stop: Stop, digest: str, size: int) -> Path:
        stop.check()
        path = self._store.path(digest)
        try:
            verify_file(path, digest, size)
        except FileNotFoundError as error:
            raise self._incomplete(digest) from error
        except OSError as error:
            raise RegistryError(f"The file cannot be read: {error.strerror}.", where=str(path)) from error
        return path

    def _incomplete(self, digest: str) -> NotFound:
        return NotFound(
            f"The layout lacks the blob {digest[:19]}….",
            where=str(self.root),
            remedy="It was copied only in part: make it again.",
        )

    def _unknown(self, repository: str) -> NotFound:
        if repository.partition("/")[0] == DEMO:
            return NotFound(f"{repository} is not in the demo catalog.", where=repository)
        return NotFound(f"{repository} is not in this layout.", where=str(self.root))


def _offer(names: Sequence[_Named]) -> str:
    tags = [named.reference.tag or named.entry.digest for named in names]
    shown = ", ".join(tags[:8]) + ("…" if len(tags) > 8 else "")
    return f"It offers: {shown}." if tags else "It holds no image."


def _slug(name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return slug or "layout"
