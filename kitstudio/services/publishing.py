"""Publishing without Docker: sets (§9.5) and Kits that are declarations alone (§3.5), to a registry or an OCI layout.

``preview`` makes what would be published and says what stands in the way; ``publish`` makes the same and sends it as a
job that can be watched, cancelled and begun again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import KitStudioError
from kitstudio.models.problems import Problem
from kitstudio.models.surface import Surface, project
from kitstudio.registry.blob_store import BlobStore, digest_of
from kitstudio.registry.publish import LayoutTarget, Parcel, Progress, RegistryTarget, Target, send
from kitstudio.registry.reference import DEMO, LOCAL, LayoutLocation, Reference, RegistryError, is_tag, parse_location
from kitstudio.services.composition import JudgedPlan
from kitstudio.services.jobs import Job, Jobs
from kitstudio.services.places import Places
from kitstudio.services.publish_folder import MadeKit, make_kit
from kitstudio.services.publish_set import LayerRow, Made, make_set

__all__ = ["LayerRow", "NotPublishable", "PublishPreview", "Published", "Publishing"]


class NotPublishable(KitStudioError):
    """A set that cannot be published as it stands; ``problems`` are all the reasons."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
        super().__init__(f"{first.message}{more}", where=", ".join(first.kits), remedy=first.detail)
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class PublishPreview:
    """What would be published, exactly: the bytes are made already.

    ``kind``: derived from the Kits; ``layers``: of every platform, lowest first, the set's own under the empty
    reference; ``size``: of everything below the name, each blob once; ``added``: the part that is new. ``problems``
    empty: it can be published.
    """

    kind: str = ""
    platforms: tuple[str, ...] = ()
    layers: tuple[LayerRow, ...] = ()
    surface: Surface = field(default_factory=Surface)
    size: int = 0
    added: int = 0
    digest: str = ""
    descriptor: Descriptor | None = None
    order: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        return not self.problems and self.descriptor is not None


@dataclass(frozen=True, slots=True)
class Published:
    """What was published, and what it cost: bytes ``shared`` inside the registry, bytes ``sent`` from here.

    ``replaced``: the digest the name stood for before, empty where it was free or stood for the same.
    """

    reference: str
    digest: str
    kind: str
    shared: int = 0
    sent: int = 0
    warnings: tuple[str, ...] = ()
    replaced: str = ""


class Publishing:
    """Makes and sends new Kits. ``blobs``: where new content is kept on the way."""

    def __init__(self, places: Places, jobs: Jobs, blobs: Path) -> None:
        self._places = places
        self._jobs = jobs
        self._store = BlobStore(blobs)

    async def preview(
        self, plan: JudgedPlan, *, name: str = "set", platforms: Sequence[str] = (), folder: Path | None = None
    ) -> PublishPreview:
        """What a set would be. ``name``: the file's stem; ``folder``: where it lies, for files it names."""
        return _preview(await make_set(self._places, self._store, plan, name, platforms, folder))

    async def preview_kit(
        self, path: Path, *, platforms: Sequence[str] = (), build_args: Mapping[str, str] | None = None
    ) -> PublishPreview:
        """What a Kit folder or descriptor would be. Raises where its content is a recipe."""
        made = await make_kit(path, platforms, build_args or {})
        return PublishPreview(
            made.descriptor.kind,
            tuple(map(str, made.platforms)),
            made.layers,
            project(made.descriptor),
            sum(len(data) for data in {data for image in made.parcel.manifests for data in image.blobs}),
            sum(len(data) for data in {data for image in made.parcel.manifests for data in image.blobs}),
            made.parcel.top.digest,
            made.descriptor,
            warnings=made.warnings,
        )

    def publish(
        self,
        plan: JudgedPlan,
        destination: str,
        *,
        name: str = "set",
        platforms: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Job:
        """Publish a set as a job whose result is ``Published``. Raises ``NotPublishable``, in the job."""

        async def work(job: Job) -> Published:
            job.report("Merging the Kits")
            made = await make_set(self._places, self._store, plan, name, platforms, folder)
            if made.problems or made.parcel is None or made.made.descriptor is None:
                raise NotPublishable(made.problems)
            return await self._send(job, destination, made.parcel, made.made.descriptor, made.warnings)

        return self._jobs.run(f"Publish {destination}", work)

    def publish_kit(
        self,
        path: Path,
        destination: str,
        *,
        platforms: Sequence[str] = (),
        build_args: Mapping[str, str] | None = None,
    ) -> Job:
        """Publish a Kit that is declarations alone, from its folder or descriptor."""

        async def work(job: Job) -> Published:
            job.report("Making the Kit")
            made: MadeKit = await make_kit(path, platforms, build_args or {}, destination)
            return await self._send(job, destination, made.parcel, made.descriptor, made.warnings)

        return self._jobs.run(f"Publish {destination}", work)

    async def _send(
        self, job: Job, destination: str, parcel: Parcel, descriptor: Descriptor, warnings: tuple[str, ...]
    ) -> Published:
        written, target = self._target(destination, descriptor.version)
        last = Progress(0, 0)

        def report(progress: Progress) -> None:
            nonlocal last
            last = progress
            job.report(progress.text, progress.done / progress.total if progress.total else None)

        before = await target.stored("")
        digest = await send(parcel, target, self._store, report)
        replaced = digest_of(before) if before is not None and before != parcel.top.raw else ""
        return Published(written, digest, descriptor.kind, last.shared, last.sent, warnings, replaced)

    async def standing(self, destination: str, version: str = "") -> str:
        """The digest a destination stands for now, empty where it is free: what publishing there would replace."""
        _, target = self._target(destination, version)
        stored = await target.stored("")
        return digest_of(stored) if stored is not None else ""

    def _target(self, destination: str, version: str) -> tuple[str, Target]:
        """Where it goes, and how that is written; without a tag, the version is one."""
        location = parse_location(destination, Path.cwd())
        fallback = version if is_tag(version) else ""
        if isinstance(location, LayoutLocation) and not location.digest:
            tag = location.tag or _required(fallback, destination)
            return f"oci:{location.path}:{tag}", LayoutTarget(location.path, tag)
        if isinstance(location, Reference) and location.registry not in (DEMO, LOCAL) and not location.digest:
            named = location if location.tag else location.with_tag(_required(fallback, destination))
            return str(named), RegistryTarget(self._places.registry(named.registry), named)
        raise RegistryError(
            "A Kit cannot be published there.",
            where=destination,
            remedy="Name a registry reference (host/name:tag) or an OCI layout (oci:DIR:TAG).",
        )


def _preview(made: Made) -> PublishPreview:
    descriptor = made.made.descriptor
    sizes = {row.digest: row.size for row in made.layers}
    added = 0
    if made.parcel is not None:
        new = {data for image in made.parcel.manifests for data in image.blobs}
        added = sum(map(len, new))
        own = {row.digest for row in made.layers if not row.kit}
        sizes = {digest: size for digest, size in sizes.items() if digest not in own}
    return PublishPreview(
        descriptor.kind if descriptor is not None else "",
        tuple(map(str, made.platforms)),
        made.layers,
        project(descriptor) if descriptor is not None else Surface(),
        sum(sizes.values()) + added,
        added,
        made.parcel.top.digest if made.parcel is not None else "",
        descriptor,
        made.made.layered,
        made.problems,
        made.warnings,
    )


def _required(tag: str, destination: str) -> str:
    if not tag:
        raise RegistryError(
            "What is published needs a tag.", where=destination, remedy="Write NAME:TAG, or give it a version."
        )
    return tag
