"""Docker Hub's catalogs: the search its own site uses, a namespace's repositories, a repository's tags.

These answers say what exists and who the Hub vouches for; what a Kit is, is read from its manifest. Pages are followed
as they are given (``next`` on the same host, ``from`` by what really came), never computed from a count.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from kitstudio.registry.attached import Attachment
from kitstudio.registry.hub_values import KIT_TYPE, VERIFIED, HubKit, HubTag, kit_of_namespace, kit_of_search, tag_of
from kitstudio.registry.manifest import read_json
from kitstudio.registry.reference import HUB, Reference, RegistryError, is_tag
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.session import Clock
from kitstudio.registry.source import Artifact, Manifest, Offline, Platform, RateLimited
from kitstudio.registry.threads import Stop, on_host
from kitstudio.registry.transport import DIRECT, Network, origin
from kitstudio.registry.web import Limits, Page, Web

SITE = "https://hub.docker.com"
SEARCH_PATH = "/api/search/v3/catalog/search"
PAGE = 100
MAX_PAGES = 60
MAX_KITS = 5000
MAX_TAGS = 5000
LIMITS = Limits(size=8 * 1024 * 1024)

_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9_-]{0,254}")
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class HubListing:
    """Kits the Hub lists. ``total``: how many it says there are (None: it does not say); ``complete``: nothing is
    known to be missing; ``note``: the sentence a person should see beside them, may be empty."""

    kits: tuple[HubKit, ...]
    total: int | None = None
    complete: bool = True
    note: str = ""


class HubCatalog:
    """The Hub's own pages. ``search_base`` and ``api_base`` are settings."""

    def __init__(
        self,
        *,
        search_base: str = SITE + SEARCH_PATH,
        api_base: str = SITE,
        network: Network = DIRECT,
        clock: Clock | None = None,
        offline: bool = False,
    ) -> None:
        self._search_base = search_base
        self._api_base = api_base.rstrip("/")
        self._web = Web(network, clock)
        self._offline = offline

    async def search(self, query: str = "", *, verified: bool = False, most: int = MAX_KITS) -> HubListing:
        """Kits that match; ``verified``: of verified publishers only."""
        return await on_host("hub", self._search, query[:200], verified, most)

    async def namespace(self, namespace: str) -> HubListing:
        """The Kits of one namespace."""
        return await on_host("hub", self._namespace, namespace)

    async def tags(self, namespace: str, name: str) -> tuple[HubTag, ...]:
        """A repository's tags, newest first as the Hub orders them."""
        return await on_host("hub", self._tags, namespace, name)

    def _search(self, stop: Stop, query: str, verified: bool, most: int) -> HubListing:
        found: dict[str, HubKit] = {}
        total: int | None = None
        start, strange, dropped = 0, 0, 0
        for _ in range(MAX_PAGES):
            fields = {"query": query, "type": KIT_TYPE, "from": str(start), "size": str(PAGE)}
            if verified:
                fields["badges"] = VERIFIED
            try:
                document = self._json(stop, f"{self._search_base}?{urlencode(fields)}", {"Search-Version": "v3"})
            except RegistryError as error:
                if not found or isinstance(error, RateLimited):
                    raise
                of = f" of {total:,}" if total else ""
                note = f"Docker Hub shows {len(found):,}{of} Kits and no further ones: {error.what}"
                return HubListing(tuple(found.values()), total, False, note)
            total = _whole(document.get("total"), total)
            rows = _rows(document)
            for row in rows:
                kit = kit_of_search(row)
                if kit is None:
                    strange += 1
                elif kit.stated_kit and (kit.verified or not verified):
                    dropped += len(found) >= most and kit.repository not in found
                    if len(found) < most:
                        found.setdefault(kit.repository, kit)
            start += len(rows)
            if not rows or (total is not None and start >= total) or len(found) >= most:
                break
        complete = not dropped and (total is None or start >= total)
        return HubListing(tuple(found.values()), total, complete, _note(len(found), total, complete, strange))

    def _namespace(self, stop: Stop, namespace: str) -> HubListing:
        if not _NAMESPACE.fullmatch(namespace):
            raise RegistryError("This is no namespace of Docker Hub.", where=namespace[:80])
        found: dict[str, HubKit] = {}
        url = f"{self._api_base}/v2/repositories/{namespace}/?page_size={PAGE}"
        try:
            for row in self._followed(stop, url, MAX_KITS):
                kit = kit_of_namespace(row, namespace)
                if kit is not None:
                    found.setdefault(kit.repository, kit)
        except RegistryError as error:
            if not found or isinstance(error, RateLimited):
                raise
            kits = tuple(found[name] for name in sorted(found))
            return HubListing(kits, None, False, f"The list broke off after {len(kits):,} Kits: {error.what}")
        unsure = sum(not kit.stated_kit for kit in found.values())
        note = f"Docker Hub does not say of {unsure:,} repositories whether they hold Kits." if unsure else ""
        if not found:
            note = f"Docker Hub lists no Kits of {namespace} for this account."
        return HubListing(tuple(found[name] for name in sorted(found)), len(found), True, note)

    def _tags(self, stop: Stop, namespace: str, name: str) -> tuple[HubTag, ...]:
        if not _NAMESPACE.fullmatch(namespace) or not _NAME.fullmatch(name):
            raise RegistryError("This is no repository of Docker Hub.", where=f"{namespace}/{name}"[:80])
        url = f"{self._api_base}/v2/namespaces/{namespace}/repositories/{name}/tags?page_size={PAGE}"
        found = {tag.name: tag for row in self._followed(stop, url, MAX_TAGS) if (tag := tag_of(row))}
        return tuple(tag for tag in found.values() if is_tag(tag.name))

    def _followed(self, stop: Stop, url: str, most: int) -> Iterator[Any]:
        """Rows of every page; ``next`` is followed on the same host only, and never twice."""
        seen: set[str] = set()
        count = 0
        while url and url not in seen:
            seen.add(url)
            document = self._json(stop, url, {})
            for row in _rows(document):
                count += 1
                yield row
            url = _next(url, document.get("next"))
            if url and (len(seen) >= MAX_PAGES or count >= most):
                raise RegistryError(f"Docker Hub's list does not end after {count:,} entries.", where=url)

    def _json(self, stop: Stop, url: str, headers: dict[str, str]) -> dict[str, Any]:
        if self._offline:
            raise Offline(
                "Docker Hub's catalog needs the network, and the program was told to stay offline.",
                where=url.partition("?")[0],
                remedy="Start without --offline to fetch it.",
            )
        page: Page = self._web.get(stop, url, LIMITS, self._judge(url), {"Accept": "application/json", **headers})
        document = read_json(page.body, url.partition("?")[0])
        if not isinstance(document, dict):
            raise RegistryError("Docker Hub answers with something else than a list.", where=url.partition("?")[0])
        return document

    def _judge(self, first: str) -> Callable[[str], str]:
        """Only the host that was asked, only encrypted (loopback aside)."""

        def judge(url: str) -> str:
            if origin(url) != origin(first) and urlsplit(url).netloc != urlsplit(first).netloc:
                return "Docker Hub sends its catalog's readers to another host; we do not follow."
            if not url.startswith("https://") and not self._web.network.plain(urlsplit(url).netloc):
                return "Docker Hub's catalog is read over an encrypted connection only."
            return ""

        return judge


