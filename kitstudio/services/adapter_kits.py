"""Kit references as ``create`` takes them (§2.5): folders, layouts and images, each brought to one exact reference.

The two versions of the host-mount fixture come as two Kits and stand for two versions of one repository: they are taken
into this home under one name, so that their shared folder is the same.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.models.decode import decode
from kitstudio.registry.folder import read_folder
from kitstudio.registry.reference import LOCAL, FolderLocation, LayoutLocation, Reference, parse_location

if TYPE_CHECKING:
    from kitstudio.services.app import Studio

_VERSIONED = re.compile(r"(host-mount-version)-(v\d+)")


async def adopt(studio: Studio, text: str) -> str:
    """The reference to list, with its digest where it lies in this home. Raises ``KitStudioError``."""
    text = _layout(text)
    version = _version(text)
    if version is not None:
        return await _keep_as(studio, text, version)
    exact = studio.judgement.exact(text)
    if exact is not None:
        return str(exact)
    reference, digest = await studio.judgement.adopt(text)
    return str(reference.with_digest(digest)) if digest else str(reference)


async def set_file(text: str) -> Path | None:
    """The file of a set, if that is what ``text`` names."""
    location = parse_location(_layout(text), Path.cwd())
    if not isinstance(location, FolderLocation):
        return None
    kit = await read_folder(location.path)
    return kit.path if decode(kit.text, name=str(kit.path)).descriptor.kind == "set" else None


async def _keep_as(studio: Studio, text: str, target: Reference) -> str:
    from kitstudio.registry.copy import LayoutDestination, copy

    located = await studio.places.locate(text)
    digest = await copy(located.place.source, located.reference, LayoutDestination(studio.places.blobs, str(target)))
    return str(target.with_digest(digest))


def _layout(text: str) -> str:
    """A folder that is an image layout is meant as one."""
    location = parse_location(text, Path.cwd())
    is_layout = isinstance(location, FolderLocation) and (location.path / "oci-layout").is_file()
    return f"oci:{location.path}" if is_layout and isinstance(location, FolderLocation) else text


def _version(text: str) -> Reference | None:
    """Which version of the fixture a spelling means: told by its folder, its repository or its tag."""
    location = parse_location(text, Path.cwd())
    if isinstance(location, Reference):
        names = (location.repository.rpartition("/")[2], location.tag)
    else:
        names = (location.path.name, location.tag if isinstance(location, LayoutLocation) else "")
    for name in names:
        found = _VERSIONED.fullmatch(name)
        if found:
            return Reference(LOCAL, found[1], found[2])
    return None
