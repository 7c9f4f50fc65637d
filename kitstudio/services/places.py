"""Places: every spelling of ``cli.md`` → the source that has it and the exact reference there.

One source object per registry host, layout and folder, made when first asked for. What is local is imported into the
home's blob store under ``local.invalid/NAME:VERSION``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.newest import newest_tag
from kitstudio.registry.reference import (
    DEMO,
    HUB,
    LOCAL,
    FolderLocation,
    LayoutLocation,
    Reference,
    parse_location,
)
from kitstudio.registry.source import RegistryError, Source
from kitstudio.services.catalog_values import SourceKind
from kitstudio.services.home import Home
from kitstudio.services.local_folders import LocalFolders
from kitstudio.services.network_settings import NETWORK_KEYS, network_of
from kitstudio.services.settings import Settings
from kitstudio.services.stand_ins import Later, Nowhere

if TYPE_CHECKING:
    from kitstudio.registry.hub import HubCatalog
    from kitstudio.registry.index import KitIndex
    from kitstudio.registry.registry import RegistrySource
    from kitstudio.registry.sign_in import SignIns
    from kitstudio.registry.transport import Network

_HOST = re.compile(r"localhost(:\d{1,5})?|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d{1,5})?|[A-Za-z0-9-]+:\d{2,5}")
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_NAMESPACE = re.compile(rf"(?:index\.)?{re.escape(HUB)}/([a-z0-9][a-z0-9_-]{{0,254}})")

VERIFIED = "hub"
"""The id of the source with the Kits of Docker Hub's verified publishers."""


@dataclass(frozen=True, slots=True)
class Place:
    """One source as the catalog keeps it. ``text``: how it was added; ``path``: the namespace or repository it is
    narrowed to; ``network``: whether asking it sends requests."""

    id: str
    text: str
    title: str
    kind: SourceKind
    source: Source
    registry: str = ""
    path: str = ""

    @property
    def network(self) -> bool:
        return self.kind in (SourceKind.REGISTRY, SourceKind.HUB, SourceKind.SET)

    def spelled(self, reference: str, digest: str) -> str:
        """The spelling that finds ``reference`` again from anywhere: a layout's own names mean nothing outside it."""
        return f"{self.id}@{digest}" if self.kind is SourceKind.LAYOUT and not self.registry else reference


@dataclass(frozen=True, slots=True)
class Located:
    """Where a spelling leads. ``reference`` may lack tag and digest: the newest is meant."""

    place: Place
    reference: Reference


