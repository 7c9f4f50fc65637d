"""A Kit folder or descriptor on its way to being published, where its content is its declarations alone (§3.5).

The authoring forms of §3 are all read; one whose content is Dockerfile text is left to a builder, which is named with
the exact command.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models import words
from kitstudio.models.annotations import DESCRIPTOR
from kitstudio.models.args import resolve_args
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, Kind
from kitstudio.models.document import Document
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.expansion import expand_build
from kitstudio.models.publication import authored_provides
from kitstudio.models.validate import Form, Report, validate
from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.folder import LocalKit, read_folder
from kitstudio.registry.manifest import parse_manifest, parse_platform
from kitstudio.registry.publish import Parcel
from kitstudio.registry.reference import LOCAL, Reference
from kitstudio.registry.source import Platform
from kitstudio.registry.threads import in_thread
from kitstudio.registry.writer import Image
from kitstudio.services.builder.recipe import RECIPES
from kitstudio.services.composition import is_set
from kitstudio.services.importing import build_kit
from kitstudio.services.publish_set import BUILT_BY, LayerRow, epoch

EVERYWHERE = (Platform("linux", "amd64"), Platform("linux", "arm64"))
"""Declarations mean the same on every machine: published for the two that sandboxes run on."""


@dataclass(frozen=True, slots=True)
class MadeKit:
    """A Kit as it would be sent."""

    descriptor: Descriptor
    parcel: Parcel
    platforms: tuple[Platform, ...]
    layers: tuple[LayerRow, ...]
    warnings: tuple[str, ...] = ()


async def make_kit(
    path: Path, platforms: Sequence[str], build_args: Mapping[str, str], destination: str = ""
) -> MadeKit:
    """Make the images of a Kit. ``destination``: for the command that is named where a builder is needed."""
    kit = await read_folder(path)
    document = decode(kit.text, name=str(kit.path))
    if is_set(document.descriptor):
        raise KitStudioError("This is a set.", where=str(kit.path), remedy="Publish it as a set.")
    refuse_recipe(document.descriptor, path, kit, destination)
    report = validate(document, Form.AUTHORED)
    _refuse_invalid(report, document, kit)
    descriptor = _answered(document, build_args)
    wanted = tuple(dict.fromkeys(parse_platform(text) for text in platforms)) or EVERYWHERE
    image = await in_thread(build_kit, kit.name, kit.path, descriptor, BUILT_BY, epoch() or 0, wanted)
    parcel = _parcel(image)
    published = _published(parcel)
    warnings = [words.exact(issue.message) for issue in report.warnings]
    if not descriptor.display_name:
        warnings.append("The Kit has no display name.")
    return MadeKit(published, parcel, wanted, _rows(parcel, wanted), tuple(warnings))


def refuse_recipe(descriptor: Descriptor, path: Path, kit: LocalKit, destination: str = "") -> None:
    """Explain why a builder is needed, and how it is called, where the content is a recipe (§3.1–§3.3)."""
    folder = path if path.is_dir() else kit.path.parent
    beside = [folder / name for name in RECIPES if path.is_dir() and (folder / name).is_file()]
    if descriptor.build:
        why = "its content is the Dockerfile text under `build:`"
    elif descriptor.dockerfile:
        why = f"its content is built from {words.exact(descriptor.dockerfile)}"
        if not (kit.path.parent / descriptor.dockerfile).is_file():
            raise DescriptorError(f"{words.exact(descriptor.dockerfile)} is not there.", where=str(kit.path))
    elif kit.in_comments:
        why = f"{kit.path.name} is its own recipe"
    elif kit.companion is not None or beside:
        why = f"its content is built from {(kit.companion or beside[0]).name}"
    elif descriptor.kind == Kind.WORKLOAD:
        raise KitStudioError(
            "A workload needs content, and this one has no recipe (§3.5).",
            where=str(kit.path),
            remedy="Put a Dockerfile beside it and build it with Docker, or list Kits with a workload among them.",
        )
    else:
        return
    raise KitStudioError(
        f"This Kit needs a builder: {why}. Kit Studio publishes declarations and sets.",
        where=str(kit.path),
        remedy=_command(kit.path, folder, destination),
    )


def _command(file: Path, folder: Path, destination: str) -> str:
    name = destination if destination and not destination.startswith("oci:") else "HOST/NAME:TAG"
    command = shlex.join(["docker", "buildx", "build", "--push", "-t", name, "-f", str(file), str(folder)])
    if shutil.which("docker") is None:
        return f"Where Docker with buildx is installed, run: {command}"
    return f"Docker is installed here; run: {command}"


def _refuse_invalid(report: Report, document: Document, kit: LocalKit) -> None:
    derived = authored_provides(document.descriptor)
    if report.errors:
        issue = report.errors[0]
        raise DescriptorError(f"{issue}.", where=str(kit.path), remedy=issue.remedy)
    if derived:
        raise DescriptorError(
            f"{words.exact(derived[0])} states a package; only a workload's content does (§9.6).",
            where=str(kit.path),
            remedy="Leave it out.",
        )


def _answered(document: Document, given: Mapping[str, str]) -> Descriptor:
    declared = {name: arg for name, arg in document.descriptor.args.items() if arg.is_build}
    values = resolve_args(declared, given)
    return expand_build(document, values) if declared else document.descriptor


def _parcel(image: Image) -> Parcel:
    """An index and what is below it, taken apart again."""
    top = parse_manifest(Reference(LOCAL, "new"), image.raw, image.media_type)
    if not top.is_index:
        return Parcel(image)
    known = {digest_of(data): data for data in image.blobs}
    images = []
    for entry in top.entries or ():
        below = parse_manifest(Reference(LOCAL, "new"), known[entry.digest], entry.media_type)
        blobs = (*((below.config,) if below.config else ()), *below.layers)
        images.append(Image(known[entry.digest], entry.media_type, tuple(known[blob.digest] for blob in blobs)))
    return Parcel(Image(image.raw, image.media_type), tuple(images))


def _published(parcel: Parcel) -> Descriptor:
    manifest = parse_manifest(Reference(LOCAL, "new"), parcel.manifests[0].raw)
    return decode(manifest.annotations[DESCRIPTOR]).descriptor


def _rows(parcel: Parcel, platforms: Sequence[Platform]) -> tuple[LayerRow, ...]:
    found = []
    for platform, image in zip(platforms, parcel.manifests, strict=True):
        manifest = parse_manifest(Reference(LOCAL, "new"), image.raw, image.media_type)
        found += [LayerRow("", str(platform), layer.digest, layer.size) for layer in manifest.layers]
    return tuple(found)
