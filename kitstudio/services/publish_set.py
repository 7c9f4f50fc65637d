"""A set on its way to being published: everything but sending it (§9.5, §10).

What is made here is exact: the same set, Kits and ``SOURCE_DATE_EPOCH`` give the same bytes, so that a preview is the
thing itself.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import kitstudio
from kitstudio.models import words
from kitstudio.models.annotations import BuiltBy, kit_annotations
from kitstudio.models.artifact import check_artifact
from kitstudio.models.artifact_view import LaunchConfig, Verdict, View
from kitstudio.models.canonical import to_value
from kitstudio.models.capabilities.paths import clean
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.inputs import OWN
from kitstudio.models.planned import Member
from kitstudio.models.problems import Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.models.publication import (
    STAGED,
    Ingredient,
    Publication,
    context_files,
    publication,
    staged_bodies,
)
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.kit_image import SHARED
from kitstudio.registry.manifest import parse_config, parse_manifest, parse_platform
from kitstudio.registry.merged_image import merged_image, merged_index
from kitstudio.registry.publish import Origin, Parcel
from kitstudio.registry.reference import DEMO, LOCAL, Reference, RegistryError
from kitstudio.registry.source import Platform
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.writer import Entry, Image, LayerBlob, build_layer, folder
from kitstudio.runtime.backend import SandboxError
from kitstudio.services import publish_kits as kits
from kitstudio.services.composition import JudgedPlan, is_local
from kitstudio.services.importing import slug
from kitstudio.services.places import Places
from kitstudio.services.set_edits import written_secrets

BUILT_BY = BuiltBy("kitstudio/publish", kitstudio.__version__)
MAX_BODY = 1_048_576
MOST_LAYERS = 127
"""Layers that common engines still stack."""


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer of what would be published. ``kit``: whose it is; empty for the set's own."""

    kit: str
    platform: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Made:
    """A set as it would be sent; ``parcel`` is None where ``problems`` say why not."""

    made: Publication
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    platforms: tuple[Platform, ...] = ()
    layers: tuple[LayerRow, ...] = ()
    parcel: Parcel | None = None


async def make_set(
    places: Places, store: BlobStore, plan: JudgedPlan, name: str, wanted: Sequence[str], base: Path | None
) -> Made:
    """Merge a judged set. ``name``: what its staged folder is called; ``wanted``: platforms, none for all that the Kits
    have in common; ``base``: the folder its own ``contentFile`` is relative to."""
    document = plan.document
    if document is None:
        raise AssertionError("a plan to publish has been judged from a document")
    if plan.loading:
        raise KitStudioError("The set's Kits are still being fetched.", remedy="Wait until they are here.")
    problems = [*_members(plan), *_secrets(plan)]
    if problems:
        return Made(Publication(), tuple(problems))
    return await _Making(places, store, plan, document, name, wanted, base).made()