class Places:
    """All sources of one running program."""

    def __init__(
        self, home: Home, settings: Settings | None = None, *, offline: bool = False, plain_http: tuple[str, ...] = ()
    ) -> None:
        self.offline = offline
        self._home = home
        self._settings = settings or Settings()
        self._plain_http = plain_http
        self._registries: dict[str, RegistrySource] = {}
        self._hub: HubCatalog | None = None
        self._layouts: dict[Path, Place] = {}
        self._demo: Place | None = None
        self._sign_ins: SignIns | None = None
        self._index: KitIndex | None = None
        self.local = Place("local", "", "On this machine", SourceKind.LAYOUT, LayoutSource(home.blobs), LOCAL)
        self.folders = LocalFolders(home.data / "local-folders.json")
        self._settings.changed.subscribe(self._settings_changed)

    @property
    def blobs(self) -> Path:
        """Where verified content is kept."""
        return self._home.blobs

    def demo(self) -> Place:
        """The embedded demo catalog."""
        if self._demo is None:
            from kitstudio.registry.demo import DemoCatalog

            try:
                source: Source = DemoCatalog()
            except RegistryError as error:
                return Place("demo", "demo", "Demo", SourceKind.DEMO, Nowhere(error), DEMO)
            self._demo = Place("demo", "demo", "Demo", SourceKind.DEMO, source, DEMO)
        return self._demo

    def verified(self) -> Place:
        """The Kits of Docker Hub's verified publishers."""
        title = "Docker Hub – Verified Publishers"
        return Place(VERIFIED, VERIFIED, title, SourceKind.HUB, Later(lambda: self._hub_source("", True)), HUB)

    def open(self, text: str) -> Place:
        """The source a person names: host, namespace, repository, OCI layout, folder or set file."""
        text = text.strip().removesuffix("/")
        if text == "demo":
            return self.demo()
        if text == VERIFIED:
            return self.verified()
        if text in (HUB, f"index.{HUB}", "hub.docker.com"):
            return Place(HUB, HUB, "Docker Hub", SourceKind.HUB, Later(lambda: self._hub_source("", False)), HUB)
        if found := _NAMESPACE.fullmatch(text):
            return self._namespace(found.group(1))
        if _HOST.fullmatch(text):
            return self._registry(text, "")
        if _WORD.fullmatch(text) and not Path(text).exists():
            raise RegistryError(
                f"There is no source named “{text}”.",
                where=text,
                remedy=f"Name a registry (host or host/namespace), a namespace of Docker Hub ({HUB}/{text.lower()}), "
                "an OCI layout (oci:DIR), a folder (./DIR), a set file, demo or hub.",
            )
        location = parse_location(f"./{text}" if _WORD.fullmatch(text) else text, Path.cwd())
        if isinstance(location, LayoutLocation):
            if location.tag or location.digest:
                raise RegistryError("A source has no tag.", where=text, remedy=f"Name the layout: oci:{location.path}.")
            return self.layout(location.path)
        if isinstance(location, FolderLocation):
            if (location.path / "oci-layout").exists():
                return self.layout(location.path)
            return self._set_file(location.path) if location.path.is_file() else self._folder(location.path)
        if location.tag or location.digest:
            raise RegistryError(
                "A source has no tag.", where=text, remedy="Name a host, a namespace or a repository: host/namespace."
            )
        return self._registry(location.registry, location.repository)

    def unusable(self, text: str, error: RegistryError) -> Place:
        """A remembered source that cannot be opened as it is written."""
        return Place(text, text, text, SourceKind.REGISTRY, Nowhere(error))

    def layout(self, path: Path) -> Place:
        """An OCI image layout folder."""
        if path not in self._layouts:
            name = f"oci:{path}"
            self._layouts[path] = Place(name, name, path.name, SourceKind.LAYOUT, LayoutSource(path))
        return self._layouts[path]

    def _folder(self, path: Path) -> Place:
        from kitstudio.services.folders import FolderSource

        if not path.is_dir():
            raise RegistryError(
                "This is not a folder.",
                where=str(path),
                remedy="A source is a registry, an OCI layout or a folder with Kits; a single file is added to a set.",
            )
        assert isinstance(self.local.source, LayoutSource)
        source = FolderSource(path, self.local.source)
        return Place(str(path), str(path), path.name, SourceKind.FOLDER, source)

    def _set_file(self, path: Path) -> Place:
        from kitstudio.services.set_source import SetSource

        source = SetSource(path, lambda reference: self.of(reference).source)
        return Place(str(path), str(path), path.name, SourceKind.SET, source)

    def of(self, reference: Reference) -> Place:
        """The place a reference belongs to."""
        if reference.registry == DEMO:
            return self.demo()
        if reference.registry == LOCAL:
            return self.local
        return self._registry(reference.registry, "")

    async def locate(self, text: str) -> Located:
        """Where a spelling leads; what is a folder is imported first."""
        location = parse_location(text, Path.cwd())
        if isinstance(location, Reference):
            return Located(self.of(location), location)
        if isinstance(location, LayoutLocation):
            place = self.layout(location.path)
            assert isinstance(place.source, LayoutSource)
            return Located(place, await place.source.reference(location))
        reference, digest = await self.import_local(location)
        return Located(self.local, reference.with_digest(digest))

    async def newest(self, reference: Reference) -> Reference:
        """The reference with the newest version of its repository, where it states none."""
        return await self._exact(Located(self.of(reference), reference))

    async def import_local(self, location: FolderLocation | LayoutLocation) -> tuple[Reference, str]:
        """Copy a local Kit into the home: ``local.invalid/NAME:VERSION`` and its digest."""
        from kitstudio.services.importing import import_folder, import_layout

        if isinstance(location, FolderLocation):
            made = await import_folder(location.path, self._home.blobs, lambda reference: self.of(reference).source)
            await self.folders.note(str(made[0]), location.path)
            return made
        source = self.layout(location.path).source
        assert isinstance(source, LayoutSource)
        return await import_layout(source, location, self._home.blobs)

    async def copy(self, text: str, destination: str) -> tuple[str, str]:
        """Copy one Kit elsewhere, digests kept; where it is now, and its digest."""
        from kitstudio.registry.copy import Destination, LayoutDestination, RegistryDestination, copy

        located = await self.locate(text)
        source = located.place.source
        exact = await self._exact(located)
        target = parse_location(destination, Path.cwd())
        where: Destination
        if isinstance(target, LayoutLocation) and not target.digest:
            tag = target.tag or exact.tag
            where = LayoutDestination(target.path, tag or str(exact))
            written = f"oci:{target.path}:{tag}" if tag else f"oci:{target.path}@{exact.digest}"
        elif isinstance(target, Reference) and target.registry not in (DEMO, LOCAL) and not target.digest:
            pushed = target if target.tag else target.with_tag(exact.tag)
            where = RegistryDestination(self._source(target.registry, ""), pushed)
            written = str(pushed)
        else:
            raise RegistryError(
                "A Kit cannot be copied there.",
                where=destination,
                remedy="Name an OCI layout (oci:DIR:TAG) or a registry reference (host/name:tag).",
            )
        return written, await copy(source, exact, where)

    async def _exact(self, located: Located) -> Reference:
        reference = located.reference
        if reference.tag or reference.digest:
            return reference
        return reference.with_tag(_required(newest_tag(await located.place.source.tags(reference.name)), reference))

    def registry(self, host: str) -> RegistrySource:
        """The registry at ``host`` as a place to send Kits to."""
        return self._source(host, "")

    def sign_ins(self) -> SignIns:
        """Accounts typed here and Docker's; opened when a registry is."""
        if self._sign_ins is None:
            from kitstudio.registry.sign_in import open_sign_ins

            self._sign_ins = open_sign_ins(self._home.data)
        return self._sign_ins

    def renew(self, host: str) -> None:
        """After a sign-in or sign-out at ``host``: what its sources knew of the former asker no longer counts."""
        for source in self._registries.values():
            if source.asks(host):
                source.renew()

    def index(self) -> KitIndex:
        """The index of Kits seen; its methods block."""
        if self._index is None:
            from kitstudio.registry.index import KitIndex

            self._index = KitIndex(self._home.cache / "kits.db")
        return self._index

    def network(self) -> Network:
        """The way out of this machine, as settings and flags say."""
        return network_of(self._settings, self._plain_http)

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            self._index.close()

    def _registry(self, host: str, path: str) -> Place:
        name = f"{host}/{path}" if path else host
        title = name.removeprefix(f"{HUB}/") if path else name
        return Place(name, name, title, SourceKind.REGISTRY, Later(lambda: self._source(host, path)), host, path)

    def _namespace(self, namespace: str) -> Place:
        name = f"{HUB}/{namespace}"
        source = Later(lambda: self._hub_source(namespace, False))
        return Place(name, name, namespace, SourceKind.HUB, source, HUB, namespace)

    def _source(self, host: str, scope: str) -> RegistrySource:
        name = f"{host}/{scope}"
        if name not in self._registries:
            from kitstudio.registry.blob_store import BlobStore
            from kitstudio.registry.registry import RegistrySource

            self._registries[name] = RegistrySource(
                host,
                BlobStore(self._home.blobs),
                scope=scope,
                network=self.network(),
                credentials=self.sign_ins().credentials,
                offline=self.offline,
                memory=self.index(),
            )
        return self._registries[name]

    def _hub_source(self, namespace: str, verified: bool) -> Source:
        from kitstudio.registry.hub import SEARCH_PATH, SITE, HubCatalog, HubSource

        if self._hub is None:
            base = self._settings.text("hub.api_base") or SITE
            self._hub = HubCatalog(
                search_base=self._settings.text("hub.search_base") or SITE + SEARCH_PATH,
                api_base=base,
                network=self.network(),
                offline=self.offline,
            )
        return HubSource(self._hub, self._source(HUB, ""), namespace, verified=verified)

    def _settings_changed(self, key: str) -> None:
        """Another way out: sources made from now on take it; a request that runs ends as it began."""
        if key in NETWORK_KEYS:
            self._registries.clear()
            self._hub = None


def _required(tag: str, reference: Reference) -> str:
    if not tag:
        raise RegistryError(
            "Which version is meant cannot be told from the tags.",
            where=reference.name,
            remedy="Name one: NAME:VERSION.",
        )
    return tag
