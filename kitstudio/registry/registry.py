"""``RegistrySource``: Kits in a registry over HTTP(S), read through oras, kept in the blob store.

One manifest GET a Kit, plus its config; layers only when they are asked for. Whatever has a digest is verified
before anybody sees it and comes from the store the next time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode, urljoin

from kitstudio.registry.artifact import Reader, read_artifact
from kitstudio.registry.attached import Attachment, attached_by_referrers, referrers_tag
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.client import Client
from kitstudio.registry.credentials import Credentials, NoCredentials
from kitstudio.registry.listing import Listing, ListingState, list_repositories, pages, rows_of
from kitstudio.registry.manifest import ACCEPTED, MAX_METADATA, OCI_INDEX, parse_manifest
from kitstudio.registry.memory import Memory, RunMemory, Seen, mark_of, unless
from kitstudio.registry.reference import Reference, RegistryError, is_digest, is_tag
from kitstudio.registry.session import Clock, Session
from kitstudio.registry.source import Artifact, Layer, Manifest, NotFound, Offline, Platform, SignInRequired
from kitstudio.registry.threads import Stop, in_thread, on_host
from kitstudio.registry.transport import DIRECT, Network, origin
from kitstudio.registry.upload import Outgoing

DEFAULT_TAG = "latest"
ACCEPT = {"Accept": ", ".join(ACCEPTED)}

T = TypeVar("T")


class RegistrySource:
    """The registry ``registry`` (a host), or one namespace or repository of it where ``scope`` says so.

    ``memory`` keeps marks for conditional requests and, offline, says what a tag stood for when it was last seen.
    """

    def __init__(
        self,
        registry: str,
        store: BlobStore,
        *,
        scope: str = "",
        plain_http: Collection[str] = (),
        credentials: Credentials | None = None,
        offline: bool = False,
        network: Network = DIRECT,
        memory: Memory | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.registry = registry
        self.scope = scope.strip("/")
        self.offline = offline
        self._store = store
        way = replace(network, plain_http=network.plain_http | frozenset(plain_http)) if plain_http else network
        known, time = credentials or NoCredentials(), clock or Clock()
        self._session = Session(registry, known, way, time)
        self._mirrors = tuple(Session(host, known, way, time) for host in way.mirrors.get(registry, ()))
        self._memory = memory or RunMemory()
        self._local = threading.local()

    async def list(self) -> tuple[str, ...]:
        """Every repository; one of a list that broke off raises. ``listing`` says more."""
        found = await self.listing()
        if found.state is ListingState.PARTIAL and found.error is not None:
            raise found.error
        return found.names

    async def listing(self) -> Listing:
        """What this registry lists, complete or not, and the sentence that goes with it."""
        return await on_host(self.registry, self._list)

    async def tags(self, repository: str) -> tuple[str, ...]:
        return await on_host(self.registry, self._tags, self._path(repository))

    async def note_tags(self, repository: str, tags: tuple[str, ...]) -> None:
        """Remember tags that were learnt elsewhere, for when nobody can be asked."""
        key = f"tags {self.registry}/{self._path(repository)}"
        await in_thread(lambda stop: self._memory.keep(key, Seen("", json.dumps(tags))))

    async def manifest(self, reference: Reference) -> Manifest:
        return await on_host(self.registry, self._manifest, reference)

    async def head(self, reference: Reference) -> str:
        """The digest a reference stands for now, by HEAD where the registry answers it."""
        return await on_host(self.registry, self._head, reference)

    async def attached(self, reference: Reference, digest: str) -> tuple[Attachment, ...]:
        """What refers to ``digest``: signatures, SBOMs, attestations, by their own artifact types."""
        return await on_host(self.registry, self._attached, reference, digest)

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        return await read_artifact(Reader(self.manifest, self._metadata), reference, platform)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await on_host(self.registry, self._blob, reference, digest, size)

    async def events(self) -> AsyncIterator[str]:
        never: tuple[str, ...] = ()
        for repository in never:
            yield repository

    def asks(self, host: str) -> bool:
        """Whether requests of this source go to ``host``, itself or as a mirror."""
        return host in (session.registry for session in (self._session, *self._mirrors))

    def renew(self) -> None:
        """After a sign-in or sign-out: what was known of the former asker (tokens, limits) no longer counts."""
        for session in (self._session, *self._mirrors):
            session.renew()

    async def has_blob(self, reference: Reference, blob: Layer) -> bool:
        """Whether the repository has a blob already."""
        return await on_host(self.registry, self._has_blob, reference, blob)

    async def mount_blob(self, reference: Reference, blob: Layer, repository: str) -> bool:
        """Let the repository share a blob of another one of this registry; False where the registry will not.

        A refusal is no fault: registries may ignore the request, forbid it, or not know it.
        """
        return await on_host(self.registry, self._mount_blob, reference, blob, repository)

    async def push_blob(
        self, reference: Reference, blob: Layer, path: Path, sent: Callable[[int], None] | None = None
    ) -> None:
        """Upload a blob unless the repository has it. ``sent`` is told bytes as they go out, from another thread."""
        await on_host(self.registry, self._push_blob, reference, blob, path, sent)

    async def fetch_again(self, reference: Reference) -> bytes | None:
        """What the registry itself now has under ``reference``, whatever is kept here; None where it has nothing."""
        return await on_host(self.registry, self._fetch_again, reference)

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> None:
        """Put a manifest's own bytes under ``reference`` (its tag, or its digest where it has none)."""
        await on_host(self.registry, self._push_manifest, reference, manifest)

    def _client(self, session: Session) -> Client:
        """This thread's client, its connections kept alive."""
        clients: dict[str, Client] = self._local.__dict__.setdefault("clients", {})
        if session.registry not in clients:
            clients[session.registry] = Client(session)
        return clients[session.registry]

    def _begin(self, stop: Stop, repository: str, where: str, *, push: bool = False) -> Client:
        client = self._client(self._session)
        client.begin(stop, repository, where, push=push)
        return client

    def _nearest(self, stop: Stop, repository: str, where: str, work: Callable[[Client], T]) -> T:
        """``work`` at the first mirror that can, else at the registry, whose word is the last."""
        for session in self._mirrors:
            client = self._client(session)
            client.begin(stop, repository, where)
            try:
                return work(client)
            except RegistryError:
                # A mirror need not have everything; what it lacks or spoils is asked of the registry itself.
                stop.check()
        return work(self._begin(stop, repository, where))

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

    def _list(self, stop: Stop) -> Listing:
        self._online(self.registry)
        return list_repositories(self._begin(stop, "", self.registry), self.registry, self.scope)

    def _tags(self, stop: Stop, repository: str) -> tuple[str, ...]:
        where = f"{self.registry}/{repository}"
        key = f"tags {where}"
        seen = self._memory.recall(key)
        if self.offline and seen is not None:
            return _tags_in(seen)
        self._online(where)
        client = self._begin(stop, repository, where)
        url = client.url("tags")
        response = client.get(url, unless(seen))
        if response.status_code == 304 and seen is not None:
            response.close()
            return _tags_in(seen)
        mark, following = mark_of(response), client.next_page(response)
        found = rows_of(client.read(response, MAX_METADATA), "tags", url)
        if following and following != url:
            # A mark of the first page says nothing about the others.
            mark = ""
            found += pages(client, following, "tags")
        tags = tuple(dict.fromkeys(tag for tag in found if is_tag(tag)))
        self._memory.keep(key, Seen(mark, json.dumps(tags)))
        return tags

    def _manifest(self, stop: Stop, reference: Reference) -> Manifest:
        if reference.digest and (raw := self._store.read(reference.digest, MAX_METADATA)) is not None:
            return parse_manifest(reference, raw, expected=reference.digest)
        key = f"manifest {reference.name}:{_target(reference)}"
        seen = None if reference.digest else self._memory.recall(key)
        kept = self._kept(reference, seen)
        if self.offline and kept is not None:
            return kept
        self._online(str(reference))
        headers = {**ACCEPT, **unless(seen if kept is not None else None)}

        def fetch(client: Client) -> tuple[Manifest, str]:
            response = client.get(client.url("manifest", _target(reference)), headers)
            if response.status_code == 304 and kept is not None and seen is not None:
                response.close()
                return kept, seen.mark
            stated = response.headers.get("Docker-Content-Digest", "")
            media_type = response.headers.get("Content-Type", "")
            mark = mark_of(response)
            raw = client.read(response, MAX_METADATA)
            expected = reference.digest or (stated if is_digest(stated) else "")
            return parse_manifest(reference, raw, media_type, expected=expected), mark

        manifest, mark = self._nearest(stop, reference.repository, str(reference), fetch)
        self._store.write((manifest.raw,), manifest.digest, len(manifest.raw), where=str(reference), durable=False)
        if not reference.digest:
            self._memory.keep(key, Seen(mark, f"{manifest.digest} {manifest.media_type}"))
        return manifest

    def _kept(self, reference: Reference, seen: Seen | None) -> Manifest | None:
        """The manifest a tag stood for when it was last seen, if its bytes are still here."""
        digest, _, media_type = seen.value.partition(" ") if seen is not None else ("", "", "")
        if not is_digest(digest) or (raw := self._store.read(digest, MAX_METADATA)) is None:
            return None
        return parse_manifest(reference, raw, media_type, expected=digest)

    def _head(self, stop: Stop, reference: Reference) -> str:
        self._online(str(reference))
        client = self._begin(stop, reference.repository, str(reference))
        response = client.do_request(
            client.url("manifest", _target(reference)), "HEAD", headers=dict(ACCEPT), stream=True
        )
        stated = response.headers.get("Docker-Content-Digest", "") if response.ok else ""
        response.close()
        return stated if is_digest(stated) else self._manifest(stop, reference).digest

    def _attached(self, stop: Stop, reference: Reference, digest: str) -> tuple[Attachment, ...]:
        where = f"{reference.name}@{digest}"
        self._online(where)
        client = self._begin(stop, reference.repository, where)
        path = f"{reference.repository}/referrers/{digest}"
        for url in (client.root(path), client.url("manifest", referrers_tag(digest))):
            try:
                response = client.get(url, ACCEPT)
            except NotFound:
                continue
            raw = client.read(response, MAX_METADATA)
            return attached_by_referrers(parse_manifest(reference.with_digest(digest), raw, OCI_INDEX))
        return ()

    async def _metadata(self, reference: Reference, blob: Layer) -> bytes:
        return (await self.blob(reference, blob.digest, blob.size)).read_bytes()

    def _blob(self, stop: Stop, reference: Reference, digest: str, size: int) -> Path:
        if (present := self._store.find(digest, size)) is not None:
            return present
        where = f"{reference.name}@{digest}"
        self._online(where)

        def fetch(client: Client) -> Path:
            response = client.get(client.url("blob", digest))
            return self._store.write(client.chunks(response), digest, size, where=where, stop=stop)

        return self._nearest(stop, reference.repository, where, fetch)

    def _has_blob(self, stop: Stop, reference: Reference, blob: Layer) -> bool:
        where = f"{reference.name}@{blob.digest}"
        self._online(where)
        return self._is_there(self._begin(stop, reference.repository, where, push=True), blob)

    def _is_there(self, client: Client, blob: Layer) -> bool:
        with client.do_request(client.url("blob", blob.digest), "HEAD", stream=True) as present:
            if present.status_code in (401, 403, 429):
                client.succeed(present)
            return present.ok

    def _mount_blob(self, stop: Stop, reference: Reference, blob: Layer, repository: str) -> bool:
        where = f"{reference.name}@{blob.digest}"
        self._online(where)
        client = self._client(self._session)
        client.begin(stop, reference.repository, where, push=True, also_from=repository)
        query = urlencode({"mount": blob.digest, "from": repository})
        headers = {"Content-Length": "0"}
        try:
            answer = client.do_request(f"{client.url('upload')}?{query}", "POST", headers=headers, stream=True)
        except SignInRequired:
            # The token service gives nothing for both repositories; an upload asks for one of them.
            return False
        with answer:
            if answer.status_code == 429:
                client.succeed(answer)
            if answer.status_code == 202 and (location := urljoin(answer.url, answer.headers.get("Location", ""))):
                self._abandon(client, location)
            return answer.status_code == 201

    def _abandon(self, client: Client, location: str) -> None:
        """End an upload the registry began in place of sharing; what is left of it is the registry's to clear."""
        if origin(location) != origin(client.root()):
            return
        try:
            client.do_request(location, "DELETE", stream=True).close()
        except RegistryError:
            # Not needed for the result: unfinished uploads run out on their own.
            return

    def _push_blob(
        self, stop: Stop, reference: Reference, blob: Layer, path: Path, sent: Callable[[int], None] | None
    ) -> None:
        where = f"{reference.name}@{blob.digest}"
        self._online(where)
        client = self._begin(stop, reference.repository, where, push=True)
        if self._is_there(client, blob):
            return
        begun = client.do_request(client.url("upload"), "POST", headers={"Content-Length": "0"}, stream=True)
        with client.succeed(begun) as start:
            location = urljoin(start.url, start.headers.get("Location", ""))
        if not start.headers.get("Location"):
            raise RegistryError(f"{self.registry} does not say where to upload.", where=where)
        if origin(location)[0] != "https" and origin(client.root())[0] == "https":
            raise RegistryError(
                f"{self.registry} wants the upload sent unencrypted to {origin(location)[1]}; we do not.",
                where=where,
                remedy="Ask whoever runs the registry.",
            )
        joint = "&" if "?" in location else "?"
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(blob.size)}
        with path.open("rb") as file:
            data = Outgoing(file, blob.size, stop, sent or _unheard) if blob.size else b""
            target = f"{location}{joint}{urlencode({'digest': blob.digest}, safe=':')}"
            client.succeed(client.do_request(target, "PUT", data=data, headers=headers, stream=True)).close()

    def _fetch_again(self, stop: Stop, reference: Reference) -> bytes | None:
        self._online(str(reference))
        client = self._begin(stop, reference.repository, str(reference), push=True)
        try:
            return client.read(client.get(client.url("manifest", _target(reference)), ACCEPT), MAX_METADATA)
        except NotFound:
            return None

    def _push_manifest(self, stop: Stop, reference: Reference, manifest: Manifest) -> None:
        self._online(str(reference))
        client = self._begin(stop, reference.repository, str(reference), push=True)
        target = client.url("manifest", reference.tag or manifest.digest)
        headers = {"Content-Type": manifest.media_type}
        response = client.succeed(client.do_request(target, "PUT", data=manifest.raw, headers=headers, stream=True))
        with response:
            stated = response.headers.get("Docker-Content-Digest", "")
        if stated and stated != manifest.digest:
            raise RegistryError(
                f"{self.registry} stored something else than was sent ({stated[:19]}…).", where=str(reference)
            )


def _unheard(count: int) -> None:
    """Progress nobody asked for."""


def _target(reference: Reference) -> str:
    return reference.digest or reference.tag or DEFAULT_TAG


def _tags_in(seen: Seen) -> tuple[str, ...]:
    try:
        return tuple(tag for tag in json.loads(seen.value) if isinstance(tag, str))
    except (ValueError, TypeError, RecursionError):
        return ()
