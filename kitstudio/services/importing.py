"""Local Kits into the home: a descriptor without a recipe becomes an image, a layout's image is copied.

All end as ``local.invalid/NAME:VERSION`` in the home's blob store. A Kit whose content is a recipe is built where the
recipe needs nothing to be run, judged as a published one would be, and refused with the way out otherwise.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import kitstudio
from kitstudio.models.annotations import BuiltBy
from kitstudio.models.args import resolve_args
from kitstudio.models.artifact_view import Verdict
from kitstudio.models.canonical import encode
from kitstudio.models.capabilities.paths import clean
from kitstudio.models.comment_form import check_comment_form
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, Kind
from kitstudio.models.document import Document
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.expansion import expand_build
from kitstudio.models.validate import Form, validate
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.copy import LayoutDestination, copy
from kitstudio.registry.folder import LocalKit, read_folder
from kitstudio.registry.kit_image import Recipe, publish
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.manifest import host_platform
from kitstudio.registry.reference import LOCAL, LayoutLocation, Reference, is_tag
from kitstudio.registry.source import Layer, Platform, Source
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.writer import Image, LayoutWriter
from kitstudio.services import cards
from kitstudio.services.artifact_checks import judged
from kitstudio.services.builder.image import build_image
from kitstudio.services.builder.recipe import RecipeText, builder_command, recipe_of
from kitstudio.services.composition import is_set

UNVERSIONED = "local"
"""The tag of a local Kit that states no version."""

BUILDER = BuiltBy("kitstudio/import", kitstudio.__version__)

MAX_BODY = 1_048_576
"""Bytes of an agent-context file taken along."""


Sources = Callable[[Reference], Source]
"""The source that holds a reference: what ``FROM`` may build on."""


async def import_folder(
    path: Path, blobs: Path, sources: Sources | None = None, build_args: Mapping[str, str] | None = None
) -> tuple[Reference, str]:
    """Build a Kit from a folder or descriptor file into the layout ``blobs``; its reference and digest.

    The same content gives the same digest, and what is there already is left as it is. ``sources``: the images that a
    recipe may build on, by default those of this layout; ``build_args``: build-phase inputs. Raises ``KitStudioError``.
    """
    kit = await read_folder(path)
    document = decode(kit.text, name=str(kit.path))
    if is_set(document.descriptor):
        raise KitStudioError(
            "A set cannot be a member of another set.",
            where=str(kit.path),
            remedy="Open it, or add its Kits one by one.",
        )
    report = validate(document, Form.AUTHORED)
    if report.errors:
        issue = report.errors[0]
        raise DescriptorError(f"{issue}.", where=str(kit.path), remedy=issue.remedy)
    descriptor, answers = _answered(document, kit.path, build_args or {})
    recipe = await in_thread(lambda stop: recipe_of(descriptor, path, kit))
    if recipe is None:
        if descriptor.kind == Kind.WORKLOAD:
            raise KitStudioError(
                "A workload needs content, and this one has no recipe (§3.5).",
                where=str(kit.path),
                remedy="Put a Dockerfile beside it.",
            )
        return await in_thread(_build, kit.name, kit.path, descriptor, blobs)
    if kit.in_comments and (issues := check_comment_form(document.descriptor)):
        raise DescriptorError(f"{issues[0]}.", where=str(kit.path), remedy=issues[0].remedy)
    return await _build_recipe(kit, descriptor, recipe, blobs, sources, answers)


async def import_layout(source: LayoutSource, location: LayoutLocation, blobs: Path) -> tuple[Reference, str]:
    """Copy a layout's image into the home, byte for byte; its local reference and digest."""
    found = await source.reference(location)
    artifact = await source.artifact(found)
    if not artifact.descriptor_text:
        raise cards.not_a_kit(artifact)
    version = found.tag
    if not version:
        stated = decode(artifact.descriptor_text, name=str(found)).descriptor.version
        version = stated if is_tag(stated) else UNVERSIONED
    reference = Reference(LOCAL, cards.last_segment(found), version)
    return reference, await copy(source, found, LayoutDestination(blobs, str(reference)))


