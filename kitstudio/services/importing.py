"""Local Kits into the home: a descriptor without a recipe becomes an image, a layout's image is copied.

Both end as ``local.invalid/NAME:VERSION`` in the home's blob store. A Kit whose content is a recipe cannot be built
here, and is refused with the way out.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import kitstudio
from kitstudio.models.annotations import BuiltBy
from kitstudio.models.canonical import encode
from kitstudio.models.capabilities.paths import clean
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.document import Document
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.expansion import expand_build
from kitstudio.models.validate import Form, validate
from kitstudio.registry.folder import LocalKit, read_folder
from kitstudio.registry.kit_image import Recipe, publish
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.manifest import host_platform
from kitstudio.registry.reference import LOCAL, LayoutLocation, Reference, is_tag
from kitstudio.registry.source import Platform
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.writer import Image, LayoutWriter
from kitstudio.services import cards
from kitstudio.services.composition import is_set

RECIPES = ("Dockerfile", "kit.dockerfile")
"""Names that make a file in a Kit's folder its recipe."""

UNVERSIONED = "local"
"""The tag of a local Kit that states no version."""

MAX_BODY = 1_048_576
"""Bytes of an agent-context file taken along."""


async def import_folder(path: Path, blobs: Path) -> tuple[Reference, str]:
    """Build a declaration-only Kit (§3.5) from a folder or descriptor file; its reference and digest."""
    kit = await read_folder(path)
    document = decode(kit.text, name=str(kit.path))
    _refuse_recipe(document.descriptor, path, kit)
    report = validate(document, Form.AUTHORED)
    if report.errors:
        issue = report.errors[0]
        raise DescriptorError(f"{issue}.", where=str(kit.path), remedy=issue.remedy)
    return await in_thread(_build, kit.name, kit.path, _answered(document, kit.path), blobs)


async def import_layout(source: LayoutSource, location: LayoutLocation, blobs: Path) -> tuple[Reference, str]:
    """Copy a layout's image into the home, byte for byte; its local reference and digest."""
    from kitstudio.registry.copy import LayoutDestination, copy

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
    image = build_kit(stop, title, file, descriptor, BuiltBy("kitstudio/import", kitstudio.__version__), 0)
    version = descriptor.version if is_tag(descriptor.version) else UNVERSIONED
    reference = Reference(LOCAL, slug(title), version)
    LayoutWriter(blobs).add(str(reference), image)
    return reference, image.digest


def _refuse_recipe(descriptor: Descriptor, path: Path, kit: LocalKit) -> None:
    file = kit.path
    if is_set(descriptor):
        raise KitStudioError(
            "A set cannot be a member of another set.", where=str(file), remedy="Open it, or add its Kits one by one."
        )
    folder = path if path.is_dir() else file.parent
    recipe = descriptor.build or descriptor.dockerfile
    beside = [name for name in RECIPES if path.is_dir() and (folder / name).exists()]
    beside += [kit.companion.name] if kit.companion else [file.name] if kit.in_comments else []
    if recipe or beside or descriptor.kind == "workload":
        what = f"its content is built from {beside[0]}" if beside else "its content is built from a recipe"
        if not recipe and not beside:
            what = "a workload needs content, and there is no image here"
        raise KitStudioError(
            f"This Kit cannot be used from its folder: {what}, and Kit Studio does not build images.",
            where=str(file),
            remedy="Build it with Docker, then add the registry reference or the OCI layout (oci:DIR:TAG) it was "
            "written to.",
        )


def _answered(document: Document, file: Path) -> Descriptor:
    """Build-phase args answered by their defaults; one without is asked of nobody and refused."""
    declared = {name: arg for name, arg in document.descriptor.args.items() if arg.is_build}
    if not declared:
        return document.descriptor
    missing = [name for name, arg in declared.items() if arg.default is None]
    if missing:
        raise KitStudioError(
            f"The build-phase input {missing[0]} has no default.",
            where=str(file),
            remedy="Give it a default, or publish the Kit with a value.",
        )
    return expand_build(document, {name: arg.default or "" for name, arg in declared.items()})


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
