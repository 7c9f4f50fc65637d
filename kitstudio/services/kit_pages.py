"""One Kit in full: the page, its staged sources, its checks, and what is attached to it. Layers only where the person
asked for what lies in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitstudio.models.annotations import DESCRIPTOR
from kitstudio.registry.artifact import Reader, glance
from kitstudio.registry.attached import Attachment, attached_by_tag, attached_in_index, fold_tags
from kitstudio.registry.newest import newest_tag
from kitstudio.registry.reference import Reference
from kitstudio.registry.source import Artifact, ArtifactKind, Platform, RegistryError, Source, Unreachable
from kitstudio.registry.threads import in_thread
from kitstudio.services import cards as view
from kitstudio.services.artifact_checks import PlatformChecks, Told, check_published
from kitstudio.services.catalog_values import CardKind, KitCard, KitDetails
from kitstudio.services.places import Place, Places
from kitstudio.services.stand_ins import Later

if TYPE_CHECKING:
    from kitstudio.registry.staged import StagedSources


class KitPages:
    """Kits by any spelling, each from one manifest and its config."""

    def __init__(self, places: Places) -> None:
        self._places = places

    async def page(self, reference: str) -> tuple[Place, KitDetails]:
        """The Kit page, and the place the Kit came from."""
        located = await self._places.locate(reference)
        place = located.place
        tags = await _tags(place, located.reference)
        artifact = await self._whole(place, exact(located.reference, tags))
        return place, await in_thread(lambda stop: _page(place, artifact, tags))

    @staticmethod
    async def _whole(place: Place, reference: Reference) -> Artifact:
        """The artifact with its config; while its place is away, as much as was fetched for its card."""
        try:
            return await place.source.artifact(reference)
        except Unreachable as away:
            try:
                return await glance(Reader(place.source.manifest), reference)
            except RegistryError:
                raise away from None

    async def artifact(self, reference: str, platform: Platform | None = None) -> Artifact:
        """One Kit as its source has it, for those who need no page."""
        return (await self._found(reference, platform))[1]

    async def staged(self, reference: str) -> StagedSources:
        """The sources the Kit brings along: the one small layer that holds them is fetched."""
        from kitstudio.registry.staged import staged_sources

        return await staged_sources(*await self._found(reference))

    async def checked(
        self, reference: str, told: Told = lambda done, total: None
    ) -> tuple[Artifact, tuple[PlatformChecks, ...]]:
        """One Kit and the checks on its artifact, layers fetched, on every platform it is published for."""
        source, artifact = await self._found(reference)
        return artifact, await check_published(self._places, source, artifact, told)

    async def attached(self, reference: str) -> tuple[Attachment, ...]:
        """What the registry says refers to this Kit; one or two requests, none where it is not in a registry."""
        located = await self._places.locate(reference)
        place = located.place
        source = await place.source.opened() if isinstance(place.source, Later) else place.source
        if not place.network:
            return ()
        from kitstudio.registry.hub import HubSource
        from kitstudio.registry.registry import RegistrySource

        if not isinstance(source, RegistrySource | HubSource):
            return ()
        tags = () if located.reference.tag or located.reference.digest else await source.tags(located.reference.name)
        found = exact(located.reference, tags)
        digest = found.digest or (await source.manifest(found)).digest
        return await source.attached(found, digest)

    async def _found(self, reference: str, platform: Platform | None = None) -> tuple[Source, Artifact]:
        located = await self._places.locate(reference)
        wanted, source = located.reference, located.place.source
        tags = () if wanted.tag or wanted.digest else await source.tags(wanted.name)
        return source, await source.artifact(exact(wanted, tags), platform)


def exact(reference: Reference, tags: tuple[str, ...]) -> Reference:
    """The reference with its newest version, where it states none."""
    if reference.tag or reference.digest:
        return reference
    tag = newest_tag(tags) or next((row.tag for row in view.version_rows(tags)), "")
    if not tag:
        raise RegistryError("The repository has no tags.", where=reference.name, remedy="Name a digest: NAME@sha256:….")
    return reference.with_tag(tag)


async def _tags(place: Place, reference: Reference) -> tuple[str, ...]:
    """Tags, or none where a pinned Kit's repository does not list them: the pin alone is enough."""
    try:
        return await place.source.tags(reference.name)
    except RegistryError:
        if reference.digest or reference.tag:
            return ()
        raise


def _attachments(artifact: Artifact, tags: tuple[str, ...]) -> tuple[Attachment, ...]:
    """What shows in the index and among the tags, without asking anybody."""
    digests = dict.fromkeys((artifact.digest, artifact.manifest.digest))
    found = attached_in_index(artifact.index) if artifact.index else ()
    return (*found, *(row for digest in digests for row in attached_by_tag(tags, digest)))


def _notes(artifact: Artifact, card: KitCard, reading: view.Reading) -> tuple[str, ...]:
    notes = [artifact.contradiction] if artifact.contradiction else []
    if artifact.manifest.is_index or (artifact.config is None and artifact.kind is ArtifactKind.KIT):
        notes.append("Shown from what was fetched for its card: its image could not be asked for.")
    if card.kind in (CardKind.IMAGE, CardKind.V2):
        notes += [problem.what for problem in reading.problems]
    elif artifact.kind is ArtifactKind.KIT and artifact.index and DESCRIPTOR not in artifact.index.annotations:
        notes.append("The index does not carry the descriptor; it was read from the image below it.")
    return tuple(notes)


def _page(place: Place, artifact: Artifact, tags: tuple[str, ...]) -> KitDetails:
    reading = view.read(artifact, place.spelled(str(artifact.reference), artifact.digest))
    card = view.placed(view.card(place.id, artifact, reading), place)
    document = reading.document
    return KitDetails(
        card=card,
        artifact=artifact,
        descriptor=reading.descriptor,
        descriptor_text=document.text if document else artifact.descriptor_text,
        lines=document.lines() if document else {},
        permissions=view.permissions(reading, card.reference),
        uncounted=view.uncounted(reading, card.reference),
        versions=view.version_rows(tags),
        folded_tags=fold_tags(tags)[1],
        problems=reading.problems if card.kind is CardKind.ERROR else (),
        attachments=_attachments(artifact, tags),
        notes=_notes(artifact, card, reading),
    )
