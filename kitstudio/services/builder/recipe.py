"""What the recipe of a Kit is, in each authoring form (§3.1–§3.3), and how a full builder is called for it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.folder import MAX_TEXT, RECIPE, LocalKit

RECIPES = (RECIPE, "kit.dockerfile")
"""Names that make a file in a Kit's folder its recipe."""


@dataclass(frozen=True, slots=True)
class RecipeText:
    """Dockerfile text, what it is called in messages, and the folder its ``COPY`` sources lie in."""

    text: str
    name: str
    folder: Path


def recipe_of(descriptor: Descriptor, path: Path, kit: LocalKit) -> RecipeText | None:
    """The recipe of a Kit at ``path``; None for one that has none. Reads files: call it in a thread."""
    folder = kit.path.parent
    if descriptor.build:
        return RecipeText(descriptor.build, f"{kit.path} build", folder)
    if kit.in_comments:
        return _read(kit.path, folder)
    if descriptor.dockerfile:
        return _read(folder / descriptor.dockerfile, folder)
    if kit.companion is not None:
        return _read(kit.companion, folder)
    beside = [folder / name for name in RECIPES if path.is_dir() and (folder / name).is_file()]
    return _read(beside[0], folder) if beside else None


def builder_command(file: Path, folder: Path) -> str:
    """How Docker builds the Kit into a layout beside it, and what to use then."""
    layout = folder.parent / f"{folder.name}.oci"
    output = f"type=oci,tar=false,dest={layout}"
    command = shlex.join(["docker", "buildx", "build", "--output", output, "-f", str(file), str(folder)])
    return f"Where Docker with buildx is installed, run: {command} Then use oci:{layout}."


def _read(file: Path, folder: Path) -> RecipeText:
    try:
        inside = file.resolve(strict=True).is_relative_to(folder.resolve())
        if not inside or not file.is_file():
            raise KitStudioError("The recipe is no file within the Kit's folder.", where=str(file))
        with file.open("rb") as stream:
            data = stream.read(MAX_TEXT + 1)
        if len(data) > MAX_TEXT:
            raise KitStudioError("The recipe is larger than 8 MiB.", where=str(file))
        return RecipeText(data.decode("utf-8"), str(file), folder)
    except FileNotFoundError as error:
        raise KitStudioError(
            "The recipe is not there.", where=str(file), remedy="Write it, or correct the name."
        ) from (error)
    except OSError as error:
        raise KitStudioError(f"The recipe cannot be read: {error.strerror}.", where=str(file)) from error
    except UnicodeDecodeError as error:
        raise KitStudioError("The recipe is not UTF-8 text.", where=str(file), remedy="Save it as UTF-8.") from error