def epoch() -> int | None:
    """``SOURCE_DATE_EPOCH``, None where it is not set."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if not stated:
        return None
    if not (stated.isascii() and stated.isdigit() and int(stated[:12]) < 1 << 33):
        raise KitStudioError(
            "SOURCE_DATE_EPOCH is no number of seconds.", where=stated[:40], remedy="Unset it, or correct it."
        )
    return int(stated)


def staged_files(files: Mapping[str, bytes], seconds: int | None) -> LayerBlob:
    """The layer with staged sources, by path below the root."""
    folders = {parent.as_posix() for name in files for parent in list(Path(name).parents)[:-1]}
    entries = [folder(name) for name in sorted(folders - SHARED)]
    entries += [Entry(name, data=data) for name, data in files.items()]
    return build_layer(entries, epoch=seconds or 0)


def staged_text(descriptor: Descriptor) -> bytes:
    """A published descriptor as it is staged: JSON a person can read, which is YAML."""
    return (json.dumps(to_value(descriptor), indent=2, ensure_ascii=False) + "\n").encode()


class _Making:
    """One set being made; the steps in the order a publisher takes them."""

    def __init__(
        self,
        places: Places,
        store: BlobStore,
        plan: JudgedPlan,
        document: Descriptor,
        name: str,
        wanted: Sequence[str],
        base: Path | None,
    ) -> None:
        self.places, self.store, self.plan, self.document, self.base = places, store, plan, document, base
        self.name = slug(name or "set")
        self.wanted = tuple(dict.fromkeys(parse_platform(text) for text in wanted))
        self.seconds = epoch()

    async def made(self) -> Made:
        sources = await self._sources()
        problems = list(kits.missing_platforms(sources, self.wanted))
        platforms = self.wanted or kits.common_platforms(sources)
        first = await self._built(sources, platforms[0]) if platforms and not problems else []
        stem = _free_stem(self.name, {stem for built in first for stem in built.stems})
        ingredients = [Ingredient(s.reference, s.pinned.digest, s.descriptor) for s in sources]
        made = await in_thread(lambda stop: publication(self.document, ingredients, stem))
        problems += made.problems
        warnings = [*made.warnings, *self._remarks(sources)]
        if problems or made.descriptor is None:
            problems += kits.shared_stems(first)
            return Made(made, tuple(problems), tuple(warnings), platforms)
        images: list[tuple[Platform, Image]] = []
        rows: list[LayerRow] = []
        origins: dict[str, tuple[Origin, ...]] = {}
        for platform in platforms:
            built = first if platform == platforms[0] else await self._built(sources, platform)
            ordered = [next(b for b in built if b.kit.reference == reference) for reference in made.layered]
            found, notes = await self._collisions(ordered)
            problems += [problem for problem in found if problem not in problems]
            warnings += [note for note in notes if note not in warnings]
            if problems:
                continue
            own = await self._own_layer(made, made.descriptor, stem, ordered)
            images.append((platform, await in_thread(self._image, made, made.descriptor, ordered, own, platform)))
            rows += _rows(ordered, own, platform)
            for one in ordered:
                for layer in one.artifact.manifest.layers:
                    origins[layer.digest] = (*origins.get(layer.digest, ()), one.origin)
        if not problems:
            problems += await in_thread(_preflight, images)
        if problems:
            return Made(made, tuple(problems), tuple(warnings), platforms)
        if any(sum(row.platform == str(p) for row in rows) > MOST_LAYERS for p in platforms):
            warnings.append(f"It has more than {MOST_LAYERS} layers, which some engines refuse.")
        parcel = _parcel(images, kit_annotations(made.descriptor, BUILT_BY), origins)
        return Made(made, (), tuple(warnings), platforms, tuple(rows), parcel)

    async def _sources(self) -> list[kits.Listed]:
        async def one(member: Member) -> kits.Listed:
            assert member.descriptor is not None
            return await kits.find(self.places, member.reference, member.digest, member.descriptor)

        return list(await asyncio.gather(*(one(member) for member in self.plan.members)))

    async def _built(self, sources: Sequence[kits.Listed], platform: Platform) -> list[kits.Built]:
        return list(await asyncio.gather(*(kits.build(source, platform) for source in sources)))

    async def _collisions(self, ordered: Sequence[kits.Built]) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
        shared = kits.shared_stems(ordered)
        try:
            found, notes = await kits.file_collisions(ordered, self.store)
        except SandboxError as error:
            raise RegistryError(error.what, where=error.where, remedy=error.remedy) from error
        return (*shared, *found), notes

    async def _own_layer(
        self, made: Publication, descriptor: Descriptor, stem: str, ordered: Sequence[kits.Built]
    ) -> LayerBlob:
        """What the set adds: its descriptor, instructions, and the descriptors its Kits do not stage themselves."""
        by_reference = {built.kit.reference: built for built in ordered}
        contents = {
            (reference, path): by_reference[reference].body(path) if reference != OWN else await self._own_body(path)
            for reference, path in context_files(made)
        }
        return await in_thread(self._staged, made, descriptor, stem, ordered, contents)

    def _staged(
        self,
        stop: Stop,
        made: Publication,
        descriptor: Descriptor,
        stem: str,
        ordered: Sequence[kits.Built],
        contents: Mapping[tuple[str, str], str],
    ) -> LayerBlob:
        files = {f"{STAGED}/{stem}/kit.yaml": staged_text(descriptor)}
        names = {OWN: self.document.display_name or stem}
        files |= {path: text.encode() for path, text in staged_bodies(made, contents, names).items()}
        taken = {stem, *(known for built in ordered for known in built.stems)}
        for built in ordered:
            stop.check()
            if not built.carries_own:
                free = _free_stem(slug(built.kit.pinned.repository.rpartition("/")[2]), taken)
                taken.add(free)
                files[f"{STAGED}/{free}/kit.yaml"] = staged_text(built.kit.descriptor)
        return staged_files({path.removeprefix("/"): data for path, data in files.items()}, self.seconds)

    async def _own_body(self, named: str) -> str:
        if self.base is None:
            raise KitStudioError(
                f"{words.exact(named)} is named by a set that has no folder.", remedy="Save the set first."
            )
        return await asyncio.to_thread(_body, self.base, named)

    def _image(
        self,
        stop: Stop,
        made: Publication,
        descriptor: Descriptor,
        ordered: Sequence[kits.Built],
        own: LayerBlob,
        platform: Platform,
    ) -> Image:
        stop.check()
        created = "" if self.seconds is None else datetime.fromtimestamp(self.seconds, UTC).isoformat()
        return merged_image(
            [built.part for built in ordered],
            own,
            platform,
            kit_annotations(descriptor, BUILT_BY),
            exported=made.exported,
            created=created.replace("+00:00", "Z"),
        )

    def _remarks(self, sources: Sequence[kits.Listed]) -> list[str]:
        found = []
        demo = [words.kit_name(s.reference) for s in sources if s.pinned.registry == DEMO]
        if demo:
            found.append(f"{words.listed(demo)}: demo Kits are known to Kit Studio alone; others cannot look them up.")
        state = self.plan.state
        if state is not None and any(not chosen for chosen in state.choices.values()):
            found.append("Optional requests stay optional: what you switched off is not part of what is published.")
        if not self.document.display_name:
            found.append("The set has no display name.")
        return found


def _preflight(stop: Stop, images: Sequence[tuple[Platform, Image]]) -> list[Problem]:
    """The checks on a published artifact that need no layers: what would fail there is not sent (§10)."""
    found: dict[str, Problem] = {}
    for _, image in images:
        stop.check()
        manifest = parse_manifest(Reference(LOCAL, "new"), image.raw)
        config = parse_config(image.blobs[0], "the merged image")
        launch = LaunchConfig(config.entrypoint, config.cmd, config.user, config.env)
        for check in check_artifact(View(manifest.annotations, launch, len(manifest.layers))):
            if check.verdict is Verdict.FAIL:
                message = f"What would be published does not pass {check.id}: {check.detail}"
                found.setdefault(check.id, Problem(ProblemKind.MERGE, (), check.id, message))
    return list(found.values())


def _members(plan: JudgedPlan) -> list[Problem]:
    found = []
    for member in plan.members:
        name = words.kit_name(member.reference)
        remedies = (Remedy(RemedyKind.REMOVE, f"Remove {name}", kit=member.reference),)
        if is_local(member.reference):
            found.append(
                Problem(
                    ProblemKind.UNREACHABLE,
                    (member.reference,),
                    name,
                    f"{member.reference} exists on this machine only; a set must be resolvable from its references.",
                    "Publish that Kit to a registry and use its reference, or leave it out (§3.4).",
                    remedies,
                )
            )
        elif member.failure is not None:
            found.append(member.failure)
        elif member.descriptor is None:
            message = f"{name} has no descriptor."
            found.append(Problem(ProblemKind.NOT_A_KIT, (member.reference,), name, message, remedies=remedies))
    if not plan.members:
        found.append(Problem(ProblemKind.EMPTY_SET, (), "", "The set lists no Kits."))
    return found


def _secrets(plan: JudgedPlan) -> list[Problem]:
    """Secrets answer a launch here; a published Kit has no place for them, be they typed or written in the set."""
    typed = {key for key in plan.state.secrets if key[0] != OWN} if plan.state is not None else set()
    public = {(each.kit, each.name) for each in plan.inputs if each.value in each.arg.enum}
    written = written_secrets(plan.document.kits if plan.document else (), plan.inputs) - public
    return [
        Problem(
            ProblemKind.ARG,
            (kit,),
            name,
            f"The value of {words.quoted(name)} is a secret, and what is published is readable by all.",
            "Clear it, or offer the input to the users of the set.",
            (Remedy(RemedyKind.SET_ARG, f"Clear {name}", kit=kit, arg=name),),
        )
        for kit, name in sorted(typed | written)
    ]


def _free_stem(stem: str, taken: set[str]) -> str:
    candidates = (stem, f"{stem}-set", *(f"{stem}-{number}" for number in range(2, len(taken) + 4)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _rows(ordered: Sequence[kits.Built], own: LayerBlob, platform: Platform) -> list[LayerRow]:
    found = [
        LayerRow(built.kit.reference, str(platform), layer.digest, layer.size)
        for built in ordered
        for layer in built.artifact.manifest.layers
    ]
    return [*found, LayerRow(OWN, str(platform), own.layer.digest, own.layer.size)]


def _parcel(
    images: Sequence[tuple[Platform, Image]], annotations: Mapping[str, str], origins: Mapping[str, tuple[Origin, ...]]
) -> Parcel:
    if len(images) == 1:
        return Parcel(images[0][1], (), origins)
    index = replace(merged_index(images, annotations), blobs=())
    return Parcel(index, tuple(image for _, image in images), origins)


def _body(base: Path, named: str) -> str:
    path, inner = (base / named).resolve(), clean(named)
    if inner.startswith(("/", "..")) or not path.is_relative_to(base.resolve()):
        raise KitStudioError(f"{words.exact(named)} lies outside the set's folder.", where=str(base))
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BODY + 1)
        if len(data) > MAX_BODY:
            raise KitStudioError(f"{words.exact(named)} is larger than 1 MiB.", where=str(base))
        return data.decode()
    except OSError as error:
        raise KitStudioError(f"{words.exact(named)} cannot be read: {error.strerror}.", where=str(base)) from error
    except UnicodeDecodeError as error:
        raise DescriptorError(f"{words.exact(named)} is no UTF-8 text.", where=str(base)) from error