class HubSource:
    """Docker Hub as a source: what it lists comes from its catalog, what a Kit is from its registry.

    ``namespace``: one namespace; empty: everything its search shows, of verified publishers alone where ``verified``.
    """

    def __init__(
        self, catalog: HubCatalog, registry: RegistrySource, namespace: str = "", *, verified: bool = True
    ) -> None:
        self.namespace = namespace
        self._verified = verified
        self._catalog = catalog
        self._registry = registry
        self._kits: dict[str, HubKit] = {}

    async def listing(self) -> HubListing:
        """Everything listed, with what the Hub says about each."""
        if self.namespace:
            listing = await self._catalog.namespace(self.namespace)
        else:
            listing = await self._catalog.search(verified=self._verified)
        self._kits = {kit.repository: kit for kit in listing.kits}
        return listing

    async def search(self, query: str, most: int = PAGE) -> HubListing:
        """What the Hub finds for ``query`` within this source: lists are cut short, a search reaches the rest."""
        found = await self._catalog.search(query, verified=self._verified and not self.namespace, most=most)
        if not self.namespace:
            return found
        return replace(found, kits=tuple(kit for kit in found.kits if kit.namespace == self.namespace))

    def about(self, repository: str) -> HubKit | None:
        """What the last listing said about a repository."""
        return self._kits.get(repository)

    async def list(self) -> tuple[str, ...]:
        return tuple(sorted(kit.repository for kit in (await self.listing()).kits))

    async def tags(self, repository: str) -> tuple[str, ...]:
        namespace, _, name = repository.removeprefix(f"{HUB}/").partition("/")
        try:
            tags = tuple(tag.name for tag in await self._catalog.tags(namespace, name))
        except RateLimited:
            raise
        except RegistryError:
            # The registry knows them too; the Hub's page only spares a sign-in. Offline, it knows what was seen last.
            return await self._registry.tags(repository)
        await self._registry.note_tags(repository, tags)
        return tags

    async def manifest(self, reference: Reference) -> Manifest:
        return await self._registry.manifest(reference)

    async def head(self, reference: Reference) -> str:
        """The digest a reference stands for now."""
        return await self._registry.head(reference)

    async def attached(self, reference: Reference, digest: str) -> tuple[Attachment, ...]:
        """What refers to ``digest``."""
        return await self._registry.attached(reference, digest)

    async def artifact(self, reference: Reference, platform: Platform | None = None) -> Artifact:
        return await self._registry.artifact(reference, platform)

    async def blob(self, reference: Reference, digest: str, size: int) -> Path:
        return await self._registry.blob(reference, digest, size)

    async def events(self) -> AsyncIterator[str]:
        never: tuple[str, ...] = ()
        for repository in never:
            yield repository


def _rows(document: dict[str, Any]) -> list[Any]:
    rows = document.get("results")
    return rows if isinstance(rows, list) else []


def _whole(value: Any, otherwise: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _next(url: str, stated: Any) -> str:
    if not isinstance(stated, str) or not stated:
        return ""
    try:
        following = urljoin(url, stated)
    except ValueError:
        return ""
    if urlsplit(following).netloc != urlsplit(url).netloc:
        raise RegistryError("Docker Hub continues its list on another host; we do not follow.", where=url)
    # A list behind a load balancer may name its own plain address.
    return urlsplit(following)._replace(scheme=urlsplit(url).scheme).geturl()


def _note(shown: int, total: int | None, complete: bool, strange: int) -> str:
    if not complete:
        of = f" of {total:,}" if total is not None else ""
        return f"Docker Hub shows {shown:,}{of} Kits; search for the others by name."
    return f"{strange:,} entries could not be read." if strange else ""
