"""``RegistrySource``: Kits in a registry over HTTP(S), read through oras, kept in the blob store.

One manifest GET a Kit, plus its config; layers only when they are asked for. Whatever has a digest is verified
before anybody sees it and comes from the store the next time.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path
from urllib.parse import urljoin

from kitstudio.registry.artifact import Reader, read_artifact
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.client import Client, Session
from kitstudio.registry.credentials import Credentials, NoCredentials
from kitstudio.registry.manifest import ACCEPTED, MAX_METADATA, parse_manifest, read_json
from kitstudio.registry.reference import Reference, RegistryError, is_digest, is_tag
from kitstudio.registry.source import Artifact, Layer, Manifest, NotFound, Offline, Platform, SignInRequired
from kitstudio.registry.threads import Stop, on_network

MAX_PAGES = 1000
MAX_NAMES = 100_000
DEFAULT_TAG = "latest"
ACCEPT = {"Accept": ", ".join(ACCEPTED)}


class RegistrySource:
    """The registry ``registry`` (a host), or one namespace or repository of it where ``scope`` says so."""

    def __init__(
        self,
        registry: str,
        store: BlobStore,
        *,
        scope: str = "",
        plain_http: Collection[str] = (),
        credentials: Credentials | None = None,
        offline: bool = False,
    ) -> None:
        self.registry = registry
        self.scope = scope.strip("/")
        self.offline = offline
        self._store = store
        self._session = Session(registry, credentials or NoCredentials(), frozenset(plain_http))
        self._local = threading.local()

    async def list(self) -> tuple[str, ...]:
        return await on_network(self._list)

    async def tags(self, repository: str) -> tuple[str, ...]:
        return await on_network(self._tags, self._path(repository))

    async def manifest(self, reference: Reference) -> Manifest:
        return await on_network(self._manifest, reference)

    async def head(self, reference: Reference) -> str:
        """The digest a reference stands for now, by HEAD where the registry answers it."""
        return await on_network(self._head, reference)

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        return await read_artifact(Reader(self.manifest, self._metadata), reference, platform)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await on_network(self._blob, reference, digest, size)

    async def events(self) -> AsyncIterator[str]:
        never: tuple[str, ...] = ()
        for repository in never:
            yield repository

    async def push_blob(self, reference: Reference, blob: Layer, path: Path) -> None:
        """Upload a blob unless the repository has it."""
        await on_network(self._push_blob, reference, blob, path)

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> None:
        """Put a manifest's own bytes under ``reference`` (its tag, or its digest where it has none)."""
        await on_network(self._push_manifest, reference, manifest)

    def _client(self) -> Client:
        client = getattr(self._local, "client", None)
        if not isinstance(client, Client):
            client = self._local.client = Client(self._session)
        return client

    def _online(self, where: str) -> None:
        if self.offline:
            raise Offline(
                "This is not stored here, and the program was told to stay offline.",
                where=where,
                remedy="Start without --offline to fetch it.",
            )

    def _path(self, repository: str) -> str:
        prefix = f"{self.registry}/"
        return repository.removeprefix(prefix) if repository.startswith(prefix) else repository

    def _list(self, stop: Stop) -> tuple[str, ...]:
        """``_catalog`` is no part of the standard: a registry without one lists nothing, which is no error."""
        self._online(self.registry)
        client = self._client()
        client.begin(stop)
        fallback = (f"{self.registry}/{self.scope}",) if self.scope else ()
        try:
            names = tuple(self._pages(client, client.root("_catalog?n=1000"), "repositories"))
        except (NotFound, SignInRequired):
            return fallback
        inside = [n for n in names if not self.scope or n == self.scope or n.startswith(f"{self.scope}/")]
        return tuple(sorted({f"{self.registry}/{name}" for name in inside})) or fallback

    def _tags(self, stop: Stop, repository: str) -> tuple[str, ...]:
        self._online(f"{self.registry}/{repository}")
        client = self._client()
        client.begin(stop, repository)
        return tuple(dict.fromkeys(tag for tag in self._pages(client, client.url("tags"), "tags") if is_tag(tag)))

    def _pages(self, client: Client, url: str, key: str) -> Iterator[str]:
        seen: set[str] = set()
        count = 0
        while url and url not in seen:
            seen.add(url)
            response = client.get(url)
            body = read_json(client.read(response, MAX_METADATA), url)
            rows = body.get(key) if isinstance(body, dict) else None
            for name in rows if isinstance(rows, list) else ():
                if isinstance(name, str):
                    count += 1
                    yield name
            if len(seen) >= MAX_PAGES or count >= MAX_NAMES:
                raise RegistryError(f"The list does not end after {count:,} names.", where=self.registry)
            url = client.next_page(response)

    def _manifest(self, stop: Stop, reference: Reference) -> Manifest:
        if reference.digest and (raw := self._store.read(reference.digest, MAX_METADATA)) is not None:
            return parse_manifest(reference, raw, expected=reference.digest)
        self._online(str(reference))
        client = self._client()
        client.begin(stop, reference.repository, str(reference))
        response = client.get(client.url("manifest", _target(reference)), ACCEPT)
        stated = response.headers.get("Docker-Content-Digest", "")
        media_type = response.headers.get("Content-Type", "")
        raw = client.read(response, MAX_METADATA)
        expected = reference.digest or (stated if is_digest(stated) else "")
        manifest = parse_manifest(reference, raw, media_type, expected=expected)
        self._store.write((raw,), manifest.digest, len(raw), where=str(reference))
        return manifest

    def _head(self, stop: Stop, reference: Reference) -> str:
        self._online(str(reference))
        client = self._client()
        client.begin(stop, reference.repository, str(reference))
        response = client.do_request(
            client.url("manifest", _target(reference)), "HEAD", headers=dict(ACCEPT), stream=True
        )
        stated = response.headers.get("Docker-Content-Digest", "") if response.ok else ""
        response.close()
        return stated if is_digest(stated) else self._manifest(stop, reference).digest

    async def _metadata(self, reference: Reference, blob: Layer) -> bytes:
        return (await self.blob(reference, blob.digest, blob.size)).read_bytes()

    def _blob(self, stop: Stop, reference: Reference, digest: str, size: int) -> Path:
        if (present := self._store.find(digest, size)) is not None:
            return present
        where = f"{reference.name}@{digest}"
        self._online(where)
        client = self._client()
        client.begin(stop, reference.repository, where)
        response = client.get(client.url("blob", digest))
        return self._store.write(client.chunks(response), digest, size, where=where, stop=stop)

    def _push_blob(self, stop: Stop, reference: Reference, blob: Layer, path: Path) -> None:
        where = f"{reference.name}@{blob.digest}"
        self._online(where)
        client = self._client()
        client.begin(stop, reference.repository, where, push=True)
        with client.do_request(client.url("blob", blob.digest), "HEAD", stream=True) as present:
            if present.ok:
                return
        begun = client.do_request(client.url("upload"), "POST", headers={"Content-Length": "0"}, stream=True)
        with client.succeed(begun) as start:
            location = urljoin(start.url, start.headers.get("Location", ""))
        if not start.headers.get("Location"):
            raise RegistryError(f"{self.registry} does not say where to upload.", where=where)
        joint = "&" if "?" in location else "?"
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(blob.size)}
        with path.open("rb") as file:
            data = file if blob.size else b""
            target = f"{location}{joint}digest={blob.digest}"
            client.succeed(client.do_request(target, "PUT", data=data, headers=headers, stream=True)).close()

    def _push_manifest(self, stop: Stop, reference: Reference, manifest: Manifest) -> None:
        self._online(str(reference))
        client = self._client()
        client.begin(stop, reference.repository, str(reference), push=True)
        target = client.url("manifest", reference.tag or manifest.digest)
        headers = {"Content-Type": manifest.media_type}
        response = client.succeed(client.do_request(target, "PUT", data=manifest.raw, headers=headers, stream=True))
        with response:
            stated = response.headers.get("Docker-Content-Digest", "")
        if stated and stated != manifest.digest:
            raise RegistryError(
                f"{self.registry} stored something else than was sent ({stated[:19]}…).", where=str(reference)
            )


def _target(reference: Reference) -> str:
    return reference.digest or reference.tag or DEFAULT_TAG
