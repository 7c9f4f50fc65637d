"""From an artifact to what the catalog shows: a card, and the descriptor with everything said about it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import TYPE_CHECKING

from kitstudio.models import capabilities, changes, review, versions
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.document import Document
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.expansion import expand_create
from kitstudio.models.validate import Form, validate
from kitstudio.registry.attached import is_signature_tag
from kitstudio.registry.reference import DEMO, HUB, LOCAL, Reference
from kitstudio.registry.source import Artifact, ArtifactKind
from kitstudio.services.catalog_values import CardKind, KitCard, VersionRow
from kitstudio.services.composition import is_local
from kitstudio.services.readable import readable

if TYPE_CHECKING:
    from kitstudio.registry.hub_values import HubKit
    from kitstudio.services.places import Place

_TITLE = "org.opencontainers.image.title"
_DESCRIPTION = "org.opencontainers.image.description"
_VERSION = "org.opencontainers.image.version"
_LICENSES = "org.opencontainers.image.licenses"
_AUTHORS = "org.opencontainers.image.authors"


class NotAKit(KitStudioError):
    """What stands there carries no Kit descriptor of this schema."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an artifact's descriptor turned out to be. ``document``: readable form, None where it does not decode or
    there is none; ``problems``: why the Kit cannot be used."""

    document: Document | None = None
    problems: tuple[KitStudioError, ...] = ()

    @property
    def descriptor(self) -> Descriptor | None:
        return None if self.document is None else self.document.descriptor


def read(artifact: Artifact, spelled: str = "") -> Reading:
    """Decode and validate the descriptor an artifact carries. ``spelled``: the reference as a person knows it."""
    where = spelled or str(artifact.reference)
    if artifact.kind is not ArtifactKind.KIT:
        return Reading(problems=(not_a_kit(artifact, where),))
    try:
        published = decode(artifact.descriptor_text, name=where)
        document = readable(published.descriptor, name=where)
    except DescriptorError as error:
        return Reading(problems=(error,))
    report = validate(published, Form.PUBLISHED)
    problems = tuple(
        DescriptorError(
            issue.message,
            where=_place(document, where, issue.path),
            remedy=issue.remedy or "The Kit's publisher must correct it; choose another version.",
        )
        for issue in report.errors
    )
    return Reading(document, problems)


def glimpse(artifact: Artifact, spelled: str = "") -> Reading:
    """``read`` for a card, which shows no lines: the readable form is made only where something is wrong."""
    if artifact.kind is not ArtifactKind.KIT:
        return Reading(problems=(not_a_kit(artifact, spelled),))
    try:
        published = decode(artifact.descriptor_text, name=spelled or str(artifact.reference))
    except DescriptorError as error:
        return Reading(problems=(error,))
    return read(artifact, spelled) if validate(published, Form.PUBLISHED).errors else Reading(published)


def permissions(reading: Reading, reference: str) -> tuple[review.Permission, ...]:
    """What the Kit asks for, in words; nothing where its descriptor does not decode."""
    if reading.document is None:
        return ()
    return review.permissions(as_installed(reading.document.descriptor), reference, reading.document.lines())


def uncounted(reading: Reading, reference: str) -> tuple[review.Uncounted, ...]:
    """What the Kit does inside its sandbox beside what it asks for."""
    return changes.uncounted(reference, as_installed(reading.document.descriptor)) if reading.document else ()


def as_installed(descriptor: Descriptor) -> Descriptor:
    """The descriptor with its inputs at their defaults: what it asks for where nobody says otherwise (§7.4).

    An input without a default stays a reference, visible as such.
    """
    create = {name: arg for name, arg in descriptor.args.items() if not arg.is_build}
    if not create:
        return descriptor
    values = {
        name: arg.default if arg.default is not None else f"${{{{ kit.args.{name} }}}}" for name, arg in create.items()
    }
    try:
        return expand_create(descriptor, values)
    except DescriptorError:
        # A default the grammar refuses where it stands: the Kit is shown as it was published.
        return descriptor


def not_a_kit(artifact: Artifact, spelled: str = "") -> NotAKit:
    """The sentence for what stands where a Kit was expected."""
    where = spelled or str(artifact.reference)
    if artifact.kind is ArtifactKind.V2_KIT:
        return NotAKit(
            "This is a v2 Kit; it cannot be mixed with v3 Kits.",
            where=where,
            remedy="Choose a version its publisher made for schema version 3.",
        )
    return NotAKit(
        "This is an image, not a Kit: neither it nor its index carries a Kit descriptor.",
        where=where,
        remedy="Choose a Kit that brings what you wanted from this image.",
    )


def card(source: str, artifact: Artifact, reading: Reading, *, verified: bool = False) -> KitCard:
    """The card of one repository at the version ``artifact`` is."""
    reference = artifact.reference
    notes = {**artifact.manifest.annotations, **(artifact.index.annotations if artifact.index else {})}
    made = KitCard(
        source=source,
        reference=str(
            reference.with_tag(reference.tag) if reference.tag and not is_local(str(reference)) else reference
        ),
        repository=reference.name,
        kind=CardKind.V2 if artifact.kind is ArtifactKind.V2_KIT else CardKind.IMAGE,
        display_name=notes.get(_TITLE) or last_segment(reference),
        publisher=publisher(reference),
        verified=verified,
        author=notes.get(_AUTHORS, ""),
        version=versions.tag_version(reference.tag) or notes.get(_VERSION, ""),
        description=notes.get(_DESCRIPTION, ""),
        licenses=tuple(part.strip() for part in notes.get(_LICENSES, "").split(",") if part.strip()),
        digest=artifact.digest,
        platforms=tuple(str(platform) for platform in artifact.platforms),
    )
    descriptor = reading.descriptor
    if artifact.kind is not ArtifactKind.KIT:
        return made
    if descriptor is None or reading.problems:
        return replace(made, kind=CardKind.ERROR, error=reading.problems[0])
    types = tuple(sorted({entry.type for entry in descriptor.entries()}))
    return replace(
        made,
        kind=CardKind.WORKLOAD if descriptor.kind == "workload" else CardKind.MIXIN,
        display_name=descriptor.display_name or last_segment(reference),
        author=descriptor.author,
        version=made.version or descriptor.version,
        description=descriptor.description,
        licenses=descriptor.licenses,
        chips=review.chips(as_installed(descriptor)),
        capability_types=types,
        newer_types=tuple(type_ for type_ in types if capabilities.is_newer(type_)),
        icon_url=descriptor.icon_url,
    )


def hub_card(source: str, kit: HubKit) -> KitCard:
    """The card of a repository as Docker Hub describes it, before its manifest is read."""
    name = kit.repository.rpartition("/")[2]
    return KitCard(
        source=source,
        reference=kit.repository,
        repository=kit.repository,
        kind=CardKind.LOADING,
        display_name=kit.title or name,
        publisher=kit.namespace,
        verified=kit.verified,
        description=kit.description,
        platforms=tuple(f"{system}/{part}" for system in kit.systems for part in kit.architectures),
        icon_url=kit.logo,
        pulls=kit.pulls,
        stars=kit.stars,
        categories=kit.categories,
    )


def vouched(made: KitCard, known: KitCard | None) -> KitCard:
    """A card read from a manifest, with what the catalog it was listed in says of it and the manifest cannot."""
    if known is None:
        return made
    return replace(
        made,
        verified=known.verified,
        description=made.description or known.description,
        platforms=made.platforms or known.platforms,
        icon_url=made.icon_url or known.icon_url,
        pulls=known.pulls,
        stars=known.stars,
        categories=known.categories,
    )


def placed(made: KitCard, place: Place) -> KitCard:
    """A card under the spelling that finds its Kit again from anywhere."""
    return replace(made, reference=place.spelled(made.reference, made.digest))


def loading_card(source: str, repository: Reference) -> KitCard:
    """The card of a repository nothing is known of yet."""
    return KitCard(
        source=source,
        reference=repository.name,
        repository=repository.name,
        kind=CardKind.LOADING,
        display_name=last_segment(repository),
        publisher=publisher(repository),
    )


def failed_card(known: KitCard, error: KitStudioError) -> KitCard:
    """The card of a repository that could not be read."""
    return replace(known, kind=CardKind.ERROR, error=error)


def publisher(reference: Reference) -> str:
    """The namespace a Kit is published under: its identity, in the shortest form that is still exact."""
    namespace = reference.repository.rpartition("/")[0]
    if reference.registry in (DEMO, LOCAL):
        return reference.registry.removesuffix(".invalid")
    if reference.registry == HUB:
        return namespace
    return f"{reference.registry}/{namespace}" if namespace else reference.registry


def last_segment(reference: Reference) -> str:
    """A repository's own name."""
    return reference.repository.rpartition("/")[2]


def is_signature(tag: str) -> bool:
    """Whether a tag holds a signature or attachment of another one, by the naming tools agreed on."""
    return is_signature_tag(tag)


def version_rows(tags: Iterable[str]) -> tuple[VersionRow, ...]:
    """Tags without signatures: versions newest first (§5.2), then the others by name."""
    rows = [VersionRow(tag, versions.tag_version(tag) or "") for tag in tags if not is_signature(tag)]
    versioned = sorted((row for row in rows if row.version), key=cmp_to_key(_newer_first))
    # Mixed segments do not order transitively (§5.2): the newest is what the specification says, the rest is sorted.
    newest = versions.latest([row.tag for row in versioned])
    versioned.sort(key=lambda row: row.tag != newest)
    return (*versioned, *sorted((row for row in rows if not row.version), key=lambda row: row.tag))


def _newer_first(a: VersionRow, b: VersionRow) -> int:
    return versions.compare(b.version, a.version) or (a.tag > b.tag) - (a.tag < b.tag)


def _place(document: Document, name: str, path: str) -> str:
    """``name:line`` of the element at ``path``, or the nearest one around it."""
    while path and path not in document.positions:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    position = document.positions.get(path)
    return f"{name}:{position.line}" if position and path else name
