"""Kits on this machine: a folder with a descriptor, or the descriptor file itself, in any authoring form (§3).

Reading only: what the text means is the grammar's business. The forms: a descriptor with or without a companion
recipe, a descriptor with an inline ``build:`` (told by the grammar), and a Dockerfile with a ``# kit:`` block.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.comment_form import comment_block
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import NotFound
from kitstudio.registry.threads import Stop, in_thread

MAX_TEXT = 8 * 1024 * 1024
SUFFIXES = (".yaml", ".yml")
CONVENTIONAL = ("kit.yaml", "kit.yml")
RECIPE_SUFFIXES = (".dockerfile", ".Dockerfile")
RECIPE = "Dockerfile"


@dataclass(frozen=True, slots=True)
class LocalKit:
    """A descriptor as it lies on disk. ``name``: what the Kit is called here (its folder, or the file's stem);
    ``path``: the file, for diagnostics; ``in_comments``: ``text`` was taken out of a Dockerfile's ``# kit:`` block and
    has the file's line numbers; ``companion``: the recipe beside the descriptor by the convention of names (§3.1)."""

    name: str
    path: Path
    text: str
    in_comments: bool = False
    companion: Path | None = None


async def read_folder(path: Path) -> LocalKit:
    """Read a Kit folder or a descriptor file."""
    return await in_thread(_read, path)


def _read(stop: Stop, path: Path) -> LocalKit:
    try:
        file = _descriptor(path) if path.is_dir() else path
        stop.check()
        if not file.exists():
            raise NotFound("There is no such file or folder.", where=str(path), remedy="Check the path.")
        if not file.is_file():
            raise RegistryError("This is neither a file nor a folder.", where=str(path))
        with file.open("rb") as stream:
            data = stream.read(MAX_TEXT + 1)
    except OSError as error:
        raise RegistryError(f"It cannot be read: {error.strerror}.", where=str(path)) from error
    if len(data) > MAX_TEXT:
        raise RegistryError("The file is larger than 8 MiB, so it is no descriptor.", where=str(file))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegistryError(
            "The file is not UTF-8 text, so it is no descriptor.", where=str(file), remedy="Save it as UTF-8."
        ) from error
    name = file.parent.name if file.name in CONVENTIONAL or file.name == RECIPE else file.stem
    if is_recipe(file):
        block = comment_block(text)
        if block is None:
            raise NotFound(
                "This Dockerfile carries no descriptor.",
                where=str(file),
                remedy="Open the .yaml beside it, or state the descriptor in a `# kit:` block above the first "
                "instruction.",
            )
        return LocalKit(name, file, block.text, in_comments=True)
    return LocalKit(name, file, text, companion=companion_of(file))


def is_recipe(file: Path) -> bool:
    """Whether a file is named as a Dockerfile."""
    return file.name == RECIPE or file.suffix in RECIPE_SUFFIXES


def companion_of(descriptor: Path) -> Path | None:
    """The recipe with the descriptor's stem, beside it (§3.1)."""
    for suffix in RECIPE_SUFFIXES:
        beside = descriptor.with_suffix(suffix)
        if beside.is_file():
            return beside
    return None


def _descriptor(folder: Path) -> Path:
    """``kit.yaml``, else the one descriptor there is, else the one named as the folder, else a comment descriptor."""
    for name in CONVENTIONAL:
        if (folder / name).is_file():
            return folder / name
    found = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES and file.is_file())
    named = [file for file in found if file.stem == folder.name]
    if len(found) == 1 or len(named) == 1:
        return (named or found)[0]
    if not found:
        found = sorted(file for file in folder.iterdir() if is_recipe(file) and file.is_file() and _carries(file))
        if len(found) == 1:
            return found[0]
    if not found:
        raise NotFound(
            "There is no descriptor in this folder.", where=str(folder), remedy="A Kit folder holds kit.yaml."
        )
    names = ", ".join(file.name for file in found[:5])
    raise RegistryError(
        "There are several descriptors in this folder.", where=str(folder), remedy=f"Name one of them: {names}."
    )


def _carries(recipe: Path) -> bool:
    with recipe.open("rb") as stream:
        return comment_block(stream.read(MAX_TEXT).decode("utf-8", "replace")) is not None