def build_kit(
    stop: Stop,
    title: str,
    file: Path,
    descriptor: Descriptor,
    built_by: BuiltBy,
    epoch: int,
    platforms: Sequence[Platform] = (),
) -> Image:
    """The image of a declaration-only Kit (§3.5), with the files its instructions lie in; an index for several
    platforms, one image where none or one is stated."""
    with tempfile.TemporaryDirectory(prefix="kitstudio-") as folder:
        source = Path(folder)
        (source / "kit.yaml").write_text(encode(descriptor), encoding="utf-8")
        _copy_bodies(descriptor, file.parent, source)
        stop.check()
        return publish(
            Recipe(slug(title), "kit", platforms=tuple(platforms) if len(platforms) > 1 else ()),
            source,
            built_by=built_by,
            epoch=epoch,
            default_platform=platforms[0] if platforms else host_platform(),
        )


def _build(stop: Stop, title: str, file: Path, descriptor: Descriptor, blobs: Path) -> tuple[Reference, str]:
    image = build_kit(stop, title, file, descriptor, BUILDER, 0)
    reference = _named(title, descriptor)
    LayoutWriter(blobs).add(str(reference), image)
    return reference, image.digest


async def _build_recipe(
    kit: LocalKit,
    descriptor: Descriptor,
    recipe: RecipeText,
    blobs: Path,
    sources: Sources | None,
    answers: Mapping[str, str],
) -> tuple[Reference, str]:
    """Build, judge as a published artifact, and only then give it its name."""
    store = LayoutSource(blobs)
    image, base = await build_image(
        descriptor,
        slug(kit.name),
        recipe,
        lambda folder: _copy_bodies(descriptor, kit.path.parent, folder),
        sources or (lambda reference: store),
        answers,
        remedy=builder_command(kit.path, kit.path.parent),
        built_by=BUILDER,
    )
    reference = _named(kit.name, descriptor)
    if descriptor.kind == Kind.WORKLOAD:
        below = LayoutDestination(blobs, str(reference))
        for layer, file in zip(base.layers, base.files, strict=True):
            await below.put_blob(layer, file.path)
    await in_thread(_keep, blobs, image)
    for check in await judged(store, reference.with_digest(image.digest)):
        if check.verdict is Verdict.FAIL:
            raise KitStudioError(
                f"The Kit that was built does not conform ({check.id}): {check.detail}", where=recipe.name
            )
    await in_thread(_name, blobs, reference, image)
    return reference, image.digest


def _keep(stop: Stop, blobs: Path, image: Image) -> None:
    store = BlobStore(blobs)
    store.prepare()
    for blob in (*image.blobs, image.raw):
        stop.check()
        store.put(blob)


def _name(stop: Stop, blobs: Path, reference: Reference, image: Image) -> None:
    LayoutWriter(blobs).point(str(reference), Layer(image.digest, len(image.raw), image.media_type))


def _named(title: str, descriptor: Descriptor) -> Reference:
    return Reference(LOCAL, slug(title), descriptor.version if is_tag(descriptor.version) else UNVERSIONED)


def _answered(document: Document, file: Path, given: Mapping[str, str]) -> tuple[Descriptor, dict[str, str]]:
    """The descriptor with its build-phase inputs answered, and the answers by the recipe's names for them. One that
    has neither an answer nor a default is asked of nobody and refused."""
    declared = {name: arg for name, arg in document.descriptor.args.items() if arg.is_build}
    missing = [name for name, arg in declared.items() if arg.default is None and name not in given]
    if missing:
        raise KitStudioError(
            f"The build-phase input {missing[0]} has no default.",
            where=str(file),
            remedy="Give it a default, or publish the Kit with a value.",
        )
    if not declared and not given:
        return document.descriptor, {}
    values = resolve_args(declared, given)
    answers = {arg.build_arg: values.get(name, "") for name, arg in declared.items()}
    return (expand_build(document, values) if declared else document.descriptor), answers


def _copy_bodies(descriptor: Descriptor, source: Path, target: Path) -> None:
    """Take along the agent-context files the descriptor names; they must lie inside the Kit's folder."""
    for entry in descriptor.entries():
        named = (entry.config or {}).get("contentFile")
        if not isinstance(named, str) or not named:
            continue
        body, inner = (source / named).resolve(), clean(named)
        if inner.startswith(("/", "..")) or not body.is_relative_to(source.resolve()):
            raise KitStudioError(f"{named} lies outside the Kit's folder.", where=str(source))
        if not body.is_file():
            raise KitStudioError(
                f"The Kit names {named}, and there is no such file in its folder.",
                where=str(source),
                remedy="Add the file, or take it out of the descriptor.",
            )
        if body.stat().st_size > MAX_BODY:
            raise KitStudioError(f"{named} is larger than 1 MiB.", where=str(source))
        (target / inner).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(body, target / inner)


def slug(name: str) -> str:
    """A name as a repository may spell it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "kit"
